"""The pair stage of one refit (Lou et al., KDD 2013): boosts chosen pairs on frozen main effects, or with them.

Each refit merges the bins of a feature into at most 62. The cuts of refits are offset from each other, so their mean is
finer than any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.pairs.smooth import RUNGS, SmoothSurfaces
from gamcore.boosting.refit.problem import Parameters, Problem, rows_of
from gamcore.boosting.refit.state import Refit, RefitState
from gamcore.boosting.running.executor import Executor
from gamcore.common.types import Floats, Ints
from gamcore.data.sampling import Split
from gamcore.kernels.early_stopping import Course, StopRule, judge, mean_loss
from gamcore.kernels.layout import CodedTable, Settings, make_work
from gamcore.kernels.losses import no_change
from gamcore.kernels.pair_grid import N_CELLS, SIDE, make_board
from gamcore.kernels.pair_rounds import Terms, add_pair, catch_up_rows, cut_line, cut_pair, pair_rounds
from gamcore.kernels.smooth_pairs import SmoothPair, grid_sums, prepare_pair, smooth_pair_step
from gamcore.model.purification import CellWeights, two_way

PACE: Final = 0.7
"""The learning rate of smooth pairs. Their steps are weak as they are, and each is judged."""

WORTHWHILE: Final = 30.0
"""A smooth pair rests once a step lowers the validation loss by less than so many tolerances of a round: smaller steps
take half of the seconds, and follow the noise of these rows as often as the truth."""

MOST_FAILED: Final = 2
"""Penalties in a row whose first steps do not lower the validation loss, after which a pair stays as it is."""

MOST_BINS: Final = SIDE - 2
"""Most bins of values on an axis; an offset adds at most one, and code 0 is the missing bin."""


def main_score(problem: Problem, main: Refit) -> Floats:
    """Return the scores (n,) of a refit's main effects, the offset included."""
    score = np.full(problem.y.size, main.base_score)
    if problem.offset.size:
        score += problem.offset
    for line, curve in zip(problem.table.lines(), main.curves, strict=True):
        score += curve[line]
    return score


@dataclass(frozen=True)
class PairRefit:
    """The result of one refit of the pair stage: surfaces (K, SIDE, SIDE) over bins merged by `merges` (p, V)."""

    main: Refit
    surfaces: Floats
    merges: NDArray[np.uint8]
    best_round: int
    valid_loss: float
    first_loss: float  # on the validation rows, before the stage
    worth: Floats = field(default_factory=lambda: np.empty(0))  # (K,) see `worth_of`, on the validation rows


@dataclass(frozen=True)
class Start:
    """The inputs of a refit of the pair stage."""

    main: Refit
    split: Split
    pairs: Ints  # (K, 2)
    merges: NDArray[np.uint8]  # (p, V)
    joint: bool  # whether main effects are boosted again, together with the pairs
    refined: bool
    seed: int
    smooth: SmoothSurfaces | None = None


class PairState(RefitState):
    """The state of a refit of the pair stage: a refit whose features are pairs, on top of a score."""

    @property
    def n_codes(self) -> int:
        """V: the cells of a pair."""
        return N_CELLS

    def __init__(self, problem: Problem, start: Start, parameters: Parameters) -> None:
        self._given, self._mains = start, problem
        self._score = main_score(problem, start.main)
        table = _lines(problem.table, start)
        self._ends = _ends(start, table)
        plain = replace(parameters, mart=False, ensemble="grouped", subsample=1.0)
        super().__init__(replace(problem, table=table), start.split, plain, start.seed)
        self._first_loss = float(self.course.losses[0])

    def _start(self, train: Ints) -> tuple[float, float, Floats]:
        """Return the base score, the unit of the scores, and what `rescore` starts from: main effects if frozen."""
        if self._given.joint:
            return super()._start(train)
        problem = self.problem
        response = problem.loss.response(problem.y, self._score, problem.unit)
        if not problem.loss.is_scaled:
            return 0.0, 1.0, response
        scale = problem.loss.scale_of(response[train], problem.row_weight[train]) or 1.0
        return 0.0, scale, response / scale

    def _given_score(self, rows: Ints) -> Floats:
        return super()._given_score(rows) if self._given.joint else self._score[rows]

    def _signs(self) -> Ints:
        """Return the signs (lines, 2): those of main effects that are boosted again, and of both features of pairs."""
        signs = np.array(self.parameters.signs or np.zeros(self._mains.table.last.size), np.int64)
        mains = np.stack([signs, np.zeros_like(signs)], axis=1)[: self._n_mains]
        return np.concatenate([mains, signs[self._given.pairs]])

    @property
    def _n_mains(self) -> int:
        return self._mains.table.last.size if self._given.joint else 0

    def rounds(self, executor: Executor | None) -> PairRounds:
        """Return rounds over the pairs, compiled and in this thread."""
        terms, given = Terms(self._n_mains, self._ends, self._cell_weights()), self._given
        if given.smooth and given.smooth.pairs:
            return SmoothPairRounds(self, terms, given.refined, given.smooth)
        return PairRounds(self, terms, given.refined)

    def _cell_weights(self) -> NDArray[np.floating]:
        table, dtype = self.problem.table, self.rows.score.dtype.type
        if self.problem.loss.is_paired:
            return np.zeros((len(table.codes), 0), dtype)
        constant = self.problem.constant
        train, weight = rows_of(table, self.split.train), constant if constant.size else self.problem.row_weight
        cells = np.empty((len(table.codes), N_CELLS), dtype)
        for row, line in zip(cells, table.codes, strict=True):
            row[:] = np.bincount(line[train], weight[train], N_CELLS)
        return cells

    @property
    def n_main_codes(self) -> int:
        """The codes that a main effect has room for."""
        return self._mains.table.n_codes

    def best_pairs(self) -> PairRefit:
        """Return the best round so far, on the scale of the link."""
        best, given, n_mains = self.best(), self._given, self._n_mains
        main = replace(best, curves=best.curves[:n_mains, : self.n_main_codes].copy()) if given.joint else given.main
        return PairRefit(
            main=main,
            surfaces=best.curves[n_mains:].reshape(-1, SIDE, SIDE),
            merges=given.merges,
            best_round=best.best_round,
            valid_loss=best.valid_loss,
            first_loss=self._first_loss * self.loss_unit,
        )

    def shown(self, fitted: PairRefit, rows: Ints) -> tuple[Floats, Floats]:
        """Return the scores (m,) of some rows by a result of this stage, and what each interaction adds to them (K, m).

        An interaction does not count the main effects that its surface contains.
        """
        lines = self.problem.table.codes[self._n_mains :]
        score = main_score(self._mains, fitted.main)[rows]
        parts = np.zeros((len(lines), rows.size))
        for part, surface, line in zip(parts, fitted.surfaces, lines, strict=True):
            score += surface.ravel()[line[rows]]
            part[:] = self._pure(surface, line).ravel()[line[rows]]
        return score, parts

    def _pure(self, surface: Floats, line: NDArray[np.unsignedinteger]) -> Floats:
        """Return a surface less the mean and main effects that it contains, by the training rows of its cells."""
        train = rows_of(self.problem.table, self.split.train)
        weight = np.bincount(line[train], self.problem.row_weight[train], N_CELLS).astype(np.float64)
        cells = CellWeights.of(weight.reshape(SIDE, SIDE))
        mean, rows, columns = two_way(cells, surface[None, cells.rows, cells.columns])
        return np.asarray(surface - mean[0] - rows[0][:, None] - columns[0])


def worth_of(score: Floats, parts: Floats, loss: Callable[[Floats], Floats], weight: Floats) -> Floats:
    """Return by how much the mean loss of some rows rises without each interaction: (K,), NaN without rows.

    score : (m,), or (m, classes). parts : (K, m), or (K, m, classes), what each interaction adds. loss : of each row.
    """
    if not weight.size:
        return np.full(len(parts), np.nan)
    whole = np.average(loss(score), weights=weight)
    return np.array([np.average(loss(score - part), weights=weight) - whole for part in parts])


def _lines(table: CodedTable, start: Start) -> CodedTable:
    """Return the table of a pair stage: a line of codes per feature if boosted jointly, and one of cells per pair."""
    lines, n_mains = table.lines(), table.last.size if start.joint else 0
    codes = np.empty((n_mains + len(start.pairs), table.n_rows), np.uint16)
    for line, of_feature in zip(codes[:n_mains], lines[:n_mains], strict=True):
        line[:] = of_feature
    for line, (i, j) in zip(codes[n_mains:], start.pairs, strict=True):
        line[:] = start.merges[i].astype(np.uint16)[lines[i]] * SIDE + start.merges[j][lines[j]]
    ends = start.merges.max(axis=1).astype(np.int64)[start.pairs]
    active = n_mains + np.flatnonzero(ends.min(axis=1) > 1)
    return CodedTable(
        codes,
        table.starts,
        np.concatenate([table.last[:n_mains], ends[:, 0] * SIDE + ends[:, 1]]),
        np.concatenate([table.nominal[:n_mains], np.zeros(len(ends), bool)]),
        np.concatenate([table.active[: n_mains and None], active]),
    )


def _ends(start: Start, table: CodedTable) -> Ints:
    """Return the largest codes (lines, 2) of each pair's features."""
    ends = np.zeros((len(table.codes), 2), np.int64)
    ends[len(table.codes) - len(start.pairs) :] = start.merges.max(axis=1)[start.pairs]
    return ends


class PairRounds:
    """Many rounds of the pair stage in one compiled call."""

    def __init__(self, state: PairState, terms: Terms, refined: bool) -> None:
        dtype = state.rows.score.dtype.type
        self._state, self._terms, self._refined = state, terms, refined
        work = make_work(1, state.parameters.max_leaves, dtype, state.n_main_codes)
        self._scratch = work, make_board(dtype)

    def run(self, settings: Settings, n_greedy: int, rule: StopRule, course: Course, n_rounds: int) -> tuple[int, bool]:
        """Run at most `n_rounds` rounds; return how many were run, and whether the refit has stalled."""
        state, choice = self._state, (self._refined, n_greedy)
        ran, stalled = pair_rounds(
            state.problem.table, state.rows, state.split.train, self._terms, state.fit, settings, self._scratch, choice,
            rule, course, n_rounds,
        )  # fmt: skip
        return int(ran), bool(stalled)


class SmoothPairRounds(PairRounds):
    """Rounds in which some pairs have smooth surfaces. They are apart from the others, which compile without them.

    A step of such a pair that does not lower the loss of the validation rows is taken back, and the pair rests once a
    step lowers it by less than is worth while (`WORTHWHILE`). When all rest, all go on to the next of `RUNGS`,
    together: if each went on by itself, the first would follow in the noise what others have to say. Pairs whose first
    steps on `MOST_FAILED` rungs in a row were taken back stay as they are, so that one surface may be as narrow as a
    street beside others that are nearly flat.
    """

    def __init__(self, state: PairState, terms: Terms, refined: bool, surfaces: SmoothSurfaces) -> None:
        super().__init__(state, terms, refined)
        active = set(state.problem.table.active.tolist())
        places = {terms.n_mains + place: place for place in surfaces.pairs}
        self._surfaces, self._places = surfaces, {line: at for line, at in places.items() if line in active}
        self._rung, self._failed = 0, dict.fromkeys(self._places, 0)
        self._resting: set[int] = set()
        self._prepared: dict[int, SmoothPair] = {}  # on this rung, by line
        self._lines = {line: state.problem.table._replace(active=np.array([line])) for line in active}
        self._loss = np.nan

    def run(self, settings: Settings, n_greedy: int, rule: StopRule, course: Course, n_rounds: int) -> tuple[int, bool]:
        """Run at most `n_rounds` rounds; return how many were run, and whether the refit has stalled."""
        fit, lines = self._state.fit, self._lines
        self._measure(settings, course)
        for number in range(n_rounds):
            for line in lines:
                self._step(line, settings, rule, course)
            for _ in range(n_greedy):
                self._step(max(lines.keys() - self._resting, default=-1, key=fit.gains.item), settings, rule, course)
            course.history[number] = self._loss
            stalled = judge(self._loss, fit, rule, course)
            if not self._goes_on() and (stalled or self._resting == lines.keys()):
                return number + 1, True
        return n_rounds, False

    def _goes_on(self) -> bool:
        """Return whether smooth pairs go on, on the next rung if all rest."""
        while self._rung < len(RUNGS) and self._resting == self._places.keys():
            self._rung += 1
            self._prepared.clear()
            is_last = self._rung == len(RUNGS)
            self._resting = {line for line, failed in self._failed.items() if is_last or failed == MOST_FAILED}
        return self._rung < len(RUNGS)

    def _step(self, line: int, settings: Settings, rule: StopRule, course: Course) -> None:
        """Make a step on a line of the table that does not rest, and apply it to the validation rows."""
        state, terms, scratch, board = self._state, self._terms, self._scratch, self._scratch[1]
        table, fit = state.problem.table, state.fit
        if line not in self._lines or line in self._resting:
            return
        add_pair(table, state.rows, state.split.train, fit, line, settings.loss, scratch)
        if line < terms.n_mains:
            cut_line(table, line, terms.weight, fit, settings, scratch)
        elif line not in self._places:
            cut_pair(terms, line, fit, settings, self._refined, board)
        else:
            self._bent_step(line, settings, rule, course)
            return
        self._catch_up(line, settings, course)

    def _bent_step(self, line: int, settings: Settings, rule: StopRule, course: Course) -> None:
        """Make a step on a smooth pair from its histogram; without validation rows, none is taken back."""
        fit, before = self._state.fit, self._loss
        if is_new := line not in self._prepared:
            self._prepared[line] = self._surfaces.at(self._places[line], self._rung)
        smooth = self._prepared[line]
        grid_sums(self._terms.weight[line], settings.loss, self._scratch[1], smooth)
        if is_new:
            prepare_pair(RUNGS[self._rung][0], smooth)
        smooth_pair_step(line, smooth, fit, settings._replace(learning_rate=PACE))
        moved = fit.moved[line].copy()
        self._catch_up(line, settings, course)
        if not course.valid.size:
            return
        lowered = before - self._loss
        if not lowered > 0.0:
            fit.moved[line] = -moved
            fit.factor[:] = no_change(settings.loss)
            self._catch_up(line, settings, course)
        if not lowered > WORTHWHILE * rule.tolerance * abs(before):
            self._failed[line] = self._failed[line] + 1 if is_new and not lowered > 0.0 else 0
            self._resting.add(line)

    def _catch_up(self, line: int, settings: Settings, course: Course) -> None:
        """Apply a step to the validation rows, and add it to the surface."""
        state, table = self._state, self._lines[line]
        catch_up_rows(table, state.rows, course.valid, self._terms.n_mains, state.fit, settings.loss, self._scratch[0])
        self._measure(settings, course)

    def _measure(self, settings: Settings, course: Course) -> None:
        """Read the loss of the validation rows."""
        state = self._state
        self._loss = float(mean_loss(state.problem.table, state.rows, settings.loss, course))
