"""What a Newton step along several movements of the curves needs: sums over rows of their gradients and curvatures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import CHUNK, CodedTable, Fit, Rows, Work
from gamcore.kernels.losses import Form, is_paired, sums_of
from gamcore.kernels.row_state import add_curves, advance_run
from gamcore.kernels.scalars import lesser


@kernel
def sum_along(
    table: CodedTable,
    rows: Rows,
    constant: NDArray[np.float64],
    groups: NDArray[np.int64],
    moves: NDArray[np.float64],
    fit: Fit,
    loss: Form,
    work: Work,
    along: NDArray[np.float64],
    slope: NDArray[np.float64],
    bend: NDArray[np.float64],
) -> None:
    """Add up, over the rows of `groups`, minus the loss's slopes along `moves`, and its curvatures along two of them.

    moves : (m, p, V) changes of the curves. constant : (n,) what is summed once beside a row's only channel, or empty
    where that is 1. along : (m, CHUNK) scratch. slope : (m,); bend : (m, m), of which the lower half is written. No
    update may be pending.
    """
    for g in groups:
        for start in range(table.starts[g], table.starts[g + 1], CHUNK):
            stop = lesser(start + CHUNK, table.starts[g + 1])
            advance_run(table, start, stop, rows, fit, loss, work, 0)
            along[:] = 0.0
            for k in range(slope.size):
                add_curves(table, start, stop, moves[k], along[k])
            for i in range(stop - start):
                if is_paired(loss):
                    first, second = float(work.gradient[0, 2 * i]), float(work.gradient[0, 2 * i + 1])
                else:
                    first, second = float(work.gradient[0, i]), constant[start + i] if constant.size else 1.0
                descent, weight = sums_of(first, second, loss)
                for k in range(slope.size):
                    slope[k] += descent * along[k, i]
                    for m in range(k + 1):
                        bend[k, m] += weight * along[k, i] * along[m, i]
