"""95% intervals and tests of rates and means, by statsmodels and SciPy, with their edges in words.

Counts may be effective ones, of weighted rows, so no whole numbers.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import ttest_ind
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest

Floats = NDArray[np.float64]
Interval = tuple[float, float]

ALPHA: Final = 0.05
UNKNOWN: Final = (math.nan, math.nan)


def wilson(rate: float, n: float) -> Interval:
    """Wilson's interval of a rate of n rows."""
    if n <= 0:
        return UNKNOWN
    low, high = proportion_confint(rate * n, n, ALPHA, method="wilson")
    return float(low), float(high)


def newcombe(rate: float, n: float, other: float, m: float) -> Interval:
    """Newcombe's interval of the difference of two rates, of n and m rows."""
    if n <= 0 or m <= 0:
        return UNKNOWN
    low, high = confint_proportions_2indep(rate * n, n, other * m, m, method="newcomb", compare="diff", alpha=ALPHA)
    return float(low), float(high)


def ratio_of_rates(rate: float, n: float, other: float, m: float) -> Interval:
    """Interval of the ratio of two rates, on the log scale; unknown where one is 0."""
    if not (n > 0 and m > 0 and rate > 0 and other > 0):
        return UNKNOWN
    low, high = confint_proportions_2indep(rate * n, n, other * m, m, method="log", compare="ratio", alpha=ALPHA,
                                           correction=False)  # fmt: skip
    return float(low), float(high)


def p_of_rates(rate: float, n: float, other: float, m: float) -> float:
    """p of no difference between two rates, by z with the pooled rate; 1 where both are 0, or both 1."""
    pooled = (rate * n + other * m) / (n + m)
    if pooled in (0.0, 1.0):
        return 1.0
    return float(proportions_ztest([rate * n, other * m], [n, m])[1])


def student(values: Floats, weight: Floats | None = None) -> Interval:
    """Student's interval of a mean; of weighted rows, by their effective number. Unknown of fewer than two."""
    w = np.ones(values.size) if weight is None else weight
    n = float(w.sum() ** 2 / np.square(w).sum()) if w.sum() > 0 else 0.0
    if n < 1.5:
        return UNKNOWN
    mean = float(np.average(values, weights=w))
    error = math.sqrt(float(np.average((values - mean) ** 2, weights=w)) / (n - 1))
    reach = float(stdtrit(n - 1, 1 - ALPHA / 2)) * error
    return mean - reach, mean + reach


def difference_of_means(
    values: Floats, others: Floats, weight: Floats | None = None, other_weight: Floats | None = None
) -> Interval:
    """Welch's interval of the difference of two means; of weighted rows, by their effective numbers."""
    told = [_moments(values, weight), _moments(others, other_weight)]
    if min(n for _, _, n in told) < 1.5:
        return UNKNOWN
    (mean, square, n), (other, other_square, m) = told
    parts = square / (n - 1), other_square / (m - 1)
    if sum(parts) == 0:
        return mean - other, mean - other
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))
    reach = float(stdtrit(freedom, 1 - ALPHA / 2)) * math.sqrt(sum(parts))
    return mean - other - reach, mean - other + reach


def _moments(values: Floats, weight: Floats | None) -> tuple[float, float, float]:
    """Mean, mean squared distance from it, and effective number of rows."""
    w = np.ones(values.size) if weight is None else weight
    if not w.sum() > 0:
        return math.nan, math.nan, 0.0
    mean = float(np.average(values, weights=w))
    return mean, float(np.average((values - mean) ** 2, weights=w)), float(w.sum() ** 2 / np.square(w).sum())


def p_of_means(values: Floats, others: Floats) -> float:
    """p of no difference between two means (Welch); 1 where nothing varies and the two are equal."""
    if min(values.size, others.size) < 2:
        return math.nan
    if np.ptp(values) == 0 and np.ptp(others) == 0:
        return 1.0 if values[0] == others[0] else 0.0
    return float(ttest_ind(values, others, equal_var=False).pvalue)


def ratio_of_means(values: Floats, others: Floats) -> Interval:
    """Interval of the ratio of two means by the delta method on the log scale; unknown where one is not above 0."""
    (mean, square, n), (other, other_square, m) = _moments(values, None), _moments(others, None)
    if not (n >= 2 and m >= 2 and mean > 0 and other > 0):
        return UNKNOWN
    error = math.sqrt(square / (n - 1) / mean**2 + other_square / (m - 1) / other**2)
    reach = float(stdtrit(n + m - 2, 1 - ALPHA / 2)) * error
    return mean / other * math.exp(-reach), mean / other * math.exp(reach)
