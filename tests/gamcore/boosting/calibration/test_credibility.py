"""Thin ends of curves with a log link: no further than their events support, whatever the bins and weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from gamcore import GAMRegressor
from gamcore.boosting.calibration import credibility
from gamcore.boosting.calibration.credibility import LEAST_EVENTS, PRIOR_EVENTS, TAIL_EVENTS, Support, credible
from gamcore.boosting.rows.sums import PartInMemory, RowsInMemory
from gamcore.data.binning import bin_table
from gamcore.data.table import Table, learn_features
from gamcore.model.additive import Term

STEPS = st.lists(st.tuples(st.floats(-3, 3), st.floats(0, 1e4)), min_size=2, max_size=30)


def weighed(step, events):
    return np.log((np.exp(step) * events + PRIOR_EVENTS) / (events + PRIOR_EVENTS))


def outward(curve, events, growth=1.0):
    """The slow twin: each step of a curve by all that is expected beyond it at the level before it, and no place of a
    tail farther from an earlier one of it than in one step."""
    kept, tail = [curve[0]], [sum(events[place:]) <= TAIL_EVENTS for place in range(len(curve))]
    for place in range(1, len(curve)):
        step = curve[place] - curve[place - 1]
        end = kept[-1] + weighed(step, sum(events[place:]) * np.exp(growth * kept[-1]))
        for before in range(place - 1):
            if tail[before + 1]:
                way, beyond = curve[place] - curve[before], sum(events[before + 1 :]) * np.exp(growth * kept[before])
                at_once = kept[before] + weighed(way, beyond)
                end = min(kept[-1], max(end, at_once)) if step < 0 else max(kept[-1], min(end, at_once))
        kept.append(end)
    return np.array(kept)


@given(STEPS, st.floats(0, 1))
def test_a_curve_is_that_of_its_twin_and_turns_where_it_turned(steps, growth):
    curve, events = np.array(steps).T
    kept = credibility._outward(curve, events, growth)
    np.testing.assert_allclose(kept, outward(curve, events, growth), rtol=1e-9, atol=1e-9)
    before, after = np.diff(curve), np.diff(kept)
    assert (np.abs(after) <= np.abs(before) + 1e-9).all()
    assert (before * after >= -1e-12).all()


@given(st.floats(-3, 3), st.floats(0, 1e3), st.integers(1, 20))
def test_bins_that_are_cut_finer_give_the_same_end(height, events, parts):
    """What lies beyond decides, not how many bins it comes in."""
    coarse = credibility._outward(np.array([0.0, height]), np.array([10.0, events]), 1.0)
    fine = credibility._outward(np.array([0.0, *[height] * parts]), np.array([10.0, *[events / parts] * parts]), 1.0)
    np.testing.assert_allclose(fine[1:], coarse[1], atol=1e-9)


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 3)), min_size=1, max_size=15), st.floats(0.5, 1))
def test_a_staircase_without_events_ends_where_one_step_would(stairs, growth):
    """Few events are used once: 6.7 expected ones of which none was seen lead to no .0001, in however many steps."""
    falls, events = np.array(stairs).T
    kept = credibility._outward(np.append(0.0, -np.cumsum(falls)), np.append(100.0, events), growth)
    assert kept[-1] >= np.log(PRIOR_EVENTS / (events.sum() + PRIOR_EVENTS)) - 1e-9


def book(seed=0, n=40_000, tail=60, frequency=0.1):
    """Policies of which few have old cars, without a claim, and a region that hardly anybody lives in."""
    rng = np.random.default_rng(seed)
    car = np.floor(np.concatenate([np.minimum(rng.gamma(2, 3, n - tail), 33), rng.uniform(34, 50, tail)]))
    region = np.where(rng.random(n) < 30 / n, "islands", rng.choice(["north", "south"], n))
    exposure = rng.uniform(0.5, 1, n)
    claims = rng.poisson(frequency * np.exp(0.3 * np.sin(car / 3)) * exposure)
    claims[car > 33] = 0
    claims[region == "islands"] = 0
    return pd.DataFrame({"car": car, "region": region}), claims, exposure


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["poisson", "tweedie"])
def test_no_events_among_few_are_no_proof_of_none(objective):
    """The predicted events of a thin end or level without any are ones that could be missed by chance."""
    X, claims, exposure = book(n=150_000)
    model = GAMRegressor(objective=objective, random_state=0).fit(X, claims, exposure=exposure)
    predicted = model.predict(X, exposure=exposure)
    np.testing.assert_allclose(predicted.sum(), claims.sum(), rtol=1e-9)
    rate = claims.sum() / exposure.sum()
    for thin in (X["car"] > 33, X["region"] == "islands"):
        assert poisson.pmf(0, predicted[thin].sum()) > 0.01
        assert predicted[thin].min() > 0.05 * rate * exposure[thin].min()


@pytest.mark.parametrize("factor", [1e-3, 8.0, 1e5])
def test_a_constant_factor_of_weights_changes_nothing(factor):
    X, claims, exposure = book(1, 10_000)
    model = GAMRegressor(objective="poisson", random_state=0).fit(X, claims, exposure=exposure)
    codes = model._encode(X)
    kept = [
        credible(model.model_, RowsInMemory(PartInMemory(codes, claims.astype(float), weight, np.log(exposure))))
        for weight in (None, np.full(len(X), factor))
    ]
    for one, other in zip(*(each.terms for each in kept), strict=True):
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)


def test_a_curve_that_may_only_rise_still_does():
    X, claims, exposure = book(2, 10_000)
    model = GAMRegressor(objective="poisson", monotone={"car": 1}, random_state=0).fit(X, claims, exposure=exposure)
    assert (np.diff(model.model_.terms[0].scores[1:-1]) >= 0).all()


@given(seed=st.integers(0, 10**6), empty=st.floats(0, 0.9))
def test_bins_without_rows_keep_the_order_too(seed, empty):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": np.arange(40.0)})
    (bins,) = bin_table(X, learn_features(Table(X))).bins
    counts = np.where(rng.random(bins.size) < empty, 0, rng.integers(1, 50, bins.size)).astype(float)
    counts[3] = 1
    counts[[0, -1]] = 0
    curve = np.concatenate([[0.0], np.sort(rng.normal(size=bins.size - 2)), [0.0]])
    term = Term(0, curve, curve[None, :], counts)
    events = counts * rng.exponential(size=bins.size)
    moves = credibility._moves(term, ordered=True)
    support = Support(bins, events, flat=events * np.exp(-curve), moves=moves, growth=1.0)
    after = (curve + np.where(moves, support.moved(curve), 0.0))[1:-1]
    assert (np.diff(after) >= -1e-12).all()


@pytest.mark.slow
def test_many_events_are_believed(monkeypatch):
    """With ten thousand events on either side, a curve is as boosting left it, to a thousandth."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.choice([0.0, 1.0], 40_000)})
    y = rng.poisson(np.where(X["a"] > 0, 1.0, 0.5))
    kept = GAMRegressor(objective="poisson", random_state=0).fit(X, y).predict(X)
    monkeypatch.setattr(credibility, "PRIOR_EVENTS", 1e-9)
    np.testing.assert_allclose(kept, GAMRegressor(objective="poisson", random_state=0).fit(X, y).predict(X), rtol=1e-3)


@pytest.mark.parametrize("objective", ["poisson", "tweedie"])
def test_a_band_without_events_has_all_that_the_counts_allow(objective):
    """No claim is seen in any half, so that all halves agree; still any rate that would leave none one time in five is
    inside the band, and none of a millionth."""
    X, claims, exposure = book(n=10_000)
    model = GAMRegressor(objective=objective, outer_bags=2, bands=10, random_state=0)
    model.fit(X, claims, exposure=exposure)
    expected = exposure * claims.sum() / exposure.sum()
    region, car = model.explain_shape("region"), model.explain_shape("car")
    ends = (region.bin_of["islands"], X["region"] == "islands", region), (-1, X["car"] > 33, car)
    for place, rows, curve in ends:
        allowed = min(np.log(1.6 / expected[rows].sum()), 0.0)
        assert curve.upper[place] > allowed
        assert curve.lower[place] > np.log(0.02)
        assert curve.upper[place] - curve.lower[place] > 2 / np.sqrt(expected[rows].sum() + LEAST_EVENTS)


@pytest.mark.slow
def test_bands_of_thin_bins_cover_the_truth():
    """Over books of all frequencies, in bins under five expected events."""
    covered = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        n, tail = 8_000, int(rng.integers(10, 180))
        car = np.floor(np.concatenate([rng.gamma(2, 3, n - tail), rng.uniform(30, 50, tail)]))
        level, exposure = rng.choice(list("abcdef"), n, p=[0.6, 0.3, 0.08, 0.01, 0.005, 0.005]), rng.uniform(0.1, 1, n)
        of_level = dict(zip("abcdef", rng.normal(0, 0.3, 6), strict=True))
        X = pd.DataFrame({"car": car, "level": level})
        steep = rng.choice([-0.04, 0.0, 0.04])
        truth = pd.DataFrame({"car": steep * np.minimum(car, 25), "level": X["level"].map(of_level)})
        truth -= truth.mean()
        mean = rng.uniform(0.02, 0.2) * np.exp(truth.sum(axis=1)) * exposure
        model = GAMRegressor(objective="poisson", outer_bags=4, bands=20, random_state=seed)
        model.fit(X, rng.poisson(mean), exposure=exposure)
        for codes, name in zip(model._encode(X), X, strict=True):
            curve = model.explain_shape(name)
            for code in np.unique(codes):
                if mean[codes == code].sum() < 5:
                    place, value = int(code) - 1, truth[name][codes == code].mean()
                    covered.append((seed, name, curve.lower[place] <= value <= curve.upper[place]))
    frame = pd.DataFrame(covered, columns=["seed", "name", "inside"])
    assert len(frame) > 100
    assert 0.9 < frame["inside"].mean() < 0.995
    assert 0.9 < frame.groupby(["seed", "name"])["inside"].mean().mean() < 0.995
