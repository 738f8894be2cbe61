"""Histograms of row-level bags: four strategies that give the same sums, and one for the bootstrap.

The paper's subsamples (Lou et al. 2020) are sets of *rows*, drawn once before boosting. Strategies, with n rows, B bags
and a share alpha of the rows in each:

    rescan       alpha n B adds: a pass a bag
    mst          along the edges of a spanning tree of the bags: copy the parent, add and subtract the difference
                 (Algorithm 4); about 2 alpha (1 - alpha) n B
    complement   all rows minus those left out: (1 - alpha) n B
    mask         one pass over the rows, each adding to all B bags at once where its membership is 1; n B, but in lanes

Every kernel fills out (B, 2 V), gradient and hessian of a bin side by side. `gradient` and `hessian` are (n,), zero for
rows outside training. A bag's rows are `rows[offsets[b] : offsets[b + 1]]`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import N_CODES, kernel
from gamcore.kernels.histogram import add_run
from gamcore.kernels.layout import LOGISTIC, Fit, Rows, Table
from gamcore.kernels.rows import advance


class RowLists(NamedTuple):
    """Lists of rows, one a bag, end to end."""

    rows: NDArray[np.int32]  # (sum of sizes,)
    offsets: NDArray[np.int64]  # (B + 1,)
    times: NDArray[np.uint8]  # (sum of sizes,) how often each row is in the bag; empty where once


@kernel
def row_gradients(
    table: Table,
    rows: Rows,
    groups: NDArray[np.int64],
    fit: Fit,
    loss: int,
    gradient: NDArray[np.floating],
    hessian: NDArray[np.floating],
) -> None:
    """Apply the pending update to the rows of `groups`, and write their gradients and hessians at the same places."""
    before = table.codes[fit.pending[0]]
    for q in range(groups.size):
        start, stop = table.starts[groups[q]], table.starts[groups[q] + 1]
        advance(before[start:stop], fit.factor, rows, start, loss, gradient[start:stop], hessian[start:stop])


@kernel
def add_all(
    code: NDArray[np.uint8],
    gradient: NDArray[np.floating],
    hessian: NDArray[np.floating],
    loss: int,
    total: NDArray[np.float64],
) -> None:
    """Sums over all training rows: total (2 V,), float64; hessians only for logistic loss."""
    total[:] = 0.0
    add_run(code, gradient, hessian, loss == LOGISTIC, total)


@kernel
def _add_rows(
    code: NDArray[np.uint8],
    gradient: NDArray[np.floating],
    hessian: NDArray[np.floating],
    lists: RowLists,
    bag: int,
    sign: float,
    out: NDArray[np.floating],
) -> None:
    """Add (sign 1) or subtract (sign -1) the rows of one list."""
    factor = gradient.dtype.type(sign)
    for k in range(lists.offsets[bag], lists.offsets[bag + 1]):
        i = lists.rows[k]
        at = np.intp(code[i]) * 2
        out[at] += factor * gradient[i]
        out[at + 1] += factor * hessian[i]


@kernel
def rescan(
    code: NDArray[np.uint8],
    gradient: NDArray[np.floating],
    hessian: NDArray[np.floating],
    lists: RowLists,
    out: NDArray[np.floating],
) -> None:
    """A pass a bag; with multiplicities for the bootstrap."""
    out[:] = 0
    for b in range(out.shape[0]):
        line = out[b]
        if lists.times.size == 0:
            _add_rows(code, gradient, hessian, lists, b, 1.0, line)
        else:
            for k in range(lists.offsets[b], lists.offsets[b + 1]):
                i = lists.rows[k]
                at = np.intp(code[i]) * 2
                times = gradient.dtype.type(lists.times[k])
                line[at] += times * gradient[i]
                line[at + 1] += times * hessian[i]


@kernel
def walk_tree(
    code: NDArray[np.uint8],
    gradient: NDArray[np.floating],
    hessian: NDArray[np.floating],
    order: NDArray[np.int64],
    parent: NDArray[np.int64],
    added: RowLists,
    removed: RowLists,
    out: NDArray[np.floating],
) -> None:
    """Breadth first along the spanning tree: copy the parent's histogram, add and subtract the difference.

    `added` of the root (parent -1) is the whole root bag.
    """
    for b in order:
        if parent[b] < 0:
            out[b] = 0
        else:
            out[b] = out[parent[b]]
        _add_rows(code, gradient, hessian, added, b, 1.0, out[b])
        _add_rows(code, gradient, hessian, removed, b, -1.0, out[b])


@kernel
def complement(
    code: NDArray[np.uint8],
    gradient: NDArray[np.floating],
    hessian: NDArray[np.floating],
    left_out: RowLists,
    out: NDArray[np.floating],
) -> None:
    """All rows minus the rows left out of each bag."""
    out[0] = 0
    add_run(code, gradient, hessian, True, out[0])
    for b in range(out.shape[0] - 1, -1, -1):
        out[b] = out[0]
        _add_rows(code, gradient, hessian, left_out, b, -1.0, out[b])


@kernel
def masked(
    code: NDArray[np.uint8],
    gradient: NDArray[np.floating],
    hessian: NDArray[np.floating],
    member: NDArray[np.uint8],
    lanes: NDArray[np.floating],
    out: NDArray[np.floating],
) -> None:
    """One pass over the rows; each adds to the bags it belongs to, side by side.

    member : (n, B) 0 or 1; lanes : (V, 2, B), scratch: a bin's sums of all bags are contiguous, and turned at the end.
    """
    lanes[:] = 0
    n_bags = out.shape[0]
    for i in range(code.size):
        g, h = gradient[i], hessian[i]
        of_row = member[i]
        to_g, to_h = lanes[code[i], 0], lanes[code[i], 1]
        for b in range(n_bags):
            inside = gradient.dtype.type(of_row[b])
            to_g[b] += g * inside
            to_h[b] += h * inside
    for b in range(n_bags):
        for v in range(N_CODES):
            out[b, 2 * v] = lanes[v, 0, b]
            out[b, 2 * v + 1] = lanes[v, 1, b]


@kernel
def clear_empty(weight: NDArray[np.floating], out: NDArray[np.floating]) -> None:
    """Set bins without rows to exactly 0: adding and subtracting leaves crumbs there. weight (B, V), out (B, 2 V)."""
    for b in range(out.shape[0]):
        for v in range(N_CODES):
            if weight[b, v] <= 0:
                out[b, 2 * v] = 0
                out[b, 2 * v + 1] = 0
