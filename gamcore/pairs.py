"""Pairs of features after the main effects (Lou et al., KDD 2013): the ranking of all pairs, and the stage that boosts
the chosen ones on frozen main effects.

Each refit merges the bins of a feature to at most 62 of its own: the mean of refits, whose cuts stand apart, is finer
than any of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gamcore.binning import merge_bins
from gamcore.executor import Executor
from gamcore.groups import Split
from gamcore.kernels import SUM
from gamcore.kernels.course import Course, Rule
from gamcore.kernels.grid import N_CELLS, SIDE, make_board
from gamcore.kernels.layout import LOGISTIC, SQUARED, Settings, Table, make_work
from gamcore.kernels.pairs import pair_rounds, rank_pairs
from gamcore.refit import Parameters, Problem, Refit, RefitState, rows_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_BINS = SIDE - 2
"""Bins of values on an axis; an offset makes at most one more, and code 0 is the missing bin."""

RANK_BINS = 31
BLOCK = 32
"""Pairs that are ranked between two reports of progress."""


def merge_all(counts: list[Floats], lines: list[Ints], most: int, offset: float) -> NDArray[np.uint8]:
    """Merged codes (p, V) of every feature."""
    return np.stack([merge_bins(count, line, most, offset) for count, line in zip(counts, lines, strict=True)])


def lines_of(table: Table, curves: Floats) -> list[Ints]:
    """The codes of each feature's values in the order they are cut: levels by their main effect, others as they are."""
    made = []
    for j, (last, nominal) in enumerate(zip(table.last, table.nominal, strict=True)):
        codes = np.arange(1, int(last) + 1)
        made.append(codes[np.argsort(curves[j, codes], kind="stable")] if nominal else codes)
    return made


def strengths(
    problem: Problem,
    score: Floats,
    merges: NDArray[np.uint8],
    pairs: Ints,
    floor: float,
    pure: bool,
    executor: Executor,
    progress: Callable[[float], None] | None = None,
) -> Floats:
    """Strength (m,) of each pair (m, 2): the mean drop of the loss's quadratic model, a row, by the best cross of a
    grid of merged bins; `score` (n,) is that of the main effects, on the scale of the link.

    pure : only what is beyond main effects. Otherwise the drop in RSS of Lou et al. 2013, which also rewards what the
    main effects have left over.
    """
    gradient, hessian, scale = _derivatives(problem, score)
    stats = np.stack([gradient, hessian], axis=1).astype(SUM).ravel()
    codes = np.stack([merge[line] for merge, line in zip(merges, problem.table.codes, strict=True)])
    ends = merges.max(axis=1).astype(np.int64)
    blocks = [pairs[k : k + BLOCK] for k in range(0, len(pairs), BLOCK)]
    done = itertools.count(1)

    def rank(block: Ints) -> Floats:
        out = np.empty(len(block))
        rank_pairs(codes, ends, stats, block, floor, pure, make_board(SUM), out)
        if progress:
            progress(next(done) / len(blocks))
        return out

    found = executor.map(rank, blocks)
    return np.concatenate([np.empty(0), *found]) * scale**2 / problem.row_weight.sum()


def _derivatives(problem: Problem, score: Floats) -> tuple[Floats, Floats, float]:
    """Weighted negative gradient and hessian (n,) at a score, and the unit of the gradient."""
    weight = problem.row_weight
    if problem.loss.code == LOGISTIC:
        chance = problem.loss.inverse_link(score)
        return (problem.y - chance) * weight, chance * (1.0 - chance) * weight, 1.0
    residual = problem.y - score
    scale = float(np.std(residual)) or 1.0
    return residual / scale * weight, weight, scale


def main_score(problem: Problem, main: Refit) -> Floats:
    """Score (n,) of a refit's main effects."""
    score = np.full(problem.y.size, main.base_score)
    for line, curve in zip(problem.table.codes, main.curves, strict=True):
        score += curve[line]
    return score


@dataclass(frozen=True)
class PairRefit:
    """What one refit of the pair stage leaves: surfaces (K, SIDE, SIDE) over bins merged by `merges` (p, V)."""

    surfaces: Floats
    merges: NDArray[np.uint8]
    best_round: int
    valid_loss: float
    first_loss: float  # on the validation rows, of the main effects alone
    worth: Floats  # (K,) what that loss would rise by without each pair; NaN without validation rows


class PairState(RefitState):
    """A refit of the pair stage while it is boosted: a refit whose features are pairs, on top of a score."""

    n_codes = N_CELLS

    def __init__(
        self,
        problem: Problem,
        main: Refit,
        split: Split,
        pairs: Ints,
        merges: NDArray[np.uint8],
        parameters: Parameters,
        refined: bool,
        seed: int,
    ) -> None:
        self._score = main_score(problem, main)
        self._merges, self._refined = merges, refined
        self._ends = merges.max(axis=1).astype(np.int64)[pairs]
        table = _cells(problem.table, merges, pairs)
        super().__init__(replace(problem, table=table), split, replace(parameters, mart=False), seed)
        self._first_loss = float(self.course.losses[0])

    def _start(self, train: Ints) -> tuple[float, float, Floats]:
        """Base score, unit of the scores, and what `rescore` starts from: here the main effects."""
        if self.loss == LOGISTIC:
            return 0.0, 1.0, self._score
        residual = self.problem.y - self._score
        scale = float(np.std(residual[train])) or 1.0
        return 0.0, scale, residual / scale

    def rounds(self, executor: Executor | None) -> PairRounds:
        """Rounds over the pairs; a step is one call, in this thread."""
        return PairRounds(self, self._ends, self._refined)

    def found(self) -> PairRefit:
        """The best round so far, on the scale of the link."""
        best = self.best()
        surfaces = best.curves.reshape(-1, SIDE, SIDE)
        first = self._first_loss * self.scale**2
        return PairRefit(surfaces, self._merges, best.best_round, best.valid_loss, first, self._worth(best.curves))

    def _worth(self, curves: Floats) -> Floats:
        problem, valid = self.problem, rows_of(self.problem.table, self.split.valid)
        if not valid.size:
            return np.full(len(curves), np.nan)
        codes = problem.table.codes[:, valid]
        parts = np.array([c[line] for c, line in zip(curves, codes, strict=True)]).reshape(len(curves), valid.size)
        y, weight = problem.y[valid], problem.row_weight[valid]
        whole = self._score[valid] + parts.sum(axis=0)
        losses = [np.average(problem.loss.loss(y, score), weights=weight) for score in (whole, *(whole - parts))]
        return np.array(losses[1:]) - losses[0]


def _cells(table: Table, merges: NDArray[np.uint8], pairs: Ints) -> Table:
    """The table of a pair stage: a line of cells a pair."""
    cells = np.empty((len(pairs), table.codes.shape[1]), np.uint16)
    for line, (i, j) in zip(cells, pairs, strict=True):
        line[:] = merges[i].astype(np.uint16)[table.codes[i]] * SIDE + merges[j][table.codes[j]]
    ends = merges.max(axis=1).astype(np.int64)[pairs]
    active = np.flatnonzero(ends.min(axis=1) > 1)
    return Table(cells, table.starts, ends @ np.array([SIDE, 1]), np.zeros(len(pairs), bool), active)


class PairRounds:
    """Many rounds of the pair stage in one compiled call."""

    def __init__(self, state: PairState, ends: Ints, refined: bool) -> None:
        table, dtype = state.problem.table, state.rows.score.dtype.type
        self._state, self._refined = state, refined
        self._scratch = make_work(1, 2, dtype), make_board(dtype)
        weight = np.zeros((len(ends), 0), dtype)
        if state.loss == SQUARED:
            train = np.zeros(state.problem.y.size)
            for g in state.split.train:
                run = slice(table.starts[g], table.starts[g + 1])
                train[run] = state.problem.row_weight[run]
            weight = np.zeros((len(ends), N_CELLS), dtype)
            for k, line in enumerate(table.codes):
                weight[k] = np.bincount(line, train, N_CELLS)
        self._cells = ends, weight

    def run(self, settings: Settings, n_greedy: int, rule: Rule, course: Course, n_rounds: int) -> tuple[int, bool]:
        """At most `n_rounds` rounds; how many were run, and whether the refit has stalled."""
        state = self._state
        data = (state.problem.table, state.rows, state.split.train, self._cells, state.fit)
        choice = (self._refined, n_greedy)
        ran, stalled = pair_rounds(*data, settings, self._scratch, choice, rule, course, n_rounds)
        return int(ran), bool(stalled)
