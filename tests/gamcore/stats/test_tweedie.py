"""The Tweedie density against a sum over numbers of amounts, and powers found again."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import fixed_quad

from gamcore.stats.tweedie import likeliest_power, log_density
from tests.support import naive
from tests.support.fits import tweedie

POWERS, PHIS = [1.05, 1.2, 1.5, 1.8, 1.95], [0.01, 0.1, 1.0, 20.0]


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("phi", PHIS)
def test_the_density_is_that_of_a_poisson_number_of_gamma_amounts(power, phi):
    rng = np.random.default_rng(0)
    y, mean = np.r_[0.0, rng.gamma(1.0, 1.0, 6), 0.02, 9.0], rng.gamma(2.0, 0.5, 9)
    expected = [naive.tweedie_log_density(*row, phi, power) for row in zip(y, mean, strict=True)]
    np.testing.assert_allclose(log_density(y, mean, phi, power), expected, rtol=1e-7)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("phi", PHIS)
def test_many_rows_are_interpolated_without_loss(power, phi):
    y = np.sort(np.random.default_rng(1).gamma(1.0, 1.0, 6_000))
    mean = np.full(y.size, 0.8)
    few = np.arange(0, y.size, 1_000)
    alone = [log_density(y[[k]], mean[[k]], phi, power)[0] for k in few]
    np.testing.assert_allclose(log_density(y, mean, phi, power)[few], alone, atol=2e-4)


PIECES = [-100.0, -20.0, -5.0, 0.0, 3.0, 12.0]
"""Of log y: between two of them the density is smooth."""


@pytest.mark.slow
@given(st.floats(1.15, 1.8), st.floats(0.3, 5.0), st.floats(0.3, 3.0))
def test_the_density_adds_up_to_one(power, phi, mean):
    def density(log_y):
        """Of a fifth of the nodes at a time: as few rows as these are not interpolated."""
        logs = np.empty(log_y.size)
        for k in range(5):
            y = np.exp(log_y[k::5])
            logs[k::5] = log_density(y, np.full(y.size, mean), phi, power)
        return np.exp(log_y + logs)

    above = sum(fixed_quad(density, low, high, n=50)[0] for low, high in pairwise(PIECES))
    none = np.exp(log_density(np.zeros(1), np.array([mean]), phi, power))[0]
    assert above + none == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(("power", "phi"), [(1.1, 1.0), (1.3, 4.0), (1.5, 0.3), (1.7, 2.0), (1.9, 1.0)])
def test_a_power_is_found_again(power, phi):
    rng = np.random.default_rng(2)
    mean = np.exp(0.7 * rng.normal(size=8_000))
    y, one = tweedie(mean, phi, power, rng), np.ones(8_000)
    assert likeliest_power(y, mean, one) == pytest.approx(power, abs=0.025)
    assert likeliest_power(1e6 * y, 1e6 * mean, one) == pytest.approx(power, abs=0.025)


def test_a_weight_is_a_number_of_rows():
    rng = np.random.default_rng(3)
    mean = np.exp(rng.normal(size=1_500))
    y, times = tweedie(mean, 1.5, 1.4, rng), rng.integers(1, 5, 1_500)
    repeated = likeliest_power(np.repeat(y, times), np.repeat(mean, times), np.ones(times.sum()))
    assert likeliest_power(y, mean, times.astype(float)) == pytest.approx(repeated, abs=0.01)
    assert likeliest_power(y, mean, times / times.mean()) == pytest.approx(repeated, abs=0.01)


@pytest.mark.parametrize("target", ["counts", "no zeros", "one amount", "a mean of nothing"])
def test_odd_amounts_have_a_power_within_bounds(target):
    rng, mean = np.random.default_rng(4), np.ones(400)
    y = {
        "counts": rng.poisson(1.0, 400).astype(float), "no zeros": rng.gamma(2.0, 1.0, 400),
        "one amount": np.r_[3.0, np.zeros(399)], "a mean of nothing": rng.poisson(0.5, 400) * 7.0,
    }[target]  # fmt: skip
    mean[0] = 0.0 if target == "a mean of nothing" else 1.0
    assert 1.05 <= likeliest_power(y, mean, np.ones(400)) <= 1.95
