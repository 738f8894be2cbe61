"""How much better one model ranks or explains held-out rows than another, paired over the rows.

A metric is a mean of what each row adds to it, to first order: its influences. The difference of two models' metrics
has the difference of their influences, whose spread over rows, or over clusters of rows, gives its interval. Of an AUC
that is the interval of DeLong et al. (Biometrics 1988), and of a share explained the delta method's. The interval holds
the models as they are: it says what other rows would show of these two, not what other fits would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from scipy.special import softmax, stdtrit

from gamcore.common.numbers import fixed, within
from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.columns import TableError
from gamcore.model.loss import Loss
from gamcore.stats.intervals import ALPHA

POINTS: Final = 100.0
"""Hundredths, in which differences of metrics are written."""

DECIMALS: Final = 2


@dataclass(frozen=True)
class Difference:
    """A difference of two metrics with its 95% interval."""

    value: float
    lower: float
    upper: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.lower > 0 or self.upper < 0

    @property
    def size(self) -> Self:
        """How large a difference is that is clear of 0, without its sign."""
        low, high = sorted((abs(self.lower), abs(self.upper)))
        return replace(self, value=abs(self.value), lower=low, upper=high)

    def in_points(self, signed: bool = False) -> str:
        """Return the difference in points, with no more digits than its interval leaves."""
        return within(POINTS * self.value, (POINTS * self.lower, POINTS * self.upper), DECIMALS, signed)

    def ends_in_points(self) -> str:
        """Return the interval in points, in words."""
        low, high = POINTS * self.lower, POINTS * self.upper
        decimals = 1 if min(abs(low), abs(high)) >= 1 else DECIMALS
        return f"{fixed(low, decimals)} to {fixed(high, decimals)}"


@dataclass(frozen=True)
class HeldOut:
    """Rows that no model has learned from. y, weight, offset : (n,), the offset in the scores (a log exposure).

    clusters : (n,) of rows that belong together; each row's own number where none do.
    """

    y: Floats
    weight: Floats
    offset: Floats
    clusters: Ints


@dataclass(frozen=True)
class Measured:
    """A metric over some rows, of weight `size`, with what each row adds to it."""

    value: float
    influences: Floats
    size: float


def measured(loss: Loss, rows: HeldOut, scores: Floats) -> Measured:
    """Return the main metric of scores (n, K): the AUC of two classes, the mean AUC of several (each against the
    others), or of a number the share of the loss that is explained beyond the best constant."""
    size = float(rows.weight.sum())
    if scores.shape[1] > 1:
        chances = softmax(scores, axis=1)
        present = [k for k in range(scores.shape[1]) if 0 < np.count_nonzero(rows.y == k) < rows.y.size]
        _check_classes(bool(present))
        each = [_area(rows.y == k, chances[:, k], rows.weight) for k in present]
        return Measured(float(np.mean([area for area, _ in each])), np.mean([own for _, own in each], axis=0), size)
    score = scores[:, 0]
    if loss.is_binary:
        _check_classes(bool(np.ptp(rows.y)))
        return Measured(*_area(rows.y == 1, score, rows.weight), size)
    constant = loss.base_score(rows.y, rows.weight, rows.offset) + rows.offset
    usual, left = loss.loss(rows.y, constant), loss.loss(rows.y, score)
    share = rows.weight / size
    whole = float(share @ usual)
    if not whole > 0:
        raise TableError("The held-out targets are all equal, so no model can explain more of them: hold out others.")
    ratio = float(share @ left) / whole
    return Measured(1.0 - ratio, -share * (left - ratio * usual) / whole, size)


def difference(reference: Sequence[Measured], other: Sequence[Measured], clusters: Sequence[Ints]) -> Difference:
    """Return how much larger the second of two models' metrics is, each over the same parts of rows."""
    whole = sum(part.size for part in reference)
    value, sums = 0.0, []
    for first, second, of_part in zip(reference, other, clusters, strict=True):
        value += first.size / whole * (second.value - first.value)
        sums.append(np.bincount(of_part, first.size / whole * (second.influences - first.influences)))
    each = np.concatenate(sums)
    n = sum(np.unique(of_part).size for of_part in clusters)
    if n < 2:
        return Difference(value, np.nan, np.nan)
    reach = float(stdtrit(n - 1, 1 - ALPHA / 2) * np.sqrt(n / (n - 1) * np.square(each).sum()))
    return Difference(value, value - reach, value + reach)


def mean_of(parts: Sequence[Measured]) -> float:
    """Return a metric over parts of rows."""
    return float(np.average([part.value for part in parts], weights=[part.size for part in parts]))


def _check_classes(several: bool) -> None:
    if not several:
        raise TableError("The held-out rows are all of one class, so no model can rank them: hold out more rows.")


def _area(hit: Bools, score: Floats, weight: Floats) -> tuple[float, Floats]:
    """Return the weighted area under the ROC curve and the influence of each row on it.

    hit : (n,) bool. The part of a hit is the share of misses that it is ranked above, half of those with its score.
    """
    above = _share_below(score[~hit], weight[~hit], score[hit])
    below = 1.0 - _share_below(score[hit], weight[hit], score[~hit])
    area = float(np.average(above, weights=weight[hit]))
    influences = np.empty(score.size)
    influences[hit] = weight[hit] / weight[hit].sum() * (above - area)
    influences[~hit] = weight[~hit] / weight[~hit].sum() * (below - area)
    return area, influences


def _share_below(scores: Floats, weight: Floats, at: Floats) -> Floats:
    """Return the share (m,) of some scores that is below each of others, those that are equal by half."""
    order = np.argsort(scores, kind="stable")
    running = np.concatenate([[0.0], np.cumsum(weight[order])])
    left, right = (running[np.searchsorted(scores[order], at, side=side)] for side in ("left", "right"))
    return np.asarray((left + right) / (2 * running[-1]))
