"""Boosting squared loss from counts of bin pairs instead of rows: a step costs the same for any number of rows.

With squared loss a histogram is a sum of residuals, and a step d on feature j lowers that of feature m by

    sum_c d[c] x rows(j = c, m = b)  =  d[last] x rows(m = b)  +  sum_c (d[c] - d[c + 1]) x rows(j <= c, m = b)

A step is constant but for a few jumps, so of the table of j and m only as many lines are read. Lines are kept for each
group of rows, as running sums over the codes of j:

    block (j, m):   c = 0      | g0: b = 0 .. | g1: b = 0 .. | ...
                    c = 1      | g0: b = 0 .. | g1: b = 0 .. | ...
                    ...          rows of group g with code of j <= c and code b of m

A feature is brought up to date only when its turn comes; until then the jumps of the others wait, those at one code
together. Bags, trees and curves are those of rows (`curve_step.grouped_trees`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.curve_step import grouped_trees
from gamcore.kernels.early_stopping import Course, StopRule, judge
from gamcore.kernels.layout import CodedTable, Fit, Sets, Settings, Work
from gamcore.kernels.scalars import lesser
from gamcore.kernels.sorting import first_most

Reals = NDArray[np.floating]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


BLOCK: Final = 16
"""Codes of a block of cells that are turned at a time."""


class Tables(NamedTuple):
    """What is counted once and shared by all refits; G groups, p features, those that vary.

    A feature m has `pitch[m]` places per group, its codes and zeros behind them; its group g begins at
    `place[m] + g * pitch[m]` of `count` and `target`.
    """

    narrow: NDArray[np.uint16]  # the blocks of features m whose bins have few enough rows per group
    wide: NDArray[np.int32]  # the others, and all where rows have weights
    is_wide: NDArray[np.bool_]  # (p,)
    unit: float  # of lines: 1, or that of weights
    first: Ints  # (p, p) where block (j, m) begins
    pitch: Ints  # (p,)
    place: Ints  # (p + 1,)
    weight: Floats  # rows (the sum of their weights) by feature, group and code
    target: Floats  # sums of their targets
    group: Floats  # (G, 3) of each group: weight, and sums of targets and of their squares


class Left(NamedTuple):
    """What a refit has left to explain: sums of residuals, and steps that have not reached them."""

    train: Reals  # by feature, training group and code, as in `Tables`
    valid: Floats  # by feature, validation group and code
    jump: Floats  # (p, p, V) what waits for feature m: jumps of the curve of j after code c
    waits: NDArray[np.bool_]  # (p, p, V) whether one does
    codes: NDArray[np.int64]  # (p, p, V) the codes that do, in order of arrival
    n_waiting: Ints  # (p, p)
    top: Floats  # (p,) steps of the others at their last code, together
    step: Floats  # (V,) scratch: the last step by code
    at: Ints  # (p V,) scratch: lines to be subtracted,
    by: Floats  # (p V,) and what they are multiplied by


@kernel
def add_cells(first: NDArray[np.uint8], second: NDArray[np.uint8], weight: Floats, pitch: int, cells: Reals) -> None:
    """Add rows (their weights, unless there are none) to the cells (codes of first, pitch of second), laid flat."""
    if weight.size:
        for i in range(first.size):
            cells[np.intp(first[i]) * pitch + second[i]] += weight[i]
    else:
        for i in range(first.size):
            cells[np.intp(first[i]) * pitch + second[i]] += 1


@kernel
def add_lines(cells: Reals, pitch: int, shape: tuple[int, int], run: Reals, at: int, skip: int, lines: Reals) -> None:
    """Add the running sums of cells over the codes of the first feature to lines that begin at `at`.

    cells : of the codes `shape` of two features, `pitch` between those of the first. skip : from line to line. run :
    scratch, a line.
    """
    run[:] = 0
    for c in range(shape[0]):
        mine, out = cells[c * pitch :], lines[at + c * skip :][: shape[1]]
        for b in range(out.size):
            run[b] += mine[b]
            out[b] += out.dtype.type(run[b])


@kernel
def turn(cells: Reals, pitch: int, shape: tuple[int, int], turned: Reals) -> None:
    """Write cells with their codes exchanged, in blocks that stay in the cache."""
    for first in range(0, shape[0], BLOCK):
        for second in range(0, shape[1], BLOCK):
            for c in range(first, lesser(first + BLOCK, shape[0])):
                for b in range(second, lesser(second + BLOCK, shape[1])):
                    turned[b * shape[0] + c] = cells[c * pitch + b]


@kernel
def sum_targets(
    code: NDArray[np.uint8], target: Floats, weight: Floats, weight_sums: Floats, target_sums: Floats
) -> None:
    """Add rows to the sums of weights (1 where there are none) and of targets, which are weighted already, by code."""
    for i in range(code.size):
        weight_sums[code[i]] += weight[i] if weight.size else 1.0
        target_sums[code[i]] += target[i]


@kernel
def subtract_lines(lines: Reals, at: Ints, by: Floats, n: int, start: int, out: Reals) -> None:
    """Subtract n lines times `by` from `out`; the part of each that begins `start` behind its beginning.

    Eight at a time, so that `out` is read and written an eighth as often; n is rounded up, and `at` and `by` have room.
    """
    kind, size = out.dtype.type, out.size
    for i in range(n, n + 7):
        at[i], by[i] = at[0], 0.0
    for i in range(0, n, 8):
        a, b = lines[at[i] + start :][:size], lines[at[i + 1] + start :][:size]
        c, d = lines[at[i + 2] + start :][:size], lines[at[i + 3] + start :][:size]
        e, f = lines[at[i + 4] + start :][:size], lines[at[i + 5] + start :][:size]
        g, h = lines[at[i + 6] + start :][:size], lines[at[i + 7] + start :][:size]
        ka, kb, kc, kd = kind(by[i]), kind(by[i + 1]), kind(by[i + 2]), kind(by[i + 3])
        ke, kf, kg, kh = kind(by[i + 4]), kind(by[i + 5]), kind(by[i + 6]), kind(by[i + 7])
        for k in range(size):
            left = (ka * kind(a[k]) + kb * kind(b[k])) + (kc * kind(c[k]) + kd * kind(d[k]))
            right = (ke * kind(e[k]) + kf * kind(f[k])) + (kg * kind(g[k]) + kh * kind(h[k]))
            out[k] -= left + right


@kernel
def _subtract(tables: Tables, m: int, n: int, start: int, left: Left, out: Reals) -> None:
    """Subtract the n lines in `left.at` from sums of feature m."""
    if n > 0 and tables.is_wide[m]:
        subtract_lines(tables.wide, left.at, left.by, n, start, out)
    elif n > 0:
        subtract_lines(tables.narrow, left.at, left.by, n, start, out)


@kernel
def bring(tables: Tables, train: Ints, active: Ints, m: int, left: Left) -> None:
    """Apply the steps that wait for feature m to its sums of the training groups."""
    pitch, n = tables.pitch[m], 0
    skip = pitch * tables.group.shape[0]
    for j in active:
        for i in range(left.n_waiting[m, j]):
            c = left.codes[m, j, i]
            left.at[n], left.by[n] = tables.first[j, m] + c * skip, left.jump[m, j, c] * tables.unit
            left.jump[m, j, c], left.waits[m, j, c] = 0.0, False
            n += 1
        left.n_waiting[m, j] = 0
    top, left.top[m] = left.top[m], 0.0
    for q in range(train.size):
        out = left.train[tables.place[m] + q * pitch :][:pitch]
        _subtract_counts(tables, m, train[q], top, out)
        _subtract(tables, m, n, train[q] * pitch, left, out)


@kernel
def _subtract_counts(tables: Tables, m: int, group: int, by: float, out: Reals) -> None:
    """Subtract a step that is the same for all codes of another feature."""
    if by != 0.0:
        count = tables.weight[tables.place[m] + group * tables.pitch[m] :]
        for k in range(out.size):
            out[k] -= out.dtype.type(by * count[k])


@kernel
def _subtract_own(tables: Tables, m: int, group: int, steps: Floats, last: int, out: Reals) -> None:
    """Subtract a step on feature m from its own sums."""
    count = tables.weight[tables.place[m] + group * tables.pitch[m] :]
    for k in range(last + 1):
        out[k] -= out.dtype.type(steps[k] * count[k])


@kernel
def defer(tables: Tables, train: Ints, active: Ints, m: int, last: int, left: Left) -> None:
    """Subtract `left.step` from the sums of its feature m, and let it wait for all others."""
    step = left.step
    for q in range(train.size):
        out = left.train[tables.place[m] + q * tables.pitch[m] :]
        _subtract_own(tables, m, train[q], step, last, out)
    for t in active:
        if t != m:
            left.top[t] += step[last]
    for c in range(last):
        if step[c] != step[c + 1]:
            for t in active:
                if t != m:
                    if not left.waits[t, m, c]:
                        left.waits[t, m, c] = True
                        left.codes[t, m, left.n_waiting[t, m]] = c
                        left.n_waiting[t, m] += 1
                    left.jump[t, m, c] += step[c] - step[c + 1]


@kernel
def move(
    table: CodedTable, tables: Tables, groups: Ints, curves: Floats, place: int, m: int, left: Left, out: Floats
) -> None:
    """Subtract changes `curves` (p, V) of all features from the sums of feature m over some groups, as they lie in
    `out` from `place` on."""
    pitch, n, top = tables.pitch[m], 0, 0.0
    skip = pitch * tables.group.shape[0]
    for j in table.active:
        if j != m:
            last = table.last[j]
            top += curves[j, last]
            for c in range(last):
                if curves[j, c] != curves[j, c + 1]:
                    left.at[n] = tables.first[j, m] + c * skip
                    left.by[n] = (curves[j, c] - curves[j, c + 1]) * tables.unit
                    n += 1
    for q in range(groups.size):
        mine = out[place + q * pitch :][:pitch]
        _subtract_counts(tables, m, groups[q], top, mine)
        _subtract_own(tables, m, groups[q], curves[m], table.last[m], mine)
        _subtract(tables, m, n, groups[q] * pitch, left, mine)


@kernel
def explained(table: CodedTable, tables: Tables, groups: Ints, base: float, curves: Floats, left: Floats) -> float:
    """Return the sum of f (S + R) over features, groups and codes; f : curves (p, V), S : sums of targets, R : `left`.

    The sum of squared targets less this is that of squared residuals. base : what targets are about.
    """
    total = 0.0
    for m in table.active:
        pitch = tables.pitch[m]
        for q in range(groups.size):
            at = tables.place[m] + groups[q] * pitch
            count, target = tables.weight[at:], tables.target[at:]
            mine = left[_first_of(tables, m, groups.size) + q * pitch :]
            for k in range(table.last[m] + 1):
                total += curves[m, k] * (target[k] - base * count[k] + mine[k])
    return total


@kernel
def _first_of(tables: Tables, m: int, n_groups: int) -> int:
    """Return where feature m begins in an array of so many groups."""
    return int(tables.place[m] // tables.group.shape[0] * n_groups)


@kernel
def table_rounds(
    table: CodedTable,
    tables: Tables,
    sets: Sets,
    base: float,
    squares: float,
    fit: Fit,
    settings: Settings,
    n_greedy: int,
    work: Work,
    left: Left,
    rule: StopRule,
    course: Course,
    n_rounds: int,
) -> tuple[int, bool]:
    """Run rounds as `early_stopping.grouped_rounds`; squares : the sum of squared targets of the validation rows."""
    train, n_train = sets.train, sets.train.size
    for done in range(n_rounds):
        for k in range(table.active.size + n_greedy):
            m = table.active[k] if k < table.active.size else first_most(fit.gains)
            pitch, last = tables.pitch[m], table.last[m]
            bring(tables, train, table.active, m, left)
            begin = tables.place[m]
            hist = left.train[begin : begin + n_train * pitch].reshape((n_train, pitch))
            grouped_trees(table, sets, m, hist, fit, settings, work)
            for v in range(last + 1):
                left.step[work.order[v]] = work.update[v] * settings.learning_rate / settings.n_bags
            defer(tables, train, table.active, m, last, left)
        loss = np.nan
        if course.valid.size:
            for m in table.active:
                move(table, tables, course.valid, fit.moved, _first_of(tables, m, course.valid.size), m, left,
                     left.valid)  # fmt: skip
            loss = squares - explained(table, tables, course.valid, base, fit.curves, left.valid)
            loss /= course.weight
        fit.moved[:] = 0.0
        course.history[done] = loss
        if judge(loss, fit, rule, course):
            return done + 1, True
    return n_rounds, False
