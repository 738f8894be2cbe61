"""Thin ends of curves with a log link: no further than their events support, whatever the bins and weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from gamcore import GAMRegressor
from gamcore.boosting import credibility
from gamcore.boosting.credibility import PRIOR_EVENTS, credible
from gamcore.boosting.part_sums import PartInMemory, RowsInMemory
from gamcore.data.binning import bin_table
from gamcore.data.table import Table, learn_features
from gamcore.model.additive import Term

STEPS = st.lists(st.tuples(st.floats(-3, 3), st.floats(0, 1e4)), min_size=2, max_size=30)


def outward(curve, events, growth=1.0):
    """The slow twin: each step of a curve by all that is expected beyond it at the level before it."""
    kept = [curve[0]]
    for place in range(1, len(curve)):
        beyond = sum(events[place:]) * np.exp(growth * kept[-1])
        factor = np.exp(curve[place] - curve[place - 1])
        kept.append(kept[-1] + np.log((factor * beyond + PRIOR_EVENTS) / (beyond + PRIOR_EVENTS)))
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
    after = (curve + np.where(moves, credibility._moved(term, bins, moves, events, 1.0), 0.0))[1:-1]
    assert (np.diff(after) >= -1e-12).all()


def test_many_events_are_believed(monkeypatch):
    """With ten thousand events on either side, a curve is as boosting left it, to a thousandth."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.choice([0.0, 1.0], 40_000)})
    y = rng.poisson(np.where(X["a"] > 0, 1.0, 0.5))
    kept = GAMRegressor(objective="poisson", random_state=0).fit(X, y).predict(X)
    monkeypatch.setattr(credibility, "PRIOR_EVENTS", 1e-9)
    np.testing.assert_allclose(kept, GAMRegressor(objective="poisson", random_state=0).fit(X, y).predict(X), rtol=1e-3)
