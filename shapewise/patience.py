"""How long a page computes for a person: until they leave, and what they have written for ten seconds at most.

What may take long calls `look` between its steps. Nothing is stopped within a step, so that no lock stays held and
nothing is half written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from gamcore.numbers import count
from shapewise.errors import StoreError

SECONDS: Final = 10.0
"""Processor time of the page's thread: other people's work does not use it up."""


class TooLongError(StoreError):
    """What a person asked for was ended, since it took too long."""


def _stay() -> None:
    """Go on: outside a page, nobody can leave."""


_check_left: Callable[[], None] = _stay
_end: ContextVar[float] = ContextVar("end", default=float("inf"))


def ask(check_left: Callable[[], None]) -> None:
    """From now on, call this at every look; it raises if the person whose page computes has left."""
    global _check_left
    _check_left = check_left


@contextmanager
def at_most(seconds: float = SECONDS) -> Iterator[None]:
    """Let looks inside the block raise TooLongError after some seconds of this thread's processor time."""
    before = _end.set(min(_end.get(), time.thread_time() + seconds))
    try:
        yield
    finally:
        _end.reset(before)


def look() -> None:
    """Raise if nobody waits any longer, or if it took too long."""
    _check_left()
    if time.thread_time() > _end.get():
        raise TooLongError(
            f"This takes more than {count(SECONDS)} seconds to compute, so it was ended: use fewer steps and fewer "
            "comparisons of texts, or compute the column in the source."
        )
