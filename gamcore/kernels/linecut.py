"""Cut the line of a feature's bins into at most L leaves, for up to 16 bags side by side.

A tree over one feature is a step function over its bins. The cut after place k of a line with gradient sums G and
weight sums S leaves two parts whose reduction in squared error is

    (G_left S - G S_left)^2 / (S_left S_right S)

which equals G_left^2/S_left + G_right^2/S_right - G^2/S without its cancellation. Cutting is best-first: the leaf of
greatest reduction is cut next (Lou et al. 2020, section 3.1). S is the row weight (squared loss, MART) or the hessian
(LogitBoost); a leaf is worth G / D with D the weight or the hessian (MART: the Newton step, Algorithm 2). Since r/w is
never formed, LogitBoost stays stable where w vanishes (Li 2010).

Bags stand in lanes, the innermost axis, so one vector operation serves 16 bags. Running sums are float64 whatever the
histograms are: a light leaf is the difference of two heavy sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import LANES, kernel
from gamcore.kernels.layout import Settings, Work

EMPTY = 1e-8
"""Weight below which a leaf is worth nothing."""


@kernel
def _run_up(
    values: NDArray[np.floating],
    stride: int,
    offset: int,
    order: NDArray[np.int64],
    last: int,
    prefix: NDArray[np.float64],
) -> None:
    """Running sums along the line, bags turned into lanes: prefix[k, b] = sum of values[b, stride order[i] + offset]
    over i = 1..k, prefix[0] = 0. Place 0 of the line is no bin: code 0 is missing. Lanes without a bag stay 0.

    values : (at most LANES bags, stride V).
    """
    for b in range(LANES):
        prefix[0, b] = 0.0
    n = values.shape[0]
    for k in range(1, last + 1):
        at = stride * order[k] + offset
        for b in range(n):
            prefix[k, b] = prefix[k - 1, b] + values[b, at]
        for b in range(n, LANES):
            prefix[k, b] = 0.0


@kernel
def _scan(
    work: Work,
    split: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    gain: NDArray[np.float64],
    cut: NDArray[np.int64],
) -> None:
    """Best cut of the places low+1..high of each lane: `cut` is the last place of the left part, `gain` its reduction.

    No positive reduction: gain 0. Ties go to the lowest place. The search runs in the precision of the histograms.
    """
    kind = work.bags.dtype.type
    sums = np.empty((4, LANES), work.bags.dtype)  # base G, base S, total G, total S
    best = np.zeros(LANES, work.bags.dtype)
    first, final = high[0], 0
    for b in range(LANES):
        sums[2, b] = kind(work.prefix[0, high[b], b] - work.prefix[0, low[b], b])
        sums[3, b] = kind(work.prefix[split, high[b], b] - work.prefix[split, low[b], b])
        cut[b] = low[b]
        first = min(first, low[b])
        final = max(final, high[b])
    base = np.empty((2, LANES), np.float64)
    place = np.zeros(LANES, np.int32)
    start = low.astype(np.int32)
    end = high.astype(np.int32)
    for b in range(LANES):
        base[0, b] = work.prefix[0, low[b], b]
        base[1, b] = work.prefix[split, low[b], b]
    zero = kind(0.0)
    tiny = kind(EMPTY)
    for k in range(first + 1, final):
        at = np.int32(k)
        for b in range(LANES):
            g = kind(work.prefix[0, k, b] - base[0, b])
            s = kind(work.prefix[split, k, b] - base[1, b])
            rest = sums[3, b] - s
            contrast = g * sums[3, b] - sums[2, b] * s
            inside = (at > start[b]) & (at < end[b]) & (s > tiny) & (rest > tiny)
            value = contrast * contrast / (s * rest) if inside else zero
            better = value > best[b]
            best[b] = value if better else best[b]
            place[b] = at if better else place[b]
    for b in range(LANES):
        gain[b] = 0.0
        if best[b] > zero:
            cut[b] = place[b]
            gain[b] = best[b] / sums[3, b]


@kernel
def _grow(work: Work, split: int, last: int, settings: Settings, bounds: NDArray[np.int64]) -> None:
    """Cut best-first: bounds[b, :leaves + 1] are the ends of lane b's leaves in order, padded with `last`.

    bounds : (LANES, L + 1), written; the leaf between two bounds holds the places bounds[i] + 1 .. bounds[i + 1].
    """
    most = settings.max_leaves
    low = np.zeros((most, LANES), np.int64)
    high = np.full((most, LANES), last, np.int64)
    gain = np.zeros((most, LANES), np.float64)
    cut = np.zeros((most, LANES), np.int64)
    left = np.zeros(LANES, np.int64)
    bounds[:, 0] = 0
    bounds[:, 1:] = last
    _scan(work, split, low[0], high[0], gain[0], cut[0])
    for made in range(1, most):
        growing = False
        for b in range(LANES):
            chosen = -1
            for leaf in range(made):
                weight = work.prefix[split, high[leaf, b], b] - work.prefix[split, low[leaf, b], b]
                heavy = gain[leaf, b] > 0 and weight > settings.min_node_weight
                if heavy and (chosen < 0 or gain[leaf, b] > gain[chosen, b]):
                    chosen = leaf
            left[b] = max(chosen, 0)
            low[made, b] = high[made, b] = last
            if chosen >= 0:
                at = cut[chosen, b]
                for i in range(most, 0, -1):  # insert in order; the padding falls off the end
                    bounds[b, i] = max(min(bounds[b, i], at), bounds[b, i - 1])
                low[made, b], high[made, b] = at, high[chosen, b]
                high[chosen, b] = at
                gain[chosen, b] = 0.0
                growing = True
        if not growing:
            break
        if made + 1 < most:
            _rescan_children(work, split, made, left, (low, high, gain, cut))


@kernel
def _rescan_children(
    work: Work,
    split: int,
    made: int,
    left: NDArray[np.int64],
    leaves: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]],
) -> None:
    """Find the best cuts of the two parts that the last cut left in each lane: leaf left[b] and leaf `made`."""
    low, high, gain, cut = leaves
    span = np.empty((2, LANES), np.int64)
    found = np.empty(LANES, np.float64)
    place = np.empty(LANES, np.int64)
    for b in range(LANES):
        span[0, b], span[1, b] = low[left[b], b], high[left[b], b]
    _scan(work, split, span[0], span[1], found, place)
    for b in range(LANES):
        gain[left[b], b], cut[left[b], b] = found[b], place[b]
    _scan(work, split, low[made], high[made], gain[made], cut[made])


@kernel
def _leaf(g: float, d: float, most: float) -> float:
    """G / D within +-most; nothing where there is no weight."""
    return min(max(g / d, -most), most) if d > EMPTY else 0.0


@kernel
def cut_block(work: Work, first: int, n_lanes: int, last: int, settings: Settings) -> None:
    """Cut the line for bags first .. first + n_lanes, and add the trees' values to `work.update`.

    `work.bags` (and for MART `work.weights`) hold the bags' histograms; `work.order[1..last]` the codes along the line.
    Code 0 has a leaf of its own. Places that are empty in a bag take the leaf of the nearer non-empty place, the exact
    middle the left one.
    """
    split = 2 if settings.mart else 1
    bags = work.bags[first : first + n_lanes]
    _run_up(bags, 2, 0, work.order, last, work.prefix[0])
    _run_up(bags, 2, 1, work.order, last, work.prefix[1])
    if settings.mart:
        _run_up(work.weights[first : first + n_lanes], 1, 0, work.order, last, work.prefix[2])
    bounds = np.empty((LANES, settings.max_leaves + 1), np.int64)
    _grow(work, split, last, settings, bounds)
    for b in range(n_lanes):
        work.update[0] += _leaf(bags[b, 0], bags[b, 1], settings.max_delta)
        begin = 1
        for i in range(settings.max_leaves):
            low, high = bounds[b, i], bounds[b, i + 1]
            if high <= low:
                continue
            leaf = _leaf(
                work.prefix[0, high, b] - work.prefix[0, low, b],
                work.prefix[1, high, b] - work.prefix[1, low, b],
                settings.max_delta,
            )
            end = high
            if high < last:
                end = _half_way(work.prefix[split], b, high, last)
            for k in range(begin, end + 1):
                work.update[work.order[k]] += leaf
            begin = end + 1


@kernel
def _half_way(prefix: NDArray[np.float64], b: int, cut: int, last: int) -> int:
    """Last place of the left part: `cut` and the nearer half of the empty places that follow it."""
    full = cut + 1
    while full < last and prefix[full, b] <= prefix[cut, b]:
        full += 1
    return cut + (full - cut) // 2


@kernel
def sort_line(work: Work, last: int, smooth: float) -> None:
    """Order the codes of a nominal feature by gradient / (hessian + smooth) of all training groups; ties by code.

    One order serves all bags, so that the mean of their trees stays a step function over few levels, and neither names
    nor codes of levels matter (Fisher's grouping; the grouping of Fisher 1958, as in EBM).
    """
    ratio = np.empty(last, np.float64)
    for k in range(last):
        ratio[k] = work.total[2 * k + 2] / (work.total[2 * k + 3] + smooth)
    work.order[1 : last + 1] = np.argsort(ratio, kind="mergesort") + 1
