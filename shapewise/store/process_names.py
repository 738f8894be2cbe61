"""Names of processes: a file that a process has left behind says whose it was, and whether its owner still lives."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

import psutil

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def process_name(pid: int) -> str:
    """Return a name that no other process of this machine ever has; psutil.Error if there is no process `pid`.

    The number of a process is given again to another, and the time at which it started, as the clock has it, moves
    whenever the clock is set. Linux counts that time from its own start, which has a name.
    """
    started = psutil.Process(pid).create_time()
    if not psutil.LINUX:
        return f"{pid}x{round(100 * started)}"
    return f"{pid}x{round(100 * (started - psutil.boot_time()))}x{_boot()}"


@cache
def _boot() -> str:
    """Return the name of the system's own start; "" where it tells none, as in some containers."""
    try:
        return BOOT_ID.read_text(encoding="ascii")[:8]
    except OSError:
        return ""


@cache
def _own_name(pid: int) -> str:
    return process_name(pid)


def own_name() -> str:
    """Return the name of this process."""
    return _own_name(os.getpid())  # a fork has the cache of its parent


def process_named(name: str) -> psutil.Process | None:
    """Return the process with this name; None if it has ended."""
    try:
        process = psutil.Process(int(name.partition("x")[0]))
        return process if process_name(process.pid) == name else None
    except (psutil.Error, ValueError):
        return None


def is_alive(name: str) -> bool:
    """Return whether the process with this name is alive."""
    return process_named(name) is not None
