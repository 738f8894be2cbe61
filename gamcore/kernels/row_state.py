"""Updates of row state over runs of rows and whole tables; `losses.py` says what happens to a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import CodedTable, Fit, Rows, Work
from gamcore.kernels.losses import advance, state_of


@kernel
def advance_run(
    before: NDArray[np.uint8], start: int, stop: int, rows: Rows, fit: Fit, loss: int, work: Work, chain: int
) -> None:
    """Apply the pending update to the rows start : stop, and write their gradients to work.gradient[chain].

    before : codes (n,) of the feature of the pending update.
    """
    weight = rows.weight[start:stop] if rows.weight.size else rows.weight
    target = rows.target[start:stop] if rows.target.size else rows.target
    score = rows.score[start:stop]
    advance(before[start:stop], fit.factor, score, target, weight, loss, work.gathered, work.gradient[chain])


@kernel
def rescore(
    table: CodedTable,
    rows: Rows,
    response: NDArray[np.float64],
    curves: NDArray[np.float64],
    loss: int,
    sums: NDArray[np.float64],
) -> None:
    """Set every row's state from the curves, so that rounding does not add up over rounds.

    response : for squared loss, y minus the score that the curves add to; for others, that score. (n,), or (1,) if it
    is the same for all rows. sums : scratch, as many values as rows are summed at a time.
    """
    for start in range(0, rows.score.size, sums.size):
        stop = min(start + sums.size, rows.score.size)
        sums[:] = 0.0
        for j in range(table.codes.shape[0]):
            code = table.codes[j, start:stop]
            for i in range(code.size):
                sums[i] += curves[j, code[i]]
        for i in range(stop - start):
            given = response[start + i] if response.size > 1 else response[0]
            rows.score[start + i] = state_of(sums[i], given, loss)
