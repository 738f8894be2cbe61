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
from gamcore.kernels.row_channels import LEAST_ODDS, MOST_ODDS


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
        one = math.log(total[i] / odds[codes[i], i])
        loss += one * weight[i] if weighted else one
    return loss
