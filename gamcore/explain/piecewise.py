"""A curve as a few constant pieces, and where to cut it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Floats
from gamcore.explain.curves import Curve
from gamcore.explain.support import FEW_ROWS
from gamcore.stats.bands import deviation, pointwise, simultaneous

MOST_PIECES: Final = 10
LEAST_SHARE: Final = 0.01
"""Least share of the rows on either side of a cut."""

CLEAR: Final = 2.0
"""Least distance of neighbouring pieces, in standard errors."""


@dataclass(frozen=True)
class Piece:
    """Neighbouring bins as one, from `start` to `end` (exclusive).

    score : their mean effect over training rows. lower, upper : simultaneous band over all pieces. All on the link
    scale. rows : training rows.
    """

    start: int
    end: int
    score: float
    lower: float
    upper: float
    rows: float


def simplify(curve: Curve) -> list[Piece]:
    """Return a curve of a number or date (on the link scale) as constant pieces, from left to right.

    For each k, dynamic programming finds the best k pieces (least sum of n_v (f_v - mean)^2, at least 1% of the rows in
    each, and `FEW_ROWS`). The largest k is taken whose jumps all exceed 2 standard errors of the difference over
    refits.
    """
    if curve.labels or not curve.scores.size or curve.counts.sum() <= 0:
        return []
    least = max(LEAST_SHARE, FEW_ROWS / float(curve.counts.sum()))
    starts = partitions(curve.scores, curve.counts, MOST_PIECES, min(least, 1.0))
    clear = [start for start in starts if _is_clear(curve, start)]
    return _pieces(curve, clear[-1])


def partitions(scores: Floats, counts: Floats, most: int, least_share: float = LEAST_SHARE) -> list[list[int]]:
    """Return the best partitions into 1, 2, ... pieces as first bins of the pieces, as far as the rows allow.
    least_share : of the rows, in each piece."""
    size = scores.size
    rows, sums, squares = (
        np.concatenate([[0.0], np.cumsum(counts * power)]) for power in (np.ones(size), scores, scores**2)
    )
    least = least_share * rows[-1]

    def costs(end: int) -> Floats:
        """Return the cost (end,) of one piece from each bin to `end` (exclusive); infinite where it has too few
        rows."""
        n, total = rows[end] - rows[:end], sums[end] - sums[:end]
        cost = squares[end] - squares[:end] - np.where(n > 0, total**2 / np.where(n > 0, n, 1.0), 0.0)
        return np.where(n >= least, cost, np.inf)

    each = [np.empty(0), *[costs(end) for end in range(1, size + 1)]]
    best = np.array([0.0, *[cost[0] for cost in each[1:]]])
    cuts: list[NDArray[np.int64]] = []
    partitions = [[0]]
    for k in range(1, min(most, size)):
        new, cut = np.full(size + 1, np.inf), np.zeros(size + 1, np.int64)
        for end in range(k + 1, size + 1):
            pieces = best[k:end] + each[end][k:]
            cut[end] = k + int(pieces.argmin())
            new[end] = pieces[cut[end] - k]
        if not np.isfinite(new[size]):
            break
        best, cuts = new, [*cuts, cut]
        starts, end = [0], size
        for line in reversed(cuts):
            end = int(line[end])
            starts.insert(1, end)
        partitions.append(starts)
    return partitions


def _means(values: Floats, counts: Floats, starts: list[int]) -> Floats:
    """Return the means over training rows (..., pieces) of values (..., bins)."""
    sums = np.add.reduceat(values * counts, starts, axis=-1)
    return np.asarray(sums / np.maximum(np.add.reduceat(counts, starts), 1e-300))


def error_of_refits(curve: Curve) -> float:
    """Return the factor from the deviation over a curve's refits to its standard error."""
    errors = (curve.upper - curve.lower) / 2 / pointwise(len(curve.refits))
    moved = deviation(curve.refits)
    return float(np.median(errors[moved > 0] / moved[moved > 0])) if (moved > 0).any() else 0.0


def _is_clear(curve: Curve, starts: list[int]) -> bool:
    if len(starts) < 2:
        return True
    if len(curve.refits) < 2:
        return False
    jumps = np.abs(np.diff(_means(curve.scores, curve.counts, starts)))
    errors = error_of_refits(curve) * deviation(np.diff(_means(curve.refits, curve.counts, starts), axis=1))
    return bool((jumps > CLEAR * errors).all())


def _pieces(curve: Curve, starts: list[int]) -> list[Piece]:
    scores, rows = _means(curve.scores, curve.counts, starts), np.add.reduceat(curve.counts, starts)
    wide = np.full(scores.size, np.inf)
    if len(curve.refits) > 1:
        refits = _means(curve.refits, curve.counts, starts)
        reach = simultaneous(refits, np.ones(scores.size, bool))
        wide = reach * error_of_refits(curve) * deviation(refits)
    ends = [*starts[1:], curve.scores.size]
    return [
        Piece(start, end, score=float(score), lower=float(score - reach), upper=float(score + reach), rows=float(n))
        for start, end, score, reach, n in zip(starts, ends, scores, wide, rows, strict=True)
    ]


def knee(curve: Curve) -> int | None:
    """Return the bin where a curve bends most, its monotone hull farthest from the chord; None without a
    bend.

    The hull is the running maximum of a curve that rises from end to end, the running minimum of one that falls.
    """
    if curve.labels or curve.scores.size < 3 or np.ptp(curve.display) <= 0:
        return None
    rises = curve.scores[-1] >= curve.scores[0]
    hull = np.maximum.accumulate(curve.scores) if rises else np.minimum.accumulate(curve.scores)
    height = hull[-1] - hull[0]
    if height == 0:
        return None
    at = (curve.display - curve.display[0]) / np.ptp(curve.display)
    gap = np.abs((hull - hull[0]) / height - at)
    k = int(gap.argmax())
    return k if gap[k] > LEAST_SHARE else None
