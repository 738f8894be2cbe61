"""Tables of codes generated without frames or binning, and rounds of boosting on them, for timing steps.

Targets are noise: a step costs the same whatever it finds.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore import GAMRegressor
from gamcore.boosting.refit.problem import Parameters
from gamcore.boosting.refit.rounds import (
    GroupedRounds,
    Rounds,
    ThreadedRounds,
    make_sets,
    weigh_groups,
)
from gamcore.boosting.refit.subagging import RowLevelRounds, row_strategy
from gamcore.boosting.running.executor import Executor
from gamcore.kernels import N_CODES, SUM
from gamcore.kernels.early_stopping import MOST_AT_ONCE, Course, StopRule, make_course
from gamcore.kernels.layout import CodedTable, Fit, Rows, Settings, make_fit
from gamcore.kernels.losses import (
    GAMMA,
    LOGISTIC,
    POISSON,
    SQUARED,
    Form,
    has_log_link,
    is_paired,
    n_states,
    no_change,
    quantile,
    tweedie,
)

LOSSES = {"logistic": LOGISTIC, "squared": SQUARED, "poisson": POISSON, "gamma": GAMMA, "tweedie": tweedie(1.5),
          "quantile": quantile(0.9, 0.1)}  # fmt: skip
LAST = N_CODES - 2
"""The largest value code where all 256 are in use: 0 is the missing bin, LAST + 1 the unseen one."""

HEAVY = 0.8
"""Share of rows in the one heavy bin of skewed codes."""

CALL_SECONDS = 0.02
DEFAULTS = GAMRegressor()
NEVER = StopRule(patience=2**40, tolerance=0.0)


class Workload(NamedTuple):
    """A table with the rows and curves of a refit that trains on all its groups."""

    table: CodedTable
    rows: Rows
    fit: Fit
    loss: Form

    @property
    def groups(self) -> NDArray[np.int64]:
        return np.arange(self.table.starts.size - 1)

    @property
    def dtype(self) -> type:
        return self.rows.score.dtype.type


def make_table(n_rows: int, n_features: int, n_groups: int, skewed: bool = False, seed: int = 0) -> CodedTable:
    """Return codes 0..LAST, uniform or mostly in one bin, in groups whose sizes differ by at most one row."""
    rng = np.random.default_rng(seed)
    codes = np.empty((n_features, n_rows), np.uint8)
    for line in codes:
        line[:] = rng.integers(0, LAST + 1, n_rows, dtype=np.uint8)
        if skewed:
            line[rng.random(n_rows, np.float32) < HEAVY] = LAST // 2
    starts = np.linspace(0, n_rows, n_groups + 1).astype(np.int64)
    each = np.arange(n_features)
    return CodedTable(codes, starts, np.full(n_features, LAST), np.zeros(n_features, bool), each)


def make_workload(table: CodedTable, loss: Form, dtype: type = SUM, seed: int = 1) -> Workload:
    """Return the state of the rows before the first step."""
    rng = np.random.default_rng(seed)
    n_features, n_rows = table.codes.shape
    logistic = loss == LOGISTIC
    score: NDArray[np.floating] = np.ones(n_states(loss) * n_rows, dtype)
    if has_log_link(loss):
        score[:: n_states(loss)] = rng.gamma(2.0, 0.5, n_rows)
    elif not logistic:
        score[:] = rng.standard_normal(n_rows, np.float32)
    target = rng.integers(0, 2, n_rows if logistic else 0, dtype=np.uint8)
    return Workload(
        table,
        Rows(score, np.asarray(target), np.empty(0, dtype)),
        make_fit(n_features, no_change(loss), dtype, n_states=n_states(loss)),
        loss,
    )


def make_settings(loss: Form, n_bags: int, max_leaves: int = DEFAULTS.max_leaves, mart: bool = False) -> Settings:
    """Return the settings of an ordinary fit."""
    by_hessian = loss == LOGISTIC and not mart
    return Settings(
        loss=loss,
        mart=mart,
        learning_rate=DEFAULTS.learning_rate,
        max_leaves=max_leaves,
        min_node_weight=Parameters.min_node_hessian if by_hessian else Parameters.min_node_weight,
        max_delta=np.inf if loss == SQUARED else Parameters.max_delta,
        n_bags=n_bags,
    )


def grouped(work: Workload, settings: Settings, share: float, executor: Executor | None = None) -> Rounds:
    """Return rounds whose bags are sets of groups; with an executor, threads share a step's groups."""
    table, rows, fit, _ = work
    weight = weigh_groups(table, np.empty(0)) if settings.mart or not is_paired(settings.loss) else None
    sets = make_sets(table, work.groups, weight, share, settings.n_bags, 0, work.dtype)
    if executor is None:
        return GroupedRounds(table, rows, sets, fit, settings)
    return ThreadedRounds(table, rows, sets, fit, settings, executor)


def row_level(work: Workload, settings: Settings, share: float, ensemble: str, strategy: str) -> Rounds:
    """Return rounds whose bags are of rows, as in the paper."""
    table, rows, fit, loss = work
    every = np.arange(table.codes.shape[1])
    drawing = row_strategy(table, ensemble, strategy, every, settings.n_bags, share, 0, is_paired(loss), work.dtype)
    return RowLevelRounds(table, rows, work.groups, fit, settings, strategy=drawing, constant=np.empty(0))


def no_course(work: Workload) -> Course:
    """Return a course without validation rows: nothing stops it."""
    return make_course(work.fit.curves.shape[0], np.empty(0, np.int64), 0.0, work.dtype)


def step_seconds(rounds: Rounds, settings: Settings, work: Workload, seconds: float, least: int = 3) -> list[float]:
    """Return the seconds of a step, one entry per call of a few rounds; at least `least` calls, not counting the
    first."""
    course, n_steps = no_course(work), work.table.active.size
    rounds.run(settings, 0, NEVER, course, 1)
    times: list[float] = []
    at_once, ends = 1, time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < ends:
        began = time.perf_counter()
        ran, _ = rounds.run(settings, 0, NEVER, course, at_once)
        spent = time.perf_counter() - began
        times.append(spent / (ran * n_steps))
        # Many small rounds share a call, as in a fit; otherwise the overhead of the call would be timed.
        at_once = max(1, min(MOST_AT_ONCE, int(CALL_SECONDS * ran / spent)))
    return times
