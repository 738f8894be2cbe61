"""Rounds over pairs of features, and the ranking of all pairs (FAST; Lou et al. 2013, section 4).

The table of a pair stage has a line of cells a pair where that of the main effects has a line of codes a feature; all
else of rows, updates and validation is the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.course import Course, Rule, judge, validate
from gamcore.kernels.grid import SIDE, Board, best_cross, best_refined, finish_pair, run_up, total
from gamcore.kernels.histogram import add_run
from gamcore.kernels.layout import CHUNK, LOGISTIC, Fit, Rows, Settings, Table, Work
from gamcore.kernels.rows import advance_run


@kernel
def add_pair(
    table: Table,
    rows: Rows,
    groups: NDArray[np.int64],
    fit: Fit,
    pair: int,
    loss: int,
    work: Work,
    cells: NDArray[np.floating],
) -> None:
    """Apply the pending update to the rows of `groups`, and fill one histogram of the pair's cells over all of them."""
    cells[:] = 0
    before, code = table.codes[fit.pending[0]], table.codes[pair]
    for q in range(groups.size):
        start, stop = table.starts[groups[q]], table.starts[groups[q] + 1]
        for begin in range(start, stop, CHUNK):
            end = min(begin + CHUNK, stop)
            advance_run(before, begin, end, rows, fit, loss, work, 0)
            add_run(code[begin:end], work.gradient[0], loss, cells)


@kernel
def _step(
    ends: NDArray[np.int64],
    weight: NDArray[np.floating],
    pair: int,
    fit: Fit,
    settings: Settings,
    refined: bool,
    board: Board,
) -> None:
    """From a pair's histogram in `board.cells` to its updated surface."""
    last = (ends[pair, 0], ends[pair, 1])
    run_up(board.cells, weight[pair], settings.loss, last, board.run)
    if refined:
        found = best_refined(board.run, last, settings.min_node_weight, board)
    else:
        found = best_cross(board.run, last, settings.min_node_weight, False, board)
    if found > 0:
        finish_pair(last, pair, fit, settings, board)
    else:
        fit.factor[:] = 1.0 if settings.loss == LOGISTIC else 0.0
        fit.gains[pair] = 0.0


@kernel
def pair_rounds(
    table: Table,
    rows: Rows,
    train: NDArray[np.int64],
    cells: tuple[NDArray[np.int64], NDArray[np.floating]],
    fit: Fit,
    settings: Settings,
    scratch: tuple[Work, Board],
    choice: tuple[bool, int],
    rule: Rule,
    course: Course,
    n_rounds: int,
) -> tuple[int, bool]:
    """At most `n_rounds` rounds; how many were run, and whether the refit has stalled.

    A round is a step on every pair, then steps on the pair whose last step gained most.

    cells : largest codes (K, 2) of the pairs, and row weights (K, N_CELLS) of their cells, (K, 0) for LogitBoost.
    choice : whether trees are refined, and the number of greedy steps.
    """
    work, board = scratch
    n_pairs = table.codes.shape[0]
    for number in range(n_rounds):
        for k in range(n_pairs + choice[1]):
            pair = k if k < n_pairs else np.argmax(fit.gains)
            add_pair(table, rows, train, fit, pair, settings.loss, work, board.cells)
            _step(cells[0], cells[1], pair, fit, settings, choice[0], board)
        course.history[number] = validate(table, rows, fit, settings.loss, course)
        if judge(course.history[number], fit, rule, course):
            return number + 1, True
    return n_rounds, False


@kernel
def add_cells(
    first: NDArray[np.uint8], second: NDArray[np.uint8], stats: NDArray[np.floating], cells: NDArray[np.floating]
) -> None:
    """Histogram of one pair: stats (2 n,) holds gradient and weight of each row side by side."""
    cells[:] = 0
    for i in range(first.size):
        at = (np.intp(first[i]) * SIDE + np.intp(second[i])) * 2
        cells[at] += stats[2 * i]
        cells[at + 1] += stats[2 * i + 1]


@kernel
def rank_pairs(
    codes: NDArray[np.uint8],
    ends: NDArray[np.int64],
    stats: NDArray[np.floating],
    pairs: NDArray[np.int64],
    floor: float,
    pure: bool,
    board: Board,
    out: NDArray[np.float64],
) -> None:
    """Strength of each pair: what its best cross takes off the loss, in all or beyond main effects (`pure`).

    codes (p, n), at most SIDE - 1; ends (p,) their largest; pairs (m, 2); out (m,).
    """
    none = stats[:0]
    for k in range(pairs.shape[0]):
        i, j = pairs[k, 0], pairs[k, 1]
        add_cells(codes[i], codes[j], stats, board.cells)
        last = (ends[i], ends[j])
        run_up(board.cells, none, LOGISTIC, last, board.run)
        found = best_cross(board.run, last, floor, pure, board)
        if found > 0 and not pure:
            g, h = total(board.run, last)
            found -= g * g / h
        out[k] = found
