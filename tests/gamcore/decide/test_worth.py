"""What tested strategies add up to, held against simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from gamcore.decide.worth import Contribution, total
from gamcore.stats.intervals import newcombe

REACH = np.array([5_000.0, 800.0, 1_200.0])
N = np.array([2_000, 300, 500])
BASE, LIFTED = np.array([0.2, 0.04, 0.5]), np.array([0.24, 0.07, 0.53])


def measured(rng, base, lifted, n):
    """Differences of simulated arms with their intervals."""
    treated, control = rng.binomial(n, lifted) / n, rng.binomial(n, base) / n
    return [(t - c, newcombe(t, int(m), c, int(m))) for t, c, m in zip(treated, control, n, strict=True)]


def test_a_sum_of_strategies_is_covered_as_often_as_said():
    rng = np.random.default_rng(3)
    truth, inside, runs = float(REACH @ (LIFTED - BASE)), 0, 2_000
    for _ in range(runs):
        parts = [Contribution(n, *one) for n, one in zip(REACH, measured(rng, BASE, LIFTED, N), strict=True)]
        made = total(parts)
        inside += made.low <= truth <= made.high
    assert 0.935 <= inside / runs <= 0.97


@pytest.mark.parametrize("k", [2, 6])
def test_the_best_of_several_is_covered_although_it_was_chosen(k):
    """None works: the best one looks as if it did. As if it had been the only one tested, it misses too often."""
    rng = np.random.default_rng(k)
    inside = naive = 0
    runs = 2_000
    for _ in range(runs):
        arms = measured(rng, np.full(k, 0.2), np.full(k, 0.2), np.full(k, 1_000))
        best = Contribution(1.0, *max(arms))
        inside += total([best], k).low <= 0 <= total([best], k).high
        naive += total([best]).low <= 0 <= total([best]).high
    assert inside / runs >= 0.943
    assert naive < inside
    if k == 6:
        assert naive / runs < 0.92


def test_of_what_is_chosen_because_it_is_significant_few_intervals_miss():
    rng = np.random.default_rng(0)
    base, lifted, n = np.full(5, 0.2), np.array([0.2, 0.2, 0.23, 0.25, 0.26]), np.full(5, 1_500)
    missed = chosen = 0
    for _ in range(1_500):
        arms = measured(rng, base, lifted, n)
        kept = [k for k, (_, (low, _)) in enumerate(arms) if low > 0]
        if kept:
            truth = float((lifted - base)[kept].sum())
            made = total([Contribution(1.0, *arms[k]) for k in kept], 5)
            missed += not made.low <= truth <= made.high
            chosen += 1
    assert missed / chosen < 0.055


def test_one_part_alone_keeps_its_interval_and_costs_only_shift():
    plain = total([Contribution(100.0, 0.05, (0.02, 0.09))])
    assert (plain.value, plain.low, plain.high) == pytest.approx((5.0, 2.0, 9.0))
    net = total([Contribution(100.0, 0.05, (0.02, 0.09), cost=1.5)])
    assert (net.value, net.low, net.high) == pytest.approx((3.5, 0.5, 7.5))
    turned = total([Contribution(-100.0, 0.05, (0.02, 0.09))])
    assert (turned.value, turned.low, turned.high) == pytest.approx((-5.0, -9.0, -2.0))


def test_levels_follow_from_how_many_were_chosen():
    one = Contribution(1.0, 0.0, (-1.0, 1.0))
    wide = total([one], 4).high
    assert wide == pytest.approx(norm.ppf(1 - 0.05 / 8) / norm.ppf(0.975))
    assert total([one, one], 4).high < 2**0.5 * wide
    assert total([one, one], 2).high == pytest.approx(2**0.5)
    assert total([]).value == 0
    assert math.isnan(total([Contribution(1.0, 0.1, (math.nan, math.nan))]).low)
