"""Histograms: sums of gradient and hessian over the rows of each bin (see layout.py for the layout).

A histogram is additive over rows, so the rows are dealt once into G groups, one pass over them fills G histograms, and
the histogram of a bag (a set of groups) is the sum of those of its groups. This replaces a pass per bag (subagging of
Lou et al. 2020, section 3.2) by one pass for all bags.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes
from gamcore.kernels import kernel
from gamcore.kernels.layout import CHAINS, CHUNK, CodedTable, Fit, Rows, Work
from gamcore.kernels.losses import Form, is_paired
from gamcore.kernels.row_state import advance_run, line_of
from gamcore.kernels.scalars import lesser

_PAD = 16
"""Lines of a shared buffer are padded to a multiple of this many values, so that each begins on a cache line."""


@kernel
def width(last: int, paired: bool) -> int:
    """Return the number of values in a histogram whose largest code is `last`."""
    return (last + 1) * (2 if paired else 1)


@kernel
def pitch_of(size: int) -> int:
    """Return the distance between lines with room for `size` values."""
    return (size + _PAD - 1) // _PAD * _PAD


def lines(buffer: NDArray[np.floating], n_lines: int, size: int) -> NDArray[np.floating]:
    """Return `n_lines` lines of a flat buffer with room for `size` values each: small histograms stay together."""
    pitch = pitch_of(size)
    return buffer[: n_lines * pitch].reshape((n_lines, pitch))


@kernel
def add_run(code: Codes, gradient: NDArray[np.floating], paired: bool, out: NDArray[np.floating]) -> None:
    """Add one run of rows to the histogram `out`."""
    if paired:
        for i in range(code.size):
            k = np.intp(code[i]) * 2
            out[k] += gradient[2 * i]
            out[k + 1] += gradient[2 * i + 1]
    else:
        for i in range(code.size):
            out[code[i]] += gradient[i]


@kernel
def _add_four(
    code: Codes,
    starts: NDArray[np.int64],
    four: NDArray[np.int64],
    at: int,
    size: int,
    gradient: NDArray[np.floating],
    paired: bool,
    out: NDArray[np.floating],
) -> None:
    """Add `size` rows of each of four groups in turn, from the groups' row `at` on, to their histograms, the rows of
    `out`."""
    first, second, third, last = starts[four[0]] + at, starts[four[1]] + at, starts[four[2]] + at, starts[four[3]] + at
    ca, cb = code[first : first + size], code[second : second + size]
    cc, cd = code[third : third + size], code[last : last + size]
    ga, gb, gc, gd = gradient[0], gradient[1], gradient[2], gradient[3]
    a, b, c, d = out[0], out[1], out[2], out[3]
    if paired:
        for i in range(size):
            k = np.intp(ca[i]) * 2
            a[k] += ga[2 * i]
            a[k + 1] += ga[2 * i + 1]
            k = np.intp(cb[i]) * 2
            b[k] += gb[2 * i]
            b[k + 1] += gb[2 * i + 1]
            k = np.intp(cc[i]) * 2
            c[k] += gc[2 * i]
            c[k + 1] += gc[2 * i + 1]
            k = np.intp(cd[i]) * 2
            d[k] += gd[2 * i]
            d[k + 1] += gd[2 * i + 1]
    else:
        for i in range(size):
            a[ca[i]] += ga[i]
            b[cb[i]] += gb[i]
            c[cc[i]] += gc[i]
            d[cd[i]] += gd[i]


@kernel
def _common_size(table: CodedTable, groups: NDArray[np.int64]) -> int:
    """Return the number of rows in the smallest of `groups`."""
    size: int = table.starts[groups[0] + 1] - table.starts[groups[0]]
    for k in range(1, groups.size):
        size = lesser(size, table.starts[groups[k] + 1] - table.starts[groups[k]])
    return size


@kernel
def add_groups(
    table: CodedTable,
    rows: Rows,
    groups: NDArray[np.int64],
    fit: Fit,
    feature: int,
    loss: Form,
    work: Work,
    hist: NDArray[np.floating],
) -> None:
    """Apply the pending update to the rows of `groups` and fill their histograms of `feature`.

    hist : (len(groups), at least width), overwritten. The order of adds within a group does not depend on the other
    groups, so the results are the same to the bit however groups are shared between threads.
    """
    hist[:] = 0
    paired, line = is_paired(loss), line_of(table, feature)
    fours = groups.size - groups.size % CHAINS
    for q in range(0, fours, CHAINS):
        four = groups[q : q + CHAINS]
        common = _common_size(table, four)
        for at in range(0, common, CHUNK):
            n = lesser(CHUNK, common - at)
            for k in range(CHAINS):
                begin = table.starts[four[k]] + at
                advance_run(table, begin, begin + n, rows, fit, loss, work, k)
            if table.codes.dtype == table.wide.dtype or line >= 0:
                _add_four(table.codes[line], table.starts, four, at, n, work.gradient, paired, hist[q : q + CHAINS])
            else:
                _add_four(table.wide[-1 - line], table.starts, four, at, n, work.gradient, paired, hist[q : q + CHAINS])
    for q in range(groups.size):  # the rest of unequal groups, and the groups after the last four
        start, stop = table.starts[groups[q]], table.starts[groups[q] + 1]
        if q < fours:
            start += _common_size(table, groups[q - q % CHAINS : q - q % CHAINS + CHAINS])
        for begin in range(start, stop, CHUNK):
            end = lesser(begin + CHUNK, stop)
            advance_run(table, begin, end, rows, fit, loss, work, 0)
            if table.codes.dtype == table.wide.dtype or line >= 0:
                add_run(table.codes[line, begin:end], work.gradient[0], paired, hist[q])
            else:
                add_run(table.wide[-1 - line, begin:end], work.gradient[0], paired, hist[q])


@kernel
def add_up(hist: NDArray[np.floating], last: int, paired: bool, total: NDArray[np.float64]) -> None:
    """Sum over all groups in index order: hist (T, at least width), total (2, V); only gradients unless paired."""
    total[:, : last + 1] = 0.0
    for g in range(hist.shape[0]):
        line = hist[g]
        if paired:
            for v in range(last + 1):
                total[0, v] += line[2 * v]
                total[1, v] += line[2 * v + 1]
        else:
            for v in range(last + 1):
                total[0, v] += line[v]


@kernel
def combine(hist: NDArray[np.floating], member: NDArray[np.int64], size: int, out: NDArray[np.floating]) -> None:
    """Sum the histograms of a bag's groups: out[:size] = sum over g in member of hist[g, :size].

    Six groups are added at a time, so that `out` is read and written a sixth as often.
    """
    out[:size] = 0
    sixes = member.size - member.size % 6
    for i in range(0, sixes, 6):
        a, b, c = hist[member[i]], hist[member[i + 1]], hist[member[i + 2]]
        d, e, f = hist[member[i + 3]], hist[member[i + 4]], hist[member[i + 5]]
        for k in range(size):
            out[k] += (a[k] + b[k]) + (c[k] + d[k]) + (e[k] + f[k])
    for i in range(sixes, member.size):
        a = hist[member[i]]
        for k in range(size):
            out[k] += a[k]
