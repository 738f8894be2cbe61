"""The compiled half of every loss: a row's state, how an update changes it, and its gradient, hessian and loss.

A step updates one number per row, its *state*, by looking up a factor per bin:

    loss      state                an update                histogram of a bin
    squared   residual  y - F      state - step             gradient
    logistic  odds      exp(F)     state * exp(step)        gradient, hessian

For logistic loss p = E / (1 + E), r = y - p and h = p (1 - p): one exponential per *bin* instead of one per row. The
other half of a loss, its link and its traits, is in `model/losses.py`.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel, trait
from gamcore.kernels.layout import Rows

SQUARED: Final = 0
LOGISTIC: Final = 1
CODES: Final = (LOGISTIC, SQUARED)
"""All losses, in the order in which their kernels are compiled ahead of time."""

LEAST_ODDS = 1e-13
MOST_ODDS = 1e13
"""Bounds on the odds, about |F| <= 30: beyond, p is 0 or 1 in float32 and hessians vanish."""

KEPT_TARGETS: Final[dict[int, type]] = {LOGISTIC: np.uint8}
"""Losses that need the target beside the state, and the type in which rows keep it."""


def kept_target(y: NDArray[np.float64], loss: int) -> NDArray[Any]:
    """Return the contents of `Rows.target`: the target (n,), or an empty array."""
    return y.astype(KEPT_TARGETS[loss]) if loss in KEPT_TARGETS else np.empty(0, np.uint8)


@trait
def has_hessian(loss: int) -> bool:
    """Return whether hessians change between rounds, so that histograms keep them; else they are the row weights."""
    return loss != SQUARED


@trait
def no_change(loss: int) -> float:
    """Return the factor that leaves a row's state as it is."""
    return 1.0 if loss == LOGISTIC else 0.0


@trait
def factor_of(step: float, loss: int) -> float:
    """Return the factor that applies a step of the score to a row's state."""
    return math.exp(step) if loss == LOGISTIC else step


@kernel
def advance(
    code: NDArray[np.uint8],
    factor: NDArray[np.floating],
    score: NDArray[np.floating],
    target: NDArray[np.uint8],
    weight: NDArray[np.floating],
    loss: int,
    gathered: NDArray[np.floating],
    gradient: NDArray[np.floating],
) -> None:
    """Apply `factor[code]` to one run of at most CHUNK rows, and write their weighted (negative) gradients.

    Hessians are written side by side with them if the loss has any. `target` and `weight` are those of the same rows,
    or empty. Factors are looked up in a loop of their own, since only the other loop can be vectorised.
    """
    n = code.size
    for i in range(n):
        gathered[i] = factor[code[i]]
    if loss != LOGISTIC:
        for i in range(n):
            residual = score[i] - gathered[i]
            score[i] = residual
            gradient[i] = residual
        for i in range(weight.size):
            gradient[i] *= weight[i]
        return
    kind = score.dtype.type
    one, low, high = kind(1.0), kind(LEAST_ODDS), kind(MOST_ODDS)
    for i in range(n):
        odds = score[i] * gathered[i]
        odds = low if odds < low else odds
        odds = high if odds > high else odds
        score[i] = odds
        rest = one / (one + odds)
        chance = odds * rest
        gradient[2 * i] = kind(target[i]) - chance
        gradient[2 * i + 1] = chance * rest
    for i in range(weight.size):
        gradient[2 * i] *= weight[i]
        gradient[2 * i + 1] *= weight[i]


@kernel
def shift(code: NDArray[np.uint8], factor: NDArray[np.floating], score: NDArray[np.floating], loss: int) -> None:
    """Apply `factor[code]` to the states of one run of rows, without gradients."""
    kind = score.dtype.type
    low, high = kind(LEAST_ODDS), kind(MOST_ODDS)
    if loss == LOGISTIC:
        for i in range(code.size):
            odds = score[i] * factor[code[i]]
            odds = low if odds < low else odds
            score[i] = high if odds > high else odds
    else:
        for i in range(code.size):
            score[i] -= factor[code[i]]


@kernel
def shift_by(steps: NDArray[np.float64], score: NDArray[np.floating], loss: int) -> None:
    """Apply a separate step to the state of each row."""
    if loss == LOGISTIC:
        for i in range(score.size):
            score[i] = min(max(score[i] * math.exp(steps[i]), LEAST_ODDS), MOST_ODDS)
    else:
        for i in range(score.size):
            score[i] -= steps[i]


@kernel
def state_of(total: float, response: float, loss: int) -> float:
    """Return the state of a row whose curves add up to `total`; for `response`, see `rescore`."""
    if loss == LOGISTIC:
        return min(max(math.exp(total + response), LEAST_ODDS), MOST_ODDS)
    return response - total


@kernel
def total_loss(rows: Rows, start: int, stop: int, loss: int) -> float:
    """Return the weighted sum of the loss over rows start : stop: squared error, or negative log-likelihood.

    Unweighted log loss takes one logarithm of a product over 16 rows, whose factors are at most about 1e13.
    """
    total = 0.0
    weighted = rows.weight.size > 0
    if loss != LOGISTIC:
        for i in range(start, stop):
            square = float(rows.score[i]) ** 2
            total += square * rows.weight[i] if weighted else square
        return total
    product = 1.0
    for i in range(start, stop):
        odds = float(rows.score[i])
        against = 1.0 + (1.0 / odds if rows.target[i] else odds)
        if weighted:
            total += rows.weight[i] * math.log(against)
        else:
            product *= against
            if (i - start) % 16 == 15:
                total += math.log(product)
                product = 1.0
    return total + math.log(product)


@kernel
def descent_of(y: float, score: float, loss: int) -> tuple[float, float]:
    """Return minus the gradient, and the hessian, of a row with this score."""
    if loss == LOGISTIC:
        chance = 1.0 / (1.0 + math.exp(-score))
        return y - chance, chance * (1.0 - chance)
    return y - score, 1.0


@kernel
def loss_of(y: float, score: float, loss: int) -> float:
    """Return the loss of a row with this score."""
    if loss == LOGISTIC:  # -log P(y), without forming 1 - P
        against = -score if y > 0.5 else score
        return max(against, 0.0) + math.log1p(math.exp(-abs(against)))
    gap = y - score
    return gap * gap
