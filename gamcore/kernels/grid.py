"""The grid of a pair of features: running sums over its cells, and the best tree that cuts both axes.

A pair is a feature whose codes are cells, SIDE * a + b for codes a and b of its two features, so that rows, histograms
and validation are those of any feature (Lou et al. 2013, section 4). Running sums of gradient and weight:

              b = 0            b = 1 ..
    a = 0     both missing     a missing, values 1..b
    a = 1 ..  values 1..a,     values 1..a and 1..b
              b missing

A tree cuts one axis, the root, and then the other axis in each part of it: below and above the root's cut, and where
the root's feature is missing. Rows that miss the other feature are a leaf in each part. A cross is the tree that cuts
the other axis at one place throughout; it has the fewest trees to search.

    root axis = 0, at, below, above, missing = (3, 2, 5, 4)

        missing |      -----4------
              1 |  m   --2----------     m: the other feature is missing, a leaf of its own in each part
              3 |  m   --2----------
              4 |  m   ------5------
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import CURVE, kernel
from gamcore.kernels.layout import LOGISTIC, Fit, Settings, aligned
from gamcore.kernels.linecut import EMPTY, _first_largest, _leaf

SIDE: Final = 64
"""Codes of an axis: the missing bin and at most 63 bins of values."""

N_CELLS: Final = SIDE * SIDE

AXIS, AT, PART = 0, 1, 2
"""Places in `Board.tree`: the root's axis, its cut, and from PART on the cuts of the other axis below it, above it and
where the root's feature is missing."""


class Board(NamedTuple):
    """Scratch of the search for a pair's tree, one a thread."""

    cells: NDArray[np.floating]  # (2 N_CELLS,) histogram: gradients and hessians side by side, or gradients
    run: NDArray[np.float64]  # (2, SIDE, SIDE) running sums
    strip: NDArray[np.floating]  # (SIDE,) what rows that miss the first feature add to each cut of the second
    value: NDArray[np.floating]  # (SIDE,) value of each cut
    bits: NDArray[np.signedinteger]  # (SIDE,) the same memory as integers
    line: NDArray[np.float64]  # (2, SIDE) running sums of one part of a tree
    tree: NDArray[np.int64]  # (5,) the best tree found


def make_board(dtype: type) -> Board:
    """Scratch for one thread."""
    value = aligned((SIDE,), dtype)
    return Board(
        cells=aligned((2 * N_CELLS,), dtype),
        run=aligned((2, SIDE, SIDE), CURVE),
        strip=aligned((SIDE,), dtype),
        value=value,
        bits=value.view(np.int32 if value.itemsize == 4 else np.int64),
        line=aligned((2, SIDE), CURVE),
        tree=np.zeros(5, np.int64),
    )


@kernel
def run_up(
    cells: NDArray[np.floating],
    weight: NDArray[np.floating],
    loss: int,
    ends: tuple[int, int],
    run: NDArray[np.float64],
) -> None:
    """Running sums of a grid whose largest codes are `ends`.

    cells : as in Board; weight : (N_CELLS,) row weights of the cells, for losses without hessians.
    """
    for a in range(ends[0] + 1):
        g = h = 0.0
        above = a - 1 if a > 1 else -1  # the row to add to: none for missing and for the first value
        for b in range(ends[1] + 1):
            cell = SIDE * a + b
            if b == 1:
                g = h = 0.0
            if loss == LOGISTIC:
                g += cells[2 * cell]
                h += cells[2 * cell + 1]
            else:
                g += cells[cell]
                h += weight[cell]
            run[0, a, b] = g + (run[0, above, b] if above >= 0 else 0.0)
            run[1, a, b] = h + (run[1, above, b] if above >= 0 else 0.0)


@kernel
def _score(g: float, h: float) -> float:
    """G^2 / H, what a leaf takes off the loss; nothing where there is no weight."""
    return g * g / h if h > EMPTY else 0.0


@kernel
def _contrast(g: tuple[float, float, float, float], h: tuple[float, float, float, float], floor: float) -> float:
    """What a table of 2 x 2 leaves takes off the loss beyond its rows and columns: c^2 / sum(1 / H), c the contrast of
    the leaf values; 0 where a leaf is lighter than `floor`."""
    if min(min(h[0], h[1]), min(h[2], h[3])) < floor:
        return 0.0
    c = g[0] / h[0] - g[1] / h[1] - g[2] / h[2] + g[3] / h[3]
    return c * c / (1.0 / h[0] + 1.0 / h[1] + 1.0 / h[2] + 1.0 / h[3])


@kernel
def _cross_values(
    run: NDArray[np.float64],
    a: int,
    ends: tuple[int, int],
    floor: float,
    strip: NDArray[np.floating],
    value: NDArray[np.floating],
) -> None:
    """What the crosses (a, b), b = 1 .. ends[1] - 1, take off the loss; 0 where a quarter is lighter than `floor`."""
    top_g, top_h = run[0, a, 1 : ends[1]], run[1, a, 1 : ends[1]]
    both_g, both_h = run[0, ends[0], 1 : ends[1]], run[1, ends[0], 1 : ends[1]]
    right_g, right_h = run[0, a, ends[1]], run[1, a, ends[1]]
    rest_g, rest_h = run[0, ends[0], ends[1]] - right_g, run[1, ends[0], ends[1]] - right_h
    kind = value.dtype.type
    for k in range(value.size):
        g0, h0 = top_g[k], top_h[k]
        g1, h1 = right_g - g0, right_h - h0
        g2, h2 = both_g[k] - g0, both_h[k] - h0
        g3, h3 = rest_g - g2, rest_h - h2
        least = min(min(h0, h1), min(h2, h3))
        low = (g0 * g0 * h1 + g1 * g1 * h0) / (h0 * h1)
        high = (g2 * g2 * h3 + g3 * g3 * h2) / (h2 * h3)
        value[k] = kind(low + high) + strip[k] if least >= floor else kind(0.0)


@kernel
def _contrast_values(
    run: NDArray[np.float64],
    a: int,
    ends: tuple[int, int],
    floor: float,
    strip: NDArray[np.floating],
    value: NDArray[np.floating],
) -> None:
    """The same for what the quarters take off the loss beyond main effects."""
    top_g, top_h = run[0, a, 1 : ends[1]], run[1, a, 1 : ends[1]]
    both_g, both_h = run[0, ends[0], 1 : ends[1]], run[1, ends[0], 1 : ends[1]]
    right_g, right_h = run[0, a, ends[1]], run[1, a, ends[1]]
    rest_g, rest_h = run[0, ends[0], ends[1]] - right_g, run[1, ends[0], ends[1]] - right_h
    kind = value.dtype.type
    for k in range(value.size):
        g0, h0 = top_g[k], top_h[k]
        g1, h1 = right_g - g0, right_h - h0
        g2, h2 = both_g[k] - g0, both_h[k] - h0
        g3, h3 = rest_g - g2, rest_h - h2
        least = min(min(h0, h1), min(h2, h3))
        one, two, three, four = 1.0 / h0, 1.0 / h1, 1.0 / h2, 1.0 / h3
        c = g0 * one - g1 * two - g2 * three + g3 * four
        value[k] = kind(c * c / (one + two + three + four)) + strip[k] if least >= floor else kind(0.0)


@kernel
def _strips(run: NDArray[np.float64], ends: tuple[int, int], floor: float, pure: bool, board: Board) -> None:
    """Fill board.strip: what rows that miss the first feature add to each cut of the second."""
    g, h = run[0], run[1]
    last_a, last_b = ends
    for b in range(1, last_b):
        low_g, low_h = g[0, b], h[0, b]
        high_g, high_h = g[0, last_b] - low_g, h[0, last_b] - low_h
        if pure:  # does the cut of the second mean the same where the first is missing?
            seen = (g[last_a, b], g[last_a, last_b] - g[last_a, b], low_g, high_g)
            weights = (h[last_a, b], h[last_a, last_b] - h[last_a, b], low_h, high_h)
            board.strip[b - 1] = _contrast(seen, weights, floor)
        else:
            board.strip[b - 1] = _score(low_g, low_h) + _score(high_g, high_h)


@kernel
def _strip(run: NDArray[np.float64], a: int, ends: tuple[int, int], floor: float, pure: bool) -> float:
    """What rows that miss the second feature add to the cut of the first after a."""
    g, h = run[0], run[1]
    last_a, last_b = ends
    low_g, low_h = g[a, 0], h[a, 0]
    high_g, high_h = g[last_a, 0] - low_g, h[last_a, 0] - low_h
    if not pure:
        return _score(low_g, low_h) + _score(high_g, high_h)
    seen = (g[a, last_b], g[last_a, last_b] - g[a, last_b], low_g, high_g)
    weights = (h[a, last_b], h[last_a, last_b] - h[a, last_b], low_h, high_h)
    return _contrast(seen, weights, floor)


@kernel
def best_cross(run: NDArray[np.float64], ends: tuple[int, int], floor: float, pure: bool, board: Board) -> float:
    """The cross that takes most off the loss; its cuts go to board.tree. 0, and no tree, where no cross is allowed.

    Value: sum of G^2 / H over the four quarters and the leaves of missing rows, which may be lighter than `floor`.
    `pure` counts only what is beyond main effects (algorithm of this project): the contrast of the quarters, and those
    of missing against seen rows of either feature at the other's cut; leaves are then left out where too light.
    Ties go to the first cut of the first feature, then of the second.
    """
    last_a, last_b = ends
    if last_a < 2 or last_b < 2:
        return 0.0
    best = 0.0
    value, bits, strip = board.value[: last_b - 1], board.bits[: last_b - 1], board.strip[: last_b - 1]
    _strips(run, ends, floor, pure, board)
    for a in range(1, last_a):
        if pure:
            _contrast_values(run, a, ends, floor, strip, value)
        else:
            _cross_values(run, a, ends, floor, strip, value)
        k = _first_largest(bits)
        if value[k] > 0:
            found = float(value[k]) + _strip(run, a, ends, floor, pure)
            if found > best:
                best = found
                board.tree[AXIS], board.tree[AT] = 0, a
                board.tree[PART:] = k + 1
    return best + _beyond(run, ends, floor, pure) if best > 0 else 0.0


@kernel
def _beyond(run: NDArray[np.float64], ends: tuple[int, int], floor: float, pure: bool) -> float:
    """What the rows that miss both features add to every cross."""
    g, h = run[0], run[1]
    last_a, last_b = ends
    if not pure:
        return _score(g[0, 0], h[0, 0])
    seen = (g[last_a, last_b], g[last_a, 0], g[0, last_b], g[0, 0])
    weights = (h[last_a, last_b], h[last_a, 0], h[0, last_b], h[0, 0])
    return _contrast(seen, weights, floor)


@kernel
def total(run: NDArray[np.float64], ends: tuple[int, int]) -> tuple[float, float]:
    """Gradient and weight of all rows."""
    last_a, last_b = ends
    g = run[0, last_a, last_b] + run[0, 0, last_b] + run[0, last_a, 0] + run[0, 0, 0]
    h = run[1, last_a, last_b] + run[1, 0, last_b] + run[1, last_a, 0] + run[1, 0, 0]
    return g, h


@kernel
def _along(run: NDArray[np.float64], s: int, tree: NDArray[np.int64], part: int, last_root: int, other: int) -> float:
    """Running sum s of a part of a tree along the other axis; `other` 0 is the leaf of rows that miss it."""
    first = tree[AXIS] == 0
    root = 0 if part == 2 else tree[AT] if part == 0 else last_root
    found = run[s, root, other] if first else run[s, other, root]
    if part == 1:
        found -= run[s, tree[AT], other] if first else run[s, other, tree[AT]]
    return float(found)


@kernel
def _best_split(line: NDArray[np.float64], last: int, floor: float, board: Board) -> tuple[int, float]:
    """Best cut of a line of running sums, and what it takes off the loss; `last`, 0 where no cut is allowed."""
    all_g, all_h = line[0, last], line[1, last]
    if last < 2:
        return last, 0.0
    left_g, left_h, value = line[0, 1:last], line[1, 1:last], board.value[: last - 1]
    kind = value.dtype.type
    for k in range(value.size):
        h = left_h[k]
        rest = all_h - h
        contrast = left_g[k] * all_h - all_g * h
        value[k] = kind(contrast * contrast / (h * rest * all_h)) if min(h, rest) >= floor else kind(0.0)
    k = _first_largest(board.bits[: last - 1])
    return (k + 1, float(value[k])) if value[k] > 0 else (last, 0.0)


@kernel
def _cut_part(
    run: NDArray[np.float64], tree: NDArray[np.int64], part: int, ends: tuple[int, int], floor: float, board: Board
) -> float:
    """Cut the other axis in one part of a tree; the part's value, with its leaf of rows that miss the other feature."""
    last_root, last = (ends[0], ends[1]) if tree[AXIS] == 0 else (ends[1], ends[0])
    for k in range(1, last + 1):
        board.line[0, k] = _along(run, 0, tree, part, last_root, k)
        board.line[1, k] = _along(run, 1, tree, part, last_root, k)
    g, h = board.line[0, last], board.line[1, last]
    if part < 2 and h < floor:
        return -1.0
    tree[PART + part], gain = _best_split(board.line, last, floor, board)
    missing = _score(_along(run, 0, tree, part, last_root, 0), _along(run, 1, tree, part, last_root, 0))
    return _score(g, h) + gain + missing


@kernel
def best_refined(run: NDArray[np.float64], ends: tuple[int, int], floor: float, board: Board) -> float:
    """The tree with a cut of its own in each part that takes most off the loss (the refinement of Lou et al. 2013);
    it goes to board.tree. 0, and no tree, where no root is allowed. The second axis must be strictly better."""
    best = 0.0
    tree = np.zeros(5, np.int64)
    if min(ends[0], ends[1]) < 2:
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
                board.tree[:] = tree
    return best


@kernel
def _paint(fit: Fit, pair: int, rows: tuple[int, int], columns: tuple[int, int], step: float, factor: float) -> None:
    """Add a leaf's step to its cells, and leave it pending."""
    for a in range(rows[0], rows[1] + 1):
        low, high = SIDE * a + columns[0], SIDE * a + columns[1] + 1
        fit.factor[low:high] = factor
        curve, moved = fit.curves[pair, low:high], fit.moved[pair, low:high]
        for k in range(curve.size):
            curve[k] += step
        for k in range(moved.size):
            moved[k] += step


@kernel
def finish_pair(ends: tuple[int, int], pair: int, fit: Fit, settings: Settings, board: Board) -> None:
    """Turn board.tree into a step: shrunken leaf values are added to the pair's surface and left pending for the rows.

    Leaves of missing rows that are lighter than the floor stay 0. The pair's gain is the drop of the loss's quadratic
    model, as in step.py.
    """
    tree, run, logistic = board.tree, board.run, settings.loss == LOGISTIC
    fit.factor[:] = 1.0 if logistic else 0.0
    last_root, last = (ends[0], ends[1]) if tree[AXIS] == 0 else (ends[1], ends[0])
    gain = 0.0
    for part in range(3):
        along = (1, tree[AT]) if part == 0 else (tree[AT] + 1, last_root) if part == 1 else (0, 0)
        cut = tree[PART + part]
        for side in range(3):
            other = (1, cut) if side == 0 else (cut + 1, last) if side == 1 else (0, 0)
            g, h = _along(run, 0, tree, part, last_root, other[1]), _along(run, 1, tree, part, last_root, other[1])
            if side == 1:
                g -= _along(run, 0, tree, part, last_root, cut)
                h -= _along(run, 1, tree, part, last_root, cut)
            if h < (settings.min_node_weight if part == 2 or side == 2 else EMPTY):
                continue
            step = settings.learning_rate * _leaf(g, h, settings.max_delta)
            gain += 2.0 * g * step - h * step * step
            factor = math.exp(step) if logistic else step
            if tree[AXIS] == 0:
                _paint(fit, pair, along, other, step, factor)
            else:
                _paint(fit, pair, other, along, step, factor)
    fit.gains[pair] = gain
    fit.steps[pair] += 1
    fit.pending[0] = pair
