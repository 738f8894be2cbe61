"""95% intervals and tests of rates and means, by SciPy and, for experiments, statsmodels.

Counts may be effective numbers of weighted rows, so they need not be whole.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit
from scipy.stats import fisher_exact, ttest_ind

from gamcore.common.extras import extra
from gamcore.common.types import Floats
from gamcore.stats.weights import effective_rows

Interval = tuple[float, float]

ALPHA: Final = 0.05
Z: Final = float(ndtri(1 - ALPHA / 2))
UNKNOWN: Final = (math.nan, math.nan)

FEWEST_ROWS: Final = 1.5
"""Fewest effective rows for which a mean has an interval."""

FEWEST_EXPECTED: Final = 5.0
"""Expected count below which the normal approximation is not used."""

LARGEST_LOG: Final = math.log(np.finfo(np.float64).max)
"""Logarithm of the largest number."""

LEAST_SKEW: Final = 1e-6
"""Skewness of a mean below which its interval is symmetric."""


def wilson(rate: float, n: float) -> Interval:
    """Return Wilson's interval (1927) of a rate, the share of hits (0 to 1) among n rows.

    For weighted rows, n is their effective number. It need not be whole, as SciPy's interval demands.
    """
    if n <= 0:
        return UNKNOWN
    shrink = 1 + Z**2 / n
    middle = (rate + Z**2 / (2 * n)) / shrink
    reach = Z * math.sqrt(max(rate * (1 - rate), 0.0) / n + Z**2 / (4 * n**2)) / shrink
    low, high = min(middle - reach, rate), max(middle + reach, rate)  # at rates of 0 and 1 they are equal but rounding
    return max(low, 0.0), min(high, 1.0)


def poisson_rate(events: float, exposure: float) -> Interval:
    """Return Garwood's exact interval (1936) of a Poisson rate, given events and the exposure they fell in.

    It holds the rate at least 95% of the time, and counts no events as knowledge: then it begins at 0. Events of
    weighted rows are their effective number, which need not be whole.
    """
    if not exposure > 0:
        return UNKNOWN
    low = float(gammaincinv(events, ALPHA / 2)) if events > 0 else 0.0  # half a quantile of chi-squared
    return low / exposure, float(gammaincinv(events + 1, 1 - ALPHA / 2)) / exposure


def newcombe(rate: float, n: float, other: float, m: float) -> Interval:
    """Return Newcombe's interval (1998, method 10: Wilson's ends) of rate - other, rates of n and m rows."""
    if n <= 0 or m <= 0:
        return UNKNOWN
    return difference_by_ends((rate, wilson(rate, n)), (other, wilson(other, m)))


def difference_by_ends(first: tuple[float, Interval], other: tuple[float, Interval]) -> Interval:
    """Return the interval of the difference of two independent estimates, each given with its own interval.

    Distances from an estimate to the ends of its interval are taken for reaches in its direction (Zou and Donner 2008,
    "MOVER"; for Wilson's intervals of rates that is Newcombe's method 10).
    """
    (value, (low, high)), (second, (second_low, second_high)) = first, other
    difference = value - second
    return (
        difference - math.hypot(value - low, second_high - second),
        difference + math.hypot(high - value, second - second_low),
    )


def ratio_of_rates(rate: float, n: float, other: float, m: float) -> Interval:
    """Return the interval of the ratio of two rates, on the log scale; NaN where either is 0, or both are 1."""
    if not (n > 0 and m > 0 and rate > 0 and other > 0 and min(rate, other) < 1):
        return UNKNOWN  # a few rows that all did it do not prove certainty
    with extra("experiments"):
        from statsmodels.stats.proportion import confint_proportions_2indep
    low, high = confint_proportions_2indep(rate * n, n, other * m, m, method="log", compare="ratio", alpha=ALPHA,
                                           correction=False)  # fmt: skip
    return float(low), float(high)


def p_of_rates(rate: float, n: float, other: float, m: float) -> float:
    """Return the p value of equal rates: pooled z test, or Fisher's exact test where an expected count is under 5."""
    x, y = rate * n, other * m
    pooled = (x + y) / (n + m)
    if pooled in (0.0, 1.0):
        return 1.0
    if min(pooled, 1 - pooled) * min(n, m) < FEWEST_EXPECTED:
        counts = [[round(x), round(n - x)], [round(y), round(m - y)]]
        return float(fisher_exact(counts).pvalue)
    with extra("experiments"):
        from statsmodels.stats.proportion import proportions_ztest
    return float(proportions_ztest([x, y], [n, m])[1])


def student(values: Floats, weight: Floats | None = None, alpha: float = ALPHA) -> Interval:
    """Return Student's interval of a mean, by the effective number of rows; NaN below `FEWEST_ROWS`, and where all
    values are equal."""
    mean, square, n = _moments(values, weight)
    if n < FEWEST_ROWS or not square > 0:
        return UNKNOWN  # a few equal values do not prove certainty
    reach = float(stdtrit(n - 1, 1 - alpha / 2)) * math.sqrt(square / (n - 1))
    return mean - reach, mean + reach


def skewed_mean(values: Floats, weight: Floats | None = None) -> Interval:
    """Return the interval of a mean of amounts (n,) of 0 or more, whose few large ones decide it.

    Student's interval of such a mean lies too low: it misses the truth on one side. Hall's (1992, on the removal of
    skewness by transformation, eq. 3.2) takes the skewness out of the studentised mean by a cubic, and is read back
    through its inverse. Weights are shares of the mean, as exposures are, so rows count by the squares of their
    weights. NaN below `FEWEST_ROWS`, and where all amounts are equal.
    """
    w = np.ones(values.size) if weight is None else weight
    n = effective_rows(w)
    if n < FEWEST_ROWS:
        return UNKNOWN
    mean = float(np.average(values, weights=w))
    parts = w * (values - mean) / w.sum()
    spread = float(np.square(parts).sum())
    if not spread > 0:
        return UNKNOWN  # a few equal values do not prove certainty
    skew = float((parts**3).sum()) / spread**1.5
    error, reach = math.sqrt(spread * n / (n - 1)), float(stdtrit(n - 1, 1 - ALPHA / 2))
    return max(mean - error * _skewed(reach, skew), 0.0), mean - error * _skewed(-reach, skew)


def _skewed(z: float, skew: float) -> float:
    """Return the quantile of a studentised mean of that skewness, given the quantile of one without."""
    if abs(skew) < LEAST_SKEW:
        return z
    return float(3 / skew * (np.cbrt(1 + skew * (z - skew / 6)) - 1))


def difference_of_means(
    values: Floats, others: Floats, weight: Floats | None = None, other_weight: Floats | None = None,
    *, alpha: float = ALPHA,
) -> Interval:  # fmt: skip
    """Return Welch's interval of the difference of two means, by the effective numbers of rows."""
    moments = [_moments(values, weight), _moments(others, other_weight)]
    if min(n for _, _, n in moments) < FEWEST_ROWS:
        return UNKNOWN
    (mean, square, n), (other, other_square, m) = moments
    parts = square / (n - 1), other_square / (m - 1)
    if sum(parts) == 0:
        return UNKNOWN  # a few equal values do not prove certainty
    freedom = freedom_of_both(parts[0], n, parts[1], m)
    reach = float(stdtrit(freedom, 1 - alpha / 2)) * math.sqrt(sum(parts))
    return mean - other - reach, mean - other + reach


def freedom_of_both(square: float, n: float, other: float, m: float) -> float:
    """Return the degrees of freedom of a difference (Welch and Satterthwaite), given the squared errors of two means
    and what each was estimated from: rows, or clusters of them."""
    share = square / (square + other)  # first, so that no unit of the values takes the squares out of range
    return 1 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1))


def ratio_around(values: tuple[float, float], errors: tuple[float, float], reach: float) -> Interval:
    """Return the interval of the ratio of two means above 0, which reaches so many errors of its logarithm (delta
    method); see `ratio_within`."""
    error = math.hypot(errors[0] / values[0], errors[1] / values[1])
    middle = math.log(values[0]) - math.log(values[1])
    return ratio_within(middle - reach * error, middle + reach * error)


def ratio_within(low: float, high: float) -> Interval:
    """Return the interval of a ratio, given that of its logarithm; NaN where an end is beyond all numbers.

    So it is where a mean lies just above 0, and its error says that it may as well be 0: then nothing is known.
    """
    return (math.exp(low), math.exp(high)) if high < LARGEST_LOG else UNKNOWN


def _moments(values: Floats, weight: Floats | None) -> tuple[float, float, float]:
    """Return the mean, mean squared distance from it, and effective number of rows."""
    w = np.ones(values.size) if weight is None else weight
    if not w.sum() > 0:
        return math.nan, math.nan, 0.0
    mean = float(np.average(values, weights=w))
    return mean, float(np.average((values - mean) ** 2, weights=w)), effective_rows(w)


def p_of_means(values: Floats, others: Floats) -> float:
    """Return Welch's p value of equal means; NaN with fewer than two rows, or where nothing varies."""
    if min(values.size, others.size) < 2 or (np.ptp(values) == 0 and np.ptp(others) == 0):
        return math.nan
    return float(ttest_ind(values, others, equal_var=False).pvalue)


def ratio_of_means(values: Floats, others: Floats) -> Interval:
    """Return the interval of the ratio of two means (delta method, log scale); NaN unless both are above 0."""
    (mean, square, n), (other, other_square, m) = _moments(values, None), _moments(others, None)
    if not (n >= 2 and m >= 2 and mean > 0 and other > 0 and square + other_square > 0):
        return UNKNOWN
    errors = math.sqrt(square / (n - 1)), math.sqrt(other_square / (m - 1))
    return ratio_around((mean, other), errors, float(stdtrit(n + m - 2, 1 - ALPHA / 2)))


def adjusted_by_holm(p: Floats) -> Floats:
    """Return p values (k,) adjusted by Holm (1979).

    statsmodels' routine is not used: it collects the garbage of the whole process, which takes longer than the rest
    of a read-out.
    """
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
