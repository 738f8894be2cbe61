"""The boosting loop: rounds until the validation loss stops falling, as a generator that reports its progress.

Cyclic boosting of shape functions after Lou et al. (KDD 2012; CIKM 2020, Algorithms 2 and 5): each step fits trees on
one feature to the gradients, one a bag, and adds their shrunken mean to that feature's curve. Greedy steps on the
features that gained most may follow each cyclic pass. The loop knows no user interface and no data frame.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from gamcore.boosting.executor import Executor, make_executor
from gamcore.boosting.refit import Parameters, Refit, RefitState, Shares
from gamcore.kernels.early_stopping import BEST, BEST_ROUND, MOST_AT_ONCE

REFRESH = 50
"""Rounds after which row scores are made anew from the curves: float32 products drift by about 1e-3 in 400 rounds."""

CALL_SECONDS = 0.02
"""Rounds of about so long are one call: long enough that threads seldom meet, short enough to be stopped at."""

WATCH_SECONDS = 0.1
"""Least time between two looks at the training loss, which costs a pass over the rows."""

THREADED_ROWS = 250_000
"""Rows from which a step is long enough (about 0.4 ms) to be worth sharing between threads (docs/benchmarks.md)."""


Stage = Literal[
    "reading the table", "main effects", "ranking", "pairs", "bands", "tuning", "common trees", "specific trees",
    "comparison",
]  # fmt: skip


@dataclass(frozen=True)
class Progress:
    """Where a fit stands after a round. Losses are means a row; NaN where there is no such row, or not looked yet.

    Rounds are told some at a time, when all of them are done: `term` is that of the last, and `train_loss`, looked at
    now and then, is told with it.
    """

    refit: int
    n_refits: int
    round: int
    max_rounds: int
    term: int
    train_loss: float
    valid_loss: float
    best_round: int
    seconds: float
    stage: Stage = "main effects"
    n_pairs: int = 0
    part: int = 0  # counts the fits and rankings that a training is made of
    quits: tuple[tuple[str, int], ...] = ()  # tasks that left the common trees in this round, and the round they keep

    @classmethod
    def of_reading(cls, done: int, of: int, seconds: float) -> Progress:
        """`round` thousands of rows of `max_rounds` are read."""
        thousand = 1000
        return cls(
            0, 1, done // thousand, max(of // thousand, 1), 0, math.nan, math.nan, 0, seconds, "reading the table"
        )

    @classmethod
    def of_ranking(cls, done: int, of: int, seconds: float, part: int) -> Progress:
        """`round` grids of pairs of `max_rounds` are ranked."""
        return cls(0, 1, done, of, 0, math.nan, math.nan, 0, seconds, "ranking", part=part)


def boost(
    state: RefitState, executor: Executor | None = None, watch: bool = False
) -> Generator[Progress, bool | None, None]:
    """Boost one refit, in place; yields a `Progress` a round, a few rounds at a time. Send True to stop it.

    Without validation rows, all `max_rounds` are run and the last is kept. `watch` also looks at the training loss.
    """
    parameters = state.parameters
    rounds = state.rounds(executor)
    clock = _Clock(watch)
    last_round = parameters.max_rounds if state.problem.table.active.size else 0
    for stage in state.stages():
        if state.done:
            state.rewind()
        end = min(last_round, state.done + stage.most)
        while state.done < end:
            before, known = state.done, (int(state.course.counts[BEST_ROUND]), float(state.course.losses[BEST]))
            most = min(clock.at_once, REFRESH - before % REFRESH, end - before)
            clock.begin()
            ran, stalled = rounds.run(stage.settings, stage.n_greedy, stage.rule, state.course, most)
            clock.took(ran)
            train_loss = clock.watched(state.train_loss, before == 0)
            stop = False
            for told in _tell(state, before, known, ran, train_loss, clock.seconds):
                stop = bool((yield told)) or stop
            if stop:
                return
            if stalled:
                break
            if state.done % REFRESH == 0:
                state.refresh()


def _tell(
    state: RefitState, before: int, known: tuple[int, float], ran: int, train_loss: float, seconds: float
) -> Iterator[Progress]:
    """The progress of the last call's rounds; `known` are the best round `before` them and its validation loss."""
    term, most = int(state.fit.pending[0]), state.parameters.max_rounds
    best_round, lowest = known
    for k in range(ran):
        number, loss = before + k + 1, float(state.course.history[k])
        if not loss >= lowest:  # also without validation, where it is NaN
            lowest, best_round = loss, number
        looked = train_loss if k == ran - 1 else math.nan
        yield Progress(0, 1, number, most, term, looked, loss * state.scale**2, best_round, seconds)


class _Clock:
    """How long rounds take, and when the training loss is due."""

    def __init__(self, watch: bool) -> None:
        self._started = self._began = self._last = self._looked = time.monotonic()
        self._watch = watch
        self.at_once = 1

    @property
    def seconds(self) -> float:
        return self._last - self._started

    def begin(self) -> None:
        """A call of some rounds begins."""
        self._began = time.monotonic()

    def took(self, ran: int) -> None:
        """It ran so many rounds; how many the next may have."""
        self._last = time.monotonic()
        self.at_once = max(1, min(MOST_AT_ONCE, int(CALL_SECONDS * ran / max(self._last - self._began, 1e-9))))

    def watched(self, look: Callable[[], float], due: bool) -> float:
        """The training loss, every WATCH_SECONDS; NaN in between."""
        if not self._watch or not (due or self._last - self._looked > WATCH_SECONDS):
            return math.nan
        self._looked = self._last
        return look()


Callback = Callable[[Progress], bool | None]


class Watcher:
    """Passes the progress of all parts of a training to a callback, and remembers a stop: nothing begins after it."""

    def __init__(self, callback: Callback | None = None) -> None:
        self._callback, self.stopped, self._parts = callback, False, 0
        self.callback = self._tell if callback else None

    def next_part(self) -> int:
        """The number of the part that begins."""
        self._parts += 1
        return self._parts - 1

    def _tell(self, progress: Progress) -> bool:
        self.stopped = bool(self._callback and self._callback(progress)) or self.stopped
        return self.stopped


State = TypeVar("State", bound=RefitState)
Made = TypeVar("Made")


class _Relay:
    """Passes the progress of refits in several threads to one callback, one call at a time; remembers a stop."""

    def __init__(self, callback: Callback | None, n_refits: int, about: dict[str, Any]) -> None:
        self._callback = callback
        self._about = {"n_refits": n_refits, **about}
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self.stopped = False

    def tell(self, refit: int, progress: Progress) -> None:
        if self._callback is None:
            return
        with self._lock:
            seconds = time.monotonic() - self._started
            told = replace(progress, refit=refit, seconds=seconds, **self._about)
            self.stopped = bool(self._callback(told)) or self.stopped


def boost_shares(
    shares: Shares,
    n_rows: int,
    parameters: Parameters,
    seeds: list[int],
    n_jobs: int = 1,
    callback: Callback | None = None,
) -> list[Refit]:
    """Boost every refit of the main effects, each on its share of about `n_rows` rows, asked for when it begins;
    `n_jobs` and `callback` as in `run_all`."""
    counting = threading.Lock()

    def make(number: int) -> RefitState:
        share = shares(number)
        if parameters.ensemble == "grouped" and share.problem.needs_weight(parameters):
            with counting:  # once, where several refits have the same rows
                share.problem.group_weight  # noqa: B018
        return RefitState(share.problem, share.split, parameters, seeds[number])

    loop = loop_of(make, RefitState.best, callback is not None)
    return run_all(loop, len(seeds), n_rows, n_jobs, callback)


Loop = Generator[Progress, bool | None, Made]
Loops = Callable[[int, Executor | None], Loop[Made]]


def loop_of(make: Callable[[int], State], finish: Callable[[State], Made], watch: bool) -> Loops[Made]:
    """The loop of each refit: make it, boost it, finish it; `watch` as in `boost`."""

    def loop(number: int, within: Executor | None) -> Loop[Made]:
        state = make(number)
        yield from boost(state, within, watch)
        return finish(state)

    return loop


def run_all(
    loop: Loops[Made],
    n_refits: int,
    n_rows: int,
    n_jobs: int = 1,
    callback: Callback | None = None,
    about: dict[str, Any] | None = None,
) -> list[Made]:
    """Run the loops of all refits, side by side first, and with threads inside a refit where workers are left and rows
    are many; what they return.

    `callback` gets every `Progress`, never two at a time; where it returns true, all refits stop at their best round so
    far. An exception it raises ends the fit. `about` are fields of every `Progress`.
    """
    relay = _Relay(callback, n_refits, about or {})
    side_by_side = min(n_jobs, n_refits)
    inside = n_jobs // side_by_side if n_rows >= THREADED_ROWS else 1

    def one(number: int) -> Made:
        if inside == 1:
            return finished(number, None)
        within = make_executor(inside)  # of its own: refits side by side must not wait for each other's helpers
        try:
            return finished(number, within)
        finally:
            within.close()

    def finished(number: int, within: Executor | None) -> Made:
        running = loop(number, within)
        stop = None
        while True:
            try:
                relay.tell(number, running.send(stop))
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            except BaseException:
                relay.stopped = True  # the other refits end too, before the pool waits for them
                raise
            stop = relay.stopped or None

    outer = make_executor(side_by_side)
    try:
        return outer.map(one, range(n_refits))
    finally:
        outer.close()
