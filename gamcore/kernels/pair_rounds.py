"""Rounds over pairs of features, and the ranking of all pairs (FAST; Lou et al. 2013, section 4).

The table of a pair stage has a line of cells per pair instead of a line of codes per feature. Rows, updates and
validation work as for main effects. If both are boosted jointly, the table has lines of both kinds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.curve_step import cut_bags, to_gradients
from gamcore.kernels.early_stopping import Course, StopRule, judge, mean_loss
from gamcore.kernels.histogram import add_run, width
from gamcore.kernels.layout import CHUNK, CodedTable, Fit, Rows, Settings, Work
from gamcore.kernels.losses import (
    EMPTY,
    Form,
    factors_of,
    is_paired,
    leaf_value,
    n_states,
    no_change,
    put_factors,
    shift_by,
)
from gamcore.kernels.pair_cross import best_cross
from gamcore.kernels.pair_grid import (
    AT,
    AXIS,
    FLUSH,
    PART,
    SIDE,
    PairScratch,
    flush,
    part_sum,
    run_gradients,
    run_up,
    total,
)
from gamcore.kernels.pair_refined import best_refined
from gamcore.kernels.row_state import advance_run
from gamcore.kernels.scalars import greater, lesser
from gamcore.kernels.sorting import first_most


class Terms(NamedTuple):
    """The lines of a pair stage's table; features come first if they are boosted jointly with the pairs."""

    n_mains: int
    ends: NDArray[np.int64]  # (lines, 2) largest codes of each pair's features
    weight: NDArray[np.floating]  # (lines, N_CELLS) what is summed per cell once; (lines, 0) for two channels


Scratch = tuple[Work, PairScratch]


@kernel
def add_pair(
    table: CodedTable,
    rows: Rows,
    groups: NDArray[np.int64],
    fit: Fit,
    pair: int,
    loss: Form,
    scratch: Scratch,
) -> None:
    """Apply the pending update to the rows of `groups`, and fill `wide` with the pair's histogram over all of them."""
    work, board = scratch
    paired = is_paired(loss)
    size = width(table.last[pair], paired)
    cells, wide = board.cells[:size], board.wide[:size]
    cells[:], wide[:] = 0, 0
    code = table.codes[pair]
    q = filled = 0
    while q < groups.size:
        start = table.starts[groups[q]]
        while q + 1 < groups.size and groups[q + 1] == groups[q] + 1:  # neighbouring groups form one run
            q += 1
        stop = table.starts[groups[q] + 1]
        for begin in range(start, stop, CHUNK):
            end = lesser(begin + CHUNK, stop)
            advance_run(table, begin, end, rows, fit, loss, work, 0)
            add_run(code[begin:end], work.gradient[0], paired, cells)
            filled += end - begin
            if filled >= FLUSH:
                flush(cells, wide)
                filled = 0
        q += 1
    flush(cells, wide)


@kernel
def _paint(fit: Fit, pair: int, rows: tuple[int, int], columns: tuple[int, int], step: float, loss: Form) -> None:
    """Add a leaf's step to `moved` in its cells, pending for the rows; `catch_up_rows` adds it to the surface."""
    factors = factors_of(step, loss)
    for a in range(rows[0], rows[1] + 1):
        low, high = SIDE * a + columns[0], SIDE * a + columns[1] + 1
        if n_states(loss) == 1:
            fit.factor[low:high] = factors[0]
        else:
            for v in range(low, high):
                put_factors(fit.factor, v, factors, loss)
        moved = fit.moved[pair, low:high]
        for k in range(moved.size):
            moved[k] += step


@kernel
def _leaves(ends: tuple[int, int], settings: Settings, board: PairScratch) -> None:
    """Fill board.leaf: of each part and side of board.tree its gradient, weight and value.

    A side is below the cut of the other axis, above it, or missing. Leaves of missing values lighter than the floor
    stay 0.
    """
    tree, run, leaf = board.tree, board.run, board.leaf
    last_root, last = (ends[0], ends[1]) if tree[AXIS] == 0 else (ends[1], ends[0])
    for part in range(3):
        cut = tree[PART + part]
        for side in range(3):
            to = cut if side == 0 else last if side == 1 else 0
            g, h = part_sum(run, 0, tree, part, last_root, to), part_sum(run, 1, tree, part, last_root, to)
            if side == 1:
                g -= part_sum(run, 0, tree, part, last_root, cut)
                h -= part_sum(run, 1, tree, part, last_root, cut)
            light = h < (settings.min_node_weight if part == 2 or side == 2 else EMPTY)
            leaf[part, side, 0], leaf[part, side, 1] = (0.0, 0.0) if light else (g, h)
            leaf[part, side, 2] = 0.0 if light else leaf_value(g, h, settings.max_delta, settings.loss)


@kernel
def _pool_two(first: NDArray[np.float64], other: NDArray[np.float64], sign: int, settings: Settings) -> bool:
    """Give two leaves one value if the second is on the wrong side of the first; return whether it was."""
    if not sign * (other[2] - first[2]) < 0.0:
        return False
    value = leaf_value(first[0] + other[0], first[1] + other[1], settings.max_delta, settings.loss)
    first[2] = other[2] = value
    return True


@kernel
def _pool_leaves(signs: tuple[int, int], settings: Settings, board: PairScratch) -> None:
    """Put the values of a cross in order along the axes that have a sign.

    The quadrants of a cross that may be chosen are in order by their means. Leaves of missing values may not be, nor
    exact values of a log link. A quadrant that would have to be pooled along both axes is pooled with all of them.
    """
    leaf, first = board.leaf, board.tree[AXIS] == 0
    root, other = (signs[0], signs[1]) if first else (signs[1], signs[0])
    _pool_two(leaf[0, 2], leaf[1, 2], root, settings)
    _pool_two(leaf[2, 0], leaf[2, 1], other, settings)
    pooled = False
    for side in range(2):
        pooled |= _pool_two(leaf[0, side], leaf[1, side], root, settings)
    for part in range(2):
        pooled |= _pool_two(leaf[part, 0], leaf[part, 1], other, settings)
    if pooled and root != 0 and other != 0:
        g, h = leaf[:2, :2, 0].sum(), leaf[:2, :2, 1].sum()
        leaf[:2, :2, 2] = leaf_value(g, h, settings.max_delta, settings.loss)


@kernel
def finish_pair(ends: tuple[int, int], pair: int, fit: Fit, settings: Settings, board: PairScratch) -> None:
    """Turn board.tree into a step: add shrunken leaf values to the pair's changes, and leave them pending for the rows.

    The gain is the drop of the loss's quadratic approximation, as in `curve_step`.
    """
    tree, leaf = board.tree, board.leaf
    fit.factor[:] = no_change(settings.loss)
    _leaves(ends, settings, board)
    signs = (fit.signs[pair, 0], fit.signs[pair, 1])
    if signs[0] != 0 or signs[1] != 0:
        _pool_leaves(signs, settings, board)
    last_root, last = (ends[0], ends[1]) if tree[AXIS] == 0 else (ends[1], ends[0])
    gain = 0.0
    for part in range(3):
        along = (1, tree[AT]) if part == 0 else (tree[AT] + 1, last_root) if part == 1 else (0, 0)
        cut = tree[PART + part]
        for side in range(3):
            if leaf[part, side, 1] == 0.0 and leaf[part, side, 2] == 0.0:
                continue
            across = (1, cut) if side == 0 else (cut + 1, last) if side == 1 else (0, 0)
            step = settings.learning_rate * leaf[part, side, 2]
            gain += 2.0 * leaf[part, side, 0] * step - leaf[part, side, 1] * step * step
            if tree[AXIS] == 0:
                _paint(fit, pair, along, across, step, settings.loss)
            else:
                _paint(fit, pair, across, along, step, settings.loss)
    fit.gains[pair] = gain
    fit.steps[pair] += 1
    fit.pending[0] = pair


@kernel
def cut_line(
    table: CodedTable, line: int, weight: NDArray[np.floating], fit: Fit, settings: Settings, scratch: Scratch
) -> None:
    """Update a feature's curve from its histogram in `wide`, without bags."""
    work, board = scratch
    last = table.last[line]
    paired = is_paired(settings.loss)
    size = width(last, paired)
    for k in range(size):
        work.bags[0, k] = board.wide[k]
    for v in range(last + 1):
        if paired:
            work.total[0, v], work.total[1, v] = board.wide[2 * v], board.wide[2 * v + 1]
        else:
            work.total[0, v], work.total[1, v] = board.wide[v], weight[line, v]
    to_gradients(last, settings.loss, work)
    cut_bags(table, line, weight[line : line + 1, : last + 1], fit, settings, work)


@kernel
def cut_pair(terms: Terms, line: int, fit: Fit, settings: Settings, refined: bool, board: PairScratch) -> None:
    """Make a step on a pair from its histogram in `wide`."""
    ends = (terms.ends[line, 0], terms.ends[line, 1])
    run_up(board.wide, terms.weight[line], is_paired(settings.loss), ends, board.run)
    run_gradients(ends, settings.loss, board.run)
    signs = (fit.signs[line, 0], fit.signs[line, 1])
    if refined and signs[0] == 0 and signs[1] == 0:
        best = best_refined(board.run, ends, settings.min_node_weight, board)
    else:
        best = best_cross(board.run, ends, settings.min_node_weight, False, signs, board)
    if best > 0:
        finish_pair(ends, line, fit, settings, board)
    else:
        fit.factor[:] = no_change(settings.loss)
        fit.gains[line] = 0.0


@kernel
def catch_up_rows(
    table: CodedTable, rows: Rows, groups: NDArray[np.int64], n_mains: int, fit: Fit, loss: Form, work: Work
) -> None:
    """Apply all changes of a round to the rows of `groups` (validation), and add them to the surfaces.

    A pair usually has more cells than there are such rows: so one exponential per row, not one per cell.
    """
    sums = work.total[0]
    for q in range(groups.size):
        for start in range(table.starts[groups[q]], table.starts[groups[q] + 1], sums.size):
            stop = lesser(start + sums.size, table.starts[groups[q] + 1])
            sums[:] = 0.0
            for line in table.active:
                code, moved = table.codes[line, start:stop], fit.moved[line]
                for i in range(code.size):
                    sums[i] += moved[code[i]]
            shift_by(sums, rows.score[n_states(loss) * start : n_states(loss) * stop], loss)
    for line in range(fit.moved.shape[0]):
        curve, moved = fit.curves[line], fit.moved[line]
        for k in range(moved.size):
            if line >= n_mains:
                curve[k] += moved[k]
            moved[k] = 0.0


@kernel
def pair_rounds(
    table: CodedTable,
    rows: Rows,
    train: NDArray[np.int64],
    terms: Terms,
    fit: Fit,
    settings: Settings,
    scratch: Scratch,
    choice: tuple[bool, int],
    rule: StopRule,
    course: Course,
    n_rounds: int,
) -> tuple[int, bool]:
    """Run at most `n_rounds` rounds; return how many were run, and whether the refit has stalled.

    A round is a step on every term, then steps on the term whose last step gained most.

    choice : whether trees of pairs are refined, and the number of greedy steps.
    """
    work, board = scratch
    n_terms = table.active.size
    for number in range(n_rounds):
        for k in range(n_terms + choice[1]):
            line = table.active[k] if k < n_terms else first_most(fit.gains)
            add_pair(table, rows, train, fit, line, settings.loss, scratch)
            if line < terms.n_mains:
                cut_line(table, line, terms.weight, fit, settings, scratch)
            else:
                cut_pair(terms, line, fit, settings, choice[0], board)
        catch_up_rows(table, rows, course.valid, terms.n_mains, fit, settings.loss, work)
        course.history[number] = mean_loss(table, rows, settings.loss, course)
        if judge(course.history[number], fit, rule, course):
            return number + 1, True
    return n_rounds, False


@kernel
def add_two(
    codes: NDArray[np.uint8],
    features: tuple[int, int, int],
    begin: int,
    stats: NDArray[np.complexfloating],
    sums: NDArray[np.complexfloating],
) -> None:
    """Add up to FLUSH rows from `begin` to the histograms (2, N_CELLS) of the pairs of a feature with two others.

    stats : (n,) gradient + i weight of each row. A complex number takes one load, add and store, two floats two each.
    Two pairs share one read of the rows: 1.5 times as fast as a pair at a time.
    """
    end = lesser(begin + FLUSH, stats.size)
    first, second, third = codes[features[0], begin:end], codes[features[1], begin:end], codes[features[2], begin:end]
    left, right, rows = sums[0], sums[1], stats[begin:end]
    for i in range(first.size):
        row, stat = np.intp(first[i]) * SIDE, rows[i]
        left[row + np.intp(second[i])] += stat
        right[row + np.intp(third[i])] += stat


@kernel
def rank_pairs(
    codes: NDArray[np.uint8],
    ends: NDArray[np.int64],
    stats: NDArray[np.complexfloating],
    pairs: NDArray[np.int64],
    floor: float,
    pure: bool,
    board: PairScratch,
    out: NDArray[np.float64],
) -> None:
    """Write each pair's strength: how much its best cross lowers the loss, in all or beyond main effects (`pure`).

    codes (p, n), at most SIDE - 1; ends (p,) the largest; stats as in `add_two`; pairs (m, 2); out (m,).
    """
    done, many = 0, stats.size > FLUSH
    while done < pairs.shape[0]:
        i, j = pairs[done, 0], pairs[done, 1]
        n_here = 2 if done + 1 < pairs.shape[0] and pairs[done + 1, 0] == i else 1
        other = pairs[done + n_here - 1, 1]
        used = 2 * SIDE * (ends[i] + 1)
        board.two[:, :used] = 0
        if many:
            board.wide_two[:, :used] = 0
        for begin in range(0, stats.size, FLUSH):
            add_two(codes, (i, j, other), begin, stats, board.sums)
            for k in range(n_here if many else 0):
                flush(board.two[k], board.wide_two[k, :used])
        for k in range(n_here):
            out[done + k] = strength(board, k, many, (ends[i], ends[other] if k else ends[j]), floor, pure)
        done += n_here


@kernel
def strength(board: PairScratch, k: int, many: bool, ends: tuple[int, int], floor: float, pure: bool) -> float:
    """Return the strength of pair k of the two whose histograms are on the board."""
    if many:
        run_up(board.wide_two[k], board.cells[:0], True, ends, board.run)
    else:
        run_up(board.two[k], board.cells[:0], True, ends, board.run)
    strength = best_cross(board.run, ends, floor, pure, (0, 0), board)
    if pure or not strength > 0:
        return float(strength)
    g, h = total(board.run, ends)
    return float(greater(strength - g * g / h, 0.0))
