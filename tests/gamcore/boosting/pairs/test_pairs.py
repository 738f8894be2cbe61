"""Pairs of features: merged bins, purification, ranking, the second stage, surfaces."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gamcore import (
    GAMClassifier,
    GAMRegressor,
    TableError,
    load_model,
    pair_ranking,
    pair_worth,
    rank_pairs,
    rows_inside,
)
from gamcore.boosting.pairs import ranking
from gamcore.boosting.pairs import selection as interactions
from gamcore.boosting.pairs.stage import PairState, Start
from gamcore.boosting.refit import state as refit
from gamcore.boosting.refit.loop import boost
from gamcore.boosting.refit.problem import Parameters
from gamcore.data.binning import merge_bins
from gamcore.data.sampling import splits
from gamcore.explain.curves import explain_rows
from gamcore.explain.surfaces import Rectangle, explain_pair
from gamcore.model.additive import reading_bins
from gamcore.model.losses import LOSSES
from gamcore.model.purification import CellWeights, two_way
from tests.support import naive
from tests.support.fits import fit, problem
from tests.support.gears import mostly_slow
from tests.support.places import ROOT

QUICK = {"outer_bags": 3, "random_state": 0}


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=254),
    st.integers(2, 62),
    st.floats(0, 1, exclude_max=True),
    st.randoms(),
)
def test_merged_bins_are_neighbours_and_few(rows, most, offset, random):
    count = np.array([0, *rows, 0], float)
    line = np.arange(1, len(rows) + 1)
    random.shuffle(line)
    merged = merge_bins(count, line, most, offset)
    along = merged[line].astype(int)
    assert along[0] == 1
    assert set(np.diff(along)) <= {0, 1}
    assert along[-1] <= most + 1
    assert not merged[0]
    assert not merged[len(rows) + 1 :].any()
    if len(rows) <= most:
        assert along.tolist() == list(range(1, len(rows) + 1))


def test_a_heavy_code_counts_as_one_bin_and_the_others_share_the_rest():
    count = np.array([0, *[10] * 100, 5000, *[10] * 100, 0], float)
    merged = merge_bins(count, np.arange(1, 202), 40, 0.0)
    sizes = np.bincount(merged)[1:]
    assert sizes.size >= 39
    assert sizes.max() <= 6  # 200 light codes in 39 bins


def test_offsets_move_borders():
    count, line = np.ones(202), np.arange(1, 201)
    borders = [set(np.flatnonzero(np.diff(merge_bins(count, line, 20, k / 4)[line]))) for k in range(4)]
    assert not set.intersection(*borders)


@pytest.mark.parametrize("seed", range(4))
def test_purification_is_that_of_its_twin(seed):
    rng = np.random.default_rng(seed)
    surface, weight = rng.normal(size=(6, 5)), rng.integers(0, 4, (6, 5)).astype(float)
    weight[2] = 0  # a row without training rows
    if seed == 3:
        weight[:3, 2:], weight[3:, :2] = 0, 0  # two parts that share nothing
    cells = CellWeights.of(weight)
    mean, rows, columns = two_way(cells, surface[None, cells.rows, cells.columns])
    pure = surface - mean[0] - rows[0][:, None] - columns[0]
    expected = naive.two_way(surface, weight)[2]
    np.testing.assert_allclose(np.where(weight > 0, pure - expected, 0), 0, atol=1e-9)
    np.testing.assert_allclose((pure * weight).sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose((pure * weight).sum(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose([rows[0] @ weight.sum(axis=1), columns[0] @ weight.sum(axis=0)], 0, atol=1e-9)


def planted(p, n=4000, correlation=0.0, xor=True, seed=0, binary=False):
    """Make normal features, with strong main effects of two of them and an XOR of two others."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    values = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * rng.normal(size=(n, p))
    X = pd.DataFrame(values, columns=[f"x{j}" for j in range(p)])
    score = 2 * X["x0"] + np.sin(2 * X["x1"])
    score = score + (np.sign(X["x2"]) * np.sign(X["x3"]) if xor else 0.0)
    if binary:
        return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    return X, score + 0.3 * rng.normal(size=n)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("binary", "n"), [(False, 8000), (True, 60_000)])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
@pytest.mark.parametrize("p", mostly_slow([10, 50], 1))
def test_a_planted_xor_is_first_and_additive_data_have_next_to_nothing(p, correlation, binary, n):
    """Chance strengths fall with the number of rows; binary targets carry less information and need more rows."""
    kind = GAMClassifier if binary else GAMRegressor
    found = {}
    for xor in (True, False):
        X, y = planted(p, n, correlation, xor, binary=binary)
        found[xor] = pair_ranking(kind(**QUICK).fit(X, y), X, y)
        assert len(found[xor]) == p * (p - 1) // 2
    assert found[True].loc[0, ["feature_1", "feature_2", "rank"]].tolist() == ["x2", "x3", 1]
    strongest = {xor: ranking["strength"].max() for xor, ranking in found.items()}
    assert strongest[False] <= 0.01 * strongest[True]
    assert strongest[False] < 1.6 * found[False].attrs["chance"]
    assert strongest[True] > 100 * found[True].attrs["chance"]


def test_an_objective_that_is_none_is_refused_with_those_that_are():
    X, y = planted(4, 200, 0.0, xor=True)
    with pytest.raises(ValueError, match=r"objective is 'mse'.*'squared'.*'logistic'"):
        rank_pairs(X, y, objective="mse")


def test_pairs_that_stand_out_end_at_the_elbow():
    rng = np.random.default_rng(1)
    assert ranking.elbow(np.array([1.0, 0.9, 0.05, *np.sort(rng.uniform(0, 0.01, 40))[::-1]])) in (2, 3)
    assert ranking.elbow(np.array([1.0, *np.full(20, 0.001)])) == 1
    assert ranking.elbow(np.array([1.0, 0.9, 0.0])) == 2  # a plateau: before the largest drop
    assert ranking.elbow(np.ones(4)) == 4
    assert ranking.elbow(np.empty(0)) == 0


def test_two_strong_main_effects_make_a_strong_pair_under_rss_only():
    """When main effects are hardly fitted, the paper's strength is largest where both leave residuals."""
    X, y = planted(6, 8000)
    first = {}
    for strength in ("rss", "purified"):
        hardly = {"max_rounds": 1, "learning_rate": 0.05, "greedy_ratio": 0.0, "smoothing_rounds": 0}
        model = GAMRegressor(strength=strength, **hardly, **QUICK).fit(X, y)
        first[strength] = pair_ranking(model, X, y).loc[0, ["feature_1", "feature_2"]].tolist()
    assert first == {"rss": ["x0", "x1"], "purified": ["x2", "x3"]}


def test_of_many_features_those_with_main_effects_are_ranked(monkeypatch):
    """Screening misses a pair if one of its features is not among the strongest."""
    monkeypatch.setattr(ranking, "MOST_RANKED", 12)
    X, y = planted(30, 6000)
    assert len(pair_ranking(GAMRegressor(**QUICK).fit(X, y), X, y)) == 12 * 11 // 2
    rng = np.random.default_rng(0)
    y = 3 * X.iloc[:, 10:22].sum(axis=1) + np.sign(X["x2"]) * np.sign(X["x3"]) + 0.1 * rng.normal(size=len(X))
    missed = pair_ranking(GAMRegressor(**QUICK).fit(X, y), X, y)
    assert "x2" not in set(missed["feature_1"])
    y = y + 3 * X["x2"] + 3 * X["x3"] - 3 * X["x10"] - 3 * X["x11"]
    seen = pair_ranking(GAMRegressor(**QUICK).fit(X, y), X, y)
    assert seen.loc[0, ["feature_1", "feature_2"]].tolist() == ["x2", "x3"]


def test_the_public_ranking_chooses_the_objective():
    X, y = planted(5, 3000, binary=True)
    told = []
    found = rank_pairs(X, np.where(y, "yes", "no"), random_state=0, progress=lambda *done: told.append(done))
    assert told[-1] == (20, 20)  # ten pairs, and the same number for the chance level
    assert found.loc[0, ["feature_1", "feature_2"]].tolist() == ["x2", "x3"]
    assert found["strength"].is_monotonic_decreasing
    assert rank_pairs(X, y + 0.5 * X["x0"], random_state=0).shape == (10, 4)


def test_weights_count_as_rows():
    X, y = planted(5, 2000)
    twice = np.where(np.arange(2000) < 1000, 2.0, 1.0)
    model = GAMRegressor(**QUICK).fit(X, y)
    weighed = pair_ranking(model, X, y, twice, chance=False)
    doubled = pair_ranking(model, pd.concat([X, X[:1000]]), np.concatenate([y, y[:1000]]), chance=False)
    pd.testing.assert_frame_equal(weighed, doubled, rtol=1e-4)
    assert np.isnan(weighed.attrs["chance"])


@pytest.mark.parametrize("tree", ["cross", "refined"])
@pytest.mark.parametrize("binary", [False, True])
def test_pairs_are_fitted_on_frozen_main_effects(binary, tree):
    kind = GAMClassifier if binary else GAMRegressor
    X, y = planted(5, binary=binary)
    plain = kind(**QUICK).fit(X, y)
    model = kind(interactions=1, pair_tree=tree, purify=False, **QUICK).fit(X, y)
    for one, other in zip(plain.model_.terms, model.model_.terms, strict=True):
        np.testing.assert_array_equal(one.refits, other.refits)
    (pair,) = model.model_.pairs
    assert pair.features == (2, 3)
    assert model.score(X, y) > plain.score(X, y) + 0.02
    assert model.pair_path_[1][1] < 0.9 * model.pair_path_[0][1]
    assert model.pair_worth_[0] > 0


@pytest.mark.parametrize("binary", [False, True])
def test_purifying_changes_no_prediction_and_leaves_no_main_effect(binary):
    kind = GAMClassifier if binary else GAMRegressor
    X, y = planted(4, 1500, 0.5, binary=binary)
    X["c"] = np.random.default_rng(1).choice(list("abcdef"), len(X))
    X.loc[::7, "x2"] = np.nan
    X.loc[::11, "c"] = None
    chosen = {"interactions": [("x2", "x3"), ("c", "x0"), ("x0", "x1")], **QUICK}
    pure, raw = (kind(purify=purify, **chosen).fit(X, y) for purify in (True, False))
    other = X.sample(frac=1, random_state=1).reset_index(drop=True)
    X.loc[:20, "c"] = "never seen"
    for rows in (X, other.assign(c=X["c"]), X.assign(x0=1e9)):
        np.testing.assert_allclose(
            pure.model_.score(pure._encode(rows)), raw.model_.score(raw._encode(rows)), rtol=0, atol=1e-9
        )
    for place, pair in enumerate(pure.model_.pairs):
        sides = [
            reading_bins(pure.model_.bins[j], pair.counts.sum(axis=1 - k), pair.counts.sum())
            for k, j in enumerate(pair.features)
        ]
        for k in range(3):
            mass = pair.refit(k) * pair.counts
            np.testing.assert_allclose(np.bincount(sides[0], mass.sum(axis=1)), 0, atol=1e-8)
            np.testing.assert_allclose(np.bincount(sides[1], mass.sum(axis=0)), 0, atol=1e-8)
        shown = explain_pair(pure.model_, place)
        mass = shown.scores * shown.counts
        if not X[list(shown.names)].isna().any().any():
            np.testing.assert_allclose(mass.sum(axis=0), 0, atol=1e-8)
            np.testing.assert_allclose(mass.sum(axis=1), 0, atol=1e-8)
    for term in pure.model_.terms:
        np.testing.assert_allclose(term.refits @ term.counts, 0, atol=1e-7)
    parts = explain_rows(pure.model_, pure._encode(X))
    np.testing.assert_allclose(parts.intercept + parts.contributions.sum(axis=1), parts.scores, atol=1e-9)
    assert parts.features[-3:] == ("x2 × x3", "x0 × c", "x0 × x1")


def test_purifying_leaves_curves_as_smooth_as_they_were():
    """Main effects of two blocks step once; in bins of a few rows, purifying would add noise from individual rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(6000, 2)), columns=["a", "b"])
    y = np.where((X["a"] > 0) & (X["b"] > 0.5), 1.0, 0.0) + 0.05 * rng.normal(size=6000)
    model = GAMRegressor(interactions=1, **QUICK).fit(X, y)
    raw = GAMRegressor(interactions=1, purify=False, **QUICK).fit(X, y)
    for name in ("a", "b"):
        moved = model.explain_shape(name).scores - raw.explain_shape(name).scores
        assert np.unique(moved.round(9)).size <= 12  # as many steps as bins that are drawn, of 254


@pytest.mark.parametrize("seed", range(2))
def test_auto_keeps_what_helps_and_says_what_each_adds(seed):
    X, y = planted(8, 6000, seed=seed)
    model = GAMRegressor(interactions="auto", **QUICK).fit(X, y)
    first, *others = model.model_.pairs
    assert first.features == (2, 3)
    assert len(others) <= 1
    assert all(pair.importance < 0.05 * first.importance for pair in others)
    assert model.pair_path_[0][0] == 0
    assert model.pair_path_[-1][1] < 0.2 * model.pair_path_[0][1]
    assert model.pair_worth_.shape == (1 + len(others),)
    assert model.pair_worth_[0] > 0.8  # of 1, the variance of the planted sign
    X, y = planted(8, 6000, xor=False, seed=seed)
    assert GAMRegressor(interactions="auto", **QUICK).fit(X, y).model_.pairs == ()


@pytest.mark.slow
def test_many_weak_pairs_are_found_where_few_beat_chance():
    """All 435 products of correlated columns, of which about 100 beat chance."""

    def draw(n, seed):
        fixed, rng = np.random.default_rng(0), np.random.default_rng(seed)
        load, size = fixed.normal(size=(6, 30)) / 3.5, 0.3 * fixed.normal(size=(30, 30))
        X = rng.normal(size=(n, 6)) @ load + 0.7 * rng.normal(size=(n, 30))
        curved = np.tanh(X)
        target = np.einsum("ni,ij,nj->n", curved, np.triu(size, 1), curved)
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(30)]), target + rng.normal(size=n)

    (X, y), (X_test, y_test) = draw(2_500, 1), draw(5_000, 2)
    settings = {"random_state": 0, "n_jobs": 2}
    model = GAMRegressor(interactions="auto", **settings).fit(X, y)
    few = GAMRegressor(interactions=100, **settings).fit(X, y)
    errors = [np.mean((one.predict(X_test) - y_test) ** 2) for one in (model, few)]
    assert 200 < len(model.model_.pairs) <= 256
    assert errors[0] < 0.9 * errors[1]


@pytest.mark.parametrize(
    ("losses", "tried", "kept"),
    [
        ({0: 1.0, 4: 0.8, 6: 0.81, 16: 0.5, 28: 0.6}, [0, 4, 6, 16, 28, 16], 16),  # one failure at chance
        ({0: 1.0, 4: 0.8, 6: 0.81, 16: 0.799}, [0, 4, 6, 16, 4], 4),  # two; a fiftieth of .2 is asked for below chance
        ({0: 1.0, 4: 1.1, 6: 1.1}, [0, 4, 6, 0], 0),  # nothing beyond chance helps
    ],
)
def test_pairs_below_chance_are_tried_where_any_beyond_it_helped(losses, tried, kept, monkeypatch):
    def boosted(mains, pairs, options, watcher):
        n, each = len(pairs), [SimpleNamespace(valid_loss=losses[len(pairs)], worth=np.ones(len(pairs)))] * 4
        return interactions.Chosen(tuple(pairs), each, ((0, losses[0]), (n, losses[n])))

    monkeypatch.setattr(interactions, "fit_pairs", boosted)
    pairs = np.array(list(itertools.combinations(range(8), 2)))
    ranked = ranking.Ranking(pairs, np.linspace(1.0, 0.0, len(pairs)), chance=0.8)
    mains = SimpleNamespace(n_active=8, refits=[None] * 8, first=lambda n_refits: None)
    chosen = interactions.choose_pairs(mains, ranked, interactions.Options(None), SimpleNamespace(stopped=False))
    assert [number for number, _ in chosen.path] == tried
    assert len(chosen.pairs) == kept


def test_more_pairs_are_tried_while_they_help():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(6000, 8)), columns=[f"x{j}" for j in range(8)])
    y = sum(np.sign(X[f"x{j}"]) * np.sign(X[f"x{j + 1}"]) for j in range(7)) + 0.3 * rng.normal(size=6000)
    model = GAMRegressor(interactions="auto", **QUICK).fit(X, y)
    assert {(j, j + 1) for j in range(7)} <= {pair.features for pair in model.model_.pairs}
    numbers = [n for n, _ in model.pair_path_]
    assert numbers[:2] == [0, 4]
    assert max(numbers) >= 7


@pytest.mark.parametrize("binary", [False, True])
def test_joint_boosting_is_kept_where_validation_prefers_it(binary):
    kind = GAMClassifier if binary else GAMRegressor
    X, y = planted(8, 6000, binary=binary)
    frozen = kind(interactions=1, **QUICK).fit(X, y)
    joint = kind(interactions=1, joint=True, **QUICK).fit(X, y)
    assert joint.validation_losses_.mean() <= frozen.validation_losses_.mean()
    assert joint.pair_joint_ == (joint.validation_losses_.mean() < frozen.validation_losses_.mean())
    assert binary or joint.pair_joint_
    same = [
        np.array_equal(one.refits, other.refits)
        for one, other in zip(joint.model_.terms, frozen.model_.terms, strict=True)
    ]
    assert all(same) != joint.pair_joint_


def test_the_guard_keeps_the_frozen_stage(monkeypatch):
    worse = interactions.Chosen((), [SimpleNamespace(valid_loss=2.0)], ((0, 3.0), (1, 2.0)), joint=True)
    better = replace(worse, refits=[SimpleNamespace(valid_loss=1.0)], joint=False)
    monkeypatch.setattr(
        interactions, "fit_pairs", lambda mains, pairs, options, watcher: worse if options.joint else better
    )
    told = ([(0, 1)], interactions.Options(None, joint=True), SimpleNamespace(stopped=False))
    mains = SimpleNamespace(splits=[SimpleNamespace(valid=np.ones(1))])
    assert interactions.fit_best(mains, *told) is better
    better = replace(better, refits=[SimpleNamespace(valid_loss=2.5)])
    assert interactions.fit_best(mains, *told).joint


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_main_effects_of_a_joint_stage_are_plain_boosting(loss):
    """With a pair that cannot be cut, the joint stage equals the main stage without bags."""
    of = problem(loss)
    of.table.codes[2] = 1
    table = of.table._replace(active=np.arange(2))
    of = replace(of, table=table)
    settings = {"max_rounds": 8, "subsample": 1.0, "greedy_ratio": 1.0, "max_leaves": 2, "dtype": np.float64}
    plain = fit(of, n_refits=1, **settings)[0]
    parameters = Parameters("grouped", "rescan", False, 1, learning_rate=0.2, early_stopping_rounds=50, **settings)
    lines = ranking.lines_of(table, plain.curves)
    counts = [np.bincount(line, minlength=32).astype(float) for line in table.codes]
    merges = ranking.merge_all(counts, lines, 20, 0.0)
    merges[2] = 1
    start = Start(plain, splits(16, 0.2, 1, 0)[0], np.array([[0, 2]]), merges, joint=True, refined=False, seed=1)
    state = PairState(of, start, parameters)
    for _ in boost(state):
        pass
    found = state.best_pairs()
    np.testing.assert_allclose(found.main.curves, plain.curves, atol=1e-9)
    assert found.main.base_score == plain.base_score
    assert not found.surfaces.any()


def test_progress_tells_the_stage_and_stops():
    X, y = planted(6, 1500)
    told = []
    GAMRegressor(interactions=2, callback=lambda p: told.append(p), **QUICK).fit(X, y)
    stages = list(dict.fromkeys((p.stage, p.n_pairs) for p in told))
    assert stages == [("main effects", 0), ("ranking", 0), ("pairs", 2)]
    assert [p.part for p in told] == sorted(p.part for p in told)
    last = [p for p in told if p.stage == "ranking"][-1]
    assert last.round == last.max_rounds == 30
    for wanted, stop in itertools.product((2, "auto"), ("main effects", "ranking")):
        stopped = GAMRegressor(interactions=wanted, callback=lambda p, s=stop: p.stage == s, **QUICK).fit(X, y)
        assert stopped.model_.pairs == ()
    early = GAMRegressor(interactions=2, callback=lambda p: p.stage == "pairs", **QUICK).fit(X, y)
    assert len(early.model_.pairs) == 2
    assert early.pair_path_[1][1] <= early.pair_path_[0][1]


@pytest.mark.parametrize("outer_bags", [1, 5])
def test_a_stopped_search_ends_at_once(outer_bags):
    """It keeps the best pairs so far if all refits have them, otherwise none."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3000, 8)), columns=[f"x{j}" for j in range(8)])
    y = sum(np.sign(X[f"x{j}"]) * np.sign(X[f"x{j + 1}"]) for j in range(7)) + 0.3 * rng.normal(size=3000)
    tried = []

    def watch(progress):
        tried.append(progress.n_pairs)
        return progress.n_pairs > 4

    model = GAMRegressor(interactions="auto", outer_bags=outer_bags, random_state=0, callback=watch).fit(X, y)
    assert max(tried) == 7
    assert len(model.model_.pairs) == (4 if outer_bags == 1 else 0)


def test_the_ranking_tells_its_progress_in_order_from_any_thread():
    X, y = planted(40, 300)
    told = []
    GAMRegressor(interactions=1, n_jobs=3, callback=told.append, **QUICK).fit(X, y)
    done = [p.round for p in told if p.stage == "ranking"]
    assert done == sorted(done)
    assert done[-1] == 40 * 39
    assert len(done) > 3


def test_a_strength_is_what_a_cross_takes_off_the_loss():
    """The unit is the loss: half of G^2 / H for log-loss, a good approximation for small effects."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, size=(200_000, 3)).astype(float), columns=list("abc"))
    score = 0.2 * (2 * X["a"] - 1) * (2 * X["b"] - 1)
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-score))).astype(int)
    model = GAMClassifier(**QUICK).fit(X, y)
    found = pair_ranking(model, X, y).loc[0, "strength"]
    cells = pd.Series(y).groupby([X["a"], X["b"]]).transform("mean")
    drop = np.mean(LOSSES["logistic"].loss(y, model.decision_function(X))) - np.mean(
        LOSSES["logistic"].loss(y, np.log(cells / (1 - cells)))
    )
    assert found == pytest.approx(drop, rel=0.1)


def test_fits_without_validation_rows_are_saved(tmp_path):
    X, y = planted(4, 400)
    model = GAMRegressor(interactions=1, joint=True, validation_fraction=0.0, max_rounds=20, **QUICK).fit(X, y)
    assert not model.pair_joint_
    assert np.isnan(model.pair_worth_).all()
    model.save(tmp_path / "m.gamx")
    np.testing.assert_array_equal(load_model(tmp_path / "m.gamx").predict(X), model.predict(X))


def test_nothing_is_left_of_an_earlier_fit():
    X, y = planted(4, 400)
    model = GAMRegressor(interactions=1, **QUICK).fit(X, y)
    model.set_params(interactions=0).fit(X, y)
    assert not [name for name in vars(model) if name.startswith("pair_") and name.endswith("_")]
    none = GAMRegressor(interactions=[], joint=True, **QUICK).fit(X, y)
    assert not none.pair_joint_
    np.testing.assert_array_equal(none.predict(X), model.predict(X))


@pytest.mark.slow
def test_a_cell_may_hold_more_rows_than_float32_can_count(monkeypatch):
    """Two flags and 300,000 rows: the interaction is recovered, although one cell sums most of the rows."""
    monkeypatch.setattr(refit, "ENOUGH", 0.0)  # to the last digits
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((300_000, 2)) < 0.95, columns=["a", "b"]).astype(float)
    y = 0.7 + 0.1 * (2 * X["a"] - 1) * (2 * X["b"] - 1)
    model = GAMRegressor(interactions=1, outer_bags=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=2e-4)
    strength = pair_ranking(model, X, y + 0.0).loc[0, "strength"]
    share = X["a"].mean(), X["b"].mean()
    spread = 16 * share[0] * (1 - share[0]) * share[1] * (1 - share[1])
    assert strength == pytest.approx(0.01 * spread, rel=0.02)


def test_what_was_never_missing_in_training_has_no_interaction():
    X, y = planted(4, 2000, 0.5)
    y = y + X["x2"] * X["x3"]
    for purify in (True, False):
        model = GAMRegressor(interactions=[("x2", "x3")], purify=purify, **QUICK).fit(X, y)
        gone = X.assign(x2=np.nan)
        parts = model.explain_rows(gone).contributions
        if purify:
            np.testing.assert_array_equal(parts[:, -1], 0.0)
        (pair,) = model.model_.pairs
        assert pair.counts[0].sum() == 0


def test_parts_that_are_linked_by_next_to_nothing_are_split():
    weight = np.ones((4, 4))
    weight[:2, 2:] = weight[2:, :2] = 0.0
    weight[0, 2] = 1e-17
    cells = CellWeights.of(weight)
    values = np.random.default_rng(0).normal(size=(1, cells.rows.size))
    mean, rows, columns = two_way(cells, values)
    pure = values[0] - mean[0] - rows[0][cells.rows] - columns[0][cells.columns]
    table = np.zeros((4, 4))
    table[cells.rows, cells.columns] = pure
    np.testing.assert_allclose((table * weight).sum(axis=0), 0, atol=1e-8)


def test_what_a_pair_is_worth_on_other_rows():
    X, y = planted(5, 4000)
    model = GAMRegressor(interactions=[("x3", "x2"), ("x0", "x4")], **QUICK).fit(X[:3000], y[:3000])
    worth = pair_worth(model, X[3000:], y[3000:])
    assert worth["feature_1"].tolist() == ["x2", "x0"]
    assert worth["worth"][0] == pytest.approx(1.0, abs=0.15)
    assert abs(worth["worth"][1]) < 0.02
    breakdown = model.explain_rows(X[3000:])
    without = breakdown.scores - breakdown.contributions[:, -2]
    expected = np.mean((y[3000:] - without) ** 2) - np.mean((y[3000:] - breakdown.scores) ** 2)
    assert worth["worth"][0] == pytest.approx(expected)
    gains = (y[3000:] - without) ** 2 - (y[3000:] - breakdown.scores) ** 2
    ends = stats.ttest_1samp(gains, 0).confidence_interval(0.95)
    np.testing.assert_allclose(worth.loc[0, ["low", "high"]].astype(float), ends)
    assert worth["low"][0] > 0
    assert worth["low"][1] < worth["worth"][1] < worth["high"][1]


@pytest.mark.parametrize("binary", [False, True])
def test_missing_and_nominal_features_interact(binary):
    """An effect only where one feature is missing and the other has certain levels is found and drawn."""
    rng = np.random.default_rng(0)
    n = 8000
    X = pd.DataFrame({"a": rng.normal(size=n), "c": rng.choice(list("pqrstuvw"), n), "b": rng.normal(size=n)})
    X.loc[rng.random(n) < 0.3, "a"] = np.nan
    score = 2.0 * np.where(X["a"].isna(), 1, -1) * np.where(X["c"].isin(list("prtv")), 1, -1)
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int) if binary else score + rng.normal(size=n)
    model = (GAMClassifier if binary else GAMRegressor)(interactions=1, **QUICK).fit(X, y)
    surface = model.explain_pair("a", "c")
    at = {label: float(value) for label, value in zip(surface.second.labels, surface.missing_first, strict=True)}
    assert min(at[level] for level in "prtv") > 0.5
    assert max(at[level] for level in "qsuw") < -0.5
    rows = pd.DataFrame({"a": [np.nan, np.nan, 0.0, 0.0], "c": list("pqpq"), "b": 0.0})
    found = model.decision_function(rows) if binary else model.predict(rows)
    assert np.sign(found - found.mean()).tolist() == [1, -1, -1, 1]


@pytest.mark.parametrize("binary", [False, True])
def test_threads_give_the_same_bits(binary):
    kind = GAMClassifier if binary else GAMRegressor
    X, y = planted(6, 1500, binary=binary)
    models = [kind(interactions=4, n_jobs=n_jobs, **QUICK).fit(X, y) for n_jobs in (1, 2, 3)]
    for model in models[1:]:
        pd.testing.assert_frame_equal(model.pair_ranking_, models[0].pair_ranking_)
        for one, other in zip(model.model_.pairs, models[0].model_.pairs, strict=True):
            np.testing.assert_array_equal(one.scores, other.scores)


def test_pairs_survive_a_file_to_the_bit(tmp_path):
    X, y = planted(5, 1500)
    model = GAMRegressor(interactions=3, **QUICK).fit(X, y)
    model.save(tmp_path / "m.gamx")
    loaded = load_model(tmp_path / "m.gamx")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.interactions == 3
    assert [pair.features for pair in loaded.model_.pairs] == [pair.features for pair in model.model_.pairs]
    assert explain_pair(loaded.model_, 0).words() == explain_pair(model.model_, 0).words()


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ([("x0", "x0")], "no interaction with itself"),
        ([("x0", "x1"), ("x1", "x0")], "twice"),
        ([("x0", "x1", "x2")], "two features"),
        ([1, 2], "two features"),
        ([("x0", "y")], "no feature 'y'"),
        ([(0, 7)], "out of range"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(wanted, told):
    X, y = planted(4, 200)
    with pytest.raises(TableError, match=told):
        GAMRegressor(interactions=wanted, **QUICK).fit(X, y)


def test_auto_needs_validation_rows():
    X, y = planted(4, 200)
    with pytest.raises(TableError, match="validation_fraction"):
        GAMRegressor(interactions="auto", validation_fraction=0.0, **QUICK).fit(X, y)


def test_a_surface_shows_what_its_rows_get():
    X, y = planted(4, 3000)
    X["x2"] = np.where(np.arange(len(X)) % 9 == 0, np.nan, X["x2"])
    model = GAMRegressor(interactions=[("x2", "x3")], **QUICK).fit(X, y)
    surface = explain_pair(model.model_, 0)
    assert surface.names == ("x2", "x3")
    n_bins = surface.first.size
    assert surface.scores.shape == surface.counts.shape == (n_bins, surface.second.size)
    assert 6 <= n_bins <= 8  # 3,000 rows, 60 per cell
    assert surface.counts.sum() == X["x2"].notna().sum()
    (pair,) = model.model_.pairs
    codes = model._encode(X)
    each = pair.scores[codes[2], codes[3]]
    seen = X["x2"].notna().to_numpy()
    np.testing.assert_allclose((surface.scores * surface.counts).sum(), each[seen].sum(), atol=1e-6)
    place = (
        np.digitize(X["x2"][seen], surface.first.edges[1:-1]),
        np.digitize(X["x3"][seen], surface.second.edges[1:-1]),
    )
    found = np.zeros(surface.counts.shape)
    np.add.at(found, place, 1)
    np.testing.assert_array_equal(found, surface.counts)
    corners = [surface.scores[:2, :2], surface.scores[:2, -2:], surface.scores[-2:, :2], surface.scores[-2:, -2:]]
    assert [float(np.sign(c.mean())) for c in corners] == [1, -1, -1, 1]
    frame = surface.frame()
    assert len(frame) == surface.scores.size
    assert frame["(rows)"].sum() == surface.counts.sum()
    np.testing.assert_array_equal(frame["x2 (from)"].unique(), surface.first.edges[:-1])
    np.testing.assert_array_equal(frame["x3 (below)"].unique(), surface.second.edges[1:])
    assert "x2" in surface.words()
    turned = surface.turned()
    assert turned.names == ("x3", "x2")
    np.testing.assert_array_equal(turned.scores, surface.scores.T)


def test_a_rectangle_holds_the_rows_that_its_words_say():
    X, y = planted(4, 3000)
    X["x2"] = np.where(np.arange(len(X)) % 9 == 0, np.nan, X["x2"])
    X["c"] = np.random.default_rng(0).choice(list("abcd"), len(X))
    model = GAMRegressor(interactions=[("x2", "x3"), ("x2", "c")], **QUICK).fit(X, y)
    surface = model.explain_pair("x2", "x3")
    chosen = Rectangle(surface.first.nearest(-0.4, 1.0), surface.second.nearest(-5.0, 0.0))
    low, high = surface.first.edges[list(chosen.rows)]
    below = surface.second.edges[chosen.columns[1]]
    expected = (X["x2"] >= low) & (X["x2"] < high) & (X["x3"] < below)
    inside = rows_inside(model, X, surface, chosen)
    np.testing.assert_array_equal(inside, expected)
    assert surface.counts[slice(*chosen.rows), slice(*chosen.columns)].sum() == inside.sum()
    (pair, _) = model.model_.pairs
    codes = model._encode(X)
    each = pair.scores[codes[2], codes[3]]
    assert surface.mean(chosen) == pytest.approx(each[inside].mean())
    ends = re.fullmatch(r"x2 is (\S+) to (\S+) and x3 is (\S+) or less", surface.rectangle_words(chosen))
    first, last, highest = map(float, ends.groups())
    np.testing.assert_array_equal(X["x2"].between(first, last) & (X["x3"] <= highest), expected)
    levels = model.explain_pair("c", "x2")
    assert levels.names == ("x2", "c")
    assert levels.second.nearest(0.6, 2.3) == (1, 3)
    assert levels.second.nearest(1.2, 1.4) == (1, 2)
    edges = surface.first.edges
    inside_one = edges[2] + np.array([0.6, 0.9]) * (edges[3] - edges[2])
    assert surface.first.nearest(*inside_one) == (2, 3)
    assert surface.first.nearest(-1e9, -1e8) == (0, 1)
    assert surface.first.nearest(1e8, 1e9) == (surface.first.size - 1, surface.first.size)
    two = Rectangle((0, levels.first.size), (1, 3))
    named = levels.second.labels[1:3]
    np.testing.assert_array_equal(rows_inside(model, X, levels, two), X["c"].isin(named) & X["x2"].notna())
    assert f"c is {named[0]} or {named[1]}" in levels.rectangle_words(two)


def test_the_interaction_of_renewal_is_found_drawn_and_clean():
    """Planted on the log-odds: 0.5 x (+1 from 36 months, else -1) x (+1 from a balance of 12,000, else -1)."""
    frame = pd.read_parquet(ROOT / "sample_data" / "renewal.parquet")
    frame = frame[frame["step"].isin(["renew", "drop"])]
    X = frame.drop(columns=["step", "customer_id", "confirm_page_seconds"])
    y = (frame["step"] == "renew").astype(int)
    model = GAMClassifier(interactions="auto", random_state=0, n_jobs=2).fit(X, y)
    ranked = model.pair_ranking_.loc[0, ["feature_1", "feature_2"]].tolist()
    assert ranked == ["balance", "tenure_months"]
    by_importance = sorted(model.model_.pairs, key=lambda pair: -pair.importance)
    assert len(by_importance) <= 3
    surface = model.explain_pair("balance", "tenure_months")
    assert by_importance[0].importance > 4 * max([pair.importance for pair in by_importance[1:]], default=0)
    rich, long = X["balance"] >= 12_000, X["tenure_months"] >= 36
    signs = np.where(rich, 1, -1) * np.where(long, 1, -1)
    share, part = [], []
    for of_rich in (rich, ~rich):
        for of_long in (long, ~long):
            share.append((of_rich & of_long).mean())
            part.append(0.5 * signs[(of_rich & of_long).to_numpy()][0])
    table = CellWeights.of(np.array(share).reshape(2, 2))
    mean, rows, columns = two_way(table, np.array([part]))
    pure = np.array(part).reshape(2, 2) - mean[0] - rows[0][:, None] - columns[0]
    for i, (low, high) in enumerate([(14_000, 1e6), (0, 10_000)]):
        for j, (least, most) in enumerate([(40, 200), (0, 32)]):
            chosen = Rectangle(surface.first.nearest(low, high), surface.second.nearest(least, most))
            assert surface.mean(chosen) == pytest.approx(pure[i, j], abs=0.2)
    mass = surface.scores * surface.counts
    np.testing.assert_allclose(mass.sum(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(mass.sum(axis=1), 0, atol=1e-6)
