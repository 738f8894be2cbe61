"""Many rounds in one call, with early stopping.

On a small table a round takes a fraction of a millisecond, and between rounds two threads would compete for the
interpreter lock; so rounds, validation and the stop rule are compiled together. Where rounds cannot be one call (row
bags, threads inside a refit), the same `judge` is called after each round.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import CURVE, N_CODES, kernel
from gamcore.kernels.curve_step import catch_up, grouped_round
from gamcore.kernels.layout import CodedTable, Fit, Rows, Sets, Settings, Work
from gamcore.kernels.losses import Form, total_loss
from gamcore.kernels.scalars import greater, lesser

MOST_AT_ONCE: Final = 64
"""Most rounds of one call."""

LEAST_PATIENCE: Final = 5
"""Rounds without improvement that every refit is allowed, however early it stalls."""

ROUND, BEST_ROUND, MARK_ROUND = 0, 1, 2
"""Places in `Course.counts`."""

BEST, MARK = 0, 1
"""Places in `Course.losses`."""


class Course(NamedTuple):
    """Where a refit stands; written by `judge`."""

    valid: NDArray[np.int64]  # validation groups; none without held-out rows
    weight: float  # of the validation rows
    counts: NDArray[np.int64]  # (3,) rounds so far, the best round, the last one that lowered the loss by `tolerance`
    losses: NDArray[np.float64]  # (2,) validation loss of the best round, and of the marked one
    curves: NDArray[np.float64]  # (p, V) of the best round
    history: NDArray[np.float64]  # (MOST_AT_ONCE,) validation losses of the last call's rounds
    factor: NDArray[np.floating]  # (2 V,) scratch


class StopRule(NamedTuple):
    """When a refit has stalled: after `patience` rounds without a relative improvement of `tolerance`.

    A young refit gets less patience: half the rounds up to its last improvement, but at least LEAST_PATIENCE. A loss of
    `enough`, or less, ends it at once.
    """

    patience: int
    tolerance: float
    enough: float = -np.inf


def make_course(
    n_features: int, valid: NDArray[np.int64], weight: float, dtype: type, n_codes: int = N_CODES
) -> Course:
    """Return the course before the first round; the caller sets `losses` to the loss of flat curves."""
    return Course(
        valid=valid,
        weight=weight,
        counts=np.zeros(3, np.int64),
        losses=np.full(2, np.inf),
        curves=np.zeros((n_features, n_codes), CURVE),
        history=np.full(MOST_AT_ONCE, np.nan),
        factor=np.empty(2 * n_codes, dtype),
    )


@kernel
def validate(table: CodedTable, rows: Rows, fit: Fit, loss: Form, course: Course) -> float:
    """Bring the validation rows up to date; return their mean loss, NaN where there are none."""
    catch_up(table, rows, course.valid, fit.moved, loss, course.factor)
    return float(mean_loss(table, rows, loss, course))


@kernel
def mean_loss(table: CodedTable, rows: Rows, loss: Form, course: Course) -> float:
    """Return the mean loss of the validation rows, NaN where there are none."""
    total = 0.0
    for g in course.valid:
        total += total_loss(rows, table.starts[g], table.starts[g + 1], loss)
    return total / course.weight if course.weight > 0 else np.nan


@kernel
def judge(loss: float, fit: Fit, rule: StopRule, course: Course) -> bool:
    """Record a round's validation loss, and return whether the refit has stalled.

    Where nothing judges rounds (NaN), the last one counts as the best and a refit never stalls.
    """
    course.counts[ROUND] += 1
    now = course.counts[ROUND]
    if course.valid.size == 0 and loss != loss:
        course.counts[BEST_ROUND] = now
        return False
    if loss < course.losses[BEST]:
        course.losses[BEST] = loss
        course.counts[BEST_ROUND] = now
        for j in range(fit.curves.shape[0]):
            for v in range(fit.curves.shape[1]):
                course.curves[j, v] = fit.curves[j, v]
    if loss < course.losses[MARK] - rule.tolerance * abs(course.losses[MARK]):
        course.losses[MARK] = loss
        course.counts[MARK_ROUND] = now
    patience = lesser(rule.patience, greater(LEAST_PATIENCE, course.counts[MARK_ROUND] // 2))
    return bool(now - course.counts[MARK_ROUND] >= patience or loss <= rule.enough)


@kernel
def grouped_rounds(
    table: CodedTable,
    rows: Rows,
    sets: Sets,
    fit: Fit,
    settings: Settings,
    n_greedy: int,
    work: Work,
    buffer: NDArray[np.floating],
    rule: StopRule,
    course: Course,
    n_rounds: int,
) -> tuple[int, bool]:
    """Run at most `n_rounds` rounds; return how many were run, and whether the refit has stalled."""
    for k in range(n_rounds):
        grouped_round(table, rows, sets, fit, settings, n_greedy, work, buffer)
        course.history[k] = validate(table, rows, fit, settings.loss, course)
        if judge(course.history[k], fit, rule, course):
            return k + 1, True
    return n_rounds, False
