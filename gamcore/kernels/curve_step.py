"""One step: the bags' trees on one feature, averaged, shrunk and added to its curve. One round: a step per feature.

On a small table a round is shorter than a thread's time slice, so it is one call. Where several threads share a refit,
the loop is in `boosting/refit/rounds.py` and calls the same parts in the same order, with bit-identical results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import N_CODES, kernel
from gamcore.kernels.histogram import add_groups, add_up, combine, pitch_of, width
from gamcore.kernels.layout import CodedTable, Fit, Rows, Sets, Settings, Work
from gamcore.kernels.line_cuts import cut_lines, sort_line
from gamcore.kernels.losses import (
    Form,
    factors_of,
    has_log_link,
    is_paired,
    no_change,
    put_factors,
    sums_of,
)
from gamcore.kernels.monotone import find_slack, keep_order
from gamcore.kernels.row_state import shift_groups
from gamcore.kernels.shrunken_levels import draw_levels
from gamcore.kernels.sorting import first_most

SMOOTH = 10.0
"""Hessian added to that of each level when levels are ordered, so that rare levels stay near the middle."""


@kernel
def start_line(table: CodedTable, feature: int, work: Work) -> None:
    """Order the feature's codes along the line, and clear the update."""
    last = table.last[feature]
    if table.nominal[feature]:
        sort_line(work, last, SMOOTH)
    else:
        for k in range(last + 1):
            work.order[k] = k
    work.update[: last + 1] = 0.0


@kernel
def finish_step(last: int, feature: int, fit: Fit, settings: Settings, work: Work) -> None:
    """Add the mean of the bags' trees, shrunk, to the curve, and leave it pending for the rows.

    The feature's gain is the drop in the loss's quadratic model on all training rows, 2 sum(G u) - sum(H u^2): the mean
    of the bags' own gains would reward noise.
    """
    gain = 0.0
    before, factors = 0.0, (no_change(settings.loss), no_change(settings.loss))
    fit.factor[:] = factors[0]
    for k in range(last + 1):
        step = work.update[k] * settings.learning_rate / settings.n_bags
        if step != before:  # trees have few leaves: few exponentials
            before, factors = step, factors_of(step, settings.loss)
        v = work.order[k]
        put_factors(fit.factor, v, factors, settings.loss)
        gain += 2.0 * work.total[0, v] * step - work.total[1, v] * step * step
        fit.curves[feature, v] += step
        fit.moved[feature, v] += step
    fit.gains[feature] = gain
    fit.steps[feature] += 1
    fit.pending[0] = feature


@kernel
def to_gradients(last: int, loss: Form, work: Work) -> None:
    """Turn the sums of all training rows in work.total into gradients and weights."""
    if has_log_link(loss):
        for v in range(last + 1):
            work.total[0, v], work.total[1, v] = sums_of(work.total[0, v], work.total[1, v], loss)


@kernel
def cut_bags(
    table: CodedTable, feature: int, weight: NDArray[np.floating], fit: Fit, settings: Settings, work: Work
) -> None:
    """Run the second half of a step: from the histograms in `work` (bags, total) to the updated curve.

    weight : (B, last + 1) what is summed once, by bag; (B, 0) if rows have two channels, except with MART.
    """
    last = table.last[feature]
    start_line(table, feature, work)
    key = settings.seed + (fit.steps[feature] * table.last.size + feature) * settings.n_bags
    sign = fit.signs[feature, 0]
    if sign != 0:
        find_slack(last, sign, fit.curves[feature], work)
    cut_lines(weight, last, settings, key, sign, work)
    if sign != 0:
        keep_order(last, feature, fit, settings, work)
    finish_step(last, feature, fit, settings, work)


@kernel
def grouped_trees(
    table: CodedTable, sets: Sets, feature: int, hist: NDArray[np.floating], fit: Fit, settings: Settings, work: Work
) -> None:
    """Combine the groups' histograms into bags, cut them, and update the curve.

    The pool holds several draws of B bags; a feature takes the next draw at each of its steps, and neighbouring
    features start with different draws.
    """
    last = table.last[feature]
    paired = is_paired(settings.loss)
    add_up(hist, last, paired, work.total)
    low, high = sets.first[feature], sets.first[feature + 1]
    if sets.total.size == 0:
        low = high = 0
    if not paired:
        for v in range(high - low):
            work.total[1, v] = sets.total[low + v]
    draw = (fit.steps[feature] + feature) % sets.member.shape[0]
    size = width(last, paired)
    to_gradients(last, settings.loss, work)
    for b in range(settings.n_bags):
        combine(hist, sets.member[draw, b], size, work.bags[b])
    weight = sets.weight[draw, :, low:high]
    if table.nominal[feature] and last + 2 > N_CODES and settings.n_bags > 1:
        draw_levels(weight, last, fit.curves[feature], settings, work)
        finish_step(last, feature, fit, settings, work)
    else:
        cut_bags(table, feature, weight, fit, settings, work)


@kernel
def grouped_round(
    table: CodedTable,
    rows: Rows,
    sets: Sets,
    fit: Fit,
    settings: Settings,
    n_greedy: int,
    work: Work,
    buffer: NDArray[np.floating],
) -> None:
    """Make a cyclic pass over the features, then `n_greedy` steps on the feature whose last step gained most."""
    n_groups = sets.train.size
    for k in range(table.active.size + n_greedy):
        feature = table.active[k] if k < table.active.size else first_most(fit.gains)
        pitch = pitch_of(width(table.last[feature], is_paired(settings.loss)))
        hist = buffer[: n_groups * pitch].reshape((n_groups, pitch))
        add_groups(table, rows, sets.train, fit, feature, settings.loss, work, hist)
        grouped_trees(table, sets, feature, hist, fit, settings, work)


@kernel
def settle(table: CodedTable, rows: Rows, groups: NDArray[np.int64], fit: Fit, loss: Form) -> None:
    """Apply the pending update to the rows of `groups`; afterwards nothing is pending for them.

    The caller resets `fit.factor` once all groups are settled.
    """
    shift_groups(table, fit.pending[0], fit.factor, rows, groups, loss)


@kernel
def catch_up(
    table: CodedTable,
    rows: Rows,
    groups: NDArray[np.int64],
    moved: NDArray[np.float64],
    loss: Form,
    factor: NDArray[np.floating],
) -> None:
    """Apply a round's changes `moved` to the rows of `groups` (validation), one pass per feature; clear the changes."""
    for j in range(table.last.size):
        changed = False
        before, factors = 0.0, (no_change(loss), no_change(loss))
        for v in range(table.last[j] + 1):
            step = moved[j, v]
            if step != before:  # neighbouring bins often move together
                before, factors = step, factors_of(step, loss)
            changed |= step != 0.0
            put_factors(factor, v, factors, loss)
            moved[j, v] = 0.0
        if changed:
            shift_groups(table, j, factor, rows, groups, loss)
