"""One protocol for child processes. A child works on a folder, and whatever it and its server tell each other is there:

    about.json      what to do
    log.txt         what it printed
    progress.json   how far it is: share, and what comes next; written at most ten times per second
    spare           room for the last file
    end.json        how it ended: state, message, and what else the work has to say

A child ends with its server, and may be ended for the memory or the time it takes.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil

from shapewise.store.atomic_files import SPARE, read_json, use_spare, write_json

ABOUT: Final = "about.json"
LOG: Final = "log.txt"
PROGRESS: Final = "progress.json"
END: Final = "end.json"
FILES: Final = (ABOUT, LOG, PROGRESS, END, SPARE)
REPORT_SECONDS: Final = 0.1
LOOK_SECONDS: Final = 0.5


class Pace:
    """Says when the next report is due: at most ten per second."""

    def __init__(self) -> None:
        self._last = 0.0

    def due(self) -> bool:
        """Whether it is time; if so, the next is due later."""
        if time.monotonic() - self._last < REPORT_SECONDS:
            return False
        self._last = time.monotonic()
        return True


class Reporter:
    """Writes how far the work in a folder is; `check` may stop it by an exception."""

    def __init__(self, folder: Path, check: Callable[[], None] = lambda: None) -> None:
        self._folder, self._check, self._pace = folder, check, Pace()

    def __call__(self, share: float, words: str) -> None:
        self._check()
        if self._pace.due():
            write_json(self._folder / PROGRESS, {"share": round(min(share, 1.0), 4), "words": words})


def read_progress(folder: Path) -> dict[str, Any]:
    """Return what the child last reported; nothing before its first report."""
    with contextlib.suppress(FileNotFoundError):
        return dict(read_json(folder / PROGRESS))
    return {}


def write_end(folder: Path, end: dict[str, Any]) -> None:
    """Write how the work ended, in the place that was kept for it: a full disk is no reason not to say so."""
    use_spare(folder)
    write_json(folder / END, end)


def read_end(folder: Path) -> dict[str, Any] | None:
    """Return how the work ended; None while it goes on, or where the child died before it could say."""
    with contextlib.suppress(FileNotFoundError):
        return dict(read_json(folder / END))
    return None


def tail(folder: Path, size: int = 2000) -> str:
    """Return the last of what a child printed."""
    path = folder / LOG
    return path.read_text(encoding="utf-8", errors="replace")[-size:].strip() if path.is_file() else ""


def incident() -> str:
    """Print the exception that is being handled under a number, which is all that a person who waits is told."""
    number = secrets.token_hex(4)
    print(f"error {number}", file=sys.stderr)
    traceback.print_exc()
    return number


def resident(pid: int) -> int:
    """Return the bytes of memory that a process holds, those of mapped files among them; 0 once it has ended."""
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def is_orphan(server: int) -> bool:
    """Whether the server that began this process is gone."""
    return os.getppid() != server


def leave_with(server: int, last_word: Callable[[], None] = lambda: None) -> None:
    """End this process, from a thread of its own, once its server is gone; nobody would clear up after it."""

    def watch() -> None:
        while not is_orphan(server):
            time.sleep(LOOK_SECONDS)
        last_word()
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="leave").start()
