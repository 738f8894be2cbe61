"""The grid of a pair of features: running sums over its cells, and the best tree that cuts both axes.

A pair is a feature whose codes are cells, SIDE * a + b for codes a and b of its two features, so that rows, histograms
and validation are those of any feature (Lou et al. 2013, section 4). Running sums of gradient and weight:

              b = 0            b = 1 ..
    a = 0     both missing     a missing, values 1..b
    a = 1 ..  values 1..a,     values 1..a and 1..b
              b missing

A tree cuts one axis at its root, and then the other axis in each part: below and above the root's cut, and where the
root's feature is missing. In each part, rows with the other feature missing are a leaf. A cross is a tree that cuts
the other axis at the same place in all parts; there are far fewer crosses to search.

    root axis = 0, at, below, above, missing = (3, 2, 5, 4)

        missing |      -----4------
              1 |  m   --2----------     m: the other feature is missing, a leaf of its own in each part
              3 |  m   --2----------
              4 |  m   ------5------
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import CURVE, kernel
from gamcore.kernels.layout import aligned
from gamcore.kernels.losses import EMPTY, Form, has_log_link, sums_of
from gamcore.kernels.scalars import greater

SIDE: Final = 64
"""Codes per axis: the missing bin and at most 63 bins of values."""

N_CELLS: Final = SIDE * SIDE

FLUSH: Final = 65_536
"""Rows after which float32 sums of cells are added to float64 sums: a cell may hold most rows of a table, and a sum of
millions of rows would round every further row the same way."""

AXIS, AT, PART = 0, 1, 2
"""Places in `PairScratch.tree`: the root's axis, its cut, and from PART on the cuts of the other axis below it,
above it and where the root's feature is missing."""


class PairScratch(NamedTuple):
    """Scratch of the search for a pair's tree, one per thread."""

    cells: NDArray[np.floating]  # (2 N_CELLS,) sums over some rows: gradients and hessians side by side, or gradients
    wide: NDArray[np.float64]  # (2 N_CELLS,) the histogram: sums over all rows
    two: NDArray[np.floating]  # (2, 2 N_CELLS) `cells` of two pairs, for the ranking
    sums: NDArray[np.complexfloating]  # (2, N_CELLS) `two` as complex numbers, gradient + i hessian
    wide_two: NDArray[np.float64]  # (2, 2 N_CELLS)
    run: NDArray[np.float64]  # (2, SIDE, SIDE) running sums
    strip: NDArray[np.floating]  # (SIDE,) what rows with the first feature missing add to each cut of the second
    value: NDArray[np.floating]  # (SIDE,) value of each cut
    bits: NDArray[np.signedinteger]  # (SIDE,) the same memory as integers
    line: NDArray[np.float64]  # (2, SIDE) running sums of one part of a tree
    tree: NDArray[np.int64]  # (5,) the best tree so far
    trial: NDArray[np.int64]  # (5,) the tree being tried
    leaf: NDArray[np.float64]  # (3, 3, 3) of each part and side of the best tree: gradient, weight, value


def make_board(dtype: type) -> PairScratch:
    """Return scratch for one thread."""
    value, two = aligned((SIDE,), dtype), aligned((2, 2 * N_CELLS), dtype)
    return PairScratch(
        cells=aligned((2 * N_CELLS,), dtype),
        wide=aligned((2 * N_CELLS,), CURVE),
        two=two,
        sums=two.view(np.complex64 if value.itemsize == 4 else np.complex128),
        wide_two=aligned((2, 2 * N_CELLS), CURVE),
        run=aligned((2, SIDE, SIDE), CURVE),
        strip=aligned((SIDE,), dtype),
        value=value,
        bits=value.view(np.int32 if value.itemsize == 4 else np.int64),
        line=aligned((2, SIDE), CURVE),
        tree=np.zeros(5, np.int64),
        trial=np.zeros(5, np.int64),
        leaf=np.zeros((3, 3, 3), CURVE),
    )


@kernel
def run_up(
    cells: NDArray[np.floating],
    weight: NDArray[np.floating],
    paired: bool,
    ends: tuple[int, int],
    run: NDArray[np.float64],
) -> None:
    """Write the running sums of a grid whose largest codes are `ends` to `run`.

    cells : as in `PairScratch`; weight : (N_CELLS,) row weights of the cells, used where `cells` is not paired.
    """
    for a in range(ends[0] + 1):
        g = h = 0.0
        above = a - 1 if a > 1 else -1  # the row to add to: none for missing and for the first value
        for b in range(ends[1] + 1):
            cell = SIDE * a + b
            if b == 1:
                g = h = 0.0
            if paired:
                g += cells[2 * cell]
                h += cells[2 * cell + 1]
            else:
                g += cells[cell]
                h += weight[cell]
            run[0, a, b] = g + (run[0, above, b] if above >= 0 else 0.0)
            run[1, a, b] = h + (run[1, above, b] if above >= 0 else 0.0)


@kernel
def run_gradients(ends: tuple[int, int], loss: Form, run: NDArray[np.float64]) -> None:
    """Turn running sums of channels into those of gradient and weight."""
    if has_log_link(loss):
        for a in range(ends[0] + 1):
            for b in range(ends[1] + 1):
                run[0, a, b], run[1, a, b] = sums_of(run[0, a, b], run[1, a, b], loss)


@kernel
def flush(cells: NDArray[np.floating], wide: NDArray[np.float64]) -> None:
    """Add the sums over some rows to those over all rows, and clear them."""
    for k in range(wide.size):
        wide[k] += cells[k]
    cells[: wide.size] = 0


@kernel
def score(g: float, h: float, floor: float) -> float:
    """Return G^2 / H, the loss reduction of a leaf; 0 where it is lighter than `floor`, so that its value stays 0."""
    return g * g / h if h >= greater(floor, EMPTY) else 0.0


@kernel
def total(run: NDArray[np.float64], ends: tuple[int, int]) -> tuple[float, float]:
    """Return the gradient and weight of all rows."""
    last_a, last_b = ends
    g = run[0, last_a, last_b] + run[0, 0, last_b] + run[0, last_a, 0] + run[0, 0, 0]
    h = run[1, last_a, last_b] + run[1, 0, last_b] + run[1, last_a, 0] + run[1, 0, 0]
    return g, h


@kernel
def part_sum(run: NDArray[np.float64], s: int, tree: NDArray[np.int64], part: int, last_root: int, other: int) -> float:
    """Return running sum `s` of a part of a tree up to code `other` of the other axis; code 0 is the leaf of rows with
    that feature missing."""
    first = tree[AXIS] == 0
    root = 0 if part == 2 else tree[AT] if part == 0 else last_root
    total = run[s, root, other] if first else run[s, other, root]
    if part == 1:
        total -= run[s, tree[AT], other] if first else run[s, other, tree[AT]]
    return float(total)
