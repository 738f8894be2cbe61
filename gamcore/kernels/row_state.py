"""Row state: apply the last update, and read gradients, hessians and losses off it.

Squared loss keeps the residual r = y - F; its update is a subtraction. Logistic loss keeps the odds E = exp(F); its
update is a product with exp(delta), one exponential a *bin* instead of one a row, and p = E / (1 + E),
r = y - p, h = p (1 - p).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import CHUNK, LOGISTIC, Fit, Rows, Table, Work

LEAST_ODDS = 1e-13
MOST_ODDS = 1e13
"""Odds are kept within |F| <= 30: beyond, p is 0 or 1 in float32 and a hessian would vanish."""


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
    """Apply `factor[code]` to one run of at most CHUNK rows, and write their weighted gradients (logistic: with their
    hessians, side by side).

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
def advance_run(
    before: NDArray[np.uint8], start: int, stop: int, rows: Rows, fit: Fit, loss: int, work: Work, chain: int
) -> None:
    """`advance` with the pending update, whose feature has the codes `before`, on the rows start : stop.

    Their gradients go to work.gradient[chain].
    """
    weight = rows.weight[start:stop] if rows.weight.size else rows.weight
    target = rows.target[start:stop] if loss == LOGISTIC else rows.target
    score = rows.score[start:stop]
    advance(before[start:stop], fit.factor, score, target, weight, loss, work.gathered, work.gradient[chain])


@kernel
def shift(code: NDArray[np.uint8], factor: NDArray[np.floating], score: NDArray[np.floating], loss: int) -> None:
    """Apply `factor[code]` to the scores of one run of rows and nothing else."""
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
def rescore(table: Table, rows: Rows, response: NDArray[np.float64], curves: NDArray[np.float64], loss: int) -> None:
    """Set every row's state from the curves, so that rounding does not add up over rounds.

    `response` (n,) is y less the score that the curves add to, for squared loss; for logistic it is that score, (1,)
    where it is the same for all rows.
    """
    sums = np.empty(CHUNK, np.float64)
    for start in range(0, rows.score.size, CHUNK):
        stop = min(start + CHUNK, rows.score.size)
        sums[:] = 0.0
        for j in range(table.codes.shape[0]):
            code = table.codes[j, start:stop]
            for i in range(code.size):
                sums[i] += curves[j, code[i]]
        for i in range(stop - start):
            if loss == LOGISTIC:
                given = response[start + i] if response.size > 1 else response[0]
                rows.score[start + i] = min(max(math.exp(sums[i] + given), LEAST_ODDS), MOST_ODDS)
            else:
                rows.score[start + i] = response[start + i] - sums[i]


@kernel
def total_loss(rows: Rows, start: int, stop: int, loss: int) -> float:
    """Weighted sum of the loss over rows start..stop: squared error, or -log likelihood.

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
