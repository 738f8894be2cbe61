"""Updates of row state over runs of rows and whole tables; `losses.py` says what happens to a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes
from gamcore.kernels import kernel
from gamcore.kernels.layout import CodedTable, Fit, Rows, Work
from gamcore.kernels.losses import Form, advance, n_states, put_state, shift
from gamcore.kernels.scalars import lesser


@kernel
def line_of(table: CodedTable, feature: int) -> int:
    """Return where the codes of a feature are: see `CodedTable`.

    Callers first compare the types of `codes` and `wide`, which is done when they are compiled: where no feature is
    wide these are the same, and the branch for wide features costs nothing.
    """
    return int(table.line[feature]) if table.line.size else feature


@kernel
def advance_run(
    table: CodedTable, start: int, stop: int, rows: Rows, fit: Fit, loss: Form, work: Work, chain: int
) -> None:
    """Apply the pending update to the rows start : stop, and write their channels to work.gradient[chain]."""
    at = line_of(table, fit.pending[0])
    if table.codes.dtype == table.wide.dtype or at >= 0:
        _advance_by(table.codes[at], start, stop, rows, fit, loss, work, chain)
    else:
        _advance_by(table.wide[-1 - at], start, stop, rows, fit, loss, work, chain)


@kernel
def _advance_by(before: Codes, start: int, stop: int, rows: Rows, fit: Fit, loss: Form, work: Work, chain: int) -> None:
    """Do so by the codes (n,) of the feature of the pending update."""
    weight = rows.weight[start:stop] if rows.weight.size else rows.weight
    target = rows.target[start:stop] if rows.target.size else rows.target
    each = n_states(loss)
    score = rows.score[each * start : each * stop]
    advance(before[start:stop], fit.factor, score, target, weight, loss, work.gathered, work.gradient[chain])


@kernel
def shift_groups(
    table: CodedTable, feature: int, factor: NDArray[np.floating], rows: Rows, groups: NDArray[np.int64], loss: Form
) -> None:
    """Apply the factors of a feature's codes to the rows of `groups`, without gradients."""
    at, each = line_of(table, feature), n_states(loss)
    for q in range(groups.size):
        start, stop = table.starts[groups[q]], table.starts[groups[q] + 1]
        score = rows.score[each * start : each * stop]
        if table.codes.dtype == table.wide.dtype or at >= 0:
            shift(table.codes[at, start:stop], factor, score, loss)
        else:
            shift(table.wide[-1 - at, start:stop], factor, score, loss)


@kernel
def _add_curve(code: Codes, curve: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    """Add the score of each row of a run to its sum."""
    for i in range(code.size):
        sums[i] += curve[code[i]]


@kernel
def add_curves(
    table: CodedTable, start: int, stop: int, curves: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Add the scores of the rows start : stop, by all curves (p, V), to their sums."""
    for j in range(table.last.size):
        at = line_of(table, j)
        if table.codes.dtype == table.wide.dtype or at >= 0:
            _add_curve(table.codes[at, start:stop], curves[j], sums)
        else:
            _add_curve(table.wide[-1 - at, start:stop], curves[j], sums)


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
        add_curves(table, start, stop, curves, sums)
        for i in range(stop - start):
            given = response[start + i] if response.size > 1 else response[0]
            put_state(rows, start + i, sums[i], given, loss)
