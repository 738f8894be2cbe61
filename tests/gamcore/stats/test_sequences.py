"""Always-valid intervals: however often one looks, at most 5% of experiments without an effect alarm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from gamcore.stats.intervals import Z
from gamcore.stats.sequences import anytime_alpha, anytime_interval, anytime_p, anytime_reach

DAYS, PER_DAY, TESTS = 28, 400, 1000


def looks(rng, tests, lift=0.0, rate=0.1):
    """Customers so far and z of the difference, (tests, DAYS), of daily looks at two arms of a rate."""
    half = PER_DAY // 2
    hits = rng.binomial(half, [[[rate]], [[rate + lift]]], (2, tests, DAYS)).cumsum(axis=2)
    n = half * np.arange(1, DAYS + 1)
    control, treated = hits / n
    error = np.sqrt((control * (1 - control) + treated * (1 - treated)) / n)
    return 2 * n, (treated - control) / error


def test_daily_looks_at_tests_without_an_effect_seldom_alarm():
    n, z = looks(np.random.default_rng(0), TESTS)
    reach = np.array([anytime_reach(size, n[-1]) for size in n])
    always, fixed = (np.abs(z) > reach).any(axis=1).mean(), (np.abs(z) > Z).any(axis=1).mean()
    assert always <= 0.05
    assert fixed > 0.2  # a fixed-end interval that is looked at daily
    assert (np.abs(z[:, -1]) > Z).mean() == pytest.approx(0.05, abs=0.02)


def test_a_real_effect_is_found_before_the_planned_end():
    n, z = looks(np.random.default_rng(0), 300, lift=0.03)
    reach = np.array([anytime_reach(size, n[-1]) for size in n])
    first = np.where(z > reach, np.arange(1, DAYS + 1), np.inf).min(axis=1)
    assert np.isfinite(first).mean() > 0.85
    assert np.median(first) < 0.7 * DAYS


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_the_interval_is_narrowest_after_the_planned_customers(alpha):
    """The reach in units of 1 / sqrt(n), as a function of the tuning, is least where it is tuned."""
    best = minimize_scalar(lambda log: anytime_reach(1.0, math.exp(log), alpha), bounds=(-4, 4), method="bounded")
    assert best.x == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("n", [50, 1000, 30_000])
def test_p_is_below_five_percent_where_the_interval_excludes_zero(n):
    for z in np.linspace(0.1, 8, 80):
        excluded = anytime_reach(n, 10_000) < z
        assert (anytime_p(z, n, 10_000) < 0.05) == excluded
    assert anytime_p(0.0, n, 10_000) == 1.0


def test_an_interval_keeps_its_proportions():
    low, high = anytime_interval(1.0, (0.0, 3.0), 500, 1000)
    assert (1.0 - low) * 2 == pytest.approx(high - 1.0)
    assert (1.0 - low) == pytest.approx(anytime_reach(500, 1000) / Z)


@pytest.mark.parametrize("alpha", [0.01, 0.05])
def test_the_alpha_of_one_look_is_that_of_as_wide_an_interval(alpha):
    single = anytime_alpha(alpha, 300, 1000)
    assert norm.isf(single / 2) == pytest.approx(anytime_reach(300, 1000, alpha))
    assert single < alpha
