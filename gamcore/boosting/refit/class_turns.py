"""One refit of several classes: each is boosted against the others, a round at a time, and all stop together.

The trees, bags and histograms of a class are those of two classes; `kernels/class_turns.py` says why that is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import entropy

from gamcore.boosting.refit.extrapolation import OF_CLASSES, USUAL, Pace
from gamcore.boosting.refit.loop import boost
from gamcore.boosting.refit.problem import LazyShare, Parameters, Problem, rows_of
from gamcore.boosting.refit.rounds import Rounds
from gamcore.boosting.refit.state import Refit, RefitState, RoundStage
from gamcore.boosting.running.executor import Executor
from gamcore.boosting.running.progress import Loop
from gamcore.data.sampling import Split
from gamcore.kernels import class_turns as kernels
from gamcore.kernels import losses
from gamcore.kernels.early_stopping import BEST, BEST_ROUND, MARK_ROUND, ROUND, Course, StopRule, judge, make_course
from gamcore.kernels.layout import CHUNK, Settings, make_fit
from gamcore.model.classes import base_scores

NO_STOP: Final = StopRule(2**31, 0.0)
"""A class never stops by itself."""

LONG: Final = 400_000
"""Cells of a table, once per class, from which rounds are long. Where they are short, and rows few, small steps to the
end have the lower loss."""

LATE: Final = 15
"""Rounds after which steps are trees of all rows: classes that overlap have ended, and of others little is noise."""

WORTH_IT: Final = 5e-3
"""What a few late rounds must take off the validation loss, relatively: each is a round of all classes."""


def late_rounds(state: RefitState, executor: Executor | None) -> Rounds:
    """Return rounds of a class whose bags are all of the training rows."""
    parameters = replace(state.parameters, subsample=1.0)
    choice = replace(state.choice, parameters=parameters, n_bags=parameters.late_bags)
    settings = state.settings()._replace(n_bags=parameters.late_bags)
    return choice.over(state.problem.table.active, settings, executor)


def one_class(problem: Problem, split: Split, n_classes: int) -> list[Problem]:
    """Return the problem of each class against the others, with base scores by the training rows of a split."""
    train = rows_of(problem.table, split.train)
    offset = problem.offset[train] if problem.offset.size else None
    bases = base_scores(problem.y[train].astype(np.int64), problem.row_weight[train], n_classes, offset)
    return [replace(problem.of_class(k), base=float(bases[k])) for k in range(n_classes)]


class ClassesState:
    """The state of one refit of several classes.

    Its `fit` holds the curves of all classes, one class after the other; `states` see their own part of it. They share
    the memory of their row scores, which hold the odds of the class whose turn it is.
    """

    def __init__(self, problem: Problem, split: Split, states: Sequence[RefitState]) -> None:
        self.problem, self.split, self.states = problem, split, states
        self.parameters, self.loss = states[0].parameters, states[0].loss
        self.loss_unit, self.by_aic = 1.0, False
        dtype, n_rows = self.parameters.dtype, problem.y.size
        self.n_lines, n_codes = states[0].fit.curves.shape
        self.fit = make_fit(self.n_lines * len(states), losses.no_change(states[0].loss), dtype, n_codes)
        shared = states[0].rows.score
        for k, state in enumerate(states):
            state.rows = state.rows._replace(score=shared)
            state.fit = state.fit._replace(curves=self._part(self.fit.curves, k))
        self.odds: NDArray[np.floating] = np.empty((len(states), n_rows), dtype)
        self.total = np.empty(n_rows)
        self._codes = problem.y.astype(np.uint8)
        self._weights = [self._weight_of(groups) for groups in (split.train, split.valid)]
        self.course = make_course(self.n_lines * len(states), split.valid, self._weights[1], dtype, n_codes)
        self.refresh()
        self.course.losses[:] = self.valid_loss()

    def _part(self, lines: NDArray[np.float64], k: int) -> NDArray[np.float64]:
        return lines[k * self.n_lines : (k + 1) * self.n_lines]

    def _weight_of(self, groups: NDArray[np.int64]) -> float:
        return float(self.problem.row_weight[rows_of(self.problem.table, groups)].sum())

    @property
    def done(self) -> int:
        """Rounds so far."""
        return int(self.course.counts[ROUND])

    def stages(self) -> list[RoundStage]:
        """Return the stages of a refit in order; see `RefitState.stages`."""
        return self.states[0].stages_beside(self._flat_loss() if self.split.valid.size else -np.inf)

    def _flat_loss(self) -> float:
        """Return the mean loss of the validation rows with the shares of their own classes."""
        rows = rows_of(self.problem.table, self.split.valid)
        weight = np.bincount(self._codes[rows], self.problem.row_weight[rows])
        return float(entropy(weight))

    def rounds(self, executor: Executor | None) -> ClassRounds:
        """Return rounds in which every class has its turn."""
        late = [late_rounds(state, executor) for state in self.states] if self._is_long else []
        return ClassRounds(self, [state.rounds(executor) for state in self.states], late)

    @property
    def _is_long(self) -> bool:
        """Whether its rounds are long, so that later ones have to be worth it."""
        reads = len(self.states) * self.problem.table.active.size * self.problem.n_rows
        return bool(self.parameters.late_bags and self.split.valid.size) and reads >= LONG

    @property
    def pace(self) -> Pace:
        """When its movements are taken further."""
        return OF_CLASSES if self._is_long else USUAL

    def begin_turn(self, k: int) -> None:
        """Put the odds of a class against the others into the row scores."""
        kernels.begin_turn(self.odds[k], self.total, self.states[k].rows.score)

    def end_turn(self, k: int) -> None:
        """Take the row scores back into the odds of a class."""
        state = self.states[k]
        state.settle()
        kernels.end_turn(state.rows.score, self.odds[k], self.total)

    def refresh(self) -> None:
        """Recompute the odds of all classes from their curves."""
        self.total[:] = 0.0
        for odds, state in zip(self.odds, self.states, strict=True):
            state.refresh()
            odds[:] = state.rows.score
            self.total += odds

    @property
    def is_movable(self) -> bool:
        """Whether validation rows judge its rounds."""
        return bool(self.split.valid.size)

    def newton(self, moves: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return minus the slopes (m,) of the training loss along changes (m, p, V) of the curves, and its curvatures
        (m, m)."""
        n, n_classes = len(moves), len(self.states)
        slope, bend = np.zeros(n), np.zeros((n, n))
        by_class = moves.reshape(n, n_classes, self.n_lines, -1)
        scratch = np.empty((n, n_classes, CHUNK)), np.empty(n)
        kernels.sum_along(
            self.problem.table, (self.odds, self.total), self._codes, self.states[0].rows.weight, self.split.train,
            by_class, scratch, slope, bend,
        )  # fmt: skip
        return slope, np.tril(bend) + np.tril(bend, -1).T

    def rewind(self) -> None:
        """Go back to the best round, and count rounds without improvement from now."""
        if self.split.valid.size:
            self.fit.curves[:] = self.course.curves
        self.course.counts[MARK_ROUND] = self.course.counts[ROUND]
        self.refresh()

    def _mean_loss(self, groups: NDArray[np.int64], weight: float) -> float:
        starts, of_rows = self.problem.table.starts, self.states[0].rows.weight
        total = 0.0
        for g in groups:
            total += kernels.class_loss(self.odds, self.total, self._codes, of_rows, starts[g], starts[g + 1])
        return total / weight if weight > 0 else float("nan")

    def valid_loss(self) -> float:
        """Return the mean loss of the validation rows, NaN where there are none."""
        return self._mean_loss(self.split.valid, self._weights[1])

    def train_loss(self) -> float:
        """Return the mean loss of the training rows."""
        return self._mean_loss(self.split.train, self._weights[0])

    def keep_best(self) -> None:
        """Let every class know the round that was best for all."""
        curves = self.course.curves if self.split.valid.size else self.fit.curves
        for k, state in enumerate(self.states):
            state.fit.curves[:] = state.course.curves[:] = self._part(curves, k)
            state.course.counts[BEST_ROUND] = self.course.counts[BEST_ROUND]
            state.course.losses[BEST] = self.course.losses[BEST]


class ClassRounds:
    """Rounds in which every class has its turn, and which are judged by the loss of all. late : those of each class
    from round LATE on; empty where they stay the same."""

    def __init__(self, state: ClassesState, rounds: Sequence[Rounds], late: Sequence[Rounds] = ()) -> None:
        self._state, self._rounds, self._late = state, rounds, late

    def run(self, settings: Settings, n_greedy: int, rule: StopRule, course: Course, n_rounds: int) -> tuple[int, bool]:
        """Run at most `n_rounds` rounds; return how many were run, and whether the refit has stalled."""
        state = self._state
        for done in range(n_rounds):
            is_late = bool(self._late) and state.done >= LATE
            if is_late:
                settings = settings._replace(n_bags=state.parameters.late_bags)
                rule = rule._replace(patience=ceil(state.parameters.early_stopping_rounds / 3), tolerance=WORTH_IT)
            for k, rounds in enumerate(self._late if is_late else self._rounds):
                state.begin_turn(k)
                rounds.run(settings, n_greedy, NO_STOP, state.states[k].course, 1)
                state.end_turn(k)
            course.history[done] = state.valid_loss()
            if judge(course.history[done], state.fit, rule, course):
                return done + 1, True
        return n_rounds, False


@dataclass(frozen=True)
class ClassRefit:
    """The result of one refit of several classes: the curves of each at the best round of all."""

    classes: tuple[Refit, ...]

    @property
    def best_round(self) -> int:
        """The round that was best for all classes."""
        return self.classes[0].best_round

    @property
    def valid_loss(self) -> float:
        """The mean log loss of the validation rows at that round."""
        return self.classes[0].valid_loss


@dataclass(frozen=True)
class ClassTask:
    """One refit of the main effects of several classes, as data that can be pickled."""

    share: LazyShare
    parameters: Parameters
    seed: int
    n_classes: int
    watch: bool = False

    def run(self, within: Executor | None) -> Loop[ClassRefit]:
        """Boost the refit; see `boost`."""
        share = self.share.load()
        problems = one_class(share.problem, share.split, self.n_classes)
        states = [RefitState(problem, share.split, self.parameters, self.seed) for problem in problems]
        state = ClassesState(share.problem, share.split, states)
        yield from boost(state, within, self.watch)
        state.keep_best()
        return ClassRefit(tuple(state.best() for state in states))
