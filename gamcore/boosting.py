"""The boosting loop: rounds until the validation loss stops falling, as a generator that reports its progress.

Cyclic boosting of shape functions after Lou et al. (KDD 2012; CIKM 2020, Algorithms 2 and 5): each step fits trees on
one feature to the gradients, one a bag, and adds their shrunken mean to that feature's curve. Greedy steps on the
features that gained most may follow each cyclic pass. The loop knows no user interface and no data frame.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.executor import Executor, make_executor
from gamcore.groups import Split
from gamcore.kernels import SUM, step
from gamcore.kernels import rows as row_kernels
from gamcore.kernels.course import BEST, BEST_ROUND, MARK_ROUND, MOST_AT_ONCE, ROUND, Rule, make_course, validate
from gamcore.kernels.layout import LOGISTIC, Rows, Settings, Table, make_fit
from gamcore.losses import Loss
from gamcore.rounds import GroupedRounds, Rounds, RowLevelRounds, ThreadedRounds, make_sets, row_strategy, weigh_groups

REFRESH = 50
"""Rounds after which row scores are made anew from the curves: float32 products drift by about 1e-3 in 400 rounds."""

CALL_SECONDS = 0.02
"""Rounds of about so long are one call: long enough that threads seldom meet, short enough to be stopped at."""

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
    smoothing_rounds: int = 0  # rounds with one cut a bag, anywhere, before all others
    coarse_leaves: int = 0  # leaves of the first rounds' trees; no such rounds unless more than max_leaves
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

    @cached_property
    def group_weight(self) -> NDArray[np.float64]:
        """Row weights of each group a bin, (G, cells): counted once for all refits."""
        return weigh_groups(self.table, self.weight)


def _rows_of(table: Table, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row numbers of some groups, ascending."""
    runs = [np.arange(table.starts[g], table.starts[g + 1]) for g in groups]
    return np.concatenate(runs) if runs else np.empty(0, np.int64)


class _Stage(NamedTuple):
    """Rounds of one kind."""

    settings: Settings
    rule: Rule
    n_greedy: int
    most: int


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
        valid_weight = self._weight_of(split.valid)
        self.course = make_course(self.fit.curves.shape[0], split.valid, valid_weight, parameters.dtype)
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

    def _weight_of(self, groups: NDArray[np.int64]) -> float:
        return float(self.problem.row_weight[_rows_of(self.problem.table, groups)].sum())

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
        return float(total / self._weight_of(train)) * self.scale**2

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

    def tell(self, before: int, ran: int, train_loss: float, seconds: float) -> Iterator[Progress]:
        """The progress of the last call's rounds."""
        term, most = int(self.fit.pending[0]), self.parameters.max_rounds
        for k in range(ran):
            number = before + k + 1
            loss = float(self.course.history[k]) * self.scale**2
            best_round = min(number, int(self.course.counts[BEST_ROUND]))
            yield Progress(0, 1, number, most, term, train_loss, loss, best_round, seconds)

    def stages(self) -> list[_Stage]:
        """What kinds of rounds a refit is made of, in turn; each goes on from the best round of those before.

        Smoothing rounds, if asked for, cut anywhere: the mean of many such trees bends where a best cut would jump.
        Coarse rounds find most of every shape in a fraction of the steps; they end when the validation loss fails to
        fall for a single round. Fine rounds go on until `early_stopping_rounds` have not lowered it by a share of
        `tolerance` (a young refit is given fewer, see `course.Rule`).
        """
        parameters, fine, no_end = self.parameters, self.settings(), self.parameters.max_rounds
        n_greedy = ceil(parameters.greedy_ratio * self.problem.table.active.size)
        rule = Rule(parameters.early_stopping_rounds, parameters.tolerance)
        stages = [_Stage(fine, rule, n_greedy, no_end)]
        if self.split.valid.size and parameters.coarse_leaves > parameters.max_leaves:
            coarse = fine._replace(max_leaves=parameters.coarse_leaves)
            stages.insert(0, _Stage(coarse, Rule(1, parameters.tolerance), n_greedy, no_end))
        if parameters.smoothing_rounds:
            never = Rule(no_end, parameters.tolerance)
            stages.insert(0, _Stage(fine._replace(random=True), never, 0, parameters.smoothing_rounds))
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
        )

    def rounds(self, settings: Settings, seed: int, executor: Executor | None) -> Rounds:
        """The way of making histograms that the parameters ask for."""
        problem, parameters, fit = self.problem, self.parameters, self.fit
        table, train, n_bags = problem.table, self.split.train, settings.n_bags
        if parameters.ensemble == "grouped":
            weight = problem.group_weight if self.loss != LOGISTIC or parameters.mart else None
            sets = make_sets(table, train, weight, parameters.subsample, n_bags, seed, parameters.dtype)
            if executor is None:
                return GroupedRounds(table, self.rows, sets, fit, settings)
            return ThreadedRounds(table, self.rows, sets, fit, settings, executor)
        strategy = row_strategy(
            table,
            parameters.ensemble,
            parameters.histogram,
            _rows_of(table, train),
            n_bags,
            parameters.subsample,
            seed,
            self.loss,
            parameters.dtype,
        )
        return RowLevelRounds(table, self.rows, train, fit, settings, strategy)


def boost(
    problem: Problem,
    split: Split,
    parameters: Parameters,
    seed: int,
    executor: Executor | None = None,
    watch: bool = False,
) -> Generator[Progress, bool | None, Refit]:
    """Boost one refit; yields a `Progress` a round, a few rounds at a time, and returns the curves of the best one.
    Send True to stop it.

    Without validation rows, all `max_rounds` are run and the last is kept. `watch` also looks at the training loss.
    """
    state = _State(problem, split, parameters)
    rounds = state.rounds(state.settings(), seed, executor)
    clock = _Clock(watch)
    last_round = parameters.max_rounds if problem.table.active.size else 0
    for stage in state.stages():
        if state.done:
            state.rewind()
        end = min(last_round, state.done + stage.most)
        while state.done < end:
            before = state.done
            most = min(clock.at_once, REFRESH - before % REFRESH, end - before)
            ran, stalled = rounds.run(stage.settings, stage.n_greedy, stage.rule, state.course, most)
            clock.took(ran)
            train_loss = clock.watched(state.train_loss, before == 0)
            stop = False
            for told in state.tell(before, ran, train_loss, clock.seconds):
                stop = bool((yield told)) or stop
            if stop:
                return state.best()
            if stalled:
                break
            if state.done % REFRESH == 0:
                state.refresh()
    return state.best()


class _Clock:
    """How long rounds take, and when the training loss is due."""

    def __init__(self, watch: bool) -> None:
        self._started = self._last = self._looked = time.monotonic()
        self._watch, self._loss = watch, float("nan")
        self.at_once = 1

    @property
    def seconds(self) -> float:
        return self._last - self._started

    def took(self, ran: int) -> None:
        """Note a call of so many rounds, and how many the next may have."""
        now = time.monotonic()
        self.at_once = max(1, min(MOST_AT_ONCE, int(CALL_SECONDS * ran / max(now - self._last, 1e-9))))
        self._last = now

    def watched(self, look: Callable[[], float], due: bool) -> float:
        """The training loss, looked at anew every WATCH_SECONDS."""
        if self._watch and (due or self._last - self._looked > WATCH_SECONDS):
            self._loss, self._looked = look(), self._last
        return self._loss


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
    problem.group_weight  # noqa: B018  (made here, before several threads ask for it)
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
