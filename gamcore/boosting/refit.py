"""One refit while it is boosted: its data, its rows' state, its curves, and the stages of its rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.executor import Executor
from gamcore.boosting.rounds import (
    MAX_BAGS,
    MAX_LEAVES,
    GroupedRounds,
    Rounds,
    RowLevelRounds,
    ThreadedRounds,
    make_sets,
    row_strategy,
    weigh_groups,
)
from gamcore.data.sampling import Split
from gamcore.kernels import N_CODES, SUM
from gamcore.kernels import curve_step as step
from gamcore.kernels import row_state as row_kernels
from gamcore.kernels.early_stopping import BEST, BEST_ROUND, MARK_ROUND, ROUND, Rule, make_course, validate
from gamcore.kernels.layout import LOGISTIC, Rows, Settings, Table, make_fit
from gamcore.model.losses import Loss

COARSE_ROWS = 25_000
"""Rows from which coarse rounds pay: small tables are quick without, and three leaves follow their noise."""

COARSE_LEAVES = 3


def first_leaves(asked: int | str | None, n_rows: int) -> int:
    """Leaves of the first rounds' trees: as asked, by the number of rows where that is "auto", 0 for no such rounds."""
    if asked == "auto":
        return COARSE_LEAVES if n_rows >= COARSE_ROWS else 0
    return int(asked or 0)


@dataclass(frozen=True)
class Parameters:
    """Numbers of a fit, already checked; the estimators explain them."""

    ensemble: str
    histogram: str
    mart: bool
    n_bags: int
    subsample: float
    max_rounds: int
    learning_rate: float
    max_leaves: int
    greedy_ratio: float
    early_stopping_rounds: int
    smoothing_rounds: int = 0  # rounds with one cut a bag, anywhere, before all others
    coarse_leaves: int = 0  # leaves of the first rounds' trees; no such rounds unless more than max_leaves
    tolerance: float = 1e-5
    min_node_weight: float = 5.0  # rows' weight that a node needs to be cut
    min_node_hessian: float = 1.0  # the same for LogitBoost, which weighs rows by p (1 - p): rare classes must pass
    max_delta: float = 10.0  # logistic only: the largest Newton step
    dtype: type = SUM

    def __post_init__(self) -> None:
        # What kernels index without a look: an estimator checks it in better words, a caller that forgot to ends here.
        leaves = max(self.max_leaves, self.coarse_leaves)
        if not (self.max_leaves >= 1 and leaves <= MAX_LEAVES and 1 <= self.n_bags <= MAX_BAGS):
            raise ValueError(
                f"max_leaves must be 1 to {MAX_LEAVES} and n_bags 1 to {MAX_BAGS:,}; got {leaves} and {self.n_bags}."
            )


@dataclass(frozen=True)
class Refit:
    """What one refit leaves: curves (p, V) of its best round, not centred, and the base score."""

    curves: NDArray[np.float64]
    base_score: float
    best_round: int
    valid_loss: float


@dataclass(frozen=True)
class Problem:
    """A fit's data in group order: what all refits share."""

    table: Table
    y: NDArray[np.float64]
    weight: NDArray[np.float64]  # (n,) or empty where all rows weigh 1
    loss: Loss

    @property
    def row_weight(self) -> NDArray[np.float64]:
        """Weights as an array of length n."""
        return self.weight if self.weight.size else np.ones(self.y.size)

    def needs_weight(self, parameters: Parameters) -> bool:
        """Whether trees are split on, or divided by, row weights a bin; LogitBoost has hessians instead."""
        return self.loss.code != LOGISTIC or parameters.mart

    @cached_property
    def group_weight(self) -> NDArray[np.float64]:
        """Row weights of each group a bin, (G, cells): counted once for all refits."""
        return weigh_groups(self.table, self.weight)


@dataclass(frozen=True)
class Share:
    """What one refit learns from: the same rows for all where memory holds them, else some of its own."""

    problem: Problem
    split: Split


Shares = Callable[[int], Share]
"""The share of each refit by its number; one that is read from disk is read anew at each call."""


def rows_of(table: Table, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row numbers of some groups, ascending."""
    runs = [np.arange(table.starts[g], table.starts[g + 1]) for g in groups]
    return np.concatenate(runs) if runs else np.empty(0, np.int64)


class Stage(NamedTuple):
    """Rounds of one kind."""

    settings: Settings
    rule: Rule
    n_greedy: int
    most: int


class RefitState:
    """One refit while it is boosted: its rows, its curves and its losses."""

    n_codes = N_CODES

    def __init__(self, problem: Problem, split: Split, parameters: Parameters, seed: int) -> None:
        self.problem, self.split, self.parameters, self.seed = problem, split, parameters, seed
        self.loss = problem.loss.code
        self.base_score, self.scale, self._response = self._start(rows_of(problem.table, split.train))
        logistic = self.loss == LOGISTIC
        self.rows = Rows(
            score=np.empty(problem.y.size, parameters.dtype),
            target=problem.y.astype(np.uint8) if logistic else np.empty(0, np.uint8),
            weight=problem.weight.astype(parameters.dtype),
        )
        n_features, dtype = problem.table.codes.shape[0], parameters.dtype
        self.fit = make_fit(n_features, self.loss, dtype, self.n_codes)
        valid_weight = self._weight_of(split.valid)
        self.course = make_course(n_features, split.valid, valid_weight, dtype, self.n_codes)
        self.refresh()
        self.course.losses[:] = validate(problem.table, self.rows, self.fit, self.loss, self.course)

    def _start(self, train: NDArray[np.int64]) -> tuple[float, float, NDArray[np.float64]]:
        """Base score, unit of the scores, and what `rescore` starts from.

        Residuals are boosted in units of the target's standard deviation: squares of their sums then fit float32
        whatever the target's unit.
        """
        y = self.problem.y
        if self.loss == LOGISTIC:
            one_class = np.ptp(y[train]) == 0  # then the whole table's rate: an infinite score would swamp the mean
            rows = slice(None) if one_class else train
            base = self.problem.loss.base_score(y[rows], self.problem.row_weight[rows])
            return base, 1.0, np.array([base])
        base = self.problem.loss.base_score(y[train], self.problem.row_weight[train])
        residual = y - base
        spread = float(np.max(np.abs(residual))) or 1.0  # first, so that squares neither overflow nor vanish
        scale = spread * float(np.std(residual / spread)) or 1.0
        return base, scale, residual / scale

    @cached_property
    def _train_weight(self) -> float:
        return self._weight_of(self.split.train)

    def _weight_of(self, groups: NDArray[np.int64]) -> float:
        return float(self.problem.row_weight[rows_of(self.problem.table, groups)].sum())

    def refresh(self) -> None:
        """Make the row scores anew from the curves."""
        row_kernels.rescore(self.problem.table, self.rows, self._response, self.fit.curves, self.loss)
        self._nothing_pending()
        self.fit.moved[:] = 0.0

    def rewind(self) -> None:
        """Go back to the best round, and count rounds without improvement from now."""
        if self.split.valid.size:
            self.fit.curves[:] = self.course.curves
        self.course.counts[MARK_ROUND] = self.course.counts[ROUND]
        self.refresh()

    def _nothing_pending(self) -> None:
        self.fit.factor[:] = 1.0 if self.loss == LOGISTIC else 0.0

    def train_loss(self) -> float:
        """Apply what is pending to the training rows, and their mean loss."""
        table, train = self.problem.table, self.split.train
        step.settle(table, self.rows, train, self.fit, self.loss)
        self._nothing_pending()
        runs = [(table.starts[g], table.starts[g + 1]) for g in train]
        total = sum(row_kernels.total_loss(self.rows, *run, self.loss) for run in runs)
        return float(total / self._train_weight) * self.scale**2

    def best(self) -> Refit:
        """The best round so far, on the scale of the target's link."""
        course = self.course
        curves = course.curves if self.split.valid.size else self.fit.curves
        loss = float(course.losses[BEST]) * self.scale**2
        return Refit(curves * self.scale, self.base_score, int(course.counts[BEST_ROUND]), loss)

    @property
    def done(self) -> int:
        """Rounds so far."""
        return int(self.course.counts[ROUND])

    def stages(self) -> list[Stage]:
        """What kinds of rounds a refit is made of, in turn; each goes on from the best round of those before.

        Smoothing rounds, if asked for, cut anywhere: the mean of many such trees bends where a best cut would jump.
        Coarse rounds find most of every shape in a fraction of the steps; they end when the validation loss fails to
        fall for a single round. Fine rounds go on until `early_stopping_rounds` have not lowered it by a share of
        `tolerance` (a young refit is given fewer, see `course.Rule`).
        """
        parameters, fine, no_end = self.parameters, self.settings(), self.parameters.max_rounds
        n_greedy = ceil(parameters.greedy_ratio * self.problem.table.active.size)
        rule = Rule(parameters.early_stopping_rounds, parameters.tolerance)
        stages = [Stage(fine, rule, n_greedy, no_end)]
        if self.split.valid.size and parameters.coarse_leaves > parameters.max_leaves:
            coarse = fine._replace(max_leaves=parameters.coarse_leaves)
            stages.insert(0, Stage(coarse, Rule(1, parameters.tolerance), n_greedy, no_end))
        smooth = min(parameters.smoothing_rounds, parameters.max_rounds // 2)
        if smooth:
            stages.insert(0, Stage(fine._replace(random=True), rule, n_greedy, smooth))
        return stages

    def settings(self) -> Settings:
        """The scalars of the final trees."""
        parameters, logistic = self.parameters, self.loss == LOGISTIC
        by_hessian = logistic and not parameters.mart
        one_bag = parameters.ensemble != "bagging" and parameters.subsample >= 1.0
        return Settings(
            loss=self.loss,
            mart=parameters.mart,
            learning_rate=parameters.learning_rate,
            max_leaves=parameters.max_leaves,
            min_node_weight=parameters.min_node_hessian if by_hessian else parameters.min_node_weight,
            max_delta=parameters.max_delta if logistic else np.inf,
            n_bags=1 if one_bag else parameters.n_bags,
            seed=self.seed << 31,  # far from those of other refits, whose draws count up from theirs
        )

    def rounds(self, executor: Executor | None) -> Rounds:
        """The way of making histograms that the parameters ask for."""
        problem, parameters, fit, settings, seed = self.problem, self.parameters, self.fit, self.settings(), self.seed
        table, train, n_bags = problem.table, self.split.train, settings.n_bags
        if parameters.ensemble == "grouped":
            weight = problem.group_weight if problem.needs_weight(parameters) else None
            sets = make_sets(table, train, weight, parameters.subsample, n_bags, seed, parameters.dtype)
            if executor is None:
                return GroupedRounds(table, self.rows, sets, fit, settings)
            return ThreadedRounds(table, self.rows, sets, fit, settings, executor)
        strategy = row_strategy(
            table,
            parameters.ensemble,
            parameters.histogram,
            rows_of(table, train),
            n_bags,
            parameters.subsample,
            seed,
            self.loss,
            parameters.dtype,
        )
        return RowLevelRounds(table, self.rows, train, fit, settings, strategy)
