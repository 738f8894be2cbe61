"""Watch a piece of work: the peak memory of this process and its children, and the load of other processes."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import psutil

EVERY = 0.02
"""Seconds between two looks."""

CHILDREN_EVERY = 0.5
"""Seconds between two looks for new children: finding them means reading all processes of the machine, which would take
a good share of a core if it were done at every look, and be timed with the work."""

MIB = 2.0**20


class Watch:
    """A context manager whose thread samples resident memory; where the system reports this process's peak, that is
    used too, since a short fit may end between two samples.

    mib : peak above the level just before; pages shared by several processes count once per process.
    others : cores that other processes used meanwhile, on average; more than a few hundredths spoil a timing.
    """

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._children: list[psutil.Process] = []
        self._listed = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._level = self._peak = self._workers = 0
        self._began = self._busy = self._own = self.others = 0.0

    @property
    def mib(self) -> float:
        """Peak memory above the starting level, in MiB."""
        return max(0, self._peak - self._level) / MIB

    def __enter__(self) -> Self:
        _give_back()
        self._level = self._peak = self._resident()
        self._workers = self._level - self._process.memory_info().rss
        _reset_peak()
        self._began, self._busy, self._own = time.monotonic(), _machine_seconds(), self._own_seconds()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()
        self._peak = max(self._peak, self._resident(), _own_peak() + self._workers)
        spent = _machine_seconds() - self._busy - (self._own_seconds() - self._own)
        self.others = max(0.0, spent / (time.monotonic() - self._began))

    def _look(self) -> None:
        while not self._done.wait(EVERY):
            self._peak = max(self._peak, self._resident())

    def _processes(self) -> Iterator[psutil.Process]:
        now = time.monotonic()
        if now - self._listed > CHILDREN_EVERY or not self._listed:
            self._children, self._listed = self._process.children(recursive=True), now
        yield self._process
        yield from self._children

    def _resident(self) -> int:
        total = 0
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended after it was listed
                total += process.memory_info().rss
        return total

    def _own_seconds(self) -> float:
        total = 0.0
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                spent = process.cpu_times()
                total += spent.user + spent.system
        return total


def _machine_seconds() -> float:
    """Return the CPU seconds spent in processes, over all cores."""
    spent = psutil.cpu_times()
    return float(spent.user + spent.system + getattr(spent, "nice", 0.0))


def _give_back() -> None:
    """Return freed memory to the system: memory kept by the allocator would be reused without being counted."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):  # a C library other than glibc
        ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _own_peak() -> int:
    """Return the peak resident bytes of this process since the reset; 0 if the system does not report them."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
