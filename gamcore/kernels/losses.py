"""The compiled half of every loss: a row's state, how an update changes it, and what the cuts of a step read off it.

A step updates each row's *state* by a factor looked up by bin, and sums one or two numbers per row, its *channels*,
over every bin; a loss with one channel has a second sum per bin that never changes.

    loss      state                   an update                channels      summed once
    squared   residual  y - F         state - step             residual      weight
    logistic  odds      exp(F)        state * exp(step)        gradient, hessian
    Poisson   mu = exp(F)             state * exp(step)        mu            y
    Gamma     q = y / mu              state * exp(-step)       q             weight
    Tweedie   a = y mu^(1-p) and      a * exp((1-p) step)      a, b
              b = mu^(2-p)            b * exp((2-p) step)
    quantile  residual  y - F         state - step             gradient, weight

There is one exponential per *bin* instead of one per row. For logistic loss p = E / (1 + E), r = y - p, h = p (1 - p).

Poisson, Gamma and Tweedie are one family: deviances of variances that grow as mu^p, with p = 1, 2, or between. Let A
and B be the sums of a and b over a leaf (Poisson: y and mu; Gamma: q and the weight). The best step is log(A / B), and
minus the gradient is G = A - B. That step lowers the deviance by G^2 / S with S = B + (A - B) p / 3, up to terms of
fourth order in log(A / B) (an algorithm of this project: the hessian in place of S overrates leaves with few events,
by a factor of about y / mu for a single one). S is linear in the sums, so lines are cut as for any other loss.

The check loss of a quantile is smoothed, and a weight stands in place of its hessian: see `model/quantile_loss.py`.

The other half of a loss, its link and its traits, is in `model/losses.py`.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes
from gamcore.kernels import kernel, trait
from gamcore.kernels.layout import Rows
from gamcore.kernels.row_channels import LEAST_ODDS, MOST_ODDS, advance_both, to_odds, to_slopes, weigh_both
from gamcore.kernels.scalars import clipped, greater, lesser


class Form(NamedTuple):
    """A loss as kernels take it; only this module looks inside."""

    code: int
    power: float = 0.0  # p of the losses with a log link
    level: float = 0.0  # tau of the quantile
    width: float = 0.0  # of the quantile's smoothing, in units of the scores


_SQUARED, _LOGISTIC, _POISSON, _GAMMA, _TWEEDIE, _QUANTILE = range(6)

SQUARED: Final = Form(_SQUARED)
LOGISTIC: Final = Form(_LOGISTIC)
POISSON: Final = Form(_POISSON, power=1.0)
GAMMA: Final = Form(_GAMMA, power=2.0)
COMPILED: Final = (LOGISTIC, SQUARED)
"""The losses with which kernels are compiled ahead of time; the code is the same for all."""

LARGEST_LOG = 600.0
"""Bound on scores before `exp`: beyond, doubles overflow."""
MOST_RESIDUAL = 1e18  # its square fits into float32

EMPTY = 1e-8
"""Weight up to which a leaf has value 0."""

NO_SHARE = 1e-12
"""Share of a leaf's sums up to which one of them counts as 0, being a difference of sums."""

KEPT_TARGETS: Final[dict[int, type]] = {_LOGISTIC: np.uint8}
"""Losses that need the target's class beside the state, and the type in which rows keep it."""


def tweedie(power: float) -> Form:
    """Return the form of a Tweedie loss with 1 < power < 2."""
    return Form(_TWEEDIE, power=power)


def quantile(level: float, width: float) -> Form:
    """Return the form of a quantile 0 < level < 1 with its check loss smoothed over a width above 0."""
    return Form(_QUANTILE, level=level, width=width)


def kept_target(y: NDArray[np.float64], loss: Form) -> NDArray[Any]:
    """Return the contents of `Rows.target`: the target (n,), or an empty array."""
    return y.astype(KEPT_TARGETS[loss.code]) if loss.code in KEPT_TARGETS else np.empty(0, np.uint8)


@trait
def is_paired(loss: Form) -> bool:
    """Return whether rows have two channels, so that histograms keep two sums per bin that change between rounds."""
    return bool(loss.code == _LOGISTIC or loss.code == _TWEEDIE or loss.code == _QUANTILE)


@trait
def is_residual(loss: Form) -> bool:
    """Return whether the state of a row is its residual, so that updates are subtracted."""
    return bool(loss.code == _SQUARED or loss.code == _QUANTILE)


@trait
def has_log_link(loss: Form) -> bool:
    """Return whether it is one of the family of Poisson, Gamma and Tweedie."""
    return bool(_POISSON <= loss.code <= _TWEEDIE)


@trait
def n_states(loss: Form) -> int:
    """Return how many numbers the state of a row has, side by side in `Rows.score`."""
    return 2 if loss.code == _TWEEDIE else 1


@trait
def no_change(loss: Form) -> float:
    """Return the factor that leaves a row's state as it is."""
    return 0.0 if is_residual(loss) else 1.0


@trait
def factors_of(step: float, loss: Form) -> tuple[float, float]:
    """Return the factors that apply a step of the score to a row's state; the second is that of Tweedie's b."""
    if is_residual(loss):
        return step, 0.0
    if loss.code == _TWEEDIE:
        return math.exp((1.0 - loss.power) * step), math.exp((2.0 - loss.power) * step)
    return math.exp(-step if loss.code == _GAMMA else step), 0.0


@trait
def put_factors(factor: NDArray[np.floating], v: int, both: tuple[float, float], loss: Form) -> None:
    """Write the factors of code v, side by side if there are two."""
    if loss.code == _TWEEDIE:
        factor[2 * v], factor[2 * v + 1] = both
    else:
        factor[v] = both[0]


@trait
def sums_of(first: float, second: float, loss: Form) -> tuple[float, float]:
    """Return minus the gradient and the weight of some rows, given the sums of their channels.

    first, second : the two channels, or the only one and what is summed once.
    """
    if not (_POISSON <= loss.code <= _TWEEDIE):
        return first, second
    gap = second - first if loss.code == _POISSON else first - second
    return gap, (first if loss.code == _POISSON else second) + gap * (loss.power / 3.0)


@trait
def leaf_value(g: float, s: float, most: float, loss: Form) -> float:
    """Return the best step of a leaf, from `sums_of` its rows, clipped to +-most; 0 without weight."""
    if not s > EMPTY:
        return 0.0
    if not (_POISSON <= loss.code <= _TWEEDIE):
        return clipped(g / s, most)
    mean = s - g * (loss.power / 3.0)
    seen = mean + g
    if seen <= NO_SHARE * s:
        return -most
    return most if mean <= NO_SHARE * s else clipped(math.log(seen / mean), most)


@kernel
def advance(
    code: Codes,
    factor: NDArray[np.floating],
    score: NDArray[np.floating],
    target: NDArray[np.uint8],
    weight: NDArray[np.floating],
    loss: Form,
    gathered: NDArray[np.floating],
    gradient: NDArray[np.floating],
) -> None:
    """Apply `factor[code]` to one run of at most CHUNK rows, and write their weighted channels to `gradient`.

    Two channels are written side by side. `target` and `weight` are those of the same rows, or empty. Factors are
    looked up in a loop of their own, since only the other loop can be vectorised.
    """
    if loss.code == _TWEEDIE:
        advance_both(code, factor, score, weight, gathered, gradient)
        return
    n = code.size
    for i in range(n):
        gathered[i] = factor[code[i]]
    if loss.code == _LOGISTIC:
        to_odds(score, gathered, target, n, gradient)
    elif loss.code == _QUANTILE:
        to_slopes(score, gathered, n, (loss.level, loss.width), gradient)
    elif loss.code == _SQUARED:
        for i in range(n):
            residual = score[i] - gathered[i]
            score[i] = residual
            gradient[i] = residual
    else:
        kind = score.dtype.type
        low, high = kind(LEAST_ODDS), kind(MOST_ODDS)
        for i in range(n):
            state = score[i] * gathered[i]
            state = low if state < low else state
            state = high if state > high else state
            score[i] = state
            gradient[i] = state
    if is_paired(loss):
        weigh_both(weight, gradient)
    else:
        for i in range(weight.size):
            gradient[i] *= weight[i]


@kernel
def shift(code: Codes, factor: NDArray[np.floating], score: NDArray[np.floating], loss: Form) -> None:
    """Apply `factor[code]` to the states of one run of rows, without gradients."""
    kind = score.dtype.type
    low, high = kind(LEAST_ODDS), kind(MOST_ODDS)
    if is_residual(loss):
        for i in range(code.size):
            score[i] -= factor[code[i]]
    elif loss.code == _TWEEDIE:
        for i in range(code.size):
            at = np.intp(code[i]) * 2
            score[2 * i] = lesser(score[2 * i] * factor[at], high)
            score[2 * i + 1] = lesser(score[2 * i + 1] * factor[at + 1], high)
    else:
        for i in range(code.size):
            odds = score[i] * factor[code[i]]
            odds = low if odds < low else odds
            score[i] = high if odds > high else odds


@kernel
def shift_by(steps: NDArray[np.float64], score: NDArray[np.floating], loss: Form) -> None:
    """Apply a separate step to the state of each row; there may be more steps than rows."""
    if is_residual(loss):
        for i in range(score.size):
            score[i] -= steps[i]
    elif loss.code == _TWEEDIE:
        for i in range(score.size // 2):
            for k in range(2):
                grown = score[2 * i + k] * math.exp((1.0 + k - loss.power) * steps[i])
                score[2 * i + k] = lesser(grown, MOST_ODDS)
    else:
        sign = -1.0 if loss.code == _GAMMA else 1.0
        for i in range(score.size):
            score[i] = lesser(greater(score[i] * math.exp(sign * steps[i]), LEAST_ODDS), MOST_ODDS)


@kernel
def put_state(rows: Rows, i: int, total: float, response: float, loss: Form) -> None:
    """Write the state of row i, whose curves add up to `total`; for `response`, see `rescore`."""
    if is_residual(loss):
        rows.score[i] = clipped(response - total, MOST_RESIDUAL)
    elif loss.code == _TWEEDIE:
        given = total + response
        rows.score[2 * i] = lesser(rows.outcome[i] * math.exp((1.0 - loss.power) * given), MOST_ODDS)
        rows.score[2 * i + 1] = lesser(math.exp((2.0 - loss.power) * given), MOST_ODDS)
    else:
        given = total + response
        rows.score[i] = lesser(greater(math.exp(-given if loss.code == _GAMMA else given), LEAST_ODDS), MOST_ODDS)


@kernel
def total_loss(rows: Rows, start: int, stop: int, loss: Form) -> float:
    """Return the weighted sum of the loss over rows start : stop.

    Unweighted log loss takes one logarithm of a product over 16 rows, whose factors are at most about 1e13.
    """
    total = 0.0
    weighted = rows.weight.size > 0
    if loss.code != _LOGISTIC:
        for i in range(start, stop):
            row_loss = _loss_at(rows, i, loss)
            total += row_loss * rows.weight[i] if weighted else row_loss
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


@trait
def _loss_at(rows: Rows, i: int, loss: Form) -> float:
    """Return the loss of a row at its state: squared error or deviance."""
    state = float(rows.score[n_states(loss) * i])
    if loss.code == _SQUARED:
        return state * state
    if loss.code == _QUANTILE:
        return state * (loss.level - (1.0 if state < 0.0 else 0.0))
    if loss.code == _GAMMA:
        return 2.0 * (state - 1.0 - math.log(state))
    y = rows.outcome[i]
    if loss.code == _POISSON:
        return float(2.0 * (state - y + (y * math.log(y / state) if y > 0.0 else 0.0)))
    above_one, below_two = loss.power - 1.0, 2.0 - loss.power
    constant = math.pow(y, below_two) / (above_one * below_two) if y > 0.0 else 0.0
    return float(2.0 * (state / above_one + float(rows.score[2 * i + 1]) / below_two - constant))


@kernel
def _parts(y: float, score: float, power: float) -> tuple[float, float]:
    """Return a = y mu^(1-p) and b = mu^(2-p) of a row with this score, bounded so that they fit float32."""
    a = y * math.exp(clipped((1.0 - power) * score, LARGEST_LOG))
    b = math.exp(lesser((2.0 - power) * score, LARGEST_LOG))
    return lesser(a, MOST_ODDS), lesser(b, MOST_ODDS)


@kernel
def descent_of(y: float, score: float, loss: Form) -> tuple[float, float]:
    """Return minus the gradient of a row with this score, and its weight: the hessian, or S where the link is a log."""
    if loss.code == _LOGISTIC:
        chance = 1.0 / (1.0 + math.exp(-score))
        return y - chance, chance * (1.0 - chance)
    if has_log_link(loss):
        a, b = _parts(y, score, loss.power)
        return a - b, b + (a - b) * (loss.power / 3.0)
    return y - score, 1.0


@trait
def tree_leaf(g: float, s: float, rate: float, most: float, loss: Form) -> float:
    """Return the value of a tree's leaf, from the sums of `descent_of` its rows and the learning rate.

    s includes the penalty, which shrinks the exact step, too: lambda is added to A and to B.
    """
    if has_log_link(loss):
        return rate * leaf_value(g, s, most, loss)
    return rate * g / s if s > 0 else 0.0


@kernel
def loss_of(y: float, score: float, loss: Form) -> float:
    """Return the loss of a row with this score."""
    if loss.code == _LOGISTIC:  # -log P(y), without forming 1 - P
        against = -score if y > 0.5 else score
        return float(greater(against, 0.0) + math.log1p(math.exp(-abs(against))))
    if loss.code == _GAMMA:
        log_ratio = lesser(math.log(y) - score, LARGEST_LOG)
        return float(2.0 * (math.expm1(log_ratio) - log_ratio))
    if loss.code == _POISSON:
        mean = math.exp(lesser(score, LARGEST_LOG))
        return float(2.0 * (mean - y + (y * (math.log(y) - score) if y > 0.0 else 0.0)))
    if loss.code == _TWEEDIE:
        a, b = _parts(y, score, loss.power)
        above_one, below_two = loss.power - 1.0, 2.0 - loss.power
        constant = math.pow(y, below_two) / (above_one * below_two) if y > 0.0 else 0.0
        return float(2.0 * (a / above_one + b / below_two - constant))
    gap = y - score
    return gap * gap
