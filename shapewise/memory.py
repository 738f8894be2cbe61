"""Memory of this process that it does not use any more, given back to the system."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

TRIM_THRESHOLD: Final = -1  # names of options in malloc.h
MMAP_THRESHOLD: Final = -3
ARENA_MAX: Final = -8
KEPT_BYTES: Final = 2**17
ARENAS: Final = 2


def _library() -> Any:
    """Return the C library, where it is Linux's."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            _ = library.mallopt, library.malloc_trim
            return library
    return None


def few_arenas() -> None:
    """Let threads share their memory: Linux gives each a place of its own, which keeps what the thread has freed."""
    library = _library()
    if library is not None:
        library.mallopt(ARENA_MAX, ARENAS)


def give_back() -> None:
    """Give back what is not in use now."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)
    pa.default_memory_pool().release_unused()


def give_back_early() -> None:
    """Give back what is not in use, and every larger array as soon as it is dropped, from now on.

    The C library of Linux learns from arrays that come and go to keep blocks of up to 32 MiB for the next ones: after a
    pass over a table it holds several times of what is in use. Elsewhere this does nothing.
    """
    library = _library()
    if library is not None:
        library.mallopt(MMAP_THRESHOLD, KEPT_BYTES)
        library.mallopt(TRIM_THRESHOLD, KEPT_BYTES)
    give_back()


def no_pool() -> None:
    """Let Arrow take its memory from the system from now on: a page of a pool stays while a block of it is kept."""
    pa.set_memory_pool(pa.system_memory_pool())


@contextlib.contextmanager
def plain_pool() -> Iterator[None]:
    """While open, Arrow takes its memory from the system: pools of its own keep what they have had."""
    before = pa.default_memory_pool()
    no_pool()
    try:
        yield
    finally:
        pa.set_memory_pool(before)
