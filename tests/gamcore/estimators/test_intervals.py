"""Prediction intervals: how often they hold, where they are narrow, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from gamcore import (
    GAMClassifier,
    GAMRegressor,
    TableError,
    add_bands,
    fit_intervals,
    load_model,
    predict_interval,
    uncertainty,
)
from gamcore.data.binning import encode_table
from gamcore.data.table import Table
from gamcore.estimators.base import to_saved
from gamcore.estimators.intervals import UnseenRows, _moved, _n_units
from gamcore.estimators.reading import reading
from gamcore.estimators.saved import from_saved
from gamcore.io.gamx import from_bytes, to_bytes
from gamcore.model.intervals import Calibration, calibrated, cuts_between
from gamcore.model.outcomes import Rows
from tests.support.fits import friendly, outcomes, tweedie

QUICK = {"outer_bags": 2, "max_rounds": 40, "random_state": 0}
COVERAGES = (0.8, 0.9, 0.95)
CALIBRATING = 200


def draw(kind, n, rng):
    """Make rows whose noise is wide at high x, but for `even`; return the table, the target and the noise's sd."""
    X = pd.DataFrame({"x": rng.uniform(-2, 2, n).round(2), "c": rng.choice(list("abc"), n)})
    mean, spread = np.sin(2 * X["x"]) + (X["c"] == "b"), 0.4 * np.exp(0.6 * X["x"] + 0.5 * (X["c"] == "a"))
    if kind in ("poisson", "gamma", "tweedie"):
        return X, outcomes(kind, mean.to_numpy(), rng), spread.to_numpy()
    noise = rng.exponential(size=n) - 1.0 if kind == "skewed" else rng.normal(size=n)
    spread = np.full(n, 0.5) if kind == "even" else spread.to_numpy()
    return X, mean.to_numpy() + spread * noise, spread


def fitted(kind="wide", seed=0, n=600, **settings):
    rng = np.random.default_rng(seed)
    objective = {"objective": kind} if kind in ("poisson", "gamma", "tweedie") else {}
    model = GAMRegressor(**{**QUICK, **objective, "random_state": seed, **settings}).fit(*draw(kind, n, rng)[:2])
    return model, rng


def beyond(model, X, y, coverage):
    """Return the shares of rows below and above their intervals."""
    lower, upper = predict_interval(model, X, coverage).T
    return np.array([np.mean(y < lower), np.mean(y > upper)])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["even", "wide", "skewed", "gamma"])
def test_either_end_is_missed_as_often_as_it_may_be(kind):
    """Over tables: how often a table's own intervals are missed has an error of about sqrt(a (1 - a) / m)."""
    missed = []
    for seed in range(30):
        model, rng = fitted(kind, seed)
        fit_intervals(model, *draw(kind, 2 * CALIBRATING, rng)[:2])
        X, y, _ = draw(kind, 2000, rng)
        missed.append([beyond(model, X, y, coverage) for coverage in COVERAGES])
    for coverage, shares in zip(COVERAGES, np.mean(missed, axis=0), strict=True):
        tail = (1 - coverage) / 2
        error = 3 * np.sqrt(tail * (1 - tail) * (1 / CALIBRATING + 1 / 2000) / 30)
        assert (shares < tail + error).all(), (coverage, shares)
        assert (shares > tail - 1 / (CALIBRATING + 1) - error).all(), (coverage, shares)


def test_intervals_are_narrow_where_noise_is():
    model, rng = fitted("wide", n=2000)
    fit_intervals(model, *draw("wide", 2000, rng)[:2])
    X, y, spread = draw("wide", 4000, rng)
    lower, upper = predict_interval(model, X).T
    assert np.corrcoef(np.log(upper - lower), np.log(spread))[0, 1] > 0.85
    quiet = spread < np.quantile(spread, 0.25)
    assert 0.85 < np.mean((y >= lower) & (y <= upper), where=quiet) < 0.95
    assert (upper - lower)[quiet].mean() < 0.4 * (upper - lower)[~quiet].mean()


def test_what_makes_it_uncertain_is_a_model_with_curves():
    model, rng = fitted("wide", n=2000, outer_bags=8, interactions=[("x", "c")])
    fit_intervals(model, *draw("wide", 4000, rng)[:2])
    scale = uncertainty(model)
    curve = scale.explain_shape("x").on("ratio")
    assert curve.has_band
    assert curve.edges[0] == model.explain_shape("x").edges[0]
    truth = np.exp(0.6 * curve.display)
    assert np.corrcoef(np.log(curve.scores), np.log(truth))[0, 1] > 0.95
    assert curve.scores[-5:].mean() / curve.scores[:5].mean() == pytest.approx(np.exp(0.6 * 3.8), rel=0.35)
    assert scale.importance("ratio").ranked_features() == ["x", "c"]
    assert scale.explain_shape("c").on("ratio").scores[0] > 1.2  # level a
    assert scale.model_.pairs == ()
    assert scale.outer_bags == 4
    assert dict(reading(scale).facts)["Refits"] == "4"
    assert "gamcore" in scale._repr_html_()  # and its curves, in a notebook
    assert scale.predict(draw("wide", 5, rng)[0]).min() > 0


@pytest.mark.parametrize("rows", [9, 19, 20, 39, 57, 200])
def test_ends_are_the_ranks_of_split_conformal(rows):
    rng = np.random.default_rng(rows)
    scores = rng.normal(size=rows)
    made = calibrated(scores, None, None)
    for coverage in ("0.5", "0.8", "0.9", "0.95", "0.99"):
        rank = ceil((rows + 1) * (1 + Fraction(coverage)) / 2)
        if rank > rows:
            with pytest.raises(ValueError, match="calibration rows"):
                made.factors(float(coverage))
            continue
        lower, upper = made.factors(float(coverage))
        assert upper == sorted(scores)[rank - 1]
        assert lower == -sorted(-scores)[rank - 1]


def naive_end(scores, weights, share):
    """Return the lowest score at which the calibration rows up to it have a share of all weight and one more row's."""
    for score in sorted(scores):
        if sum(w for s, w in zip(scores, weights, strict=True) if s <= score) >= share * (sum(weights) + 1) - 1e-9:
            return score
    return np.inf


@pytest.mark.parametrize("seed", range(5))
def test_weights_and_clusters_count_as_their_definition_says(seed):
    rng = np.random.default_rng(seed)
    scores, weight, clusters = rng.normal(size=90), rng.uniform(0.5, 2.0, 90), rng.permutation(np.arange(90) % 40)
    alike = np.array([weight[i] / weight[clusters == clusters[i]].sum() for i in range(90)])
    for made, weights in (
        (calibrated(scores, weight, None), weight / weight.max()),
        (calibrated(scores, weight, clusters), alike),
    ):
        for coverage in (0.5, 0.8, 0.9):
            lower, upper = made.factors(coverage)
            share = (1 + coverage) / 2
            assert upper == naive_end(scores, weights, share)
            assert lower == -naive_end(-scores, weights, share)


def test_more_coverage_is_a_wider_interval_around_the_same():
    model, rng = fitted("skewed")
    fit_intervals(model, *draw("skewed", 800, rng)[:2])
    X, _, _ = draw("skewed", 300, rng)
    inner, outer = predict_interval(model, X, 0.5), predict_interval(model, X, 0.99)
    assert (outer[:, 0] < inner[:, 0]).all()
    assert (inner[:, 0] < inner[:, 1]).all()
    assert (inner[:, 1] < outer[:, 1]).all()
    longer, shorter = outer[:, 1] - model.predict(X), model.predict(X) - outer[:, 0]
    assert (longer > 1.5 * shorter).all()  # the noise has a long upper tail


@pytest.mark.parametrize("objective", ["poisson", "gamma", "tweedie"])
def test_what_cannot_be_negative_has_no_lower_end_below_0(objective):
    model, rng = fitted(objective)
    fit_intervals(model, *draw(objective, 600, rng)[:2])
    X, y, _ = draw(objective, 3000, rng)
    ends = predict_interval(model, X, 0.95)
    assert ends.min() >= 0.0
    assert np.mean((y >= ends[:, 0]) & (y <= ends[:, 1])) > 0.93


class Exposed(GAMRegressor):
    """A model whose predictions an exposure multiplies."""

    def predict(self, X, exposure=None):
        return super().predict(X) * (1.0 if exposure is None else exposure)


@pytest.mark.parametrize(("objective", "factor"), [("gamma", 4.0), ("squared", 1.0)])
def test_a_mean_four_times_as_high_has_its_root_of_variance(objective, factor):
    rng = np.random.default_rng(0)
    X, y, _ = draw("gamma" if objective == "gamma" else "wide", 1200, rng)
    model = Exposed(objective=objective, **QUICK).fit(X[:600], y[:600])
    fit_intervals(model, X[600:], y[600:], exposure=np.ones(600))
    one, four = (_moved(model, X, {"exposure": np.full(1200, times)}) for times in (1.0, 4.0))
    if objective == "squared":
        assert one is four is None
    else:
        np.testing.assert_allclose(np.exp(four - one), factor)
    ends = [predict_interval(model, X, 0.8, exposure=np.full(1200, times)) for times in (1.0, 4.0)]
    above = [upper - mean for (_, upper), mean in zip((e.T for e in ends), (model.predict(X), 4 * model.predict(X)),
                                                      strict=True)]  # fmt: skip
    np.testing.assert_allclose(above[1], factor * above[0], rtol=1e-9)


LEVELS = {"rare": -3.9, "frequent": 4.0}
"""Logs of the mean of a year, where it is not one and a half."""


def draw_counts(kind, n, rng):
    """Make rows with an exposure: overdispersed counts, or amounts, of which a share is 0 whatever the features."""
    X = pd.DataFrame({"x": rng.uniform(-2, 2, n).round(2), "c": rng.choice(list("abc"), n)})
    exposure = np.where(rng.random(n) < 0.5, 1.0, rng.uniform(0.05, 1.0, n).round(2))
    if kind == "days to decades":
        exposure = np.exp(rng.uniform(np.log(0.05), np.log(10), n))
    mean = np.exp(LEVELS.get(kind, 0.4) + np.sin(2 * X["x"]) + 0.7 * (X["c"] == "b")).to_numpy() * exposure
    there = rng.random(n) > (0.0 if kind == "overdispersed" else 0.25)
    if kind == "tweedie":
        return X, exposure, tweedie(mean, 1.5, 1.5, rng) * there
    return X, exposure, rng.poisson(mean * rng.gamma(2.0, 0.5, n)) * there * 1.0


def counted(kind, seed=0, n=2400, **changes):
    rng = np.random.default_rng(seed)
    objective = "tweedie" if kind == "tweedie" else "poisson"
    model = GAMRegressor(**{**QUICK, "objective": objective, "random_state": seed, **changes})
    X, exposure, y = draw_counts(kind, 1000, rng)
    model.fit(X, y, exposure=exposure)
    X, exposure, y = draw_counts(kind, n, rng)
    return fit_intervals(model, X, y, exposure=exposure), rng


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["overdispersed", "inflated", "tweedie", *LEVELS, "days to decades"])
def test_the_promise_holds_in_each_tenth_of_the_prediction(kind):
    """Levels of outcomes, at random within their masses, are inside as often as was asked for; outcomes themselves
    at least so often, and those within the ends, both left out, at most."""
    shares = []
    for seed in range(8):
        model, rng = counted(kind, seed)
        X, exposure, y = draw_counts(kind, 4000, rng)
        mean, intervals = model.predict(X, exposure=exposure), model.model_.intervals
        level = intervals.outcomes.scores(y, Rows(mean, np.empty((2, 4000))), rng)
        tenth = np.searchsorted(np.quantile(mean, np.arange(1, 10) / 10), mean)
        for coverage in COVERAGES:
            lower, upper = predict_interval(model, X, coverage, exposure=exposure).T
            low, high = intervals.scores_of_ends(mean, coverage).T
            inside = (level >= low) & (level <= high), (y >= lower) & (y <= upper), (y > lower) & (y < upper)
            shares += [(coverage, k, *(share[tenth == k].mean() for share in inside)) for k in np.unique(tenth)]
            assert (y >= lower)[lower > 0].mean() >= coverage if (lower > 0).sum() > 200 else True
    table = pd.DataFrame(shares, columns=["coverage", "tenth", "levels", "outcomes", "strictly"])
    means = table.groupby(["coverage", "tenth"]).mean()
    asked = means.index.get_level_values("coverage").to_numpy()
    error = 3 * np.sqrt(asked * (1 - asked) * (1 / 120 + 1 / 400) / 8)
    assert (means["levels"] > asked - error).all(), means
    assert (means["levels"] < asked + 1 / 60 + error).all(), means
    assert (means["outcomes"] >= means["levels"] - error).all(), means
    assert (means["strictly"] <= means["levels"] + error).all(), means


@pytest.mark.parametrize("kind", ["overdispersed", "inflated"])
def test_ends_of_counts_are_whole_and_those_of_the_own_exposure(kind):
    model, rng = counted(kind)
    X, _, _ = draw_counts(kind, 500, rng)
    ends = {times: predict_interval(model, X, 0.9, exposure=np.full(500, times)) for times in (1e-6, 0.1, 1.0, 10.0)}
    assert all((of == np.floor(of)).all() for of in ends.values())
    assert (ends[1e-6] == 0).all()  # nothing happens in so short a time
    assert (ends[0.1] <= ends[1.0]).mean() > 0.98
    assert (ends[1.0][:, 1] < ends[10.0][:, 1]).all()


def test_what_is_mostly_0_has_no_lower_end_above_it():
    """Around a mean of 0.26, where 82% of rows have 0, an interval once began at 0.0038."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(0, 1, 6000).round(2)})
    y = 1.0 * rng.poisson(np.exp(-2.5 + 1.5 * X["x"]) * rng.gamma(1.0, 1.0, 6000))
    model = fit_intervals(GAMRegressor(objective="poisson", **QUICK).fit(X[:3000], y[:3000]), X[3000:], y[3000:])
    lower, upper = predict_interval(model, X, 0.9).T
    assert (lower == 0).all()
    assert set(upper) <= {0.0, 1.0, 2.0, 3.0}


def draw_bounded(kind, n, rng):
    """Make rows whose outcomes cannot be anywhere, such as counts, amounts and ratings; with the support of each."""
    X = pd.DataFrame({"x": rng.uniform(-2, 2, n).round(2), "c": rng.choice(list("abc"), n)})
    level = (np.sin(2 * X["x"]) + 0.7 * (X["c"] == "b")).to_numpy()
    there = rng.random(n) > 0.3
    y, support = {
        "rare": (rng.poisson(np.exp(level - 1.5)), (0, np.inf, True)),
        "counts": (rng.poisson(np.exp(level + 1.0) * rng.gamma(2.0, 0.5, n)), (0, np.inf, True)),
        "zeros": (rng.poisson(np.exp(level + 1.5)) * there, (0, np.inf, True)),
        "many": (rng.poisson(np.exp(level + 5.0) * rng.gamma(2.0, 0.5, n)), (0, np.inf, True)),
        "amounts": (np.exp(level + 4.0) * rng.gamma(2.0, 0.5, n), (0, np.inf, False)),
        "some amounts": (np.exp(level + 4.0) * rng.gamma(1.5, 0.67, n) * there, (0, np.inf, False)),
        "ratings": (np.clip(np.round(3.5 + level + rng.normal(size=n)), 1, 5), (1, 5, True)),
        "balance": (np.round(20 * (level - 0.5 + rng.normal(size=n))), (-np.inf, np.inf, True)),
        "capped": (np.minimum(level + rng.normal(size=n), 1.0), (-np.inf, 1.0, False)),
    }[kind]  # fmt: skip
    return X, 1.0 * y, support


BOUNDED = ("rare", "counts", "zeros", "many", "amounts", "some amounts", "ratings", "balance", "capped")


def bounded(kind, seed=0, n=600, **changes):
    rng = np.random.default_rng(seed)
    X, y, support = draw_bounded(kind, 1000, rng)
    model = GAMRegressor(**{**QUICK, "random_state": seed, **changes}).fit(X, y)
    return fit_intervals(model, *draw_bounded(kind, n, rng)[:2]), support, rng


@pytest.mark.parametrize("kind", BOUNDED)
def test_squared_loss_has_ends_that_outcomes_can_have(kind, tmp_path):
    """Of counts, a model of squared loss once said "between -0.8 and 2.3"."""
    model, (least, most, whole), rng = bounded(kind)
    X, y, _ = draw_bounded(kind, 1500, rng)
    assert model.model_.intervals.are_whole == whole
    for coverage in COVERAGES:
        ends = predict_interval(model, X, coverage)
        assert ((ends >= least) & (ends <= most)).all()
        assert (ends[:, 0] <= ends[:, 1]).all()
        assert not whole or (ends == np.floor(ends)).all()
        assert np.mean((y >= ends[:, 0]) & (y <= ends[:, 1])) > coverage - 0.04
    assert uncertainty(model).predict(X).size
    model.save(tmp_path / "model.gamx")
    again = load_model(tmp_path / "model.gamx")
    np.testing.assert_array_equal(predict_interval(again, X, 0.9), predict_interval(model, X, 0.9))
    assert to_bytes(to_saved(again)) == to_bytes(to_saved(model))


def test_where_many_have_0_squared_loss_has_no_lower_end_above_it():
    model, _, rng = bounded("some amounts", n=2000)
    assert (predict_interval(model, draw_bounded("some amounts", 500, rng)[0], 0.9)[:, 0] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", BOUNDED)
def test_squared_loss_keeps_its_promise_in_each_tenth(kind):
    """As of a law: places of outcomes, at random within their masses, are inside as often as was asked for."""
    shares = []
    for seed in range(12):
        model, _, rng = bounded(kind, seed, n=2400)
        X, y, _ = draw_bounded(kind, 4000, rng)
        mean, intervals = model.predict(X), model.model_.intervals
        place = intervals.outcomes.scores(y, Rows(mean, encode_table(Table.of(X), model.model_.bins)), rng)
        tenth = np.searchsorted(np.quantile(mean, np.arange(1, 10) / 10), mean)
        for coverage in COVERAGES:
            low, high = intervals.scores_of_ends(mean, coverage).T
            lower, upper = predict_interval(model, X, coverage).T
            inside = (place >= low) & (place <= high), (y >= lower) & (y <= upper)
            shares += [(coverage, k, *(share[tenth == k].mean() for share in inside)) for k in np.unique(tenth)]
    table = pd.DataFrame(shares, columns=["coverage", "tenth", "places", "outcomes"])
    means = table.groupby(["coverage", "tenth"]).mean()
    asked = means.index.get_level_values("coverage").to_numpy()
    error = 3 * np.sqrt(asked * (1 - asked) * (1 / 120 + 1 / 400) / 12)
    parts = 2 if kind in ("capped",) else 1
    assert (means["places"] > asked - parts * error).all(), means
    assert (means["places"] < asked + 1 / 60 + parts * error).all(), means
    assert (means["outcomes"] >= means["places"] - error).all(), means


def test_parts_too_small_for_a_coverage_are_taken_together():
    model, rng = counted("overdispersed", n=700)
    intervals = model.model_.intervals
    assert len(intervals.groups) == 3
    assert min(group.most_coverage for group in intervals.groups) < 0.99 < intervals.most_coverage
    X, exposure, _ = draw_counts("overdispersed", 300, rng)
    mean = model.predict(X, exposure=exposure)
    assert np.unique(intervals.scores_of_ends(mean, 0.9), axis=0).shape == (3, 2)
    assert np.unique(intervals.scores_of_ends(mean, 0.99), axis=0).shape == (1, 2)
    scores = intervals.all_rows.factors(0.99)
    np.testing.assert_array_equal(intervals.scores_of_ends(mean, 0.99), np.tile(scores, (300, 1)))


@given(st.integers(0, 10**6), st.floats(0.2, 5.0))
def test_parts_are_of_a_hundred_heaviest_rows_at_least(seed, shape):
    """With a few heavy rows a part is worth fewer than it has, and its ends would be too far out."""
    rng = np.random.default_rng(seed)
    weight = rng.gamma(shape, 1.0, 1500) + 1e-3
    sample = UnseenRows(np.zeros(1500), Rows(rng.random(1500), np.empty((0, 1500), np.uint8)), weight, None)
    worth = weight.sum() / weight.max()
    assert _n_units(sample) == int(worth)
    assert _n_units(replace(sample, weight=np.full(1500, shape))) == _n_units(replace(sample, weight=None)) == 1500
    assert cuts_between(sample.rows.predicted, _n_units(sample)).size <= worth / 100


@pytest.mark.slow
def test_the_promise_holds_for_rows_of_unequal_weight():
    shares = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model = GAMRegressor(**QUICK, objective="poisson")
        tables = [(*draw_counts("inflated", n, rng), rng.gamma(1.0, 1.0, n)) for n in (1000, 3000, 4000)]
        X, exposure, y, weight = tables[0]
        model.fit(X, y, exposure=exposure, sample_weight=weight)
        X, exposure, y, weight = tables[1]
        fit_intervals(model, X, y, exposure=exposure, sample_weight=weight)
        X, exposure, y, weight = tables[2]
        mean, intervals = model.predict(X, exposure=exposure), model.model_.intervals
        level = intervals.outcomes.scores(y, Rows(mean, np.empty((0, 4000), np.uint8)), rng)
        inside = [(level >= low) & (level <= high) for low, high in
                  (intervals.scores_of_ends(mean, coverage).T for coverage in COVERAGES)]  # fmt: skip
        shares.append([np.average(each, weights=weight) for each in inside])
    np.testing.assert_allclose(np.mean(shares, axis=0), COVERAGES, atol=0.02)


def test_groups_of_rows_calibrate_counts_too():
    rng = np.random.default_rng(0)
    model, _ = counted("overdispersed")
    X, exposure, y = draw_counts("overdispersed", 900, rng)
    fit_intervals(model, X, y, exposure=exposure, groups=np.arange(900) % 60, sample_weight=rng.uniform(0.5, 2, 900))
    assert model.model_.intervals.total == pytest.approx(30.0)
    assert predict_interval(model, X, 0.9, exposure=exposure).shape == (900, 2)


def test_the_spread_of_counts_is_no_model_of_its_own():
    model, _ = counted("overdispersed")
    with pytest.raises(TableError, match="follows from their means"):
        uncertainty(model)


@pytest.mark.parametrize("kind", ["inflated", "tweedie"])
def test_a_file_brings_intervals_by_a_law_back_to_the_bit(kind, tmp_path):
    model, rng = counted(kind, interactions=[("x", "c")])
    model.save(tmp_path / "model.gamx")
    again = load_model(tmp_path / "model.gamx")
    X, exposure, _ = draw_counts(kind, 200, rng)
    for coverage in COVERAGES:
        ends = (predict_interval(of, X, coverage, exposure=exposure) for of in (again, model))
        np.testing.assert_array_equal(*ends)
    assert to_bytes(to_saved(again)) == to_bytes(to_saved(model))


def test_a_file_of_before_keeps_its_intervals_of_counts():
    """They were around the mean, in units of a model of the error."""
    X, y, _ = draw("poisson", 900, np.random.default_rng(0))
    model = GAMRegressor(objective="poisson", **QUICK).fit(X[:400], y[:400])
    other = fit_intervals(GAMRegressor(**QUICK).fit(X[:400], y[:400]), X[400:], y[400:])
    held = replace(to_saved(model), model=replace(model.model_, intervals=other.model_.intervals))
    again = from_saved(from_bytes(to_bytes(held)))
    assert predict_interval(again, X, 0.8).min() >= 0
    assert uncertainty(again).predict(X).min() > 0


@pytest.mark.slow
def test_groups_stay_together_and_a_new_group_is_promised():
    covered = []
    for seed in range(30):
        model, rng = fitted("even", seed)
        groups = np.repeat(np.arange(120), rng.integers(1, 9, 120))
        X, y, _ = draw("even", groups.size, rng)
        y = y + rng.normal(size=120)[groups]  # what the rows of a group share
        fit_intervals(model, X, y, groups=groups)
        assert model.model_.intervals.total == pytest.approx(60.0)
        fresh, outcome, _ = draw("even", 1000, rng)
        lower, upper = predict_interval(model, fresh, 0.8).T
        outcome = outcome + rng.normal(size=1000)
        covered.append(np.mean((outcome >= lower) & (outcome <= upper)))
    error = 3 * np.sqrt(0.8 * 0.2 * (1 / 60 + 1 / 1000) / 30)
    assert 0.8 - error < np.mean(covered) < 0.8 + 2 / 61 + error


@pytest.mark.slow
def test_weights_promise_rows_drawn_by_weight():
    covered = []
    for seed in range(30):
        model, rng = fitted("even", seed)
        X, y, _ = draw("wide", 800, rng)
        weight = np.exp(0.5 * X["x"])
        fit_intervals(model, X, y, sample_weight=weight)
        fresh, outcome, _ = draw("wide", 4000, rng)
        chosen = rng.choice(4000, 2000, p=np.exp(0.5 * fresh["x"]) / np.exp(0.5 * fresh["x"]).sum())
        covered.append(1.0 - beyond(model, fresh.iloc[chosen], outcome[chosen], 0.9).sum())
    assert 0.89 < np.mean(covered) < 0.92


def test_rows_of_weight_0_are_left_out():
    model, rng = fitted()
    X, y, _ = draw("wide", 400, rng)
    weight = np.where(np.arange(400) % 5 == 0, 0.0, 1.0)
    spoilt = np.where(weight == 0, 1e6, y)
    with_weights = predict_interval(fit_intervals(model, X, spoilt, sample_weight=weight), X)
    without = predict_interval(fit_intervals(model, X[weight > 0], y[weight > 0]), X)
    np.testing.assert_allclose(with_weights, without, rtol=1e-12)


def test_a_file_brings_intervals_back_to_the_bit(tmp_path):
    model, rng = fitted("skewed", interactions=[("x", "c")], bands=10)
    fit_intervals(model, *draw("skewed", 300, rng)[:2])
    model.save(tmp_path / "model.gamx")
    again = load_model(tmp_path / "model.gamx")
    X, _, _ = draw("skewed", 200, rng)
    for coverage in (0.5, 0.9):
        np.testing.assert_array_equal(predict_interval(again, X, coverage), predict_interval(model, X, coverage))
    one, other = (uncertainty(found).explain_shape("x").on("ratio").frame() for found in (model, again))
    pd.testing.assert_frame_equal(one, other)
    assert uncertainty(again).model_.base == uncertainty(model).model_.base
    assert to_bytes(to_saved(again)) == to_bytes(to_saved(model))


def test_bands_leave_intervals_and_a_fit_takes_them_away():
    model, rng = fitted()
    X, y, _ = draw("wide", 300, rng)
    before = predict_interval(fit_intervals(model, X, y), X)
    add_bands(model, X, y, n_refits=10)
    np.testing.assert_array_equal(predict_interval(model, X), before)
    model.fit(X, y)
    for ask in (uncertainty, partial(predict_interval, X=X)):
        with pytest.raises(NotFittedError, match="call fit_intervals with rows that it has not seen"):
            ask(model)


def test_the_same_seed_and_any_threads_give_the_same_intervals():
    ends = []
    for n_jobs in (1, 2):
        model, rng = fitted(n_jobs=n_jobs)
        X, y, _ = draw("wide", 300, rng)
        ends += [predict_interval(fit_intervals(model, X, y), X) for _ in range(2)]
    for other in ends[1:]:
        np.testing.assert_array_equal(other, ends[0])


def test_rows_of_every_kind_are_taken():
    X, y = friendly(900, binary=False)  # with missing cells
    model = fit_intervals(GAMRegressor(**QUICK).fit(X[:500], y[:500]), X[500:], y[500:])
    hard = pd.DataFrame({"a": [np.nan, 1e300, 0.0], "b": [np.nan, 0.5, -1e300], "c": ["new", None, "p"]})
    ends = predict_interval(model, hard)
    assert ends.shape == (3, 2)
    assert np.isfinite(ends).all()
    exact = fit_intervals(GAMRegressor(**QUICK).fit(X[:500], np.ones(500)), X[500:], np.ones(400))
    np.testing.assert_allclose(predict_interval(exact, hard), 1.0)  # nothing is uncertain


def test_levels_that_the_model_never_saw_are_as_uncertain_as_missing_cells():
    rng = np.random.default_rng(0)
    X, y, _ = draw("even", 1600, rng)
    model = GAMRegressor(**QUICK).fit(X[:800], y[:800])
    later, odd = X[800:].copy(), rng.random(800) < 0.3
    later.loc[odd, "c"] = rng.choice(["new", "newer", None], odd.sum())
    fit_intervals(model, later, y[800:] + 2.0 * odd * rng.normal(size=800))
    curve = uncertainty(model).explain_shape("c").on("ratio")
    assert curve.missing[:3] == curve.unseen[:3]
    assert curve.missing[0] > 1.5 * curve.scores.max()
    lower, upper = predict_interval(model, pd.DataFrame({"x": 0.0, "c": ["a", "never", None]})).T
    assert upper[1] - lower[1] == pytest.approx(upper[2] - lower[2])
    assert upper[1] - lower[1] > 1.5 * (upper[0] - lower[0])
    again = from_bytes(to_bytes(to_saved(model))).model.intervals.scale
    assert again.terms[1].scores[-1] == again.terms[1].scores[0]


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, "0.9", None, float("nan")])
def test_what_is_no_coverage_is_refused(coverage):
    model, rng = fitted()
    fit_intervals(model, *draw("wide", 100, rng)[:2])
    with pytest.raises(ValueError, match="must be a number between 0 and 1"):
        predict_interval(model, draw("wide", 3, rng)[0], coverage)


def test_too_few_rows_are_told_with_the_way_out():
    model, rng = fitted()
    X, y, _ = draw("wide", 60, rng)
    with pytest.raises(NotFittedError, match="has no intervals"):
        predict_interval(model, X)
    with pytest.raises(TableError, match="fit_intervals has 6 rows: pass at least 10"):
        fit_intervals(model, X[:6], y[:6])
    with pytest.raises(TableError, match="fit_intervals has 4 groups: pass at least 10"):
        fit_intervals(model, X, y, groups=np.arange(60) % 4)
    fit_intervals(model, X, y)
    wanted = r"0.95 needs 39 calibration rows \(or groups\), and there are 30: .* or ask for at most 0.935\.$"
    with pytest.raises(ValueError, match=wanted):
        predict_interval(model, X, 0.95)
    assert predict_interval(model, X, 0.935).shape == (60, 2)
    with pytest.raises(TableError, match="The table has 60 rows and the target 59"):
        fit_intervals(model, X, y[:59])
    with pytest.raises(TableError, match="negative in 60 rows"):
        fit_intervals(fitted("poisson")[0], X, np.full(60, -1.0))
    with pytest.raises(NotFittedError):
        fit_intervals(GAMRegressor(), X, y)
    with pytest.raises(TableError, match="pass a GAMRegressor"):
        fit_intervals(GAMClassifier(max_rounds=2).fit(X, y > np.median(y)), X, y)


def test_the_most_that_can_be_asked_for_is_allowed():
    for rows in (5, 10, 33, 99):
        made = Calibration(np.sort(np.random.default_rng(0).normal(size=rows)), np.ones(rows))
        assert made.factors(made.most_coverage) == (made.scores[0], made.scores[-1])
        with pytest.raises(ValueError, match="ask for at most"):
            made.factors(made.most_coverage + 1e-6)
