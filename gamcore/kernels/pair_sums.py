"""Grids of pairs as sums over rows that may be anywhere, and the strengths of pairs from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.pair_grid import FLUSH, PairScratch
from gamcore.kernels.pair_rounds import add_two, strength


@kernel
def sum_pairs(
    codes: NDArray[np.uint8],
    stats: NDArray[np.complexfloating],
    pairs: NDArray[np.int64],
    board: PairScratch,
    grids: NDArray[np.float64],
) -> None:
    """Add the statistics of rows to the grids (m, 2 N) of pairs (m, 2), as long as N cells reach.

    codes (p, n), below N / SIDE; stats as in `add_two`, whole numbers, so that sums are exact; the board is of float64.
    """
    used = grids.shape[1]
    for k in range(pairs.shape[0]):
        i, j = pairs[k, 0], pairs[k, 1]
        board.two[:, :used] = 0
        for begin in range(0, stats.size, FLUSH):
            add_two(codes, (i, j, j), begin, stats, board.sums)
        for cell in range(used):
            grids[k, cell] += board.two[0, cell]


@kernel
def rank_grids(
    grids: NDArray[np.float64],
    ends: NDArray[np.int64],
    pairs: NDArray[np.int64],
    floor: float,
    pure: bool,
    board: PairScratch,
    out: NDArray[np.float64],
) -> None:
    """Write the strength (m,) of each pair, as `rank_pairs` does, from grids as `sum_pairs` makes them."""
    for k in range(pairs.shape[0]):
        for cell in range(grids.shape[1]):
            board.wide_two[0, cell] = grids[k, cell]
        out[k] = strength(board, 0, True, (ends[pairs[k, 0]], ends[pairs[k, 1]]), floor, pure)
