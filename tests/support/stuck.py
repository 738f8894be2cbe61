"""Whether a process that one waits for is stuck, however busy the machine is."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Final

import psutil

STANDS_STILL: Final = 120.0
"""Seconds after which a process that computes nothing at all is stuck, and so is one that never comes."""


class Watch:
    """The seconds of a processor that a process may take from now on, and that it has to take some."""

    def __init__(self, process: Callable[[], psutil.Process | None], seconds: float) -> None:
        self._process, self._seconds = process, seconds
        self._begun = self._spent = self._now() or 0.0
        self._since = time.monotonic()

    def _now(self) -> float | None:
        with contextlib.suppress(psutil.Error):
            process = self._process()
            if process is not None:
                times = process.cpu_times()
                return float(times.user + times.system)
        return None

    def is_over(self) -> bool:
        """Return whether the process has taken its seconds, or has stood still."""
        now = self._now()
        if now is not None and now != self._spent:
            self._spent, self._since = now, time.monotonic()
        return self._spent - self._begun > self._seconds or time.monotonic() - self._since > STANDS_STILL
