"""Who does independent pieces of work: this thread, or several.

Kernels release the interpreter lock, so threads suffice. Results come back in the order of the items, and each piece of
work writes to places of its own, so a model does not depend on the number of workers.

A refit is submitted as a task: plain data that can be pickled where its rows are in memory. So an executor of other
processes, or of other machines, needs no more than to answer to `Executor`, and a way to carry what `tell` is told. A
share of rows on disk (`rows_on_disk`) stays in the process that opened its files.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

from gamcore.boosting.progress import Loop, Progress

Item = TypeVar("Item")
Result = TypeVar("Result")
Made = TypeVar("Made")
Made_co = TypeVar("Made_co", covariant=True)

Tell = Callable[[Progress], bool]
"""Is told every `Progress` of a task; it answers whether the task is to stop at its best round so far."""


class Task(Protocol[Made_co]):
    """A refit as data: what it learns from, its parameters, its seed."""

    def run(self, within: Executor | None) -> Loop[Made_co]:
        """Return the refit as it is boosted; `within` shares the work of its steps."""
        ...


class Executor(Protocol):
    """Runs functions over items, and refits."""

    @property
    def n_workers(self) -> int: ...

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the results in the order of the items."""
        ...

    def submit(self, task: Task[Made], tell: Tell) -> Future[Made]:
        """Begin a refit, or queue it."""
        ...

    def close(self) -> None:
        """End the workers; work not yet begun is dropped."""
        ...


class Serial:
    """One after the other, in the calling thread; inside a refit, `inside` threads."""

    n_workers = 1

    def __init__(self, inside: int = 1) -> None:
        self._inside = inside

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the results in the order of the items."""
        return [function(item) for item in items]

    def submit(self, task: Task[Made], tell: Tell) -> Future[Made]:
        """Run a refit to its end; what it raises is raised here."""
        done: Future[Made] = Future()
        done.set_result(run_task(task, tell, self._inside))
        return done

    def close(self) -> None:
        """Nothing to close."""


class Threads:
    """The calling thread and a pool that helps it; an exception in one piece of work is raised to the caller.

    Short pieces, such as a share of one step, would wait for a sleeping thread to wake: in `map` the caller takes its
    part.
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
                    done[place] = function(todo[place])
                except BaseException:
                    for _ in todo:  # what has not begun is dropped
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
        """End the threads; work not yet begun is dropped."""
        self._pool.shutdown(cancel_futures=True)


def make_executor(n_workers: int, inside: int = 1) -> Executor:
    """Serial for one worker, threads for more; each refit gets `inside` threads of its own, since refits side by side
    must not wait for each other's helpers."""
    return Threads(n_workers, inside) if n_workers > 1 else Serial(inside)


def run_task(task: Task[Made], tell: Tell, n_threads: int = 1) -> Made:
    """Run a refit to its end, or until `tell` stops it."""
    within = make_executor(n_threads) if n_threads > 1 else None
    try:
        running, stop = task.run(within), None
        while True:
            try:
                stop = tell(running.send(stop)) or None
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
    finally:
        if within is not None:
            within.close()
