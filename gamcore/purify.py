"""Purification: what of a pair's surface belongs to main effects (Lengerich et al. 2020; algorithms of GA2M in EBM).

A surface f(u, v) with cell weights w splits into a mean, row effects, column effects and a rest whose weighted mean is
0 over every row and every column. The effects solve the normal equations of weighted two-way analysis of variance, so
they are found exactly, for all refits at once, where sweeps of alternating centring crawl along nearly collinear pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

Floats = NDArray[np.float64]

POLISH = 2
"""Sweeps of alternating centring after the equations are solved: they take the rounding off the margins."""


def two_way(surfaces: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Means (K,), row effects (K, a) and column effects (K, b) of surfaces (K, a, b) with cell weights (a, b).

    The weighted mean of the effects of rows, and of those of columns, is 0. Rows and columns without weight have none.
    """
    total = weight.sum()
    rows, columns = np.zeros(surfaces.shape[:2]), np.zeros((surfaces.shape[0], surfaces.shape[2]))
    if not total > 0:
        return np.zeros(surfaces.shape[0]), rows, columns
    by_row, by_column = weight.sum(axis=1), weight.sum(axis=0)
    mean = np.einsum("kab,ab->k", surfaces, weight) / total
    left = surfaces - mean[:, None, None]
    inside, across = by_row > 0, by_column > 0
    columns[:, across] = _column_effects(left[:, inside][:, :, across], weight[inside][:, across])
    left -= columns[:, None, :]
    for _ in range(1 + POLISH):
        more = _centre(np.einsum("kab,ab->ka", left, weight), by_row)
        rows += more
        left -= more[:, :, None]
        more = _centre(np.einsum("kab,ab->kb", left, weight), by_column)
        columns += more
        left -= more[:, None, :]
    of_rows, of_columns = rows @ by_row / total, columns @ by_column / total
    rows[:, inside] -= of_rows[:, None]
    columns[:, across] -= of_columns[:, None]
    return mean + of_rows + of_columns, rows, columns


def _centre(sums: Floats, weight: Floats) -> Floats:
    return np.where(weight > 0, sums / np.where(weight > 0, weight, 1.0), 0.0)


def _column_effects(surfaces: Floats, weight: Floats) -> Floats:
    """Column effects (K, b) after the row effects are eliminated: (D_c - W' D_r^-1 W) c = s_c - W' D_r^-1 s_r.

    The matrix is a graph's Laplacian: singular by one constant for each part of the table that shares no row and no
    column with another. A constant added there fixes the level, which the rows take up.
    """
    by_row, by_column = weight.sum(axis=1), weight.sum(axis=0)
    shares = weight / by_row[:, None]
    laplacian = np.diag(by_column) - weight.T @ shares
    bipartite = csr_array(weight > 0)
    _, part = connected_components(bipartite.T @ bipartite, directed=False)
    same = part[:, None] == part[None, :]
    laplacian += same * (by_column.mean() / same.sum(axis=1)[:, None])
    sums = np.einsum("kab,ab->kb", surfaces, weight) - np.einsum("kab,ab->ka", surfaces, weight) @ shares
    return np.asarray(cho_solve(cho_factor(laplacian), sums.T).T)
