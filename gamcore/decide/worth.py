"""What a tested action adds up to: customers gained and money per period, with intervals.

An effect is measured per customer. Times the customers it will reach it is a total, and totals of strategies add up: no
customer gets two of them, so their errors are independent. The ends of a sum's interval are its value plus or minus
the root of the summed squares of the distances of each part's end from its value (MOVER: Zou and Donner 2008), which
keeps the skew of intervals of rates.

What is rolled out was chosen by the same results, which flatters the chosen. So each interval is first widened to the
level 1 - r alpha / k for r chosen of k tested (Benjamini and Yekutieli 2005): of the intervals reported of what was
chosen, at most 5% miss on average. If everything tested is rolled out, nothing is widened. The customers to come are
assumed to be like those of the test; their number is taken as it is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import ndtri

from gamcore.stats.intervals import ALPHA, Interval, Z


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Contribution:
    """What one action changes. times : customers it reaches, times the value of an outcome if money is meant. effect :
    outcomes more per customer, with its 95% interval. cost : of the whole action, in the units of the total."""

    times: float
    effect: float
    interval: Interval
    cost: float = 0.0


def total(parts: Sequence[Contribution], tested: int | None = None) -> Estimate:
    """Return what the parts add up to, with a 95% interval.

    tested : how many were tested; the parts are those chosen of them by the results. None where nothing was chosen."""
    k = max(tested or len(parts), len(parts), 1)
    wider = float(ndtri(1 - ALPHA * len(parts) / (2 * k))) / Z if parts else 1.0
    below = above = 0.0
    for part in parts:
        down, up = (abs(end - part.effect) * wider * part.times for end in part.interval)
        if part.times < 0:  # an outcome that costs: the ends change places
            down, up = up, down
        below, above = below + down**2, above + up**2
    value = sum(part.times * part.effect - part.cost for part in parts)
    return Estimate(value, value - math.sqrt(below), value + math.sqrt(above))
