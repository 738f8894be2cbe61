"""Intervals that hold at every look: confidence sequences of means and their differences.

A fixed-end interval holds at one look, which was planned. Who looks daily and stops when it excludes 0 finds an effect
in several times 5% of the experiments without one. A confidence sequence contains the truth at all looks together with
95%, so one may look whenever one likes (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, *Time-uniform central
limit theory and asymptotic confidence sequences*, theorem 2.2). It is asymptotic: it holds from some hundred customers
on, as the normal approximation does.
"""

from __future__ import annotations

import math
from functools import cache

from scipy.special import lambertw, ndtr

from gamcore.stats.intervals import ALPHA, Interval, Z


@cache
def _tuned(alpha: float) -> float:
    """Return n rho^2 of the size n at which a sequence is to be narrowest (ibid., appendix B.2, exactly)."""
    return float(-lambertw(-(alpha**2) / math.e, -1).real - 1)


def _inside(n: float, planned: float, alpha: float) -> float:
    """Return n rho^2 after n customers of a sequence that is narrowest after `planned`."""
    return _tuned(alpha) * n / planned


def anytime_reach(n: float, planned: float, alpha: float = ALPHA) -> float:
    """Return how many standard errors an always-valid interval reaches, after n customers.

    planned : customers after which it is to be narrowest.
    """
    x = _inside(n, planned, alpha)
    return math.sqrt(2 * (1 + 1 / x) * math.log(math.sqrt(x + 1) / alpha))


def anytime_interval(value: float, interval: Interval, n: float, planned: float) -> Interval:
    """Return the always-valid interval of an estimate, from its fixed-end interval; distances keep their proportions.

    Ratios are given as logarithms.
    """
    wider = anytime_reach(n, planned) / Z
    return value - (value - interval[0]) * wider, value + (interval[1] - value) * wider


def anytime_p(z: float, n: float, planned: float) -> float:
    """Return the p value that an always-valid interval of that level just excludes 0. z : estimate / standard error.

    Below 5% exactly where the interval of 95% excludes 0.
    """
    x = _inside(n, planned, ALPHA)
    return min(1.0, math.sqrt(x + 1) * math.exp(-(z**2) * x / (2 * (x + 1))))


def anytime_alpha(alpha: float, n: float = 1.0, planned: float = 1.0) -> float:
    """Return the alpha of one look whose interval is as wide as the always-valid one of `alpha` after n customers."""
    return float(2 * ndtr(-anytime_reach(n, planned, alpha)))
