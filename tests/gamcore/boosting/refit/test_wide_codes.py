"""Wide features: codes of 16 bits beside those of bytes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, add_bands, load_model, update
from gamcore.boosting.refit.rounds import make_sets, weigh_groups
from gamcore.data import numbers_in_order
from gamcore.io import to_python, to_sql
from gamcore.kernels import CODE, MOST_CODES, N_CODES, WIDE_CODE
from gamcore.kernels import curve_step as step
from gamcore.kernels.layout import CodedTable, Rows, Settings, make_fit, make_work
from gamcore.kernels.losses import SQUARED, no_change
from tests.support import naive
from tests.support.elsewhere import cells, in_duckdb, loaded

QUICK = {"outer_bags": 2, "max_rounds": 25, "random_state": 0}
LAST = 700


def a_table(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"a": rng.normal(size=n).round(2), "b": rng.integers(0, 8, n), "c": rng.choice(list("pqrstuvwxyz"), n)}
    )
    X.loc[rng.random(n) < 0.05, "a"] = np.nan
    score = np.sin(2 * X["a"].fillna(0)) + 0.2 * X["b"] + X["c"].isin(["q", "z"])
    return X, score.to_numpy(), rng


FITS = [
    {"objective": "squared"}, {"objective": "poisson"}, {"objective": "gamma"}, {"objective": "tweedie"},
    {"objective": "quantile"}, {"objective": "squared", "interactions": 2, "joint": True},
    {"objective": "squared", "ensemble": "bagging", "n_bags": 5}, {"objective": "squared", "bands": 10},
    *(
        {"objective": "squared", "ensemble": "subagging", "histogram": how, "n_bags": 5}
        for how in ("rescan", "mst", "complement", "mask")
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("options", FITS, ids=lambda one: " ".join(map(str, one.values())))
@pytest.mark.parametrize("weighted", [False, True])
def test_codes_of_two_bytes_give_the_same_model_to_the_bit(options, weighted, monkeypatch):
    X, score, rng = a_table()
    y = rng.poisson(np.exp(score)).astype(float) if options["objective"] != "gamma" else np.exp(score)
    weight = rng.uniform(0.5, 2, len(y)) if weighted else None
    narrow = GAMRegressor(**QUICK, **options).fit(X, y, sample_weight=weight)
    monkeypatch.setattr(numbers_in_order, "N_CODES", 12)
    wide = GAMRegressor(**QUICK, **options).fit(X, y, sample_weight=weight)
    assert [of_feature.dtype for of_feature in wide.model_.bins] == [WIDE_CODE, CODE, WIDE_CODE]
    np.testing.assert_array_equal(wide.predict(X), narrow.predict(X))
    if "bands" in options:
        np.testing.assert_array_equal(wide.model_.halves.terms[0].refits, narrow.model_.halves.terms[0].refits)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 4])
def test_so_do_those_of_classes(n_classes, monkeypatch):
    X, score, _ = a_table()
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    narrow = GAMClassifier(**QUICK, interactions=1).fit(X, y)
    monkeypatch.setattr(numbers_in_order, "N_CODES", 12)
    wide = GAMClassifier(**QUICK, interactions=1).fit(X, y)
    np.testing.assert_array_equal(wide.predict_proba(X), narrow.predict_proba(X))


@pytest.mark.slow
def test_threads_share_wide_features(monkeypatch):
    X, score, _ = a_table(3000)
    monkeypatch.setattr(numbers_in_order, "N_CODES", 12)
    alone = GAMRegressor(**QUICK, n_jobs=1).fit(X, score)
    monkeypatch.setattr("gamcore.boosting.refit.loop.THREADED_ROWS", 100)
    np.testing.assert_array_equal(GAMRegressor(**QUICK, n_jobs=2).fit(X, score).predict(X), alone.predict(X))


@pytest.mark.slow
def test_a_round_of_a_wide_and_a_narrow_feature_equals_its_twin():
    rng, n = np.random.default_rng(3), 2000
    narrow, wide = rng.integers(0, 9, (1, n)).astype(CODE), rng.integers(0, LAST + 1, (1, n)).astype(WIDE_CODE)
    starts = np.arange(0, n + 1, n // 8)
    table = CodedTable(
        narrow, starts, np.array([LAST, 8]), np.zeros(2, bool), np.arange(2), np.array([-1, 0]), wide
    )  # fmt: skip
    score = rng.normal(size=n)
    state = Rows(score.copy(), np.empty(0, np.uint8), np.empty(0))
    sets = make_sets(table, np.arange(6), weigh_groups(table, state.weight), 0.65, 3, 0, np.float64)
    fit = make_fit(2, no_change(SQUARED), np.float64, table.n_codes)
    work, buffer = make_work(3, 3, np.float64, table.n_codes), np.zeros(6 * 2 * table.n_codes)
    step.grouped_round(table, state, sets, fit, Settings(SQUARED, False, 0.3, 3, 0.0, 10.0, 3), 0, work, buffer)
    for j, codes in enumerate(table.lines()):
        bags = [
            [(i, 1) for k in bag for i in range(starts[k], starts[k + 1])] for bag in sets.member[j % len(sets.member)]
        ]
        expected = naive.step(codes, table.last[j], score, np.ones(n), np.ones(n), bags, False, 3, 0.3)
        np.testing.assert_allclose(fit.curves[j, : table.last[j] + 1], expected, atol=1e-12)
        score -= expected[codes]


@pytest.mark.slow
def test_a_jump_between_neighbours_of_thousands_of_values_is_found():
    rng = np.random.default_rng(0)
    stamp = rng.permutation(np.arange(12_000) // 3)
    X, y = pd.DataFrame({"stamp": stamp, "b": rng.integers(0, 5, stamp.size)}), 1.0 * (stamp % 40 == 7)
    errors = {}
    for max_bins in (256, MOST_CODES):
        model = GAMRegressor(max_bins=max_bins, max_leaves=3, **QUICK | {"max_rounds": 150}).fit(X, y)
        errors[max_bins] = float(np.mean((model.predict(X) - y) ** 2))
    assert model.model_.bins[0].size == 4002
    assert model.model_.bins[1].dtype is CODE
    assert errors[MOST_CODES] < 0.7 * errors[256]


@pytest.fixture(scope="module")
def many_levels():
    rng = np.random.default_rng(1)
    shop = rng.integers(0, 1200, 30_000)
    X = pd.DataFrame({"shop": [f"s{k}" for k in shop], "b": rng.normal(size=shop.size)})
    y = rng.normal(size=1200)[shop] + 0.3 * X["b"] + rng.normal(size=shop.size)
    return X, y, GAMRegressor(random_state=0).fit(X, y)


@pytest.mark.slow
def test_many_levels_have_a_bin_each_unless_fewer_are_asked_for(many_levels):
    X, y, model = many_levels
    pooled = GAMRegressor(random_state=0, max_bins=255).fit(X, y)
    assert model.model_.bins[0].size == 1202
    assert model.model_.bins[1].size == N_CODES
    assert pooled.model_.bins[0].size == 255
    assert model.score(X, y) > pooled.score(X, y) + 0.2


@pytest.mark.slow
def test_many_levels_are_predicted_as_random_effects(many_levels):
    """The other feature's effect is known here, so that the best prediction of each level is, too."""
    X, y, model = many_levels
    residual = y - 0.3 * X["b"]
    sums, n = residual.groupby(X["shop"]).sum(), X["shop"].value_counts()
    overall = residual.mean()
    best = (sums - n * overall) / (n + 1.0)  # effects and noise both have a variance of 1
    term = model.model_.terms[0]
    mine = pd.Series(term.scores[1:-1], model.model_.bins[0].levels)
    gap = (mine - best[mine.index]).std()
    assert gap < 0.05
    assert gap < 0.5 * (sums / n - overall - best).std()


@pytest.mark.slow
def test_the_first_number_of_levels_that_needs_two_bytes_is_shrunken_already():
    rng = np.random.default_rng(6)
    level = rng.permutation(np.arange(255 * 12) % 255)
    X = pd.DataFrame({"level": level.astype(str), "b": rng.normal(size=level.size)})
    model = GAMRegressor(**QUICK).fit(X, 2 * np.sin(2 * X["b"]) + rng.normal(size=level.size))
    assert model.model_.bins[0].dtype is WIDE_CODE
    assert np.abs(model.model_.terms[0].scores).max() < 0.1  # cuts would fit the noise of twelve rows


@pytest.mark.slow
def test_many_levels_without_an_effect_stay_together():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"shop": rng.integers(0, 1500, 30_000).astype(str), "b": rng.normal(size=30_000)})
    y = np.sin(2 * X["b"]) + rng.normal(size=len(X))
    for model in (GAMRegressor(random_state=0), GAMClassifier(random_state=0)):
        model.fit(X, y if isinstance(model, GAMRegressor) else y > 0)
        term = model.model_.terms[0]
        assert term.scores.size > 1400
        assert np.sqrt(np.average(term.scores**2, weights=term.counts)) < 0.06


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["poisson", "gamma", "tweedie", "quantile"])
def test_many_levels_of_every_objective_beat_the_pooled(objective):
    rng = np.random.default_rng(7)
    shop = rng.integers(0, 600, 24_000)
    score = rng.normal(scale=0.5, size=600)[shop]
    y = {"poisson": rng.poisson, "gamma": lambda mean: rng.gamma(2, mean / 2)}.get(objective, rng.exponential)(
        np.exp(score)
    )
    X, new = pd.DataFrame({"shop": [f"s{k}" for k in shop]}), np.arange(24_000) >= 12_000
    loss = {}
    for max_bins in (255, 256):
        model = GAMRegressor(objective=objective, max_bins=max_bins, random_state=0).fit(X[~new], y[~new])
        predicted = model.predict(X[new])
        loss[max_bins] = np.mean(
            np.abs(y[new] - predicted) if objective == "quantile" else (np.exp(score[new]) - predicted) ** 2
        )
    assert loss[256] < 0.98 * loss[255]


@pytest.mark.slow
def test_pairs_of_two_wide_features_with_too_many_cells_are_left_out_or_refused():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({name: rng.permutation(4000) for name in "ab"} | {"c": rng.normal(size=4000).round(1)})
    y = X["c"] * (X["a"] > 2000) + 0.1 * rng.normal(size=4000)
    model = GAMRegressor(**QUICK, max_bins=MOST_CODES, interactions=1).fit(X, y)
    assert model.model_.pairs[0].features == (0, 2)
    assert len(model.pair_ranking_) == 2
    with pytest.raises(ValueError, match="pair of 'a' and 'b' has more cells"):
        GAMRegressor(**QUICK, max_bins=MOST_CODES, interactions=[("a", "b")]).fit(X, y)


@pytest.mark.slow
def test_a_heat_map_of_many_levels_groups_them(many_levels):
    X, y, _ = many_levels
    model = GAMRegressor(**QUICK, interactions=[("shop", "b")]).fit(X, y)
    assert model.explain_pair("shop", "b").words() == "No joint effect of shop and b, beyond each alone."
    y = y + y.groupby(X["shop"]).transform("mean") * X["b"]
    model = GAMRegressor(**QUICK, interactions=[("shop", "b")]).fit(X, y)
    assert "levels" in model.explain_pair("shop", "b").words()
    np.testing.assert_allclose(model.predict(X), model.model_.score(model._encode(X)))


# How many bins numbers need


def finest(model):
    return max(of_feature.size for of_feature in model.model_.bins)


@pytest.mark.slow
def test_smooth_curves_keep_256_bins_and_jumps_get_more():
    rng = np.random.default_rng(0)
    a = rng.normal(size=6000)
    X = pd.DataFrame({"a": a, "b": rng.integers(0, 5, 6000)})
    y = np.sin(a) + rng.normal(size=6000)
    smooth = GAMRegressor(random_state=0, max_bins="auto").fit(X, y)
    assert finest(smooth) == N_CODES
    np.testing.assert_array_equal(smooth.predict(X), GAMRegressor(random_state=0).fit(X, y).predict(X))
    stamp = rng.permutation(np.arange(12_000) // 3)
    X, y = pd.DataFrame({"stamp": stamp}), 1.0 * (stamp % 40 < 3) + 0.1 * rng.normal(size=12_000)
    assert finest(GAMRegressor(**QUICK | {"max_rounds": 60}, max_bins="auto").fit(X, y)) >= 1024


@pytest.mark.slow
def test_steep_shapes_start_with_small_steps_and_smooth_ones_do_not(tmp_path):
    rng = np.random.default_rng(1)
    common = rng.normal(size=(6000, 1))
    X = pd.DataFrame(0.8 * common + 0.6 * rng.normal(size=(6000, 4)), columns=list("abcd"))
    noise = 0.1 * rng.normal(size=6000)
    steep = 5.0 * (X["a"] < -2.2) + 3.0 * (X["c"] > 2.3) + 2.0 * (X["d"] > 0.1) + noise
    models = [GAMRegressor(**QUICK, bands=10, max_bins="auto").fit(X, y) for y in (steep, np.sin(2 * X["a"]) + noise)]
    assert [model.steep_ for model in models] == [True, False]
    models[0].save(tmp_path / "steep.gamx")
    again = load_model(tmp_path / "steep.gamx")
    assert again.steep_
    later = add_bands(again, X, steep, n_refits=10).model_.halves.terms[0].refits
    np.testing.assert_array_equal(later, models[0].model_.halves.terms[0].refits)
    asked = GAMRegressor(**QUICK, max_bins=max(256, finest(models[0])), smoothing_rounds=0).fit(X, steep)
    assert asked.steep_
    np.testing.assert_array_equal(asked.predict(X), models[0].predict(X))


@pytest.mark.slow
def test_a_loaded_model_learns_on_with_the_start_it_was_fitted_with(tmp_path):
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.normal(size=2000)}).assign(b=lambda frame: frame["a"] + 0.3 * rng.normal(size=2000))
    y = np.sin(X["a"]) + rng.normal(size=2000)
    model = GAMRegressor(**QUICK, keep_tables=True, smoothing_rounds=0).fit(X[:1500], y[:1500])
    model.save(tmp_path / "model.gamx")
    again = load_model(tmp_path / "model.gamx")
    again.tables_ = model.tables_
    for one in (model, again):
        update(one, X[1500:], y[1500:])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.slow
def test_a_model_of_many_levels_is_kept_and_read_elsewhere(many_levels, tmp_path):
    X, _, model = many_levels
    model.save(tmp_path / "m.gamx")
    again = load_model(tmp_path / "m.gamx")
    unknown = X.head(5).assign(shop=["s1", "nowhere", None, "s7", "s1199"])
    for rows in (X.head(200), unknown):
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
        found = in_duckdb(rows, to_sql(model, "rows to score"))
        np.testing.assert_allclose(found["prediction"], model.predict(rows), rtol=0, atol=1e-9)
        predict = loaded(to_python(model))["predict"]
        np.testing.assert_allclose([predict(row) for row in cells(rows)], model.predict(rows), rtol=0, atol=1e-9)


def test_counts_of_wide_features_are_not_kept():
    X, score, _ = a_table(300)
    with pytest.raises(ValueError, match="max_bins=256 or fewer"):
        GAMRegressor(keep_tables=True, max_bins=1024).fit(X, score)
