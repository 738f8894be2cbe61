"""Terms of three features, or more: a table of scores over parts of each feature's codes, which all refits share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from gamcore.common.types import Codes, Floats
from gamcore.stats.bands import deviation, simultaneous

RANK = 1e-11
"""Singular values below this share of the largest are those of tables that others make up."""


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
    collinear. The two tables that share the longest axis fall into a two-way layout for each part of that axis, so
    that only the third table is left to be solved for as a whole.
    """
    longest = int(np.argmax(weight.shape))
    heavy = np.moveaxis(np.sqrt(weight / weight.max(initial=1e-300)), longest, 0)
    tables = np.moveaxis(cells, 1 + longest, 1)
    size, rows, columns = heavy.shape
    two_way = np.concatenate(  # (rows x columns, rows + columns): a row's and a column's share of each cell
        [np.repeat(np.eye(rows), columns, axis=0), np.tile(np.eye(columns), (rows, 1))], axis=1
    )
    flat = heavy.reshape(size, rows * columns)
    layouts = flat[:, :, None] * two_way
    inverse = np.linalg.pinv(layouts, rcond=RANK)

    def beyond(values: Floats) -> Floats:
        """What weighted values (size, cells, k) have beyond the layout of their part of the longest axis."""
        return np.asarray(values - layouts @ (inverse @ values))

    weighted = flat[:, :, None] * np.moveaxis(tables.reshape(len(tables), size, -1), 0, -1)
    design = beyond(flat[:, :, None] * np.eye(rows * columns)).reshape(-1, rows * columns)
    shared = np.linalg.lstsq(design, beyond(weighted).reshape(len(design), -1), rcond=RANK)[0]
    shares = inverse @ (weighted - flat[:, :, None] * shared)
    of_rows, of_columns = (np.moveaxis(part, -1, 0) for part in np.split(shares, [rows], axis=1))
    shared = shared.T.reshape(-1, rows, columns)
    own = tables - shared[:, None] - of_columns[:, :, None] - of_rows[..., None]
    for axis in range(3):
        others = tuple(k for k in range(3) if k != axis)
        own[(slice(None), *[slice(None)] * axis, heavy.sum(axis=others) == 0)] = 0.0
    first, last = (axis for axis in range(3) if axis != longest)
    lacking = {
        longest: shared,
        first: np.moveaxis(of_columns, 1, 1 + (longest > last)),
        last: np.moveaxis(of_rows, 1, 1 + (longest > first)),
    }
    return np.moveaxis(own, 1, 1 + longest), [lacking[axis] for axis in range(3)]


def faces(features: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the features of the tables of `split_off`: each lacks one, the first first."""
    return list(reversed(list(combinations(features, len(features) - 1))))
