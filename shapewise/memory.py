"""Return unused memory of this process to the system."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

TRIM_THRESHOLD: Final = -1  # mallopt parameters from malloc.h
MMAP_THRESHOLD: Final = -3
ARENA_MAX: Final = -8
KEPT_BYTES: Final = 2**17
ARENAS: Final = 2


def _library() -> Any:
    """Return the C library on Linux; None elsewhere."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            _ = library.mallopt, library.malloc_trim
            return library
    return None


def few_arenas() -> None:
    """Let threads share malloc arenas: on Linux each thread has its own, which keeps the memory that it freed."""
    library = _library()
    if library is not None:
        library.mallopt(ARENA_MAX, ARENAS)


def give_back() -> None:
    """Return currently unused memory to the system."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)
    pa.default_memory_pool().release_unused()


def give_back_early() -> None:
    """Return unused memory to the system now, and from now on every larger array as soon as it is freed.

    By default, the C library of Linux adapts to large short-lived arrays and keeps freed blocks of up to 32 MiB: after
    a pass over a table it holds several times the memory in use. Elsewhere, only Arrow's unused memory is returned.
    """
    library = _library()
    if library is not None:
        library.mallopt(MMAP_THRESHOLD, KEPT_BYTES)
        library.mallopt(TRIM_THRESHOLD, KEPT_BYTES)
    give_back()


def no_pool() -> None:
    """Make Arrow allocate from the system from now on: a pool keeps a page while any block in it is in use."""
    pa.set_memory_pool(pa.system_memory_pool())


@contextlib.contextmanager
def plain_pool() -> Iterator[None]:
    """Make Arrow allocate from the system inside the block: its own pools keep freed memory."""
    before = pa.default_memory_pool()
    no_pool()
    try:
        yield
    finally:
        pa.set_memory_pool(before)
