"""Cut the line of a feature's bins into at most L leaves.

A tree over one feature is a step function over its bins. For a line with gradient sum G and weight sum S, cutting after
place k reduces the squared error by

    (G_left S - G S_left)^2 / (S_left S_right S)

which equals G_left^2/S_left + G_right^2/S_right - G^2/S without its cancellation. Cutting is best-first: the leaf of
largest reduction is cut next (Lou et al. 2020, section 3.1). S is the row weight (squared loss, MART) or the hessian
(LogitBoost), or as `losses.py` says. The value of a leaf is G / D with D the weight or the hessian (MART: the Newton
step, Algorithm 2), exact where the link is a logarithm (`losses.leaf_value`). Since r/w is never formed, LogitBoost
stays stable where w vanishes (Li 2010).

Running sums are float64 whatever the type of the histograms: a light leaf is the difference of two heavy sums. They
give the reductions of all cuts of a leaf as one vector expression.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.common.mixing import GOLDEN, mixed
from gamcore.common.types import Codes
from gamcore.kernels import kernel, trait
from gamcore.kernels.layout import Settings, Work
from gamcore.kernels.losses import EMPTY, Form, has_log_link, is_paired, leaf_value, sums_of
from gamcore.kernels.scalars import greater, lesser
from gamcore.kernels.sorting import sort_codes

mix = trait(mixed)


@kernel
def _run_up(
    bag: NDArray[np.floating],
    weight: NDArray[np.floating],
    order: Codes,
    last: int,
    paired: bool,
    gradient: NDArray[np.float64],
    divisor: NDArray[np.float64],
) -> None:
    """Write running sums along the line, over the places 1..k. Place 0 is no bin: code 0 is missing."""
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
def _run_up_log(
    bag: NDArray[np.floating],
    constant: NDArray[np.floating],
    order: Codes,
    last: int,
    loss: Form,
    gradient: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> None:
    """Write running sums along the line as `_run_up`, for losses with a log link."""
    gradient[0] = weight[0] = 0.0
    paired = is_paired(loss)
    first = second = 0.0
    for k in range(1, last + 1):
        v = np.intp(order[k])
        first += bag[2 * v] if paired else bag[v]
        second += bag[2 * v + 1] if paired else constant[v]
        gradient[k], weight[k] = sums_of(first, second, loss)


@kernel
def first_largest(bits: NDArray[np.signedinteger]) -> np.intp:
    """Return the place of the largest value, the first among equals, given the bits of floats >= 0.

    Such bits order like integers, whose maximum can be taken in vector lanes.
    """
    best = bits[0]
    for k in range(bits.size):
        best = greater(best, bits[k])
    place = bits.dtype.type(bits.size)
    for k in range(bits.size):
        place = lesser(place, bits.dtype.type(k) if bits[k] == best else place)
    return np.intp(place)


@kernel
def _best_cut(
    gradient: NDArray[np.float64],
    heavy: NDArray[np.float64],
    low: int,
    high: int,
    floor: float,
    sign: int,
    slack: NDArray[np.float64],
    scratch: NDArray[np.floating],
    scratch_bits: NDArray[np.signedinteger],
) -> tuple[int, float]:
    """Find the best cut of the places low+1..high; return the last place of its left part, and its reduction.

    sign : 1 where the right part may be lower than the left one only if there is slack at the cut, -1 for higher.
    The reduction is 0 if no cut helps, or if the weight is at most `floor`. Ties go to the lowest place. The search
    uses the precision of the histograms. Loops start at 0 of a slice: only then are they vectorised, five times faster.
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
    if sign != 0:  # a loop of its own, so that the other stays as fast
        room = slack[low + 1 : high]
        for k in range(value.size):
            contrast = kind(left_g[k] - base_g) * all_s - all_g * kind(left_s[k] - base_s)
            value[k] = zero if sign * contrast > zero and not room[k] > 0.0 else value[k]
    place = first_largest(scratch_bits[low + 1 : high])
    return low + 1 + place, float(value[place] / all_s)


@kernel
def _grow(
    gradient: NDArray[np.float64],
    heavy: NDArray[np.float64],
    last: int,
    floor: float,
    sign: int,
    slack: NDArray[np.float64],
    max_leaves: int,
    ends: NDArray[np.int64],
    leaves: tuple[NDArray[np.int64], NDArray[np.float64]],
    scratch: tuple[NDArray[np.floating], NDArray[np.signedinteger]],
) -> int:
    """Cut the line best-first; write the ends of the leaves to `ends`, in line order, and return their number."""
    cuts, reductions = leaves
    value, bits = scratch
    ends[0], ends[1] = 0, last
    cuts[0], reductions[0] = _best_cut(gradient, heavy, 0, last, floor, sign, slack, value, bits)
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
                cut = _best_cut(gradient, heavy, ends[leaf], ends[leaf + 1], floor, sign, slack, value, bits)
                cuts[leaf], reductions[leaf] = cut
    return n


@kernel
def _cut_anywhere(heavy: NDArray[np.float64], last: int, key: int, ends: NDArray[np.int64]) -> int:
    """Cut once at a place drawn by `key`; write the leaves' ends to `ends`, and return the number of leaves.

    An empty place gives way to the last non-empty place before it, as in a best cut. If a side would be empty, there is
    no cut and 1 leaf.
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
def _half_way(heavy: NDArray[np.float64], cut: int, last: int) -> int:
    """Return the last place of the left leaf: `cut` plus the nearer half of the empty places that follow it."""
    full = cut + 1
    while full < last and heavy[full] <= heavy[cut]:
        full += 1
    return cut + (full - cut) // 2


@kernel
def cut_lines(weight: NDArray[np.floating], last: int, settings: Settings, key: int, sign: int, work: Work) -> None:
    """Cut the line for every bag, and add the trees' values to `work.update`.

    work.bags : the bags' histograms; weight : (B, last + 1) what is summed per bin once, (B, 0) for two channels;
    work.order[1..last] : the codes along the line. Code 0 has its own leaf. Places that are empty in a bag take the
    leaf of the nearer non-empty place, the exact middle that of the left one. `key` seeds random cuts. sign : of the
    curve, as in `Fit`; best cuts the wrong way need slack.
    """
    gradient, divisor, heavy = work.prefix[0], work.prefix[1], work.prefix[2 if settings.mart else 1]
    leaves, scratch = (work.cuts, work.reductions), (work.value, work.bits)
    order, ends, update, paired = work.order, work.ends, work.update, is_paired(settings.loss)
    most, loss, with_log = settings.max_delta, settings.loss, has_log_link(settings.loss)
    for b in range(settings.n_bags):
        bag, mine = work.bags[b], weight[b]
        if with_log:
            _run_up_log(bag, mine, order, last, loss, gradient, divisor)
        else:
            _run_up(bag, mine, order, last, paired, gradient, divisor)
        if settings.mart:
            _run_up(mine, mine, order, last, False, heavy, heavy)
        if settings.random:
            n = _cut_anywhere(heavy, last, key + b, ends)
        else:
            n = _grow(
                gradient, heavy, last, settings.min_node_weight, sign, work.slack, settings.max_leaves, ends, leaves,
                scratch,
            )  # fmt: skip
        begin = 1
        for leaf in range(n):
            low, high = ends[leaf], ends[leaf + 1]
            value = leaf_value(gradient[high] - gradient[low], divisor[high] - divisor[low], most, loss)
            end = _half_way(heavy, high, last) if high < last else high
            inside = update[begin : end + 1]
            for k in range(inside.size):
                inside[k] += value
            begin = end + 1
        first, second = bag[0], bag[1] if paired else mine[0]
        if with_log:
            g, s = sums_of(first, second, loss)
            update[0] += leaf_value(g, s, most, loss)
        else:
            update[0] += leaf_value(first, second, most, loss)


@kernel
def sort_line(work: Work, last: int, smooth: float) -> None:
    """Order the codes of a nominal feature by gradient / (hessian + smooth) of all training groups; ties by code.

    All bags share one order, so that the mean of their trees has few steps, and the names and codes of levels do not
    matter (the grouping of Fisher 1958, as in EBM).
    """
    ratio = work.prefix[0]  # free until the line is cut
    for k in range(last):
        ratio[k] = work.total[0, k + 1] / (work.total[1, k + 1] + smooth)
    sort_codes(ratio, last, work.order[1:])
