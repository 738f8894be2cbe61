"""Terms of three features, or more: a table of scores over parts of each feature's codes, which all refits share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from gamcore.stats.bands import deviation, simultaneous
from gamcore.types import Codes, Floats


@dataclass(frozen=True)
class GridTerm:
    """One interaction of several features, on the link scale: what no table of fewer of these features has.

    features : indices of the features, ascending.
    parts : for each feature the part (size,) of each code: a range of numbers, or levels. 0 is missing, the last is of
        codes without training rows.
    refits : (K, a, b, c) scores of each outer refit by part, 0 where no training row is in one of the parts.
    counts : (a, b, c) training rows (sum of weights) per cell.
    """

    features: tuple[int, ...]
    parts: tuple[Codes, ...]
    refits: Floats
    counts: Floats

    @cached_property
    def scores(self) -> Floats:
        """Scores (a, b, c), the mean over refits; over any one feature their mean over the training rows is 0."""
        return np.asarray(self.refits.mean(axis=0))

    def cells(self, codes: Codes) -> tuple[Codes, ...]:
        """Return the place of the cell of each row, given as codes (p, n), along each axis."""
        return tuple(part[codes[j]] for part, j in zip(self.parts, self.features, strict=True))

    def at(self, codes: Codes) -> Floats:
        """Return what the term adds to the scores (n,) of rows given as codes (p, n)."""
        return np.asarray(self.scores[self.cells(codes)])

    def refit(self, k: int) -> Floats:
        """Return the scores (a, b, c) of one refit."""
        return np.asarray(self.refits[k])

    def each_at(self, codes: Codes) -> Floats:
        """Return what each refit's term adds to the scores of rows, (K, n)."""
        return np.stack([refit[self.cells(codes)] for refit in self.refits])

    @cached_property
    def deviation(self) -> Floats:
        """Standard deviation (a, b, c) of the scores over refits."""
        return deviation(self.refits)

    @cached_property
    def reach(self) -> float:
        """Half-width of the simultaneous band, in units of `deviation`."""
        return simultaneous(self.refits.reshape(len(self.refits), -1), self.counts.ravel() > 0)

    @cached_property
    def importance(self) -> float:
        """Mean |score| over the training rows."""
        return float(np.average(np.abs(self.scores), weights=self.counts)) if self.counts.sum() > 0 else 0.0


def split_off(cells: Floats, weight: Floats) -> tuple[Floats, list[Floats]]:
    """Split tables into what no table of fewer axes has, and one table for each axis that is left out.

    cells : (K, a, b, c); weight : (a, b, c). The first result is 0 in sum over any axis, weighted, and where a part of
    an axis has no weight at all; the others lack the first, second, third axis, and all add up to `cells` elsewhere.

    They are the weighted least squares fit, found exactly: sweeps of centring crawl where features are nearly
    collinear.
    """
    shape, filled = weight.shape, np.nonzero(weight)
    smaller = [tuple(np.delete(shape, axis)) for axis in range(len(shape))]
    places = [
        np.ravel_multi_index([where for k, where in enumerate(filled) if k != axis], of)
        for axis, of in enumerate(smaller)
    ]
    firsts = np.cumsum([0, *(int(np.prod(of)) for of in smaller)])
    design = np.zeros((filled[0].size, firsts[-1]))
    for place, first in zip(places, firsts, strict=False):
        design[np.arange(place.size), first + place] = 1.0
    heavy = np.sqrt(weight[filled] / weight.max(initial=1e-300))[:, None]
    known = np.linalg.lstsq(design * heavy, heavy * np.stack([table[filled] for table in cells], axis=1), rcond=None)[
        0
    ].T
    lower = [line.reshape(-1, *of) for line, of in zip(np.split(known, firsts[1:-1], axis=1), smaller, strict=True)]
    own = cells - sum(np.expand_dims(table, 1 + axis) for axis, table in enumerate(lower))
    for axis in range(len(shape)):
        others = tuple(k for k in range(len(shape)) if k != axis)
        own[(slice(None), *[slice(None)] * axis, weight.sum(axis=others) == 0)] = 0.0
    return own, lower


def faces(features: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the features of the tables of `split_off`: each lacks one, the first first."""
    return list(reversed(list(combinations(features, len(features) - 1))))
