"""A refit whose residuals are kept as sums over bins, updated from counts of bin pairs: see `kernels/tables.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.counts.bin_pairs import squares
from gamcore.boosting.refit.problem import Parameters, Problem
from gamcore.boosting.refit.rounds import MAX_LEAVES, Rounds, make_sets
from gamcore.boosting.refit.state import RefitState
from gamcore.boosting.running.executor import Executor
from gamcore.common.types import Floats
from gamcore.data.sampling import Split
from gamcore.kernels import tables as kernels
from gamcore.kernels.early_stopping import MARK_ROUND, ROUND, Course, StopRule, make_course
from gamcore.kernels.layout import Sets, Settings, Work, aligned, make_fit, make_work
from gamcore.kernels.losses import no_change
from gamcore.kernels.tables import Left, Tables


def make_left(tables: Tables, n_codes: int, n_valid: int, dtype: type) -> Left:
    """Return room for the sums of a refit with `n_valid` validation groups."""
    p, n_groups = tables.pitch.size, tables.group.shape[0]
    size = int(tables.place[-1])
    return Left(
        train=aligned((size,), dtype),
        valid=np.zeros(size // n_groups * n_valid),
        jump=np.zeros((p, p, n_codes)),
        waits=np.zeros((p, p, n_codes), bool),
        codes=np.zeros((p, p, n_codes), np.int64),
        n_waiting=np.zeros((p, p), np.int64),
        top=np.zeros(p),
        step=np.zeros(n_codes),
        at=np.zeros(p * n_codes + 8, np.int64),
        by=np.zeros(p * n_codes + 8),
    )


class TableState(RefitState):
    """The state of one refit during boosting: its sums, curves and losses; nothing of it has a size of rows."""

    def __init__(self, problem: Problem, split: Split, parameters: Parameters, seed: int) -> None:
        self.problem, self.split, self.parameters, self.seed = problem, split, parameters, seed
        self.loss, self.tables = problem.loss.form, problem.counting.tables()
        n_features, dtype, n_valid = problem.table.codes.shape[0], parameters.dtype, split.valid.size
        self.base = float(np.divide(*self.tables.group[split.train, 1::-1].sum(axis=0)))
        self.scale = problem.spread
        self.base_score = problem.centre + self.base * self.scale
        self.loss_unit = problem.loss.loss_unit(self.scale, 1.0)
        self.fit = make_fit(n_features, no_change(self.loss), dtype, self.n_codes)
        self.fit.signs[:] = self._signs()
        self.left = make_left(self.tables, self.n_codes, n_valid, dtype)
        valid_weight = float(self.tables.group[split.valid, 0].sum())
        self.course = make_course(n_features, split.valid, valid_weight, dtype, self.n_codes)
        self.refresh()
        self.course.losses[:] = self._mean_loss(split.valid, self.left.valid)

    def refresh(self) -> None:
        """Recompute all sums from the curves."""
        left, groups = self.left, self.tables.group.shape[0]
        for waiting in (left.jump, left.waits, left.n_waiting, left.top, self.fit.moved):
            waiting[:] = 0
        for m in self.problem.table.active:
            pitch, place = int(self.tables.pitch[m]), int(self.tables.place[m])
            sums = self._sums(m)
            for chosen, kept in ((self.split.train, left.train), (self.split.valid, left.valid)):
                begin = place if kept is left.train else place // groups * chosen.size
                kept[begin : begin + chosen.size * pitch] = sums.reshape(groups, pitch)[chosen].ravel()

    @property
    def is_movable(self) -> bool:
        """Return that they are not: what a movement does to all sums would cost as much as many rounds."""
        return False

    def rewind(self) -> None:
        """Go back to the best round, and count rounds without improvement from now.

        The way back is a step like any other: sums of whole counts do not drift, and few of their lines are read."""
        if self.split.valid.size:
            back = self.course.curves - self.fit.curves
            for m in self.problem.table.active[back[self.problem.table.active].any(axis=1)]:
                self.left.step[:] = back[m]
                kernels.defer(self.tables, self.split.train, self.problem.table.active, m, self.problem.table.last[m],
                              self.left)  # fmt: skip
            self.fit.moved[:] += back
            self.fit.curves[:] = self.course.curves
        self.course.counts[MARK_ROUND] = self.course.counts[ROUND]

    def _sums(self, m: int) -> Floats:
        """Return the sums of residuals of a feature by group and code, from the curves."""
        tables, everything = self.tables, np.arange(self.tables.group.shape[0])
        mine = slice(tables.place[m], tables.place[m + 1])
        sums = tables.target[mine] - self.base * tables.weight[mine]
        kernels.move(self.problem.table, tables, everything, self.fit.curves, place=0, m=m, left=self.left, out=sums)
        return sums

    def _mean_loss(self, groups: NDArray[np.int64], left: Floats) -> float:
        """Return the mean loss of some groups, NaN of none. left : their sums, up to date."""
        weight = float(self.tables.group[groups, 0].sum())
        if not weight > 0:
            return float("nan")
        known = kernels.explained(self.problem.table, self.tables, groups, self.base, self.fit.curves, left)
        return float((squares(self.tables, groups, self.base) - known) / weight)

    def _flat_loss(self) -> float:
        weight, target, square = self.tables.group[self.split.valid].sum(axis=0)
        return float(square / weight - (target / weight) ** 2)

    def train_loss(self) -> float:
        """Return the mean loss of the training rows; recomputed, so that watching changes nothing."""
        groups = self.tables.group.shape[0]
        left = np.zeros(int(self.tables.place[-1]) // groups * self.split.train.size)
        for m in self.problem.table.active:
            pitch, begin = int(self.tables.pitch[m]), int(self.tables.place[m]) // groups * self.split.train.size
            kept = self._sums(m).reshape(groups, pitch)[self.split.train].ravel()
            left[begin : begin + kept.size] = kept
        return self._mean_loss(self.split.train, left) * self.loss_unit

    def rounds(self, executor: Executor | None) -> Rounds:
        """Return rounds on tables."""
        problem, parameters = self.problem, self.parameters
        settings = self.settings()
        sets = make_sets(
            problem.table, self.split.train, group_weight=problem.table_weight, subsample=parameters.subsample,
            n_bags=settings.n_bags, seed=self.seed, dtype=parameters.dtype,
        )  # fmt: skip
        return TableRounds(self, sets, make_work(settings.n_bags, MAX_LEAVES, parameters.dtype))


class TableRounds:
    """Rounds on tables; one compiled call runs many rounds."""

    def __init__(self, state: TableState, sets: Sets, work: Work) -> None:
        self._state, self._sets, self._work = state, sets, work

    def run(self, settings: Settings, n_greedy: int, rule: StopRule, course: Course, n_rounds: int) -> tuple[int, bool]:
        """Run at most `n_rounds` rounds; return how many were run, and whether the refit has stalled."""
        state = self._state
        known = squares(state.tables, state.split.valid, state.base)
        ran, stalled = kernels.table_rounds(
            state.problem.table, state.tables, self._sets, state.base, known, state.fit, settings, n_greedy, self._work,
            state.left, rule, course, n_rounds,
        )  # fmt: skip
        return int(ran), bool(stalled)
