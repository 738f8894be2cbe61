"""Grids of one to three features: sums over their cells, and what the cells know beyond all grids of fewer features.

A grid's cells are at (a * sizes[1] + b) * sizes[2] + c for codes a, b and c of its features; an axis that a grid of
fewer features lacks has a single code. Each cell has the gradients of several channels, the first as they are and the
others under random signs, which share the weights.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel

SIDE: Final = 9
"""Most codes of an axis: the missing bin and eight bins of values."""

MOST_SWEEPS: Final = 400


class GridRows(NamedTuple):
    """Rows as codes below `sizes`, with what is summed per cell."""

    codes: NDArray[np.uint8]  # (L, n)
    sizes: NDArray[np.int64]  # (L,) codes of each line
    gradient: NDArray[np.float32]  # (n, B) times the weight
    weight: NDArray[np.float32]  # (n,) hessian times the weight


class GridScratch(NamedTuple):
    """Scratch of one thread."""

    sums: NDArray[np.float64]  # (SIDE^3, B) gradients of the cells, from which margins are taken
    weight: NDArray[np.float64]  # (SIDE^3,)
    line: NDArray[np.float64]  # (B,)


def grid_scratch(channels: int) -> GridScratch:
    """Return scratch for grids of some channels."""
    return GridScratch(np.empty((SIDE**3, channels)), np.empty(SIDE**3), np.empty(channels))


@kernel
def sum_grid(rows: GridRows, term: NDArray[np.int64], board: GridScratch) -> int:
    """Sum the rows over the cells of the grid of three lines, and return their number."""
    first, second, third = rows.codes[term[0]], rows.codes[term[1]], rows.codes[term[2]]
    across, deep = rows.sizes[term[1]], rows.sizes[term[2]]
    cells = rows.sizes[term[0]] * across * deep
    channels = rows.gradient.shape[1]
    for cell in range(cells):
        board.weight[cell] = 0.0
        for k in range(channels):
            board.sums[cell, k] = 0.0
    for i in range(rows.weight.size):
        cell = (first[i] * across + second[i]) * deep + third[i]
        board.weight[cell] += rows.weight[i]
        for k in range(channels):
            board.sums[cell, k] += rows.gradient[i, k]
    return int(cells)


@kernel
def _level(cells: int, size: int, stride: int, board: GridScratch) -> None:
    """Take from each line of cells along an axis its weighted mean. stride : from one cell of a line to the next."""
    channels = board.line.size
    for outer in range(0, cells, size * stride):
        for first in range(outer, outer + stride):
            weight = 0.0
            for k in range(channels):
                board.line[k] = 0.0
            for cell in range(first, first + size * stride, stride):
                weight += board.weight[cell]
                for k in range(channels):
                    board.line[k] += board.sums[cell, k]
            if weight > 0.0:
                for k in range(channels):
                    board.line[k] /= weight
                for cell in range(first, first + size * stride, stride):
                    for k in range(channels):
                        board.sums[cell, k] -= board.weight[cell] * board.line[k]


@kernel
def _energy(cells: int, board: GridScratch) -> None:
    """Write the energy of each channel to `line`: the sum of G^2 / H over cells."""
    for k in range(board.line.size):
        board.line[k] = 0.0
    for cell in range(cells):
        if board.weight[cell] > 0.0:
            for k in range(board.line.size):
                board.line[k] += board.sums[cell, k] * board.sums[cell, k] / board.weight[cell]


@kernel
def purify_grid(
    rows: GridRows, term: NDArray[np.int64], tolerance: float, board: GridScratch, out: NDArray[np.float64]
) -> int:
    """Leave in a grid what no grid of fewer of its features has, and write its energy (B,); return its cells.

    Margins are taken along each axis in turn, weighted (the weighted least squares fit of all lower grids by
    alternating projections), until a sweep takes less than `tolerance` off the energy of every channel.
    """
    cells = sum_grid(rows, term, board)
    two, three = rows.sizes[term[1]], rows.sizes[term[2]]
    _energy(cells, board)
    for k in range(out.size):
        out[k] = board.line[k]
    for _ in range(MOST_SWEEPS):
        if rows.sizes[term[0]] > 1:
            _level(cells, rows.sizes[term[0]], two * three, board)
        if two > 1:
            _level(cells, two, three, board)
        if three > 1:
            _level(cells, three, 1, board)
        _energy(cells, board)
        fallen = 0.0
        for k in range(out.size):
            if out[k] - board.line[k] > fallen:
                fallen = out[k] - board.line[k]
            out[k] = board.line[k]
        if fallen < tolerance:
            break
    return int(cells)


@kernel
def purify_grids(
    rows: GridRows,
    terms: NDArray[np.int64],
    tolerance: float,
    board: GridScratch,
    out: NDArray[np.float64],
) -> None:
    """Write the energies (m, B) of the grids of terms (m, 3)."""
    for m in range(terms.shape[0]):
        purify_grid(rows, terms[m], tolerance, board, out[m])
