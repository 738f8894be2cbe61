"""Histograms: sums of gradient and hessian over the rows of each bin.

A histogram is additive over rows, so the rows are dealt once into G groups, one pass over them fills G histograms, and
the histogram of a bag (a set of groups) is the sum of its groups'. This replaces a pass a bag (subagging of Lou et al.
2020, section 3.2) by one pass for all bags.

Layout of a group's histogram: gradient and hessian of a bin side by side, so that an add touches one cache line.

    hist[g] = | g0 h0 | g1 h1 | ... | g255 h255 |        (2 V,)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import N_CODES, kernel
from gamcore.kernels.layout import CHAINS, CHUNK, LOGISTIC, Fit, Rows, Table, Work
from gamcore.kernels.rows import advance


@kernel
def add_run(
    code: NDArray[np.uint8],
    gradient: NDArray[np.floating],
    hessian: NDArray[np.floating],
    both: bool,
    out: NDArray[np.floating],
) -> None:
    """Add one run of rows to `out` (2 V,); the hessian only where `both`."""
    if both:
        for i in range(code.size):
            k = np.intp(code[i]) * 2
            out[k] += gradient[i]
            out[k + 1] += hessian[i]
    else:
        for i in range(code.size):
            out[np.intp(code[i]) * 2] += gradient[i]


@kernel
def _add_four(
    code: NDArray[np.uint8],
    starts: NDArray[np.int64],
    size: int,
    work: Work,
    both: bool,
    out: NDArray[np.floating],
) -> None:
    """Add `size` rows of each of four groups in turn to their histograms, the rows of `out` (4, 2 V)."""
    a, b, c, d = starts[0], starts[1], starts[2], starts[3]
    gradient, hessian = work.gradient, work.hessian
    for i in range(size):
        ka = np.intp(code[a + i]) * 2
        kb = np.intp(code[b + i]) * 2
        kc = np.intp(code[c + i]) * 2
        kd = np.intp(code[d + i]) * 2
        out[0, ka] += gradient[0, i]
        out[1, kb] += gradient[1, i]
        out[2, kc] += gradient[2, i]
        out[3, kd] += gradient[3, i]
        if both:
            out[0, ka + 1] += hessian[0, i]
            out[1, kb + 1] += hessian[1, i]
            out[2, kc + 1] += hessian[2, i]
            out[3, kd + 1] += hessian[3, i]


@kernel
def _common_size(table: Table, groups: NDArray[np.int64]) -> int:
    """Rows of the smallest of `groups`."""
    size = table.starts[groups[0] + 1] - table.starts[groups[0]]
    for k in range(1, groups.size):
        size = min(size, table.starts[groups[k] + 1] - table.starts[groups[k]])
    return int(size)


@kernel
def add_groups(
    table: Table,
    rows: Rows,
    groups: NDArray[np.int64],
    fit: Fit,
    feature: int,
    loss: int,
    work: Work,
    hist: NDArray[np.floating],
) -> None:
    """Apply the pending update to the rows of `groups` and fill their histograms of `feature`.

    hist : (len(groups), 2 V), overwritten. The order of adds within a group does not depend on which other groups are
    asked for, so any share of the groups over threads gives the same bits.
    """
    hist[:] = 0
    both = loss == LOGISTIC
    before = table.codes[fit.pending[0]]
    code = table.codes[feature]
    fours = groups.size - groups.size % CHAINS
    for q in range(0, fours, CHAINS):
        four = groups[q : q + CHAINS]
        for at in range(0, _common_size(table, four), CHUNK):
            n = min(CHUNK, _common_size(table, four) - at)
            for k in range(CHAINS):
                begin = table.starts[four[k]] + at
                advance(before[begin : begin + n], fit.factor, rows, begin, loss, work.gradient[k], work.hessian[k])
            _add_four(code, table.starts[four] + at, n, work, both, hist[q : q + CHAINS])
    for q in range(groups.size):  # what is left of unequal groups, and groups without three partners
        start, stop = table.starts[groups[q]], table.starts[groups[q] + 1]
        if q < fours:
            start += _common_size(table, groups[q - q % CHAINS : q - q % CHAINS + CHAINS])
        for begin in range(start, stop, CHUNK):
            end = min(begin + CHUNK, stop)
            advance(before[begin:end], fit.factor, rows, begin, loss, work.gradient[0], work.hessian[0])
            add_run(code[begin:end], work.gradient[0], work.hessian[0], both, hist[q])


@kernel
def add_up(hist: NDArray[np.floating], total: NDArray[np.float64]) -> None:
    """Sum over all groups in index order: hist (T, m), total (m,)."""
    total[:] = 0.0
    for g in range(hist.shape[0]):
        line = hist[g]
        for k in range(total.size):
            total[k] += line[k]


@kernel
def combine(hist: NDArray[np.floating], member: NDArray[np.int64], out: NDArray[np.floating]) -> None:
    """Histograms of bags from those of their groups: out[b] = sum over g in member[b] of hist[g].

    hist : (T, m); member : (B, groups a bag), indices into hist; out : (B, m), overwritten. Four groups at a time, so
    that `out` is read and written a quarter as often.
    """
    size = member.shape[1]
    for b in range(member.shape[0]):
        line = out[b]
        line[:] = 0
        for g in range(0, size - size % 4, 4):
            one, two = hist[member[b, g]], hist[member[b, g + 1]]
            three, four = hist[member[b, g + 2]], hist[member[b, g + 3]]
            for k in range(line.size):
                line[k] += (one[k] + two[k]) + (three[k] + four[k])
        for g in range(size - size % 4, size):
            one = hist[member[b, g]]
            for k in range(line.size):
                line[k] += one[k]


@kernel
def weigh_groups(
    table: Table, weight: NDArray[np.floating], groups: NDArray[np.int64], out: NDArray[np.floating]
) -> None:
    """Row weights a feature, group and bin: out (p, len(groups), V). Made once a refit, since they never change."""
    out[:] = 0
    for j in range(table.codes.shape[0]):
        for q in range(groups.size):
            for i in range(table.starts[groups[q]], table.starts[groups[q] + 1]):
                out[j, q, table.codes[j, i]] += weight[i] if weight.size else 1


@kernel
def lay_weights(weight: NDArray[np.floating], hist: NDArray[np.floating]) -> None:
    """Put weights (T, V) in the hessians' places of hist (T, 2 V): in squared loss they are the hessians."""
    for q in range(weight.shape[0]):
        for v in range(N_CODES):
            hist[q, 2 * v + 1] = weight[q, v]
