"""The compiled half of every loss: what a row's state is, how an update reaches it, and what boosting reads off it.

A step updates one number of each row, its *state*, by one look-up in a table of factors, one factor per bin:

    loss      state                an update                histogram of a bin
    squared   residual  y - F      state - step             gradient
    logistic  odds      exp(F)     state * exp(step)        gradient, hessian

For logistic loss p = E / (1 + E), r = y - p and h = p (1 - p): one exponential per *bin* instead of one per row. The
other half of a loss, its link and its traits, is in `model/losses.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import Rows

SQUARED: Final = 0
LOGISTIC: Final = 1
CODES: Final = (LOGISTIC, SQUARED)
"""All losses, in the order in which their kernels are compiled ahead."""

LEAST_ODDS = 1e-13
MOST_ODDS = 1e13
"""Odds are kept within |F| <= 30: beyond, p is 0 or 1 in float32 and a hessian would vanish."""

KEPT_TARGETS: Final[dict[int, type]] = {LOGISTIC: np.uint8}
"""Losses whose state does not tell the target, and the type in which rows keep it."""

Function = TypeVar("Function", bound=Callable[..., Any])


def trait(function: Function) -> Function:
    """Return a function that kernels and Python call alike."""
    return register_jitable(function)  # type: ignore[no-any-return]


def kept_target(y: NDArray[np.float64], loss: int) -> NDArray[Any]:
    """Return what `Rows.target` holds: the target (n,), or nothing."""
    return y.astype(KEPT_TARGETS[loss]) if loss in KEPT_TARGETS else np.empty(0, np.uint8)


@trait
def has_hessian(loss: int) -> bool:
    """Return whether hessians change from round to round, so that a histogram keeps them; else row weights stand for
    them."""
    return loss != SQUARED


@trait
def no_change(loss: int) -> float:
    """Return the factor that leaves a row's state as it is."""
    return 1.0 if loss == LOGISTIC else 0.0


@trait
def factor_of(step: float, loss: int) -> float:
    """Return the factor of a step of the score."""
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
    """Apply `factor[code]` to one run of at most CHUNK rows, and write their weighted gradients, with their hessians
    side by side where the loss has some.

    `target` and `weight` are those of the same rows, or empty. Looking factors up and using them are two loops, since
    only the second can be vectorised.
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
    """Apply `factor[code]` to the states of one run of rows and nothing else."""
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
    """Apply a step of its own to the state of each row."""
    if loss == LOGISTIC:
        for i in range(score.size):
            score[i] = min(max(score[i] * math.exp(steps[i]), LEAST_ODDS), MOST_ODDS)
    else:
        for i in range(score.size):
            score[i] -= steps[i]


@kernel
def state_of(total: float, response: float, loss: int) -> float:
    """State of a row whose curves add up to `total`; for `response`, see `rescore`."""
    if loss == LOGISTIC:
        return min(max(math.exp(total + response), LEAST_ODDS), MOST_ODDS)
    return response - total


@kernel
def total_loss(rows: Rows, start: int, stop: int, loss: int) -> float:
    """Return the weighted sum of the loss over rows start..stop: squared error, or -log likelihood.

    Unweighted log-loss multiplies the (1 + odds) of 16 rows, at most 1e13 each, and takes one logarithm of the product.
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
