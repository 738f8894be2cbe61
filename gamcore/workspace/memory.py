"""Memory of this process that it does not use any more, given back to the system."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

TRIM_THRESHOLD: Final = -1  # names of options in malloc.h
MMAP_THRESHOLD: Final = -3
KEPT_BYTES: Final = 2**17


def give_back_early() -> None:
    """Give back what is not in use, and every larger array as soon as it is dropped, from now on.

    The C library of Linux learns from arrays that come and go to keep blocks of up to 32 MiB for the next ones: after a
    pass over a table it holds several times of what is in use. Elsewhere this does nothing.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            library.mallopt(MMAP_THRESHOLD, KEPT_BYTES)
            library.mallopt(TRIM_THRESHOLD, KEPT_BYTES)
            library.malloc_trim(0)
    pa.default_memory_pool().release_unused()


@contextlib.contextmanager
def plain_pool() -> Iterator[None]:
    """While open, Arrow takes its memory from the system: pools of its own keep what they have had."""
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)
