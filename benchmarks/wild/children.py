"""Tables met one after the other in a child process, which is ended where a table takes too long."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.harness.cells import keep
from benchmarks.wild.tables import Stranger

LIMIT: Final = 90.0
"""Processor seconds that a table may take: what others do on the machine does not count."""

START: Final = 60.0
"""Further seconds for the first table of a child, which imports and compiles."""

LONGEST: Final = 20.0
"""Times the limit that a table may take by the clock."""

LOOK: Final = 0.5
"""Seconds between two looks at a child."""


class Child:
    """A process that meets tables, as long as it lives."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def meet(self, table: Stranger, path: Path, limit: float) -> str:
        """Let the child meet a table and keep its cell; return "" or what went wrong with the process."""
        started = self._process is None
        process = self._process or self._begin()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"package": table.package, "item": table.item, "path": str(path)}) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._ended()
        if not _answers(process, limit + START * started):
            self.end()
            return "late"
        return "" if process.stdout.readline() else self._ended()

    def _begin(self) -> subprocess.Popen[str]:
        program = [sys.executable, "-m", "benchmarks.wild.one_table"]
        self._process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self._process

    def _ended(self) -> str:
        self.end()
        return "died"

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = None


def _answers(process: subprocess.Popen[str], limit: float) -> bool:
    """Wait until a child answers or ends; return whether it did so within its processor seconds."""
    began, first = time.monotonic(), _used(process.pid)
    while not select.select([process.stdout], [], [], min(LOOK, limit))[0]:
        if _used(process.pid) - first >= limit or time.monotonic() - began >= LONGEST * limit:
            return False
    return True


def _used(pid: int) -> float:
    """Return the processor seconds of a process; 0 once it has ended."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def meet_all(
    tables: Sequence[Stranger], folder: Path, limit: float, tell: Callable[[Stranger, float], Any], seconds: float
) -> None:
    """Meet tables and keep a cell for each; those that have one are left as they are.

    limit : processor seconds for each. tell : called with each table and its seconds. seconds : after which no further
    table is begun.
    """
    child, first = Child(), time.monotonic()
    try:
        for table in tables:
            path = path_of(table, folder)
            if path.exists():
                continue
            if time.monotonic() - first > seconds:
                return
            started = time.monotonic()
            wrong = child.meet(table, path, limit)
            if wrong:
                fault = {"kind": wrong, "column": "", "said": f"over {limit:.0f} processor seconds", "right": ""}
                keep(path, {"table": table.name, "faults": [fault], "refused": {}, "seconds": {}, "about": {}})
            tell(table, time.monotonic() - started)
    finally:
        child.end()


def path_of(table: Stranger, folder: Path) -> Path:
    """Return the file of a table's cell."""
    return folder / f"{table.package}--{table.item.replace('/', '-')}.json"
