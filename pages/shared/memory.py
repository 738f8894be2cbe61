"""Memory of a server that many use: what reruns have freed goes back to the system."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
import time
from typing import Any, Final

ARENAS: Final = 2
M_ARENA_MAX: Final = -8  # of mallopt(3), glibc
TRIM_SECONDS: Final = 20.0


def _libc() -> Any:
    """The C library, where it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    with contextlib.suppress(OSError, AttributeError):
        found = ctypes.CDLL("libc.so.6")
        _ = found.malloc_trim, found.mallopt
        return found
    return None


def settle() -> None:
    """Once a server: look no more at the libraries' objects, and give freed memory back from time to time.

    Each rerun is a thread of its own, and glibc gives threads arenas of their own, which keep what was freed.
    """
    gc.collect()
    gc.freeze()
    libc = _libc()
    if libc is not None:
        libc.mallopt(M_ARENA_MAX, ARENAS)
        threading.Thread(target=_trim, args=(libc,), daemon=True, name="trim").start()


def _trim(libc: Any) -> None:
    while True:
        time.sleep(TRIM_SECONDS)
        libc.malloc_trim(0)
