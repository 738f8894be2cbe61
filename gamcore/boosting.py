"""The boosting loop: rounds until the validation loss stops falling, as a generator that reports its progress.

Cyclic boosting of shape functions after Lou et al. (KDD 2012; CIKM 2020, Algorithms 2 and 5): each step fits trees on
one feature to the gradients, one a bag, and adds their shrunken mean to that feature's curve. Greedy steps on the
features that gained most may follow each cyclic pass. The loop knows no user interface and no data frame.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from gamcore.executor import Executor, make_executor
from gamcore.groups import Split, bag_pool
from gamcore.kernels import SUM, histogram, step
from gamcore.kernels import rows as row_kernels
from gamcore.kernels.layout import LOGISTIC, Rows, Sets, Settings, Table, make_fit
from gamcore.losses import Loss
from gamcore.rounds import GroupedRounds, Rounds, RowLevelRounds, row_strategy

REFRESH = 50
"""Rounds after which row scores are made anew from the curves: float32 products drift by about 1e-3 in 400 rounds."""

WATCH_SECONDS = 0.1
"""Least time between two looks at the training loss, which costs a pass over the rows."""

THREADED_ROWS = 100_000
"""Rows from which a step is long enough (about 0.1 ms) to be worth sharing between threads."""


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
    tolerance: float = 1e-5
    min_node_weight: float = 5.0  # rows' weight that a node needs to be cut
    min_node_hessian: float = 1.0  # the same for LogitBoost, which weighs rows by p (1 - p): rare classes must pass
    max_delta: float = 10.0  # logistic only: the largest Newton step
    dtype: type = SUM


@dataclass(frozen=True)
class Progress:
    """Where a fit stands after a round. Losses are means a row; NaN where there is no such row, or not looked yet."""

    refit: int
    n_refits: int
    round: int
    max_rounds: int
    term: int
    train_loss: float
    valid_loss: float
    best_round: int
    seconds: float


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


def _rows_of(table: Table, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row numbers of some groups, ascending."""
    runs = [np.arange(table.starts[g], table.starts[g + 1]) for g in groups]
    return np.concatenate(runs) if runs else np.empty(0, np.int64)


class _State:
    """One refit while it is boosted: its rows, its curves and its losses."""

    def __init__(self, problem: Problem, split: Split, parameters: Parameters) -> None:
        self.problem, self.split, self.parameters = problem, split, parameters
        self.loss = problem.loss.code
        self.base_score, self.scale, self._response = self._start(_rows_of(problem.table, split.train))
        logistic = self.loss == LOGISTIC
        self.rows = Rows(
            score=np.empty(problem.y.size, parameters.dtype),
            target=problem.y.astype(np.uint8) if logistic else np.empty(0, np.uint8),
            weight=problem.weight.astype(parameters.dtype),
        )
        self.fit = make_fit(problem.table.codes.shape[0], self.loss, parameters.dtype)
        self.refresh()

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

    def refresh(self) -> None:
        """Make the row scores anew from the curves."""
        row_kernels.rescore(self.problem.table, self.rows, self._response, self.fit.curves, self.loss)
        self._nothing_pending()

    def _nothing_pending(self) -> None:
        self.fit.factor[:] = 1.0 if self.loss == LOGISTIC else 0.0

    def mean_loss(self, groups: NDArray[np.int64]) -> float:
        """Mean loss of the rows of `groups`, whose scores are up to date."""
        starts = self.problem.table.starts
        total = sum(row_kernels.total_loss(self.rows, starts[g], starts[g + 1], self.loss) for g in groups)
        weight = sum(self.problem.row_weight[starts[g] : starts[g + 1]].sum() for g in groups)
        return float(total / weight) * self.scale**2 if weight > 0 else float("nan")

    def valid_loss(self) -> float:
        """Bring the validation rows up to date, and their mean loss."""
        factor = np.empty_like(self.fit.factor)
        step.catch_up(self.problem.table, self.rows, self.split.valid, self.fit.moved, self.loss, factor)
        return self.mean_loss(self.split.valid)

    def train_loss(self) -> float:
        """Apply what is pending to the training rows, and their mean loss."""
        step.settle(self.problem.table, self.rows, self.split.train, self.fit, self.loss)
        self._nothing_pending()
        return self.mean_loss(self.split.train)

    def curves(self) -> NDArray[np.float64]:
        """The curves so far, on the scale of the target's link."""
        return self.fit.curves * self.scale

    def rounds(self, seed: int, executor: Executor | None) -> Rounds:
        """The way of making histograms that the parameters ask for."""
        problem, parameters = self.problem, self.parameters
        n_bags = 1 if parameters.ensemble != "bagging" and parameters.subsample >= 1.0 else parameters.n_bags
        settings = Settings(
            self.loss,
            parameters.mart,
            parameters.learning_rate,
            parameters.max_leaves,
            parameters.min_node_hessian
            if self.loss == LOGISTIC and not parameters.mart
            else parameters.min_node_weight,
            parameters.max_delta if self.loss == LOGISTIC else np.inf,
            n_bags,
        )
        if parameters.ensemble == "grouped":
            return GroupedRounds(problem.table, self.rows, self._sets(settings, seed), self.fit, settings, executor)
        train = _rows_of(problem.table, self.split.train)
        strategy = row_strategy(
            parameters.ensemble, parameters.histogram, train, problem.y.size, n_bags, parameters.subsample, seed
        )
        return RowLevelRounds(problem.table, self.rows, self.split.train, self.fit, settings, strategy)

    def _sets(self, settings: Settings, seed: int) -> Sets:
        table, train = self.problem.table, self.split.train
        needed = self.loss != LOGISTIC or settings.mart
        weight = np.zeros((table.codes.shape[0], train.size if needed else 0, self._width()), self.rows.score.dtype)
        if needed:
            histogram.weigh_groups(table, self.rows.weight, train, weight)
        member = bag_pool(train.size, self.parameters.subsample, settings.n_bags, seed)
        return Sets(train, member, weight)

    def _width(self) -> int:
        return int(self.fit.factor.size)


def boost(
    problem: Problem,
    split: Split,
    parameters: Parameters,
    seed: int,
    executor: Executor | None = None,
    watch: bool = False,
) -> Generator[Progress, bool | None, Refit]:
    """Boost one refit; yields after every round, and returns the curves of the best one. Send True to stop it.

    Without validation rows, all `max_rounds` are run and the last is kept. `watch` also looks at the training loss.
    Stops early when `early_stopping_rounds` have not lowered the validation loss by a share of `tolerance`.
    """
    state = _State(problem, split, parameters)
    rounds = state.rounds(seed, executor)
    n_greedy = ceil(parameters.greedy_ratio * problem.table.active.size)
    best = Refit(state.curves(), state.base_score, 0, state.mean_loss(split.valid))
    mark, mark_round = best.valid_loss, 0
    started = looked = time.monotonic()
    train_loss = float("nan")
    number = 0
    for number in range(1, parameters.max_rounds + 1 if problem.table.active.size else 0):
        rounds.run(n_greedy)
        now = time.monotonic()
        if watch and (now - looked > WATCH_SECONDS or number == 1):
            train_loss, looked = state.train_loss(), now
        if split.valid.size:
            valid_loss = state.valid_loss()
            if valid_loss < best.valid_loss:
                best = replace(best, curves=state.curves(), best_round=number, valid_loss=valid_loss)
            if valid_loss < mark - parameters.tolerance * abs(mark):
                mark, mark_round = valid_loss, number
        else:
            valid_loss = float("nan")
        term = int(state.fit.pending[0])
        told = Progress(
            0, 1, number, parameters.max_rounds, term, train_loss, valid_loss, best.best_round, now - started
        )
        if (yield told):
            break
        if split.valid.size and number - mark_round >= parameters.early_stopping_rounds:
            break
        if number % REFRESH == 0:
            state.refresh()
    if not split.valid.size:
        best = replace(best, curves=state.curves(), best_round=number)
    return best


Callback = Callable[[Progress], bool | None]


class _Relay:
    """Passes the progress of refits in several threads to one callback, one call at a time; remembers a stop."""

    def __init__(self, callback: Callback | None, n_refits: int) -> None:
        self._callback, self._n_refits = callback, n_refits
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self.stopped = False

    def tell(self, refit: int, progress: Progress) -> None:
        if self._callback is None:
            return
        with self._lock:
            seconds = time.monotonic() - self._started
            told = replace(progress, refit=refit, n_refits=self._n_refits, seconds=seconds)
            self.stopped = bool(self._callback(told)) or self.stopped


def boost_refits(
    problem: Problem,
    splits: list[Split],
    parameters: Parameters,
    seeds: list[int],
    n_jobs: int = 1,
    callback: Callback | None = None,
) -> list[Refit]:
    """Boost every refit, side by side first, and with threads inside a refit where workers are left and rows are many.

    `callback` gets every `Progress`, never two at a time; where it returns true, all refits stop at their best round so
    far. An exception it raises ends the fit.
    """
    relay = _Relay(callback, len(splits))
    side_by_side = min(n_jobs, len(splits))
    inside = n_jobs // side_by_side if problem.y.size >= THREADED_ROWS else 1
    within = make_executor(inside) if inside > 1 else None

    def one(number: int) -> Refit:
        loop = boost(problem, splits[number], parameters, seeds[number], within, callback is not None)
        stop = None
        while True:
            try:
                relay.tell(number, loop.send(stop))
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            except BaseException:
                relay.stopped = True  # the other refits end too, before the pool waits for them
                raise
            stop = relay.stopped or None

    outer = make_executor(side_by_side)
    try:
        return outer.map(one, range(len(splits)))
    finally:
        outer.close()
        if within is not None:
            within.close()
