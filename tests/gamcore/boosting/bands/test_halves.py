"""Bands: their construction, their coverage, and that computing them changes nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

from gamcore import GAMClassifier, GAMRegressor, add_bands, load_model, pair_ranking, pair_worth
from gamcore.boosting.bands.halves import _spread_out
from gamcore.boosting.rows.source import Encoded
from gamcore.data.binning import Binned, bin_table
from gamcore.data.columns import TableError
from gamcore.data.table import Table, learn_features
from gamcore.estimators.additive_parameters import boosting_parameters
from gamcore.explain.curves import NO_BAND, POINTWISE
from gamcore.io import gamx as serialize
from gamcore.io.checks import ModelFileWarning
from gamcore.model.additive import Term
from gamcore.model.losses import LOSSES
from gamcore.stats.bands import USUAL_SHARE, deviation, half_scale, pointwise, quick_scale, simultaneous

QUICK = {"max_rounds": 15, "outer_bags": 4, "random_state": 0}


def table(n=600, seed=0, binary=False):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n).round(1), "b": rng.uniform(size=n).round(2)})
    X["c"] = rng.choice(list("xyz"), n)
    X.loc[::11, "a"] = np.nan
    score = np.tanh(X["a"].fillna(1)) + 2 * X["b"] + (X["c"] == "x") - 1
    y = rng.uniform(size=n) < 1 / (1 + np.exp(-score)) if binary else score + 0.5 * rng.normal(size=n)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def banded():
    X, y = table(binary=True)
    return GAMClassifier(**QUICK, bands=12, interactions=[("a", "b")]).fit(X, y), X, y


def test_half_widths_are_those_of_the_t_distribution():
    for n in (4, 8, 30):
        assert pointwise(n) == pytest.approx(stats.t.ppf(0.975, n - 1))
    assert quick_scale(0.85) == pytest.approx(np.sqrt(0.85 / 0.15))
    assert quick_scale(1.0) == 0.0


def test_a_band_of_independent_places_is_that_of_the_largest_of_them():
    """Compare with the studentized maximum modulus of 10 means with 199 degrees of freedom, by its definition."""
    rng = np.random.default_rng(1)
    found = simultaneous(rng.normal(size=(200, 10)), np.ones(10, bool))
    draws = np.abs(rng.normal(size=(200_000, 10))).max(axis=1) / np.sqrt(rng.chisquare(199, 200_000) / 199)
    assert found == pytest.approx(np.quantile(draws, 0.95), rel=0.03)


def test_a_band_widens_with_places_that_move_apart():
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=(30, 1)), rng.normal(size=(30, 60))
    together = simultaneous(np.repeat(common, 5, axis=1), np.ones(5, bool))
    apart = simultaneous(own, np.ones(60, bool))
    some = simultaneous(own, np.arange(60) < 5)
    assert pointwise(30) <= together < some < apart
    assert simultaneous(np.zeros((30, 5)), np.ones(5, bool)) == pointwise(30)


@pytest.mark.slow
def test_half_samples_tell_the_standard_error_of_a_mean():
    """The delete-d jackknife is exact for means, so no correction factor is needed."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    data = Encoded(Binned(np.zeros((0, 400), np.uint8), ()), y, None, LOSSES["squared"])
    means = np.array([[data.half(seed).y.mean()] for seed in range(2000)])
    assert deviation(means)[0] == pytest.approx(y.std(ddof=1) / 20, rel=0.05)


def test_halves_keep_clusters_whole_and_classes_in_proportion():
    codes = np.arange(300, dtype=np.uint8)[None] % 250
    y = (np.arange(300) % 10 == 0).astype(float)
    clusters = np.arange(300) // 7
    strata = Encoded(Binned(codes, ()), y, None, LOSSES["logistic"], None, y.astype(np.int64)).half(3)
    assert strata.y.size == 150
    assert strata.y.sum() == 15
    half = Encoded(Binned(codes, ()), np.arange(300.0), np.ones(300), LOSSES["squared"], clusters).half(3)
    rows = half.y.astype(int)
    assert set(clusters[rows]).isdisjoint(clusters[np.setdiff1d(np.arange(300), rows)])
    assert 140 <= rows.size <= 160
    assert half.clusters.max() + 1 == len(set(clusters[rows]))
    np.testing.assert_array_equal(half.binned.codes[0], codes[0, rows])
    assert half.binned.codes.flags.c_contiguous  # another layout would compile the kernels again


def test_bands_later_are_those_of_the_fit_whatever_the_threads(banded):
    model, X, y = banded
    later = GAMClassifier(**QUICK, interactions=[("a", "b")], n_jobs=2).fit(X, y)
    assert later.model_.halves is None
    before = later.decision_function(X)
    add_bands(later, X, y, n_refits=12)
    np.testing.assert_array_equal(later.decision_function(X), before)
    for mine, theirs in zip(later.model_.halves.terms, model.model_.halves.terms, strict=True):
        np.testing.assert_array_equal(mine.refits, theirs.refits)
    np.testing.assert_array_equal(later.model_.halves.pairs[0].surfaces, model.model_.halves.pairs[0].surfaces)


def test_the_curve_is_in_the_middle_of_its_bands(banded):
    model = banded[0]
    for name in ("a", "b", "c"):
        curve = model.explain_shape(name)
        assert curve.band == POINTWISE
        assert curve.has_whole
        np.testing.assert_allclose((curve.lower + curve.upper) / 2, curve.scores, atol=1e-12)
        half = model.model_.halves.terms[model._feature_index(name)]
        inside = slice(1, curve.scores.size + 1)
        reach = pointwise(12) * half_scale(USUAL_SHARE, model.model_.clarity)
        np.testing.assert_allclose(curve.upper - curve.scores, reach * half.refits[:, inside].std(0, ddof=1))
        assert (np.ptp(curve.whole, axis=0) >= curve.upper - curve.lower - 1e-12).all()
        assert curve.unseen[1] == curve.unseen[2] == 0
        frame = curve.frame()
        assert frame["lower, whole curve"].notna().sum() == curve.scores.size
    assert model.explain_shape("a").missing_whole[0] < model.explain_shape("a").missing[0]


def test_pairs_have_bands_of_their_own(banded):
    found = banded[0].explain_pair("a", "b")
    assert found.has_whole
    assert (found.lower <= found.scores).all()
    assert (found.whole[1] >= found.upper - 1e-12).all()
    turned = found.turned()
    np.testing.assert_array_equal(turned.whole[0], found.whole[0].T)
    assert "(upper, all cells)" in found.frame()


def test_without_halves_there_is_a_quick_band_or_none():
    X, y = table()
    model = GAMRegressor(**QUICK).fit(X, y)
    curve, term = model.explain_shape("b"), model.model_.terms[1]
    scale = np.sqrt(0.85 / 0.15) * pointwise(4)
    np.testing.assert_allclose(curve.upper - curve.scores, scale * term.refits[:, 1:-1].std(0, ddof=1))
    assert curve.band == "quick 95% band of 4 refits, point by point"
    assert not curve.has_whole
    for parameters in ({"outer_bags": 3}, {"validation_fraction": 0.0}):
        bare = GAMRegressor(**{**QUICK, **parameters}).fit(X, y).explain_shape("b")
        assert bare.band == NO_BAND
        np.testing.assert_array_equal(bare.lower, bare.upper)


def test_bands_survive_a_file(banded, tmp_path):
    model, X, _ = banded
    model.save(tmp_path / "m.gamx")
    loaded = load_model(tmp_path / "m.gamx")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.model_.base == model.model_.base
    for name in ("a", "c"):
        np.testing.assert_array_equal(loaded.explain_shape(name).whole, model.explain_shape(name).whole)
    np.testing.assert_array_equal(loaded.explain_pair("a", "b").whole, model.explain_pair("a", "b").whole)


def test_a_stopped_search_for_bands_leaves_the_model_as_it_was():
    X, y = table()
    model = GAMRegressor(**QUICK).fit(X, y)
    told = []
    add_bands(model, X, y, callback=lambda progress: told.append(progress.stage) or len(told) > 20)
    assert model.model_.halves is None
    assert set(told) == {"bands"}


def test_too_few_rows_are_refused_before_anything_is_fitted():
    X, y = table(60, binary=True)
    y = np.arange(60) < 3
    with pytest.raises(TableError, match="rows of each class and there are 3"):
        GAMClassifier(**QUICK, bands=10).fit(X, y)
    with pytest.raises(TableError, match="at least 4 groups"):
        GAMRegressor(**QUICK, bands=10).fit(*table(60), groups=np.arange(60) % 3)
    with pytest.raises(ValueError, match="'bands' parameter"):
        GAMRegressor(bands=5).fit(*table(60))


@pytest.mark.slow
@pytest.mark.parametrize("binary", [False, True])
def test_bands_cover_a_known_curve(binary):
    """Check with few replications; `benchmarks.boosting.coverage` measures the actual figures."""
    kind = GAMClassifier if binary else GAMRegressor
    inside, whole = [], []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, 1500).round(1)
        truth = 1.5 * x
        y = rng.uniform(size=1500) < 1 / (1 + np.exp(-truth)) if binary else truth + rng.normal(size=1500)
        curve = kind(random_state=seed, bands=30).fit(x[:, None], y).explain_shape(0)
        known = 1.5 * curve.display - np.average(1.5 * curve.display, weights=curve.counts)
        inside.append(((curve.lower <= known) & (known <= curve.upper)).mean())
        whole.append(((curve.whole[0] <= known) & (known <= curve.whole[1])).all())
    assert np.mean(inside) > 0.88
    assert np.mean(whole) >= 0.8


def test_a_level_that_the_rows_at_hand_lack_is_not_called_sure():
    """Half-samples of a table larger than memory come from its sample, which may lack levels that the model has."""
    rng = np.random.default_rng(0)
    n = 4_000
    X = pd.DataFrame({"a": rng.normal(size=n), "c": rng.choice(["p", "q"], n)})
    X.loc[:39, "a"], X.loc[40:79, "c"] = np.nan, "rare"
    y = (rng.uniform(size=n) < 0.1).astype(int)
    y[:80] = np.repeat([1, 0], 40)[rng.permutation(80)]
    model = GAMClassifier(max_rounds=60, n_jobs=2, random_state=0, categorical_features=["c"]).fit(X, y)
    add_bands(model, X[80:1_500], y[80:1_500], n_refits=20)
    by_itself = 1.96 / np.sqrt(40 * y.mean() * (1 - y.mean()))
    missing, (_, _, rare) = model.explain_shape("a").missing, zip(*band(model.explain_shape("c")), strict=True)
    for score, low, high in (missing[:3], rare):
        assert 0.8 * by_itself < high - score < 1.5 * by_itself
        assert high - score == pytest.approx(score - low)
    sure = model.explain_shape("c")
    assert (sure.upper - sure.lower)[:2].max() < by_itself  # levels that occur in the given rows are unaffected


def band(curve):
    return curve.scores, curve.lower, curve.upper


@pytest.mark.slow
@pytest.mark.parametrize(
    "odd", [{"max_leaves": 1000}, {"max_leaves": 65}, {"coarse_leaves": 5000}, {"n_bags": 10**9}, {"learning_rate": -5},
            {"learning_rate": 1e300}, {"subsample": 30}, {"validation_fraction": -3}, {"early_stopping_rounds": 10**30},
            {"max_rounds": "many"}, {"n_jobs": 0}, {"n_bags": True}],
)  # fmt: skip
@pytest.mark.parametrize("way", ["set_params", "file"])
def test_whatever_computes_checks_its_parameters_first(odd, way, tmp_path):
    """A kernel would write beyond its work arrays if a parameter were larger than they were allocated for."""
    X, y = table(80)
    model = GAMRegressor(random_state=0, max_rounds=5, outer_bags=1).fit(X, y)
    if way == "file":
        model.save(tmp_path / "m.gamx")
        saved = serialize.load(tmp_path / "m.gamx")
        saved.about["parameters"].update(odd)
        serialize.save(saved, tmp_path / "odd.gamx")
        with pytest.warns(ModelFileWarning, match=next(iter(odd))):
            model = load_model(tmp_path / "odd.gamx")
        default = GAMRegressor().get_params()
        assert all(model.get_params()[name] == default[name] for name in odd)
        add_bands(model, X, y, n_refits=10)
        return
    model.set_params(**odd)
    for act in (lambda: add_bands(model, X, y), lambda: pair_ranking(model, X, y), lambda: pair_worth(model, X, y),
                lambda: model.fit(X, y)):  # fmt: skip
        with pytest.raises(InvalidParameterError, match=next(iter(odd))):
            act()


@pytest.mark.parametrize("n_refits", [9, 10.5, "30", 10**9, None, np.nan])
def test_odd_numbers_of_bands_are_refused(n_refits):
    X, y = table(80)
    with pytest.raises(ValueError, match="bands need 10 to"):
        add_bands(GAMRegressor(random_state=0, max_rounds=5, outer_bags=1).fit(X, y), X, y, n_refits=n_refits)


@pytest.mark.parametrize("interactions", ["auto", [["a", "no such column"]]])
def test_bands_take_the_pairs_of_the_model_whatever_its_settings_say(interactions):
    X, y = table(80)
    model = GAMRegressor(random_state=0, max_rounds=5, outer_bags=1, validation_fraction=0.0).fit(X, y)
    plain = add_bands(clone(model).fit(X, y), X, y, n_refits=10)
    add_bands(model.set_params(interactions=interactions), X, y, n_refits=10)
    assert model.explain_shape(0).upper.tobytes() == plain.explain_shape(0).upper.tobytes()


def test_work_arrays_are_made_for_the_leaves_they_are_given():
    recipe = boosting_parameters(GAMRegressor(), 100)
    for odd in ({"max_leaves": 65}, {"coarse_leaves": 65}, {"n_bags": 1001}, {"n_bags": 0}, {"max_leaves": 0}):
        with pytest.raises(ValueError, match="max_leaves must be"):
            replace(recipe, **odd)


@given(seed=st.integers(0, 10**6), is_category=st.booleans())
def test_refits_that_agree_too_well_are_spread_out(seed, is_category):
    """To the standard error that is asked for: neighbouring values together, levels and missing cells by themselves."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": [f"{k:02d}" for k in range(20)] if is_category else np.arange(20.0)})
    bins = bin_table(X, learn_features(Table(X))).bins[0]
    refits = rng.normal(size=(9, bins.size)) * rng.exponential(size=bins.size)
    half = Term(0, refits.mean(axis=0), refits, np.ones(bins.size))
    term = Term(0, rng.normal(size=bins.size), refits, np.ones(bins.size))
    least = np.where(rng.random(bins.size) < 0.5, rng.exponential(size=bins.size), 0.0)
    spread = _spread_out(term, half, bins, least)
    np.testing.assert_allclose(spread.deviation, np.maximum(half.deviation, least), rtol=1e-9)
    narrow = half.deviation < least
    np.testing.assert_array_equal(spread.refits[:, ~narrow], refits[:, ~narrow])
    np.testing.assert_allclose(spread.scores[narrow], term.scores[narrow], atol=1e-12)
    for k in np.flatnonzero(narrow[1:] & narrow[:-1]):
        alike = np.corrcoef(spread.refits[:, k], spread.refits[:, k + 1])[0, 1]
        assert (alike > 1 - 1e-9) == (k > 0 and not is_category)
