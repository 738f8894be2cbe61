"""Who does independent pieces of work: this thread, or several.

Kernels release the interpreter lock, so threads suffice. Results come back in the order of the items, and each piece of
work writes to places of its own, so a model does not depend on the number of workers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs a function over items."""

    @property
    def n_workers(self) -> int: ...
    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]: ...
    def close(self) -> None: ...


class Serial:
    """One after the other, in the calling thread."""

    n_workers = 1

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Results in the order of the items."""
        return [function(item) for item in items]

    def close(self) -> None:
        """Nothing to close."""


class Threads:
    """The calling thread and a pool that helps it; an exception in one piece of work is raised to the caller.

    Short pieces, such as a share of one step, would wait for a sleeping thread to wake: the caller takes its part.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._pool = ThreadPoolExecutor(max(1, n_workers - 1), thread_name_prefix="gamcore")

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Results in the order of the items."""
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

    def close(self) -> None:
        """End the threads; work not yet begun is dropped."""
        self._pool.shutdown(cancel_futures=True)


def make_executor(n_workers: int) -> Executor:
    """Serial for one worker, threads for more."""
    return Threads(n_workers) if n_workers > 1 else Serial()
