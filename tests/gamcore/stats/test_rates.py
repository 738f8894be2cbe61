"""Rates per exposure with their intervals, lift and concentration, against their definitions and simulated truths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from gamcore.stats.intervals import poisson_rate, skewed_mean, student, wilson
from gamcore.stats.metrics import calibration
from gamcore.stats.parts import MOST_POINTS, equal_parts
from gamcore.stats.rates import concentration, lift_by_tenth, rate


def portfolio(seed, n=4_000):
    """Counts and amounts of policies that have parts of a year, with their true totals."""
    rng = np.random.default_rng(seed)
    exposure = rng.uniform(0.05, 1, n)
    per_year = np.exp(rng.normal(-1.5, 0.7, n))
    claims = rng.poisson(per_year * exposure)
    amount = rng.gamma(np.maximum(2.0 * claims, 1e-12), 500.0) * (claims > 0)
    return claims.astype(float), amount, per_year * exposure, exposure


@pytest.mark.parametrize(("events", "exposure"), [(0, 3.0), (1, 0.2), (7, 40.0), (250, 1e4)])
def test_garwoods_ends_have_tails_of_two_and_a_half_percent(events, exposure):
    low, high = poisson_rate(events, exposure)
    assert stats.poisson.cdf(events, high * exposure) == pytest.approx(0.025)
    assert (low == 0) if events == 0 else stats.poisson.sf(events - 1, low * exposure) == pytest.approx(0.025)
    assert low <= events / exposure < high


def test_without_exposure_no_rate_is_known():
    assert np.isnan(poisson_rate(0, 0.0)).all()
    mean, ends = rate(np.empty(0), "count", np.empty(0))
    assert np.isnan([mean, *ends]).all()


@pytest.mark.parametrize("mean", [0.5, 3.0, 30.0])
def test_garwoods_interval_holds_the_rate_at_least_as_often_as_it_says(mean):
    counts = np.arange(200)
    held = [low <= mean <= high for low, high in (poisson_rate(k, 1.0) for k in counts)]
    assert 0.95 <= stats.poisson.pmf(counts, mean)[held].sum() < 1


def sums(rng, size, events, shape):
    """Sums of a Poisson number of Gamma amounts, with a mean of 1."""
    numbers = rng.poisson(events, size)
    return rng.gamma(np.maximum(shape * numbers, 1e-12), 1 / (shape * events)) * (numbers > 0)


AMOUNTS = {
    "gamma, shape .5": lambda rng, size: rng.gamma(0.5, 2.0, size),
    "gamma, shape 1.5": lambda rng, size: rng.gamma(1.5, 1 / 1.5, size),
    "half zeros": lambda rng, size: sums(rng, size, 0.7, 1.0),
    "two events per row": lambda rng, size: sums(rng, size, 2.0, 0.5),
    "nine tenths zeros": lambda rng, size: sums(rng, size, 0.1, 1.5),
}


@pytest.mark.slow
@pytest.mark.parametrize(("n", "tables", "off"), [(20, 1500, 0.03), (100, 1500, 0.018), (1000, 800, 0.018)])
@pytest.mark.parametrize("kind", [*AMOUNTS][:4])
def test_a_skewed_mean_is_inside_its_interval_19_times_of_20(kind, n, tables, off):
    """Student's misses it up to 11 times of 100 at 20 rows, nearly always as too low."""
    draws = AMOUNTS[kind](np.random.default_rng(1), (tables, n))
    ends = np.array([skewed_mean(values) for values in draws])
    below, above = ends[:, 1] < 1, ends[:, 0] > 1
    assert 1 - (below | above).mean() == pytest.approx(0.95, abs=off)
    plain = np.array([student(values) for values in draws])
    assert below.mean() - above.mean() < (plain[:, 1] < 1).mean() - (plain[:, 0] > 1).mean()


@pytest.mark.parametrize("weighted", [False, True])
def test_at_the_ends_of_a_skewed_mean_halls_cubic_has_students_quantiles(weighted):
    rng = np.random.default_rng(5)
    values, w = rng.gamma(0.6, 2, 90), rng.uniform(0.2, 2, 90) if weighted else np.ones(90)
    mean, n = np.average(values, weights=w), w.sum() ** 2 / (w**2).sum()
    moments = [((w * (values - mean) / w.sum()) ** power).sum() for power in (2, 3)]
    skew, error = moments[1] / moments[0] ** 1.5, np.sqrt(moments[0] * n / (n - 1))
    for end, quantile in zip(skewed_mean(values, w), (0.975, 0.025), strict=True):
        t = (mean - end) / error
        cubic = t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6
        assert cubic == pytest.approx(stats.t.ppf(quantile, n - 1))


@pytest.mark.parametrize("n", [100, 1000])
def test_where_few_rows_have_an_amount_the_interval_is_wide_rather_than_wrong(n):
    draws = AMOUNTS["nine tenths zeros"](np.random.default_rng(2), (1500, n))
    ends = np.array([skewed_mean(values) for values in draws])
    assert 0.94 <= ((ends[:, 0] <= 1) & (ends[:, 1] >= 1)).mean() <= 0.985


def test_a_mean_per_exposure_is_inside_its_interval():
    """Amounts of short exposures vary more, as sums of events do: rows count by the squares of their weights."""
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(1_000):
        exposure = rng.uniform(0.02, 1, 200)
        events = rng.poisson(2 * exposure)
        amount = rng.gamma(np.maximum(1.5 * events, 1e-12), 1 / 1.5) * (events > 0)
        low, high = rate(amount, "amount", exposure)[1]
        inside.append(low <= 2 <= high)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


def test_a_mean_of_symmetric_values_has_nearly_students_interval_and_never_a_negative_end():
    values = np.concatenate([np.linspace(5, 6, 50)])
    assert skewed_mean(values) == pytest.approx(student(values), rel=1e-9)
    few = np.zeros(20)
    few[0] = 3.0
    assert skewed_mean(few)[0] == 0.0
    assert skewed_mean(few)[1] > student(few)[1]
    for unknown in (np.full(9, 2.0), np.zeros(9), np.array([4.0]), np.empty(0)):
        assert np.isnan(skewed_mean(unknown)).all()


def test_weights_of_a_mean_matter_only_as_shares():
    rng = np.random.default_rng(0)
    values, weight = rng.gamma(1.5, 2, 60), rng.uniform(0.1, 3, 60)
    assert skewed_mean(values, weight) == pytest.approx(skewed_mean(values, 7 * weight))
    assert skewed_mean(values, np.ones(60)) == skewed_mean(values)
    padded = skewed_mean(np.append(values, 1e9), np.append(weight, 0.0))
    assert padded == pytest.approx(skewed_mean(values, weight))


def test_a_rate_of_each_kind_has_its_interval():
    claims, amount, _, exposure = portfolio(0, 300)
    mean, ends = rate(claims, "count", exposure)
    assert mean == pytest.approx(claims.sum() / exposure.sum())
    spread = np.square(claims - mean * exposure).sum() / claims.sum()
    n = exposure.sum() ** 2 / np.square(exposure).sum()
    fewer = max(n / (n - 1) * spread, 1.0)
    assert ends == pytest.approx(poisson_rate(claims.sum() / fewer, exposure.sum() / fewer))
    even = np.tile([0.0, 1.0], 150)
    assert rate(even, "count")[1] == pytest.approx(poisson_rate(150, 300))
    mean, ends = rate(amount, "amount", exposure)
    assert mean == pytest.approx(amount.sum() / exposure.sum())
    assert ends == skewed_mean(amount / exposure, exposure)
    yes = (claims > 0).astype(float)
    assert rate(yes, "share") == (yes.mean(), pytest.approx(wilson(yes.mean(), 300)))
    with pytest.raises(ValueError, match="call the outcome a count"):
        rate(yes, "share", exposure)


@pytest.mark.parametrize("exposed", [False, True])
@pytest.mark.parametrize("shape", [0.5, 2.0, np.inf])
def test_intervals_of_counts_hold_the_rate_however_rows_spread(shape, exposed):
    rng = np.random.default_rng(0)
    exposure, held = rng.uniform(0.2, 2.0, 80) if exposed else np.ones(80), 0
    for _ in range(300):
        mean = 5.0 * exposure * (1.0 if np.isinf(shape) else rng.gamma(shape, 1 / shape, 80))
        _, (low, high) = rate(rng.poisson(mean).astype(float), "count", exposure)
        held += low <= 5.0 <= high
    assert held >= 0.92 * 300


def test_weighted_events_count_as_their_effective_number():
    claims, _, _, exposure = portfolio(1, 300)
    mean, ends = rate(claims, "count", exposure)
    doubled = rate(claims, "count", exposure, np.full(300, 2.0))
    assert doubled == (pytest.approx(mean), pytest.approx(ends))  # a weight that all have says nothing
    heavy = np.where(np.arange(300) % 10 == 0, 20.0, 1.0)
    low, high = rate(claims, "count", exposure, heavy)[1]
    assert high - low > ends[1] - ends[0]
    none = np.zeros(300)
    assert rate(none, "count", exposure, np.full(300, 5.0))[1] == pytest.approx((0.0, 3.689 / exposure.sum()), rel=1e-3)
    rng = np.random.default_rng(2)
    inside = []
    for _ in range(500):
        low, high = rate(rng.poisson(0.2 * exposure).astype(float), "count", exposure, heavy)[1]
        inside.append(low <= 0.2 <= high)
    assert 0.94 <= np.mean(inside) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_parts_have_equal_sums_and_keep_order(seed):
    rng = np.random.default_rng(seed)
    values, sizes = rng.normal(size=500), rng.uniform(0.01, 1, 500)
    part = equal_parts(values, 10, sizes)
    assert (np.diff(part[np.argsort(values)]) >= 0).all()
    sums = np.bincount(part, sizes, minlength=10)
    assert np.abs(sums - sizes.sum() / 10).max() <= sizes.max()
    assert (equal_parts(values, 10, np.full(500, 0.1)) == equal_parts(values, 10)).all()
    tied = values.round()
    for some in (sizes, None):
        part = equal_parts(tied, 10, some)
        assert all(np.unique(part[tied == value]).size == 1 for value in np.unique(tied))


def test_lift_adds_up_to_the_whole_and_agrees_with_exact_predictions():
    claims, amount, expected, exposure = portfolio(2)
    misses = []
    for kind, y, predicted in (("count", claims, expected), ("amount", amount, 1_000 * expected)):
        table = lift_by_tenth(y, predicted, kind, exposure=exposure)
        assert table["part"].tolist() == list(range(1, 11))
        assert table["rows"].sum() == 4_000
        assert table["exposure"].to_numpy() == pytest.approx(exposure.sum() / 10, rel=0.01)
        assert (table["observed"] * table["exposure"]).sum() == pytest.approx(y.sum())
        assert (table["predicted"] * table["exposure"]).sum() == pytest.approx(predicted.sum())
        assert table["predicted"].is_monotonic_increasing
        assert table["lift"].to_numpy() == pytest.approx((table["observed"] / (y.sum() / exposure.sum())).to_numpy())
        assert table.attrs["mean"] == pytest.approx(y.sum() / exposure.sum())
        misses += [*((table["predicted"] < table["lower"]) | (table["predicted"] > table["upper"]))]
    assert np.mean(misses) <= 0.15


def test_lift_of_rates_is_that_of_totals_with_exposure():
    """A half year's policy with half the claims says half as much as a year's with all."""
    claims, _, expected, exposure = portfolio(3)
    table = lift_by_tenth(claims, expected, "count", exposure=exposure)
    halves = [np.concatenate([values / 2, values / 2]) for values in (claims, expected, exposure)]
    twice = lift_by_tenth(halves[0], halves[1], "count", exposure=halves[2])
    shown = ["predicted", "observed", "lift", "exposure"]
    np.testing.assert_allclose(twice[shown], table[shown])
    one = lift_by_tenth(claims, np.full(4_000, 0.2) * exposure, "count", exposure=exposure)
    assert one["rows"].sum() == 4_000  # predicted rates may differ by rounding


def test_equal_predictions_make_one_part_and_no_lift():
    y = np.zeros(50)
    table = lift_by_tenth(y, np.full(50, 0.1), "count")
    assert len(table) == 1
    assert np.isnan(table["lift"]).all()
    assert "exposure" not in table


def test_calibration_of_shares_and_counts_differ_in_their_intervals_alone():
    rng = np.random.default_rng(0)
    chance = rng.beta(1, 9, 800)
    y = (rng.random(800) < chance).astype(float)
    shares, counts = calibration(y, chance), calibration(y, chance, kind="count")
    same = ["predicted", "observed", "rows"]
    np.testing.assert_array_equal(shares[same], counts[same])
    assert (counts["upper"] > shares["upper"]).all()  # counts have no most


@pytest.mark.parametrize("seed", range(4))
def test_the_gini_of_yes_and_no_is_twice_the_auc_less_one(seed):
    rng = np.random.default_rng(seed)
    chance = rng.beta(1, 4, 600).round(2)  # with ties
    y, weight = (rng.random(600) < chance).astype(float), rng.integers(1, 4, 600).astype(float)
    for w in (None, weight):
        assert concentration(y, chance, weight=w).ratio == pytest.approx(
            2 * roc_auc_score(y, chance, sample_weight=w) - 1
        )


def test_concentration_goes_from_the_lowest_rates_to_the_highest():
    claims, _, expected, exposure = portfolio(4)
    line = concentration(claims, expected, exposure)
    assert (line.x[0], line.y[0], line.x[-1], line.y[-1]) == pytest.approx((0, 0, 1, 1))
    assert line.x.size == line.y.size == MOST_POINTS
    assert 0 < line.gini < line.perfect < 1
    lowest = expected / exposure <= np.quantile(expected / exposure, 0.3)
    at = np.interp(exposure[lowest].sum() / exposure.sum(), line.x, line.y)
    assert at == pytest.approx(claims[lowest].sum() / claims.sum(), abs=0.01)
    assert concentration(claims, claims, exposure).ratio == pytest.approx(1)
    assert concentration(claims, -expected, exposure).gini == pytest.approx(-line.gini)
    assert concentration(claims, exposure, exposure).gini == pytest.approx(0)


def test_a_gini_is_that_of_its_definition():
    """The mean absolute difference of two rows, divided by twice the mean (Gini 1912)."""
    y = np.random.default_rng(0).gamma(0.7, 3, 80)
    assert concentration(y, y).gini == pytest.approx(np.abs(y[:, None] - y).mean() / (2 * y.mean()))
    nothing = concentration(np.zeros(9), np.arange(9.0))
    assert np.isnan([nothing.gini, nothing.ratio]).all()
