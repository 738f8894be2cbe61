"""Weights and targets as whole numbers: their sums are exact, so they do not depend on the order of rows or pieces."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Floats, Ints
from gamcore.kernels.tables import Tables

LARGEST_BITS: Final = 30
"""Bits of the largest number in a line of 32 bits."""

WEIGHT_BITS: Final = 14
"""Most bits of a weight behind the point."""

EXACT_BITS: Final = 52
"""Bits of a sum of whole numbers in float64, less one."""


class Piece(NamedTuple):
    """Some of the rows in group order: codes (p, m), starts (G + 1,), targets about 0 and weights (m,), or no weights
    where each is 1."""

    codes: NDArray[np.uint8]
    starts: Ints
    target: Floats
    weight: Floats

    @classmethod
    def of(cls, codes: NDArray[np.uint8], group: Ints, n_groups: int, target: Floats, weight: Floats | None) -> Piece:
        """Return rows in any order as a piece; `codes`, a line per feature, are put into group order in place."""
        order = np.argsort(group.astype(np.uint16), kind="stable")
        for line in codes:
            line[:] = line[order]
        starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])
        return cls(codes, starts, target[order], np.empty(0) if weight is None else weight[order])


class Scale(NamedTuple):
    """What whole numbers stand for.

    unit : the weight that a whole number of 1 stands for; 1 where each row weighs 1. exact : the power of 2 by which
    targets are multiplied before they are rounded. is_weighted : whether rows have weights.
    """

    unit: float
    exact: float
    is_weighted: bool

    @classmethod
    def of(cls, heaviest: float, total: float, is_weighted: bool, spare: int = 0) -> Scale:
        """Return the finest scale. heaviest, total : the largest weight of a code in a group, and that of all rows.
        spare : doublings of the rows for which it leaves room."""
        bits = min(LARGEST_BITS - spare - _bits(heaviest), WEIGHT_BITS) if is_weighted else 0
        return cls(2.0**-bits, 2.0 ** (EXACT_BITS - spare - _bits(max(total, 2.0)) - bits), is_weighted)

    def round(self, piece: Piece) -> Rounded:
        """Return a piece in whole numbers."""
        weight = np.rint(piece.weight / self.unit)
        by = weight if weight.size else 1.0
        target, square = (np.rint(values * self.exact) * by for values in (piece.target, np.square(piece.target)))
        return Rounded(piece.codes, piece.starts, target, square, weight)

    def read(self, tables: Tables) -> Tables:
        """Return tables whose sums are those of weights and targets; the lines stay whole numbers."""
        by = np.array([self.unit, self.unit / self.exact, self.unit / self.exact])
        return tables._replace(
            weight=tables.weight * self.unit, target=tables.target * (self.unit / self.exact), group=tables.group * by
        )


class Rounded(NamedTuple):
    """A piece whose weights, targets and squares, both times weights, are whole numbers."""

    codes: NDArray[np.uint8]
    starts: Ints
    target: Floats
    square: Floats
    weight: Floats

    def of_group(self, g: int) -> slice:
        """Return the rows of a group."""
        return slice(int(self.starts[g]), int(self.starts[g + 1]))

    def weights(self, rows: slice) -> Floats:
        """Return the weights of some rows, or none."""
        return self.weight[rows] if self.weight.size else self.weight


def _bits(number: float) -> int:
    return int(np.ceil(np.log2(max(number, 1.0))))
