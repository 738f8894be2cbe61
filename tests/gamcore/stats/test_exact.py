"""Sums that do not depend on order or grouping."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.stats.exact import Moments, as_float, counted, exact_sum, grain, whole_weights

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, max_size=40))
def test_a_sum_is_that_of_fractions(values):
    units = exact_sum(np.array(values, np.float64))
    assert Fraction(units, 2**1074) == sum(map(Fraction, values), Fraction(0))


@pytest.mark.parametrize("power", [-290, -20, 0, 20, 290])
def test_a_sum_is_the_nearest_number_whatever_the_order(power):
    rng = np.random.default_rng(0)
    values = rng.normal(size=5000) * 10.0 ** rng.uniform(power - 8, power + 8, 5000)
    assert as_float(exact_sum(values)) == math.fsum(values) == as_float(exact_sum(values[::-1]))
    assert sum(exact_sum(part) for part in np.array_split(values, 7)) == exact_sum(values)


def test_moments_of_parts_add_up_to_those_of_the_whole():
    rng = np.random.default_rng(1)
    values, weight = rng.lognormal(size=1000), rng.uniform(0.1, 3.0, 1000)
    whole = Moments.of(values, weight)
    parts = [Moments.of(*part) for part in zip(np.array_split(values, 9), np.array_split(weight, 9), strict=True)]
    assert sum(parts, Moments()) == whole
    assert whole.mean == pytest.approx(np.average(values, weights=weight), rel=1e-14)
    assert whole.sum == pytest.approx(np.sum(values * weight), rel=1e-14)
    assert whole.reach == values.max() - whole.mean
    assert (Moments().mean, Moments.of(np.full(3, 2.0)).reach) == (0.0, 1.0)


def test_whole_weights_sum_to_the_same_bits_in_any_grouping():
    rng = np.random.default_rng(2)
    codes, weight = rng.integers(0, 9, 4000), rng.lognormal(0, 2, 4000)
    unit, whole = whole_weights(weight)
    assert unit == grain(math.fsum(weight))
    sums = counted(codes, 10, whole)
    halves = sum(counted(codes[k::2], 10, whole_weights(weight[k::2], unit)[1]) for k in range(2))
    assert np.array_equal(sums, halves)
    np.testing.assert_allclose(sums * unit, np.bincount(codes, weight, 10), rtol=1e-12)
    assert np.array_equal(counted(codes, 10), np.bincount(codes, minlength=10))
