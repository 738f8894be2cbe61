"""Executors of independent work: in the calling thread, or in several threads.

Kernels release the interpreter lock, so threads suffice. Results come back in the order of the items, and each piece of
work writes to its own memory, so a model does not depend on the number of workers.

A refit is submitted as a task: plain data that can be pickled if its rows are in memory. An executor for other
processes or machines only has to implement `Executor` and pass each `Progress` back to `tell`. A share of rows on disk
(`rows/on_disk`) stays in the process that opened its files.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

from gamcore.boosting.running.progress import Loop, Progress
from gamcore.common.pauses import pause

Item = TypeVar("Item")
Result = TypeVar("Result")
Made = TypeVar("Made")
Made_co = TypeVar("Made_co", covariant=True)

Tell = Callable[[Progress], bool]
"""Receives each `Progress` of a task; returns whether the task should stop and keep its best round so far."""


class Task(Protocol[Made_co]):
    """A refit as data: what it learns from, its parameters, its seed."""

    def run(self, within: Executor | None) -> Loop[Made_co]:
        """Boost the refit as a generator; `within` shares the work of its steps."""
        ...


class Executor(Protocol):
    """Runs functions over items, and refits."""

    @property
    def n_workers(self) -> int: ...

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the results in the order of the items."""
        ...

    def submit(self, task: Task[Made], tell: Tell) -> Future[Made]:
        """Start a refit, or queue it."""
        ...

    def close(self) -> None:
        """Stop the workers; drop work not yet begun."""
        ...


class Serial:
    """Runs work sequentially in the calling thread; each refit uses `inside` threads."""

    n_workers = 1

    def __init__(self, inside: int = 1) -> None:
        self._inside = inside

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the results in the order of the items."""
        return [_apart(function, item) for item in items]

    def submit(self, task: Task[Made], tell: Tell) -> Future[Made]:
        """Run a refit to its end; what it raises is raised here."""
        done: Future[Made] = Future()
        done.set_result(run_task(task, tell, self._inside))
        return done

    def close(self) -> None:
        """Do nothing: there are no workers."""


class Threads:
    """The calling thread and a pool that helps it; an exception in any piece of work is raised in the caller.

    In `map` the caller works too: short pieces, such as a share of one step, would otherwise wait for a thread to wake.
    """

    def __init__(self, n_workers: int, inside: int = 1) -> None:
        self.n_workers, self._inside = n_workers, inside
        self._pool = ThreadPoolExecutor(n_workers, thread_name_prefix="gamcore")

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the results in the order of the items."""
        todo = list(items)
        done: dict[int, Result] = {}
        turn = itertools.count()

        def work() -> None:
            while (place := next(turn)) < len(todo):
                try:
                    done[place] = _apart(function, todo[place])
                except BaseException:
                    for _ in todo:  # drop what has not begun
                        next(turn)
                    raise

        helpers = [self._pool.submit(work) for _ in range(min(self.n_workers, len(todo)) - 1)]
        try:
            work()
        finally:
            wait(helpers)
        for helper in helpers:
            helper.result()
        return [done[place] for place in range(len(todo))]

    def submit(self, task: Task[Made], tell: Tell) -> Future[Made]:
        """Run a refit in a thread of the pool."""
        return self._pool.submit(run_task, task, tell, self._inside)

    def close(self) -> None:
        """Stop the threads; drop work not yet begun."""
        self._pool.shutdown(cancel_futures=True)


def _apart(function: Callable[[Item], Result], item: Item) -> Result:
    """Do one piece of work, before which all may end."""
    pause()
    return function(item)


def make_executor(n_workers: int, inside: int = 1) -> Executor:
    """Return a Serial executor for one worker, Threads for more.

    Each refit gets `inside` threads of its own: concurrent refits must not wait for each other's helpers.
    """
    return Threads(n_workers, inside) if n_workers > 1 else Serial(inside)


def run_task(task: Task[Made], tell: Tell, n_threads: int = 1) -> Made:
    """Run a refit to its end, or until `tell` stops it."""
    within = make_executor(n_threads) if n_threads > 1 else None
    try:
        running, stop = task.run(within), None
        while True:
            try:
                pause()
                stop = tell(running.send(stop)) or None
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
    finally:
        if within is not None:
            within.close()
