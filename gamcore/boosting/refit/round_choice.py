"""Which rounds a refit runs: by its ensemble, its order, its learners and its threads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.refit.freedom import Freedom
from gamcore.boosting.refit.greedy import GreedyRounds
from gamcore.boosting.refit.learners import make_smoothers
from gamcore.boosting.refit.problem import Parameters, Problem, rows_of
from gamcore.boosting.refit.rounds import GroupedRounds, Rounds, SmoothRounds, ThreadedRounds, make_sets
from gamcore.boosting.refit.subagging import RowLevelRounds, row_strategy
from gamcore.boosting.running.executor import Executor
from gamcore.data.sampling import Split
from gamcore.kernels.layout import CodedTable, Fit, Rows, Sets, Settings
from gamcore.kernels.smoothers import Smoothers


@dataclass(frozen=True)
class RoundChoice:
    """The rounds of a refit; what several of them share is made once.

    by_aic : whether the best round is that of the least AIC.
    """

    problem: Problem
    split: Split
    parameters: Parameters
    seed: int
    rows: Rows
    fit: Fit
    n_bags: int
    by_aic: bool = False

    def over(self, active: NDArray[np.int64], settings: Settings, executor: Executor | None = None) -> Rounds:
        """Return rounds over some features."""
        parameters, table = self.parameters, self.problem.table._replace(active=active)
        if parameters.ensemble != "grouped":
            return self._row_level(table, settings)
        shared = (table, self.rows, self._sets, self.fit)
        if parameters.order == "greedy":
            freedom = self.freedom if self.by_aic else None
            return GreedyRounds(*shared, settings=settings, smoothers=self.smoothers, freedom=freedom)
        if any(parameters.learners):
            return SmoothRounds(*shared, settings=settings, smoothers=self.smoothers)
        if executor is None:
            return GroupedRounds(*shared, settings)
        return ThreadedRounds(*shared, settings=settings, executor=executor)

    @cached_property
    def _sets(self) -> Sets:
        """The bags of grouped rounds."""
        problem, parameters = self.problem, self.parameters
        return make_sets(
            problem.table,
            self.split.train,
            group_weight=problem.group_weight if problem.needs_weight(parameters) else None,
            subsample=parameters.subsample,
            n_bags=self.n_bags,
            seed=self.seed,
            dtype=parameters.dtype,
        )

    @cached_property
    def smoothers(self) -> Smoothers:
        """How curves are learnt."""
        table = self.problem.table
        learners = self.parameters.learners or (None,) * table.last.size
        return make_smoothers(learners, self._code_weights(), table.n_codes)

    def _code_weights(self) -> list[NDArray[np.float64]]:
        """Return the weight of the training rows by code, of the features that are learnt by smoothers."""
        problem = self.problem
        table, rows = problem.table, rows_of(problem.table, self.split.train)
        weight = problem.weight[rows] if problem.weight.size else None
        return [
            np.bincount(table.of(j)[rows], weight, table.last[j] + 1).astype(np.float64) if learner else np.empty(0)
            for j, learner in enumerate(self.parameters.learners)
        ]

    @cached_property
    def freedom(self) -> Freedom:
        """The degrees of freedom of the fit so far."""
        problem = self.problem
        return Freedom(problem.table, self.smoothers, rows_of(problem.table, self.split.train), problem.weight)

    def _row_level(self, table: CodedTable, settings: Settings) -> Rounds:
        """Return rounds with bags of rows."""
        parameters, train = self.parameters, self.split.train
        strategy = row_strategy(
            table,
            parameters.ensemble,
            strategy=parameters.histogram,
            rows=rows_of(table, train),
            n_bags=settings.n_bags,
            share=parameters.subsample,
            seed=self.seed,
            paired=self.problem.loss.is_paired,
            dtype=parameters.dtype,
        )
        return RowLevelRounds(
            table, self.rows, train=train, fit=self.fit, settings=settings, strategy=strategy,
            constant=self.problem.constant,
        )  # fmt: skip
