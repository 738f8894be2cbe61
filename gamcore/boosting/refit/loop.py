"""The boosting loop: a generator that runs rounds until the validation loss stops falling, and reports progress.

Cyclic boosting of shape functions after Lou et al. (KDD 2012; CIKM 2020, Algorithms 2 and 5): each step fits trees on
one feature to the gradients, one per bag, and adds their shrunken mean to that feature's curve. Greedy steps on the
features with the largest gain may follow each cyclic pass. The loop knows no user interface and no data frame.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.refit.extrapolation import Extrapolation, Movable
from gamcore.boosting.refit.from_counts import TableState
from gamcore.boosting.refit.problem import LazyShare, Parameters, Problem
from gamcore.boosting.refit.rounds import Rounds
from gamcore.boosting.refit.state import Refit, RefitState, RoundStage
from gamcore.boosting.running.executor import Executor, Task, make_executor
from gamcore.boosting.running.progress import Callback, Loop, Progress, Relay
from gamcore.kernels.early_stopping import BEST, BEST_ROUND, MOST_AT_ONCE, Course
from gamcore.kernels.layout import Fit
from gamcore.kernels.losses import Form

REFRESH = 50
"""Rounds after which row scores are recomputed from the curves: float32 products drift by about 1e-3 in 400 rounds."""

CALL_SECONDS = 0.02
"""Target duration of a call of several rounds: threads seldom contend, and a stop soon takes effect."""

WATCH_SECONDS = 0.1
"""Least time between two measurements of the training loss; each costs a pass over the rows."""

THREADED_ROWS = 250_000
"""Rows from which a step is long enough (about 0.4 ms) to be worth sharing (docs/benchmarks/libraries.md)."""

CONVERGED: Final = 1e-3
"""What `REFRESH` rounds must take off the training loss, in units of what chance gives one parameter: 1 / n of it."""

Made = TypeVar("Made")


class Boostable(Movable, Protocol):
    """The state of a refit: of one score per row (`RefitState`), or of one per class (`ClassesState`)."""

    parameters: Parameters
    problem: Problem
    fit: Fit
    course: Course
    loss: Form
    loss_unit: float
    by_aic: bool

    @property
    def done(self) -> int:
        """Rounds so far."""
        ...

    def stages(self) -> list[RoundStage]:
        """Return the stages of a refit in order."""
        ...

    def rounds(self, executor: Executor | None) -> Rounds:
        """Return what runs rounds."""
        ...

    def rewind(self) -> None:
        """Go back to the best round."""
        ...

    def refresh(self) -> None:
        """Recompute the row scores from the curves."""
        ...

    def train_loss(self) -> float:
        """Return the mean loss of the training rows."""
        ...


def boost(state: Boostable, executor: Executor | None = None, watch: bool = False) -> Loop[None]:
    """Boost one refit in place; yield a `Progress` per round, in batches of a few rounds. Send True to stop it.

    Without validation rows the last round is kept: that of `max_rounds`, or the one at which the training loss has
    converged. A refit that is stopped keeps no round that was not reported. `watch` : also measure the training loss.
    """
    parameters = state.parameters
    rounds = state.rounds(executor)
    clock = _Clock(watch)
    last_round = parameters.max_rounds if state.problem.table.active.size else 0
    converged = _Convergence(state)
    stages = state.stages()
    for stage in stages:
        if float(state.course.losses[BEST]) > stage.below:
            continue
        if state.done:
            state.rewind()
        end, further = min(last_round, state.done + stage.most), Extrapolation(state)
        while state.done < end:
            before, known = state.done, _Known.of(state, with_curves=watch)
            most = min(clock.at_once, REFRESH - before % REFRESH, further.rounds_left(), end - before)
            clock.begin()
            settings = stage.settings._replace(loss=state.loss)  # which follows the rows
            ran, stalled = rounds.run(settings, stage.n_greedy, stage.rule, state.course, most)
            clock.took(ran)
            train_loss = clock.watched(state.train_loss, before == 0)
            for progress in _progress(
                state, before, known=known, ran=ran, train_loss=train_loss, seconds=clock.seconds
            ):
                if (yield progress):
                    known.take_back(state, progress.round)
                    return
            if stalled:
                break
            if state.done % REFRESH == 0:
                state.refresh()
                if stage is stages[-1] and converged():
                    break
            further()


@dataclass(frozen=True)
class _Known:
    """The best round before a batch of rounds, its validation loss, and its curves where they may be asked for."""

    best_round: int
    loss: float
    curves: NDArray[np.float64] | None

    @classmethod
    def of(cls, state: Boostable, with_curves: bool) -> _Known:
        """Return what is known now."""
        course = state.course
        return cls(
            int(course.counts[BEST_ROUND]),
            float(course.losses[BEST]),
            _best_curves(state).copy() if with_curves else None,
        )

    def take_back(self, state: Boostable, last: int) -> None:
        """Return to this round where the best one is after the last that was reported, as a batch is once it is run."""
        if self.curves is not None and state.course.counts[BEST_ROUND] > last:
            _best_curves(state)[:] = self.curves
            state.course.counts[BEST_ROUND], state.course.losses[BEST] = self.best_round, self.loss


def _best_curves(state: Boostable) -> NDArray[np.float64]:
    """Return the curves (p, V) of the best round so far: those of the last one where nothing judges rounds."""
    is_judged = state.by_aic or state.course.valid.size > 0
    return state.course.curves if is_judged else state.fit.curves


class _Convergence:
    """Tells whether rounds that no rows judge have come to an end, as those of straight lines do."""

    def __init__(self, state: Boostable) -> None:
        self._state, self._last = state, math.inf
        self._asked = not state.course.valid.size and not state.by_aic

    def __call__(self) -> bool:
        """Return whether the training loss has hardly changed since the last call."""
        if not self._asked:
            return False
        before, self._last = self._last, self._state.train_loss()
        least = CONVERGED * abs(self._last) / max(self._state.problem.n_rows, 1)
        return before - self._last < least


def _progress(
    state: Boostable, before: int, known: _Known, ran: int, train_loss: float, seconds: float
) -> Iterator[Progress]:
    """Yield the progress of the last call's rounds.

    before : rounds run before that call. known : the best of them.
    """
    term, most = int(state.fit.pending[0]), state.parameters.max_rounds
    best_round, lowest = known.best_round, known.loss
    for k in range(ran):
        number, loss = before + k + 1, float(state.course.history[k])
        if not loss >= lowest:  # also without validation, where it is NaN
            lowest, best_round = loss, number
        yield Progress(
            refit=0, n_refits=1, round=number, max_rounds=most, term=term,
            train_loss=train_loss if k == ran - 1 else math.nan, valid_loss=loss * state.loss_unit,
            best_round=best_round, seconds=seconds,
        )  # fmt: skip


class _Clock:
    """Measures how long rounds take, and decides when the training loss is due."""

    def __init__(self, watch: bool) -> None:
        self._started = self._began = self._last = self._looked = time.monotonic()
        self._watch = watch
        self.at_once = 1

    @property
    def seconds(self) -> float:
        return self._last - self._started

    def begin(self) -> None:
        """Note that a call begins."""
        self._began = time.monotonic()

    def took(self, ran: int) -> None:
        """Note that the call ran `ran` rounds, and set how many the next may run."""
        self._last = time.monotonic()
        self.at_once = max(1, min(MOST_AT_ONCE, int(CALL_SECONDS * ran / max(self._last - self._began, 1e-9))))

    def watched(self, look: Callable[[], float], due: bool) -> float:
        """Return the training loss if it is due, every WATCH_SECONDS or at once if `due`; else NaN."""
        if not self._watch or not (due or self._last - self._looked > WATCH_SECONDS):
            return math.nan
        self._looked = self._last
        return look()


@dataclass(frozen=True)
class RefitTask:
    """One refit of the main effects, as data that can be pickled."""

    share: LazyShare
    parameters: Parameters
    seed: int
    watch: bool = False

    def run(self, within: Executor | None) -> Loop[Refit]:
        """Boost the refit; see `boost`."""
        share = self.share.load()
        on_tables = share.problem.on_tables(self.parameters)
        state = (TableState if on_tables else RefitState)(share.problem, share.split, self.parameters, self.seed)
        yield from boost(state, within, self.watch)
        return state.best()


def run_all(
    tasks: Sequence[Task[Made]],
    n_rows: int,
    n_jobs: int = 1,
    callback: Callback | None = None,
    about: dict[str, Any] | None = None,
) -> list[Made]:
    """Run refits of about `n_rows` rows, and return their results in order.

    Refits run concurrently; if workers are left and rows are many, each refit uses several threads.

    `callback` gets every `Progress`, never two at a time; if it returns true, all refits stop and keep their best round
    so far. An exception in it ends the fit. `about` : fields of every `Progress`.
    """
    relay = Relay(callback, len(tasks), about or {})
    side_by_side = max(1, min(n_jobs, len(tasks)))
    executor = make_executor(side_by_side, n_jobs // side_by_side if n_rows >= THREADED_ROWS else 1)
    try:
        running = [executor.submit(task, partial(relay.tell, number)) for number, task in enumerate(tasks)]
        for refit in wait(running, return_when=FIRST_EXCEPTION).done:
            refit.result()  # re-raise the first exception at once
        return [refit.result() for refit in running]
    except BaseException:
        relay.stopped = True  # so that the other refits end before the executor closes
        raise
    finally:
        executor.close()
