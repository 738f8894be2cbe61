"""Loops over a run of rows that update their states and write what a step sums: the two channels of a row.

`losses.advance` chooses among them; here is what each does to a row.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes
from gamcore.kernels import kernel

LEAST_ODDS = 1e-13
MOST_ODDS = 1e13
"""Bounds on the odds, about |F| <= 30: beyond, p is 0 or 1 in float32 and hessians vanish. Means and ratios to the mean
are bounded likewise, in units of `Loss.unit_of`."""


@kernel
def weigh_both(weight: NDArray[np.floating], gradient: NDArray[np.floating]) -> None:
    """Multiply two channels by the weights of rows, if there are any."""
    for i in range(weight.size):
        gradient[2 * i] *= weight[i]
        gradient[2 * i + 1] *= weight[i]


@kernel
def to_odds(
    score: NDArray[np.floating],
    gathered: NDArray[np.floating],
    target: NDArray[np.uint8],
    n: int,
    gradient: NDArray[np.floating],
) -> None:
    """Update odds; write gradients and hessians."""
    kind = score.dtype.type
    unit, low, high = kind(1.0), kind(LEAST_ODDS), kind(MOST_ODDS)
    for i in range(n):
        odds = score[i] * gathered[i]
        odds = low if odds < low else odds
        odds = high if odds > high else odds
        score[i] = odds
        rest = unit / (unit + odds)
        chance = odds * rest
        gradient[2 * i] = kind(target[i]) - chance
        gradient[2 * i + 1] = chance * rest


@kernel
def to_slopes(
    score: NDArray[np.floating],
    gathered: NDArray[np.floating],
    n: int,
    check: tuple[float, float],
    gradient: NDArray[np.floating],
) -> None:
    """Update residuals; write minus the gradients of the smoothed check loss, and weights.

    check : its level and its width.
    """
    kind = score.dtype.type
    half, lean, square = kind(0.5), kind(check[0] - 0.5), kind(check[1] * check[1])
    for i in range(n):
        residual = score[i] - gathered[i]
        score[i] = residual
        share = half / math.sqrt(residual * residual + square)
        gradient[2 * i] = residual * share + lean
        gradient[2 * i + 1] = half * share


@kernel
def advance_both(
    code: Codes,
    factor: NDArray[np.floating],
    score: NDArray[np.floating],
    weight: NDArray[np.floating],
    gathered: NDArray[np.floating],
    gradient: NDArray[np.floating],
) -> None:
    """Advance states of two numbers, which are the channels: one load of both factors, then one plain loop."""
    n = code.size
    for i in range(n):
        at = np.intp(code[i]) * 2
        gathered[2 * i], gathered[2 * i + 1] = factor[at], factor[at + 1]
    high = score.dtype.type(MOST_ODDS)
    for i in range(2 * n):
        state = score[i] * gathered[i]
        state = high if state > high else state
        score[i] = state
        gradient[i] = state
    weigh_both(weight, gradient)
