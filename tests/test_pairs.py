"""Pairs of features: merged bins, purification, ranking, the second stage, surfaces."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore import GAMClassifier, GAMRegressor, TableError, load_model
from gamcore.binning import merge_bins
from gamcore.explain import explain_rows
from gamcore.purify import Cells, two_way
from gamcore.surface import explain_pair
from tests import naive

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
    cells = Cells.of(weight)
    mean, rows, columns = two_way(cells, surface[None, cells.rows, cells.columns])
    pure = surface - mean[0] - rows[0][:, None] - columns[0]
    expected = naive.two_way(surface, weight)[2]
    np.testing.assert_allclose(np.where(weight > 0, pure - expected, 0), 0, atol=1e-9)
    np.testing.assert_allclose((pure * weight).sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose((pure * weight).sum(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose([rows[0] @ weight.sum(axis=1), columns[0] @ weight.sum(axis=0)], 0, atol=1e-9)


def planted(p, n=4000, correlation=0.0, xor=True, seed=0, binary=False):
    """Features of normal values, strong main effects of two of them, and an XOR of two others."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    values = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * rng.normal(size=(n, p))
    X = pd.DataFrame(values, columns=[f"x{j}" for j in range(p)])
    score = 2 * X["x0"] + np.sin(2 * X["x1"])
    score = score + (np.sign(X["x2"]) * np.sign(X["x3"]) if xor else 0.0)
    if binary:
        return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    return X, score + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
@pytest.mark.parametrize("p", [10, 50])
def test_a_planted_xor_is_first_and_additive_data_have_next_to_nothing(p, correlation, binary):
    kind = GAMClassifier if binary else GAMRegressor
    strengths = []
    for xor in (True, False):
        X, y = planted(p, 8000, correlation, xor, binary=binary)
        ranking = kind(interactions=0, **QUICK).fit(X, y).rank_pairs(X, y)
        assert len(ranking) == p * (p - 1) // 2
        strengths.append(ranking["strength"].max())
        if xor:
            assert ranking.loc[0, ["feature_1", "feature_2"]].tolist() == ["x2", "x3"]
    assert strengths[1] < (0.05 if binary else 0.01) * strengths[0]


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
    for pair in pure.model_.pairs:
        for k in range(3):
            mass = pair.refit(k) * pair.counts
            np.testing.assert_allclose(mass.sum(axis=0), 0, atol=1e-8)
            np.testing.assert_allclose(mass.sum(axis=1), 0, atol=1e-8)
    for term in pure.model_.terms:
        np.testing.assert_allclose(term.refits @ term.counts, 0, atol=1e-7)
    parts = explain_rows(pure.model_, pure._encode(X))
    np.testing.assert_allclose(parts.intercept + parts.contributions.sum(axis=1), parts.scores, atol=1e-9)
    assert parts.features[-3:] == ("x2 × x3", "x0 × c", "x0 × x1")


def test_auto_keeps_what_helps_and_says_what_each_adds():
    X, y = planted(8, 6000)
    model = GAMRegressor(interactions="auto", **QUICK).fit(X, y)
    assert (2, 3) in [pair.features for pair in model.model_.pairs]
    assert len(model.model_.pairs) <= 3
    assert model.pair_path_[0][0] == 0
    assert len(model.pair_worth_) == len(model.model_.pairs)
    X, y = planted(8, 6000, xor=False)
    assert len(GAMRegressor(interactions="auto", **QUICK).fit(X, y).model_.pairs) <= 1


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
    assert surface.scores.shape == surface.counts.shape == (32, 32)
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
    found = np.zeros((32, 32))
    np.add.at(found, place, 1)
    np.testing.assert_array_equal(found, surface.counts)
    corners = [surface.scores[:8, :8], surface.scores[:8, -8:], surface.scores[-8:, :8], surface.scores[-8:, -8:]]
    assert [float(np.sign(c.mean())) for c in corners] == [1, -1, -1, 1]
    frame = surface.frame()
    assert len(frame) == 32 * 32
    assert frame["(rows)"].sum() == surface.counts.sum()
    assert "x2" in surface.words()
