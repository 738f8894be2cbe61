"""Cut the line of a feature's bins into at most L leaves.

A tree over one feature is a step function over its bins. The cut after place k of a line with gradient sums G and
weight sums S leaves two parts whose reduction in squared error is

    (G_left S - G S_left)^2 / (S_left S_right S)

which equals G_left^2/S_left + G_right^2/S_right - G^2/S without its cancellation. Cutting is best-first: the leaf of
greatest reduction is cut next (Lou et al. 2020, section 3.1). S is the row weight (squared loss, MART) or the hessian
(LogitBoost); a leaf is worth G / D with D the weight or the hessian (MART: the Newton step, Algorithm 2). Since r/w is
never formed, LogitBoost stays stable where w vanishes (Li 2010).

Running sums are float64 whatever the histograms are: a light leaf is the difference of two heavy sums. From them the
reductions of all cuts of a leaf are one vector expression.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import Settings, Work
from gamcore.kernels.losses import has_hessian, trait
from gamcore.mixing import GOLDEN, mixed

mix = trait(mixed)

EMPTY = 1e-8
"""Weight below which a leaf is worth nothing."""


@kernel
def _run_up(
    bag: NDArray[np.floating],
    weight: NDArray[np.floating],
    order: NDArray[np.uint8],
    last: int,
    paired: bool,
    gradient: NDArray[np.float64],
    divisor: NDArray[np.float64],
) -> None:
    """Running sums along the line, over the places 1..k. Place 0 of the line is no bin: code 0 is missing."""
    gradient[0] = divisor[0] = 0.0
    g = d = 0.0
    if paired:
        for k in range(1, last + 1):
            at = np.intp(order[k]) * 2
            g += bag[at]
            d += bag[at + 1]
            gradient[k], divisor[k] = g, d
    else:
        for k in range(1, last + 1):
            g += bag[order[k]]
            d += weight[order[k]]
            gradient[k], divisor[k] = g, d


@kernel
def first_largest(bits: NDArray[np.signedinteger]) -> int:
    """Return the place of the largest value, the first of equals, given the bits of floats >= 0: those order like
    integers, whose maximum can be taken in vector lanes."""
    best = bits[0]
    for k in range(bits.size):
        best = max(best, bits[k])
    place = bits.dtype.type(bits.size)
    for k in range(bits.size):
        place = min(place, bits.dtype.type(k) if bits[k] == best else place)
    return int(place)


@kernel
def _best_cut(
    gradient: NDArray[np.float64],
    heavy: NDArray[np.float64],
    low: int,
    high: int,
    floor: float,
    scratch: NDArray[np.floating],
    scratch_bits: NDArray[np.signedinteger],
) -> tuple[int, float]:
    """Best cut of the places low+1..high: the last place of its left part, and its reduction.

    No positive reduction, or no more weight than `floor`: reduction 0. Ties go to the lowest place. The search runs in
    the precision of the histograms. Loops run over slices from 0: only then are they vectorised, five times as fast.
    """
    kind = scratch.dtype.type
    base_g, base_s = gradient[low], heavy[low]
    all_g, all_s = kind(gradient[high] - base_g), kind(heavy[high] - base_s)
    if not all_s > floor or high - low < 2:
        return low, 0.0
    zero, tiny = kind(0.0), kind(EMPTY)
    left_g, left_s, value = gradient[low + 1 : high], heavy[low + 1 : high], scratch[low + 1 : high]
    for k in range(value.size):
        s = kind(left_s[k] - base_s)
        rest = all_s - s
        contrast = kind(left_g[k] - base_g) * all_s - all_g * s
        value[k] = contrast * contrast / (s * rest) if (s > tiny) & (rest > tiny) else zero
    place = first_largest(scratch_bits[low + 1 : high])
    return low + 1 + place, float(value[place] / all_s)


@kernel
def _grow(
    gradient: NDArray[np.float64],
    heavy: NDArray[np.float64],
    last: int,
    floor: float,
    max_leaves: int,
    ends: NDArray[np.int64],
    leaves: tuple[NDArray[np.int64], NDArray[np.float64]],
    scratch: tuple[NDArray[np.floating], NDArray[np.signedinteger]],
) -> int:
    """Cut best-first; the number of leaves, whose ends stand in `ends`, in the order of the line."""
    cuts, reductions = leaves
    value, bits = scratch
    ends[0], ends[1] = 0, last
    cuts[0], reductions[0] = _best_cut(gradient, heavy, 0, last, floor, value, bits)
    n = 1
    while n < max_leaves:
        chosen = 0
        for leaf in range(1, n):
            chosen = leaf if reductions[leaf] > reductions[chosen] else chosen
        if not reductions[chosen] > 0:
            break
        for i in range(n, chosen, -1):
            ends[i + 1] = ends[i]
            cuts[i], reductions[i] = cuts[i - 1], reductions[i - 1]
        ends[chosen + 1] = cuts[chosen]
        n += 1
        if n < max_leaves:
            for leaf in range(chosen, chosen + 2):
                cut = _best_cut(gradient, heavy, ends[leaf], ends[leaf + 1], floor, value, bits)
                cuts[leaf], reductions[leaf] = cut
    return n


@kernel
def _cut_anywhere(heavy: NDArray[np.float64], last: int, key: int, ends: NDArray[np.int64]) -> int:
    """Return one cut at a place drawn by `key`; the number of leaves, 1 where a side would be empty.

    A place amid empty ones gives way to the last that is not, as in a best cut.
    """
    ends[0], ends[1] = 0, last
    if last < 2:
        return 1
    place = 1 + np.int64(mix(np.uint64(key) * GOLDEN) % np.uint64(last - 1))
    while place > 1 and heavy[place] <= heavy[place - 1]:
        place -= 1
    if heavy[place] <= EMPTY or heavy[last] - heavy[place] <= EMPTY:
        return 1
    ends[1], ends[2] = place, last
    return 2


@kernel
def leaf_value(g: float, d: float, most: float) -> float:
    """G / D within +-most; nothing where there is no weight."""
    return min(max(g / d, -most), most) if d > EMPTY else 0.0


@kernel
def _half_way(heavy: NDArray[np.float64], cut: int, last: int) -> int:
    """Return the last place of the left part: `cut` and the nearer half of the empty places that follow it."""
    full = cut + 1
    while full < last and heavy[full] <= heavy[cut]:
        full += 1
    return cut + (full - cut) // 2


@kernel
def cut_lines(weight: NDArray[np.floating], last: int, settings: Settings, key: int, work: Work) -> None:
    """Cut the line for every bag, and add the trees' values to `work.update`.

    work.bags : the bags' histograms; weight : (B, last + 1) their row weights per bin, (B, 0) for LogitBoost;
    work.order[1..last] : the codes along the line. Code 0 has a leaf of its own. Places that are empty in a bag take
    the leaf of the nearer non-empty place, the exact middle the left one. `key` draws the cuts where they are random.
    """
    gradient, divisor, heavy = work.prefix[0], work.prefix[1], work.prefix[2 if settings.mart else 1]
    leaves, scratch = (work.cuts, work.reductions), (work.value, work.bits)
    order, ends, update, paired = work.order, work.ends, work.update, has_hessian(settings.loss)
    most = settings.max_delta
    for b in range(settings.n_bags):
        bag, mine = work.bags[b], weight[b]
        _run_up(bag, mine, order, last, paired, gradient, divisor)
        if settings.mart:
            _run_up(mine, mine, order, last, False, heavy, heavy)
        if settings.random:
            n = _cut_anywhere(heavy, last, key + b, ends)
        else:
            n = _grow(gradient, heavy, last, settings.min_node_weight, settings.max_leaves, ends, leaves, scratch)
        begin = 1
        for leaf in range(n):
            low, high = ends[leaf], ends[leaf + 1]
            value = leaf_value(gradient[high] - gradient[low], divisor[high] - divisor[low], most)
            end = _half_way(heavy, high, last) if high < last else high
            inside = update[begin : end + 1]
            for k in range(inside.size):
                inside[k] += value
            begin = end + 1
        update[0] += leaf_value(bag[0], bag[1] if paired else mine[0], most)


@kernel
def sort_line(work: Work, last: int, smooth: float) -> None:
    """Order the codes of a nominal feature by gradient / (hessian + smooth) of all training groups; ties by code.

    One order serves all bags, so that the mean of their trees stays a step function over few levels, and neither names
    nor codes of levels matter (the grouping of Fisher 1958, as in EBM).
    """
    ratio = np.empty(last, np.float64)
    for k in range(last):
        ratio[k] = work.total[0, k + 1] / (work.total[1, k + 1] + smooth)
    order = np.argsort(ratio, kind="mergesort")
    for k in range(last):
        work.order[k + 1] = order[k] + 1
