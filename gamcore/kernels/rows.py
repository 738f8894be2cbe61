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
from gamcore.kernels.layout import CHUNK, LOGISTIC, Rows, Table

LEAST_ODDS = 1e-13
MOST_ODDS = 1e13
"""Odds are kept within |F| <= 30: beyond, p is 0 or 1 in float32 and a hessian would vanish."""


@kernel
def advance(
    code: NDArray[np.uint8],
    factor: NDArray[np.floating],
    rows: Rows,
    start: int,
    loss: int,
    gradient: NDArray[np.floating],
    hessian: NDArray[np.floating],
) -> None:
    """Apply `factor[code]` to rows start : start + len(code), and write their weighted gradient (and hessian).

    `gradient` and `hessian` have at least len(code) places; for squared loss `hessian` is left as it is.
    """
    n = code.size
    score = rows.score[start : start + n]
    if loss == LOGISTIC:
        one = score.dtype.type(1.0)
        zero = score.dtype.type(0.0)
        low = score.dtype.type(LEAST_ODDS)
        high = score.dtype.type(MOST_ODDS)
        target = rows.target[start : start + n]
        for i in range(n):
            odds = min(max(score[i] * factor[code[i]], low), high)
            score[i] = odds
            rest = one / (one + odds)
            chance = odds * rest
            gradient[i] = (one if target[i] else zero) - chance
            hessian[i] = chance * rest
    else:
        for i in range(n):
            residual = score[i] - factor[code[i]]
            score[i] = residual
            gradient[i] = residual
    if rows.weight.size:
        weight = rows.weight[start : start + n]
        for i in range(n):
            gradient[i] *= weight[i]
        if loss == LOGISTIC:
            for i in range(n):
                hessian[i] *= weight[i]


@kernel
def shift(code: NDArray[np.uint8], factor: NDArray[np.floating], score: NDArray[np.floating], loss: int) -> None:
    """Apply `factor[code]` to the scores of one run of rows and nothing else."""
    if loss == LOGISTIC:
        low = score.dtype.type(LEAST_ODDS)
        high = score.dtype.type(MOST_ODDS)
        for i in range(code.size):
            score[i] = min(max(score[i] * factor[code[i]], low), high)
    else:
        for i in range(code.size):
            score[i] -= factor[code[i]]


@kernel
def rescore(table: Table, rows: Rows, response: NDArray[np.float64], curves: NDArray[np.float64], loss: int) -> None:
    """Set every row's state from the curves, so that rounding does not add up over rounds.

    `response` (n,) is y - base score for squared loss; for logistic, (1,) holds the base score alone.
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
                rows.score[start + i] = min(max(math.exp(sums[i] + response[0]), LEAST_ODDS), MOST_ODDS)
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
