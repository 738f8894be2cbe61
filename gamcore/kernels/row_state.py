"""Updates of row state over runs of rows and whole tables; `losses.py` says what happens to a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import CodedTable, Fit, Rows, Work
from gamcore.kernels.losses import Form, advance, n_states, put_state
from gamcore.kernels.scalars import lesser


@kernel
def advance_run(
    before: NDArray[np.uint8], start: int, stop: int, rows: Rows, fit: Fit, loss: Form, work: Work, chain: int
) -> None:
    """Apply the pending update to the rows start : stop, and write their channels to work.gradient[chain].

    before : codes (n,) of the feature of the pending update.
    """
    weight = rows.weight[start:stop] if rows.weight.size else rows.weight
    target = rows.target[start:stop] if rows.target.size else rows.target
    each = n_states(loss)
    score = rows.score[each * start : each * stop]
    advance(before[start:stop], fit.factor, score, target, weight, loss, work.gathered, work.gradient[chain])


@kernel
def rescore(
    table: CodedTable,
    rows: Rows,
    response: NDArray[np.float64],
    curves: NDArray[np.float64],
    loss: Form,
    sums: NDArray[np.float64],
) -> None:
    """Set every row's state from the curves, so that rounding does not add up over rounds.

    response : what `Loss.response` makes of the score that the curves add to: (n,), or (1,) if it is the same for all
    rows. sums : scratch, as many values as rows are summed at a time.
    """
    n_rows = table.codes.shape[1]
    for start in range(0, n_rows, sums.size):
        stop = lesser(start + sums.size, n_rows)
        sums[:] = 0.0
        for j in range(table.codes.shape[0]):
            code = table.codes[j, start:stop]
            for i in range(code.size):
                sums[i] += curves[j, code[i]]
        for i in range(stop - start):
            given = response[start + i] if response.size > 1 else response[0]
            put_state(rows, start + i, sums[i], given, loss)
