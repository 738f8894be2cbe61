"""How long a page computes for a person: until they leave, and each of its computations for ten seconds at most.

What may take long calls `look` between its steps, and the library does at each of its pauses: between two columns,
rows or pieces of work. Nothing is stopped within a step, so that no lock stays held and nothing is half written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from gamcore.common import pauses
from gamcore.common.numbers import count
from shapewise.errors import StoreError

SECONDS: Final = 10.0
"""Processor time of the page's thread: other people's work does not use it up."""

SMALLER: Final = "load fewer rows or columns as a table of its own, or train with fewer features."
"""What to do where a table or a model is too large for a page."""


class TooLongError(StoreError):
    """What a person asked for was ended, since it took too long."""


@dataclass(frozen=True)
class _Limit:
    """When a computation ends, in seconds of its thread, and what is said then."""

    end: float = float("inf")
    words: str = ""


def _stay() -> None:
    """Go on: outside a page, nobody can leave."""


_check_left: Callable[[], None] = _stay
NEVER: Final = _Limit()
_limit: ContextVar[_Limit] = ContextVar("limit", default=NEVER)


def ask(check_left: Callable[[], None]) -> None:
    """From now on, call this at every look; it raises if the person whose page computes has left."""
    global _check_left
    _check_left = check_left


@contextmanager
def at_most(what: str = "This", instead: str = SMALLER, seconds: float = SECONDS) -> Iterator[None]:
    """Let looks inside the block raise TooLongError after some seconds of this thread's processor time.

    what : is computed. instead : what its reader can do.
    """
    why = f"{what} takes more than {count(seconds)} seconds to compute, so it was ended: {instead}"
    mine = _Limit(time.thread_time() + seconds, why)
    before = _limit.set(min(_limit.get(), mine, key=lambda limit: limit.end))
    try:
        yield
    finally:
        _limit.reset(before)


def look() -> None:
    """Raise if nobody waits any longer, or if it took too long."""
    _check_left()
    limit = _limit.get()
    if time.thread_time() > limit.end:
        raise TooLongError(limit.words)


pauses.call(look)
