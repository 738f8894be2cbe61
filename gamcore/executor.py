"""Who does independent pieces of work: this thread, or several.

Kernels release the interpreter lock, so threads suffice. Results come back in the order of the items, and each piece of
work writes to places of its own, so a model does not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
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
    """A pool of threads; an exception in one piece of work is raised to the caller."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._pool = ThreadPoolExecutor(n_workers, thread_name_prefix="gamcore")

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Results in the order of the items."""
        return list(self._pool.map(function, items))

    def close(self) -> None:
        """End the threads; work not yet begun is dropped."""
        self._pool.shutdown(cancel_futures=True)


def make_executor(n_workers: int) -> Executor:
    """Serial for one worker, threads for more."""
    return Threads(n_workers) if n_workers > 1 else Serial()
