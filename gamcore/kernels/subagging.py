"""Histograms of row-level bags: four strategies that give the same sums; `rescan` also does the bootstrap.

The paper's subsamples (Lou et al. 2020) are sets of *rows*, drawn once before boosting. The strategies and their
number of adds, for n rows and B bags with a share alpha of the rows each:

    rescan       a pass per bag: alpha n B
    mst          along a spanning tree of the bags, copy the parent, then add and subtract the difference (Algorithm 4):
                 about 2 alpha (1 - alpha) n B
    complement   all rows minus those left out: (1 - alpha) n B
    mask         rows sorted by bin, each bag adding those whose membership bit is 1: n B, but in vector lanes (see
                 subagging_masks.py)

Every kernel fills out (B, 2 V) in the layout of layout.py. `gradient` is (n,), or (2 n,) with hessians side by side
if paired; it is zero for rows outside training. A bag's rows are `rows[offsets[b] : offsets[b + 1]]`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes
from gamcore.kernels import kernel
from gamcore.kernels.histogram import add_run
from gamcore.kernels.layout import CHUNK, CodedTable, Fit, Rows, Work
from gamcore.kernels.losses import Form, is_paired
from gamcore.kernels.row_state import advance_run
from gamcore.kernels.scalars import lesser


class RowLists(NamedTuple):
    """Lists of rows, one per bag, laid end to end."""

    rows: NDArray[np.int32]  # (sum of sizes,)
    offsets: NDArray[np.int64]  # (B + 1,)
    times: NDArray[np.uint8]  # (sum of sizes,) how often each row is in the bag; empty if once


@kernel
def row_gradients(
    table: CodedTable,
    rows: Rows,
    groups: NDArray[np.int64],
    fit: Fit,
    loss: Form,
    work: Work,
    gradient: NDArray[np.floating],
) -> None:
    """Apply the pending update to the rows of `groups`, and write their gradients (and hessians) to `gradient`."""
    each = 2 if is_paired(loss) else 1
    for q in range(groups.size):
        start, stop = table.starts[groups[q]], table.starts[groups[q] + 1]
        for begin in range(start, stop, CHUNK):
            end = lesser(begin + CHUNK, stop)
            advance_run(table, begin, end, rows, fit, loss, work, 0)
            for k in range(each * (end - begin)):
                gradient[each * begin + k] = work.gradient[0, k]


@kernel
def add_all(
    code: Codes,
    gradient: NDArray[np.floating],
    paired: bool,
    line: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Sum over all training rows into total (2, V); hessians only if paired. line (2 V,) is scratch."""
    line[:] = 0.0
    add_run(code, gradient, paired, line)
    for v in range(total.shape[1]):
        if paired:
            total[0, v], total[1, v] = line[2 * v], line[2 * v + 1]
        else:
            total[0, v] = line[v]


@kernel
def _add_rows(
    code: Codes,
    gradient: NDArray[np.floating],
    paired: bool,
    lists: RowLists,
    bag: int,
    sign: float,
    out: NDArray[np.floating],
) -> None:
    """Add (sign 1) or subtract (sign -1) the rows of one list, each as often as it occurs."""
    once = gradient.dtype.type(sign)
    for k in range(lists.offsets[bag], lists.offsets[bag + 1]):
        i = lists.rows[k]
        factor = once * gradient.dtype.type(lists.times[k]) if lists.times.size else once
        if paired:
            at = np.intp(code[i]) * 2
            out[at] += factor * gradient[2 * i]
            out[at + 1] += factor * gradient[2 * i + 1]
        else:
            out[code[i]] += factor * gradient[i]


@kernel
def rescan(
    code: Codes,
    gradient: NDArray[np.floating],
    paired: bool,
    lists: RowLists,
    out: NDArray[np.floating],
) -> None:
    """Fill each bag's histogram in its own pass, with multiplicities for the bootstrap."""
    out[:] = 0
    for b in range(out.shape[0]):
        _add_rows(code, gradient, paired, lists, b, 1.0, out[b])


@kernel
def walk_tree(
    code: Codes,
    gradient: NDArray[np.floating],
    paired: bool,
    order: NDArray[np.int64],
    parent: NDArray[np.int64],
    added: RowLists,
    removed: RowLists,
    out: NDArray[np.floating],
) -> None:
    """Fill the histograms breadth-first along the spanning tree: copy the parent's, add and subtract the difference.

    `added` of the root (parent -1) is the whole root bag.
    """
    for b in order:
        for k in range(out.shape[1]):
            out[b, k] = out[parent[b], k] if parent[b] >= 0 else 0
        _add_rows(code, gradient, paired, added, b, 1.0, out[b])
        _add_rows(code, gradient, paired, removed, b, -1.0, out[b])


@kernel
def complement(
    code: Codes,
    gradient: NDArray[np.floating],
    paired: bool,
    left_out: RowLists,
    out: NDArray[np.floating],
) -> None:
    """Subtract the rows left out of each bag from the histogram of all rows."""
    out[0] = 0
    add_run(code, gradient, paired, out[0])
    for b in range(out.shape[0] - 1, -1, -1):
        if b > 0:
            for k in range(out.shape[1]):
                out[b, k] = out[0, k]
        _add_rows(code, gradient, paired, left_out, b, -1.0, out[b])


@kernel
def clear_empty(weight: NDArray[np.floating], paired: bool, out: NDArray[np.floating]) -> None:
    """Set bins without rows to exactly 0, since subtraction leaves rounding errors: weight (B, cells), out (B, 2 V)."""
    for b in range(out.shape[0]):
        for v in range(weight.shape[1]):
            if weight[b, v] <= 0:
                if paired:
                    out[b, 2 * v] = out[b, 2 * v + 1] = 0
                else:
                    out[b, v] = 0
