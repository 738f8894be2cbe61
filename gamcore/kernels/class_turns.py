"""Turns of classes: what a row of several classes keeps, and how a class is boosted against the others.

A row of K classes keeps the odds exp(F_k) of each and their sum. While class k has its turn, the others stand still, so
its probability is that of one class against the rest, with the odds

    exp(F_k) / (sum over l of exp(F_l) - exp(F_k)),

and the kernels of logistic loss boost it as they are. Cycling over classes like this is block coordinate descent on
the multinomial likelihood (Friedman, Hastie and Tibshirani 2010, section 4.1).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import CHUNK, CodedTable
from gamcore.kernels.row_channels import LEAST_ODDS, MOST_ODDS
from gamcore.kernels.row_state import add_curves
from gamcore.kernels.scalars import lesser


@kernel
def begin_turn(own: NDArray[np.floating], total: NDArray[np.float64], score: NDArray[np.floating]) -> None:
    """Write the odds of a class against the others to `score` (n,), given its own odds (n,) and their sum (n,)."""
    for i in range(own.size):
        rest = max(total[i] - own[i], LEAST_ODDS * total[i])
        score[i] = min(max(own[i] / rest, LEAST_ODDS), MOST_ODDS)


@kernel
def end_turn(score: NDArray[np.floating], own: NDArray[np.floating], total: NDArray[np.float64]) -> None:
    """Take the odds of a class against the others back into its own odds and the sum.

    The sum gets what `own` can hold, which may be rounded: else they would part over the turns.
    """
    for i in range(own.size):
        rest = max(total[i] - own[i], LEAST_ODDS * total[i])
        own[i] = rest * score[i]
        total[i] = rest + own[i]


@kernel
def class_loss(
    odds: NDArray[np.floating],
    total: NDArray[np.float64],
    codes: NDArray[np.uint8],
    weight: NDArray[np.floating],
    start: int,
    stop: int,
) -> float:
    """Return the weighted sum of -log P(own class) over rows start : stop.

    odds : (K, n); total : (n,) their sums; codes : (n,) classes; weight : (n,), or empty where all rows weigh 1.
    """
    loss = 0.0
    weighted = weight.size > 0
    for i in range(start, stop):
        row_loss = math.log(total[i] / odds[codes[i], i])
        loss += row_loss * weight[i] if weighted else row_loss
    return loss


@kernel
def sum_along(
    table: CodedTable,
    state: tuple[NDArray[np.floating], NDArray[np.float64]],
    codes: NDArray[np.uint8],
    weight: NDArray[np.floating],
    groups: NDArray[np.int64],
    moves: NDArray[np.float64],
    scratch: tuple[NDArray[np.float64], NDArray[np.float64]],
    slope: NDArray[np.float64],
    bend: NDArray[np.float64],
) -> None:
    """Add up, over the rows of `groups`, minus the slopes of the loss of all classes along `moves`, and its curvatures.

    state : odds (K, n) and total (n,), as in `class_loss`. moves : (m, K, p, V) changes of the curves. scratch :
    (m, K, CHUNK) and (m,). slope : (m,); bend : (m, m), of which the lower half is written.
    """
    (odds, total), (along, mean), (n_classes, n_moves) = state, scratch, (moves.shape[1], moves.shape[0])
    for g in groups:
        for start in range(table.starts[g], table.starts[g + 1], CHUNK):
            stop = lesser(start + CHUNK, table.starts[g + 1])
            along[:] = 0.0
            for k in range(n_moves):
                for c in range(n_classes):
                    add_curves(table, start, stop, moves[k, c], along[k, c])
            for i in range(start, stop):
                of_row = float(weight[i]) if weight.size else 1.0
                for k in range(n_moves):
                    mean[k] = 0.0
                    for c in range(n_classes):
                        mean[k] += odds[c, i] / total[i] * along[k, c, i - start]
                    slope[k] += of_row * (along[k, codes[i], i - start] - mean[k])
                    for m in range(k + 1):
                        square = -mean[k] * mean[m]
                        for c in range(n_classes):
                            square += odds[c, i] / total[i] * along[k, c, i - start] * along[m, c, i - start]
                        bend[k, m] += of_row * square
