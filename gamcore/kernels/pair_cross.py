"""The best cross of a pair: one cut per axis, found from running sums in O(b^2), one vector expression per row of
cuts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.line_cuts import first_largest
from gamcore.kernels.pair_grid import AT, AXIS, PART, PairScratch, score
from gamcore.kernels.scalars import lesser


@kernel
def _contrast(g: tuple[float, float, float, float], h: tuple[float, float, float, float], floor: float) -> float:
    """Return the loss reduction of 2 x 2 leaves beyond their row and column effects: c^2 / sum(1 / H), where c is the
    contrast of the leaf values; 0 where a leaf is lighter than `floor`."""
    if lesser(lesser(h[0], h[1]), lesser(h[2], h[3])) < floor:
        return 0.0
    c = g[0] / h[0] - g[1] / h[1] - g[2] / h[2] + g[3] / h[3]
    return c * c / (1.0 / h[0] + 1.0 / h[1] + 1.0 / h[2] + 1.0 / h[3])


@kernel
def _cross_values(
    run: NDArray[np.float64],
    a: int,
    ends: tuple[int, int],
    floor: float,
    pure: bool,
    strip: NDArray[np.floating],
    value: NDArray[np.floating],
) -> None:
    """Write the loss reduction of the crosses (a, b), b = 1 .. ends[1] - 1, to `value`.

    With `pure`, count only the reduction beyond main effects. 0 where a quadrant is lighter than `floor`. `strip` is
    added to all others.
    """
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
        least = lesser(lesser(h0, h1), lesser(h2, h3))
        if pure:  # constant, so the compiler makes two loops
            r0, r1, r2, r3 = 1.0 / h0, 1.0 / h1, 1.0 / h2, 1.0 / h3
            c = g0 * r0 - g1 * r1 - g2 * r2 + g3 * r3
            gain = c * c / (r0 + r1 + r2 + r3)
        else:
            low, high = h0 * h1, h2 * h3
            gain = ((g0 * g0 * h1 + g1 * g1 * h0) * high + (g2 * g2 * h3 + g3 * g3 * h2) * low) / (low * high)
        value[k] = kind(gain) + strip[k] if least >= floor else kind(0.0)


@kernel
def _bar(
    run: NDArray[np.float64], a: int, ends: tuple[int, int], signs: tuple[int, int], value: NDArray[np.floating]
) -> None:
    """Set the value of the crosses (a, b) to 0 whose quadrants would fall where they must rise, or rise where they must
    fall; signs : of the two features, as in `Fit`."""
    kind = value.dtype.type
    right_g, right_h = run[0, a, ends[1]], run[1, a, ends[1]]
    rest_g, rest_h = run[0, ends[0], ends[1]] - right_g, run[1, ends[0], ends[1]] - right_h
    for k in range(value.size):
        g0, h0 = run[0, a, k + 1], run[1, a, k + 1]
        g1, h1 = right_g - g0, right_h - h0
        g2, h2 = run[0, ends[0], k + 1] - g0, run[1, ends[0], k + 1] - h0
        g3, h3 = rest_g - g2, rest_h - h2
        barred = signs[0] * (g2 * h0 - g0 * h2) < 0.0 or signs[0] * (g3 * h1 - g1 * h3) < 0.0
        if barred or signs[1] * (g1 * h0 - g0 * h1) < 0.0 or signs[1] * (g3 * h2 - g2 * h3) < 0.0:
            value[k] = kind(0.0)


@kernel
def _strips(run: NDArray[np.float64], ends: tuple[int, int], floor: float, pure: bool, board: PairScratch) -> None:
    """Fill board.strip: what rows with the first feature missing add to each cut of the second."""
    g, h = run[0], run[1]
    last_a, last_b = ends
    for b in range(1, last_b):
        low_g, low_h = g[0, b], h[0, b]
        high_g, high_h = g[0, last_b] - low_g, h[0, last_b] - low_h
        if pure:  # does the cut of the second have another effect where the first is missing?
            seen = (g[last_a, b], g[last_a, last_b] - g[last_a, b], low_g, high_g)
            weights = (h[last_a, b], h[last_a, last_b] - h[last_a, b], low_h, high_h)
            board.strip[b - 1] = _contrast(seen, weights, floor)
        else:
            board.strip[b - 1] = score(low_g, low_h, floor) + score(high_g, high_h, floor)


@kernel
def _strip(run: NDArray[np.float64], a: int, ends: tuple[int, int], floor: float, pure: bool) -> float:
    """Return what rows with the second feature missing add to the cut of the first after code a."""
    g, h = run[0], run[1]
    last_a, last_b = ends
    low_g, low_h = g[a, 0], h[a, 0]
    high_g, high_h = g[last_a, 0] - low_g, h[last_a, 0] - low_h
    if not pure:
        return float(score(low_g, low_h, floor) + score(high_g, high_h, floor))
    seen = (g[a, last_b], g[last_a, last_b] - g[a, last_b], low_g, high_g)
    weights = (h[a, last_b], h[last_a, last_b] - h[a, last_b], low_h, high_h)
    return float(_contrast(seen, weights, floor))


@kernel
def best_cross(
    run: NDArray[np.float64],
    ends: tuple[int, int],
    floor: float,
    pure: bool,
    signs: tuple[int, int],
    board: PairScratch,
) -> float:
    """Return the value of the cross that reduces the loss most, and write its cuts to board.tree; 0, and no tree,
    where no cross is allowed.

    The value is the sum of G^2 / H over the four quadrants, none lighter than `floor`, and over the leaves of missing
    rows that are not lighter either.
    `pure` counts only what is beyond main effects (algorithm of this project): the contrast of the quadrants, and the
    contrasts of missing with seen rows of either feature at the other's cut.
    Ties go to the first cut of the first feature, then of the second. signs : of either feature, 1 where the quadrants
    may only rise along it, -1 where they may only fall.
    """
    last_a, last_b = ends
    if last_a < 2 or last_b < 2:
        return 0.0
    best = 0.0
    value, bits, strip = board.value[: last_b - 1], board.bits[: last_b - 1], board.strip[: last_b - 1]
    _strips(run, ends, floor, pure, board)
    for a in range(1, last_a):
        _cross_values(run, a, ends, floor, pure, strip, value)
        if signs[0] != 0 or signs[1] != 0:
            _bar(run, a, ends, signs, value)
        k = first_largest(bits)
        if value[k] > 0:
            strongest = float(value[k]) + _strip(run, a, ends, floor, pure)
            if strongest > best:
                best = strongest
                board.tree[AXIS], board.tree[AT] = 0, a
                board.tree[PART:] = k + 1
    return float(best + _beyond(run, ends, floor, pure)) if best > 0 else 0.0


@kernel
def _beyond(run: NDArray[np.float64], ends: tuple[int, int], floor: float, pure: bool) -> float:
    """Return what the rows with both features missing add to every cross."""
    g, h = run[0], run[1]
    last_a, last_b = ends
    if not pure:
        return float(score(g[0, 0], h[0, 0], floor))
    seen = (g[last_a, last_b], g[last_a, 0], g[0, last_b], g[0, 0])
    weights = (h[last_a, last_b], h[last_a, 0], h[0, last_b], h[0, 0])
    return float(_contrast(seen, weights, floor))
