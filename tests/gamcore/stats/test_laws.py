"""Laws of counts and amounts with a mass at 0: against SciPy, sums and draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from gamcore.stats.laws import LAWS, Amounts, Counts, likeliest_law
from tests.support.fits import tweedie

MEANS = np.array([1e-3, 0.05, 0.7, 3.0, 40.0])
SOME = {
    "counts": Counts(0.2, 0.7), "poisson": Counts(0.0, 1e-6), "amounts": Amounts(0.1, 1.5, 1.6),
    "nearly counts": Amounts(0.0, 0.5, 1.1), "nearly gamma": Amounts(0.0, 1.0, 1.9),
}  # fmt: skip


def test_counts_are_those_of_scipy_beside_the_zeros():
    y = np.arange(400.0)
    for mean in MEANS[1:-1]:
        base = stats.nbinom(1 / 0.7, 1 / (1 + 0.7 * mean / 0.8))
        law, all_means = Counts(0.2, 0.7), np.full(400, mean)
        chances = 0.8 * base.pmf(y) + 0.2 * (y == 0)
        np.testing.assert_allclose(np.exp(law.log_likelihood(y, all_means)), chances, rtol=1e-10, atol=1e-300)
        np.testing.assert_allclose(law.up_to(y, all_means), np.cumsum(chances), rtol=1e-10)
        np.testing.assert_allclose(law.below(y, all_means), np.cumsum(chances) - chances, atol=1e-12)
        assert np.sum(chances * y) == pytest.approx(mean, rel=1e-6)
        assert np.sum(Counts(0.0, 1e-6)._up_to(y, all_means) - stats.poisson.cdf(y, mean)) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("name", ["amounts", "nearly counts", "nearly gamma"])
def test_amounts_are_the_integral_of_their_density(name):
    law = SOME[name]
    for mean, ends in ((0.7, (0.3, 2.0)), (3.0, (1.0, 6.0))):
        low, high = law.up_to(np.array(ends), np.full(2, mean))
        found = integrate.quad(lambda y, m=mean: float(np.exp(law.log_likelihood(np.array([y]), np.array([m])))[0]),
                               *ends, limit=200)[0]  # fmt: skip
        assert high - low == pytest.approx(found, rel=1e-5)
    zero = law.up_to(np.zeros(1), np.array([0.7]))
    np.testing.assert_allclose(zero, np.exp(law.log_likelihood(np.zeros(1), np.array([0.7]))), rtol=1e-10)
    assert law.below(np.zeros(1), np.array([0.7])) == 0.0


@given(
    st.sampled_from(sorted(LAWS)), st.floats(0, 0.9), st.floats(-2, 2), st.floats(1.05, 1.95), st.floats(-4, 3),
    st.floats(1e-6, 1 - 1e-6),
)  # fmt: skip
def test_a_quantile_is_the_least_outcome_with_its_level(kind, zeros, log_phi, power, log_mean, level):
    law = LAWS[kind](zeros, float(np.exp(log_phi)), 1.0 if kind == "counts" else power)
    mean, asked = np.array([np.exp(log_mean)]), np.array([level])
    end = law.quantile(asked, mean)
    if law.is_whole:
        assert end[0] == np.floor(end[0])
        assert law.below(end, mean)[0] < level <= law.up_to(end, mean)[0]
    elif end[0] == 0:
        assert level <= law.up_to(end, mean)[0]
    else:  # interpolated
        assert law.up_to(end * 0.999, mean)[0] < level + 1e-3
        assert law.up_to(end * 1.001, mean)[0] > level - 1e-3


@pytest.mark.parametrize("name", SOME)
def test_ends_never_fall_with_the_level_and_are_numbers_for_any_mean(name):
    law = SOME[name]
    mean = np.array([0.0, 1e-300, 1e-12, 1e-3, 1.0, 1e3, 1e12, 1e300])
    ends = np.array([law.quantile(np.full(8, q), mean) for q in (0.0, 1e-9, 0.05, 0.5, 0.95, 1 - 1e-9, 1.0)])
    assert not np.isnan(ends).any()
    assert (ends[0] == 0).all()
    assert np.isinf(ends[-1]).all()
    assert (np.diff(ends[:-1], axis=0) >= -1e-9 * ends[1:-1]).all()


def test_a_row_has_its_quantile_whatever_rows_are_beside_it():
    law, mean = SOME["amounts"], np.exp(np.linspace(-3, 3, 50))
    together = law.quantile(np.full(50, 0.9), mean)
    np.testing.assert_array_equal(together[:1], law.quantile(np.array([0.9]), mean[:1]))
    np.testing.assert_array_equal(together[30:31], law.quantile(np.array([0.9]), mean[30:31]))


def test_what_was_drawn_from_is_found():
    rng = np.random.default_rng(0)
    mean = np.exp(rng.normal(0.5, 0.7, 8000))
    there = rng.random(8000) > 0.3
    counts = rng.poisson(mean / 0.7 * rng.gamma(2.0, 0.5, 8000)) * there
    found = likeliest_law(counts.astype(float), mean, np.ones(8000), 1.0)
    assert found.is_whole
    assert found.zeros == pytest.approx(0.3, abs=0.03)
    assert found.dispersion == pytest.approx(0.5, rel=0.15)
    amounts = tweedie(mean / 0.7, 1.2, 1.5, rng) * there
    found = likeliest_law(amounts, mean, np.ones(8000), 1.5)
    assert not found.is_whole
    assert found.zeros == pytest.approx(0.3, abs=0.05)
    assert found.dispersion == pytest.approx(1.2, rel=0.15)
    twice = likeliest_law(np.r_[counts[:500], counts[:250]] * 1.0, np.r_[mean[:500], mean[:250]], np.ones(750), 1.0)
    weighted = likeliest_law(counts[:500] * 1.0, mean[:500], np.where(np.arange(500) < 250, 2.0, 1.0), 1.0)
    assert weighted.dispersion == pytest.approx(twice.dispersion, rel=1e-3)


def test_counts_that_are_not_whole_are_amounts():
    rng = np.random.default_rng(1)
    mean = np.exp(rng.normal(0, 0.5, 1500))
    rates = tweedie(mean, 1.0, 1.3, rng)
    found = likeliest_law(rates, mean, np.ones(1500), 1.0)
    assert isinstance(found, Amounts)
    assert found.power == pytest.approx(1.3, abs=0.1)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("unit", [1e-100, 1e-30, 1e-9, 1e6])
@pytest.mark.parametrize("power", [1.0, 1.5])
def test_amounts_have_the_same_law_in_any_currency(unit, power):
    rng = np.random.default_rng(0)
    mean = np.exp(rng.normal(size=1500))
    y = tweedie(mean, 0.8, 1.4, rng)
    own = likeliest_law(y, mean, np.ones(y.size), power)
    other = likeliest_law(unit * y, unit * mean, np.ones(y.size), power)
    level = np.linspace(0.05, 0.95, y.size)
    np.testing.assert_allclose(other.quantile(level, unit * mean) / unit, own.quantile(level, mean), 1e-2, 1e-6)
