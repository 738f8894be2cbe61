"""The best tree of a pair that cuts the other axis separately in each part (the refinement of Lou et al. 2013)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.line_cuts import first_largest
from gamcore.kernels.pair_grid import AT, AXIS, PART, PairScratch, part_sum, score
from gamcore.kernels.scalars import lesser


@kernel
def _best_split(line: NDArray[np.float64], last: int, floor: float, board: PairScratch) -> tuple[int, float]:
    """Return the best cut of a line of running sums and its loss reduction; (`last`, 0) where no cut is allowed."""
    all_g, all_h = line[0, last], line[1, last]
    if last < 2:
        return last, 0.0
    left_g, left_h, value = line[0, 1:last], line[1, 1:last], board.value[: last - 1]
    kind = value.dtype.type
    for k in range(value.size):
        h = left_h[k]
        rest = all_h - h
        contrast = left_g[k] * all_h - all_g * h
        value[k] = kind(contrast * contrast / (h * rest * all_h)) if lesser(h, rest) >= floor else kind(0.0)
    k = first_largest(board.bits[: last - 1])
    return (k + 1, float(value[k])) if value[k] > 0 else (last, 0.0)


@kernel
def _cut_part(
    run: NDArray[np.float64],
    tree: NDArray[np.int64],
    part: int,
    ends: tuple[int, int],
    floor: float,
    board: PairScratch,
) -> float:
    """Cut the other axis in one part of a tree; return the part's value.

    It includes the leaf of rows with the other feature missing. -1 where a part below or above the root's cut is
    lighter than `floor`.
    """
    last_root, last = (ends[0], ends[1]) if tree[AXIS] == 0 else (ends[1], ends[0])
    for k in range(1, last + 1):
        board.line[0, k] = part_sum(run, 0, tree, part, last_root, k)
        board.line[1, k] = part_sum(run, 1, tree, part, last_root, k)
    g, h = board.line[0, last], board.line[1, last]
    if part < 2 and h < floor:
        return -1.0
    tree[PART + part], gain = _best_split(board.line, last, floor, board)
    missing = score(part_sum(run, 0, tree, part, last_root, 0), part_sum(run, 1, tree, part, last_root, 0), floor)
    return float(score(g, h, floor) + gain + missing)


@kernel
def best_refined(run: NDArray[np.float64], ends: tuple[int, int], floor: float, board: PairScratch) -> float:
    """Return the value of the best tree with a cut of its own in each part (the refinement of Lou et al. 2013).

    The tree is written to board.tree. 0, and no tree, where no root is allowed. As root, the second axis must be
    strictly better than the first.
    """
    best, tree = 0.0, board.trial
    if lesser(ends[0], ends[1]) < 2:
        return 0.0
    for axis in range(2):
        tree[AXIS], tree[AT] = axis, 1
        missing = _cut_part(run, tree, 2, ends, floor, board)
        for at in range(1, ends[axis]):
            tree[AT] = at
            below = _cut_part(run, tree, 0, ends, floor, board)
            above = _cut_part(run, tree, 1, ends, floor, board)
            if below >= 0 and above >= 0 and below + above + missing > best:
                best = below + above + missing
                for k in range(tree.size):
                    board.tree[k] = tree[k]
    return best
