"""Degrees of freedom of curves that are boosted by smoothers, and the AIC by which such a fit is stopped.

With squared loss a fit is linear in the target: each step adds to the fit of the rows what a smoother S of one feature
makes of what is left, so that after m steps

    B_m = B_{m-1} + rate * S (I - B_{m-1})        B_0: the mean

The degrees of freedom are the trace of B (Buehlmann and Hothorn 2007, section 5.3). Every S is F K F' W, with the
functions F of a feature's codes and the weights W of the rows, so B is F A F' W with the functions of all features side
by side, and neither it nor anything else has the size of the rows:

    A_m = A_{m-1} + rate * K (I - C A_{m-1})      C = F' W F, the rows of the feature

Functions come to A when their feature is first stepped on.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gamcore.common.types import Floats, Ints
from gamcore.kernels.layout import CodedTable, Settings
from gamcore.kernels.products import multiply
from gamcore.kernels.smoothers import AT_ONCE, LEVELS, RIDGE, Smoothers

MEAN: Final = -1
"""Stands for a feature that is the same for all rows."""


class Freedom:
    """The degrees of freedom of a fit so far. rows : those learnt from; weight : theirs, (n,) or empty for 1 each."""

    def __init__(self, table: CodedTable, smoothers: Smoothers, rows: Ints, weight: Floats) -> None:
        self._table, self._smoothers, self._rows = table, smoothers, rows
        self._weight = weight[rows] if weight.size else np.ones(rows.size)
        self._place, self._functions = {MEAN: slice(0, 1)}, {MEAN: np.ones((1, 1))}
        self._inverse: dict[tuple[int, float], Floats] = {}
        self._cross = np.full((1, 1), self._weight.sum())  # C
        self._fit = np.full((1, 1), 1.0 / self._weight.sum())  # A

    @property
    def trace(self) -> float:
        """The degrees of freedom."""
        return float(np.sum(self._fit * self._cross.T))

    def corrected_aic(self, squares: float) -> float:
        """Return the corrected AIC (Hurvich, Simonoff and Tsai 1998) for a weighted sum of squared residuals."""
        n_rows = self._rows.size
        room = 1.0 - (self.trace + 2.0) / n_rows
        if not (squares > 0.0 and room > 0.0):
            return math.inf
        return math.log(squares / self._weight.sum()) + (1.0 + self.trace / n_rows) / room

    def step(self, feature: int, settings: Settings) -> None:
        """Count a step on a feature."""
        if feature not in self._place:
            self._add(feature)
        mine = self._place[feature]
        left = -_product(self._cross[mine], self._fit)
        left[:, mine] += np.eye(mine.stop - mine.start)
        self._fit[mine] += settings.learning_rate * _product(self._smoother(feature, settings.bend), left)

    def _add(self, feature: int) -> None:
        """Make room for the functions of a feature."""
        mine = functions_of(self._smoothers, feature, int(self._table.last[feature]))
        size, here = len(self._fit), slice(len(self._fit), len(self._fit) + mine.shape[1])
        self._cross, self._fit = (np.pad(matrix, (0, here.stop - size)) for matrix in (self._cross, self._fit))
        self._place[feature], self._functions[feature] = here, mine
        for other, there in self._place.items():
            cells = self._cells(other, feature)
            self._cross[there, here] = _product(self._functions[other].T, _product(cells, mine))
            self._cross[here, there] = self._cross[there, here].T

    def _cells(self, first: int, second: int) -> Floats:
        """Return the weight of the rows with each two codes of two features."""
        sizes = [len(self._functions[j]) for j in (first, second)]
        codes = [self._codes(j) for j in (first, second)]
        cells = np.bincount(codes[0] * sizes[1] + codes[1], self._weight, sizes[0] * sizes[1])
        return cells.reshape(sizes).astype(np.float64)

    def _codes(self, feature: int) -> Ints:
        """Return the codes of the rows; the mean has one."""
        if feature == MEAN:
            return np.zeros(self._rows.size, np.int64)
        return np.asarray(self._table.of(feature)[self._rows], np.int64)

    def _smoother(self, feature: int, bend: float) -> Floats:
        """Return K of a feature: the inverse of its equations."""
        if (feature, bend) not in self._inverse:
            here = self._place[feature]
            weight = np.diag(self._cells(feature, feature))
            system = self._cross[here, here] + bend * weight[1:].sum() * penalty_of(
                self._smoothers, feature, len(weight)
            )
            empty = np.flatnonzero(np.diag(system) == 0.0)
            system[empty, empty] = 1.0  # no row has this function
            self._inverse[feature, bend] = np.linalg.inv(system)
        return self._inverse[feature, bend]


def functions_of(smoothers: Smoothers, feature: int, last: int) -> Floats:
    """Return the functions of a feature at each code (last + 1, R): missing values have the first for themselves."""
    if smoothers.kind[feature] == LEVELS:
        return np.eye(last + 1)
    size, codes = int(smoothers.size[feature]), np.arange(1, last + 1)
    out = np.zeros((last + 1, 1 + size))
    out[0, 0] = 1.0
    for a in range(AT_ONCE):
        out[codes, 1 + (smoothers.first[feature, codes] + a) % size] += smoothers.basis[feature, codes, a]
    return out


def penalty_of(smoothers: Smoothers, feature: int, n_codes: int) -> Floats:
    """Return what is added to the equations of a feature, for weights that add up to 1."""
    if smoothers.kind[feature] == LEVELS:
        return np.diag(np.concatenate([[0.0], np.full(n_codes - 1, smoothers.ridge[feature])]))
    size = int(smoothers.size[feature])
    return np.pad(smoothers.penalty[feature, :size, :size] + RIDGE * np.eye(size), (1, 0))


def _product(first: Floats, second: Floats) -> Floats:
    """Return the product of two matrices."""
    out = np.empty((first.shape[0], second.shape[1]))
    multiply(np.ascontiguousarray(first), np.ascontiguousarray(second), out)
    return out
