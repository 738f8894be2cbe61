"""Purification: move main effects out of a pair's surface (Lengerich et al. 2020; algorithms of GA2M in EBM).

A surface f(u, v) with cell weights w splits into a mean, row effects, column effects and a rest whose weighted mean is
0 over every row and every column. The effects solve the normal equations of weighted two-way analysis of variance, so
they are found exactly, for all refits at once, where sweeps of alternating centring crawl along nearly collinear pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from gamcore.common.types import Floats, Ints

POLISH = 2
"""Sweeps of alternating centring after the equations are solved; they remove rounding errors from the margins."""


@dataclass(frozen=True)
class CellWeights:
    """The cells (m,) of a table (a, b) that have weight; the other cells of a surface do not matter here."""

    weight: Floats  # (a, b)
    rows: Ints
    columns: Ints

    @classmethod
    def of(cls, weight: Floats) -> CellWeights:
        """Return the cells of a table of weights."""
        rows, columns = np.nonzero(weight)
        return cls(weight, rows, columns)

    def sums(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the weighted sums of values (K, m) over rows (K, a) and over columns (K, b)."""
        heavy = values * self.weight[self.rows, self.columns]
        a, b = self.weight.shape
        return (
            np.stack([np.bincount(self.rows, line, a) for line in heavy]),
            np.stack([np.bincount(self.columns, line, b) for line in heavy]),
        )


def two_way(cells: CellWeights, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the means (K,), row effects (K, a) and column effects (K, b) of surfaces with these cell values (K, m).

    Row effects and column effects each have a weighted mean of 0. Rows and columns without weight have effect 0.
    """
    weight, n = cells.weight, len(values)
    total = weight.sum()
    rows, columns = np.zeros((n, weight.shape[0])), np.zeros((n, weight.shape[1]))
    if not total > 0:
        return np.zeros(n), rows, columns
    by_row, by_column = weight.sum(axis=1), weight.sum(axis=0)
    row_sums, column_sums = cells.sums(values)
    mean = row_sums.sum(axis=1) / total
    row_sums -= mean[:, None] * by_row
    column_sums -= mean[:, None] * by_column
    inside, across = by_row > 0, by_column > 0
    seen = weight[np.ix_(inside, across)]
    columns[:, across] = _column_effects(row_sums[:, inside], column_sums[:, across], seen)
    for _ in range(1 + POLISH):
        rows[:, inside] = ((row_sums - columns @ weight.T) / np.where(inside, by_row, 1.0))[:, inside]
        columns[:, across] = ((column_sums - rows @ weight) / np.where(across, by_column, 1.0))[:, across]
    of_rows, of_columns = rows @ by_row / total, columns @ by_column / total
    rows[:, inside] -= of_rows[:, None]
    columns[:, across] -= of_columns[:, None]
    return mean + of_rows + of_columns, rows, columns


def _column_effects(row_sums: Floats, column_sums: Floats, weight: Floats) -> Floats:
    """Return the column effects (K, b), with the row effects eliminated: (D_c - W' D_r^-1 W) c = s_c - W' D_r^-1 s_r.

    The matrix is a graph's Laplacian: singular by one constant for each part of the table that shares no row
    and no column with another. An added constant fixes the level of each part; the row effects absorb it.
    """
    by_row, by_column = weight.sum(axis=1), weight.sum(axis=0)
    shares = weight / by_row[:, None]
    laplacian = np.diag(by_column) - weight.T @ shares
    linked = laplacian != 0
    same = np.ones_like(linked)
    if not linked.all(axis=1).any():  # no column shares a row with every other: perhaps there are parts
        _, part = connected_components(csr_array(linked), directed=False)
        same = part[:, None] == part[None, :]
    laplacian += same * (by_column.mean() / same.sum(axis=1)[:, None])
    goal = (column_sums - row_sums @ shares).T
    try:
        return np.asarray(cho_solve(cho_factor(laplacian), goal).T)
    except np.linalg.LinAlgError:  # parts that almost no weight links
        return np.asarray(np.linalg.lstsq(laplacian, goal, rcond=None)[0].T)
