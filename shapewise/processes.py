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
import json
import os
import secrets
import stat
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil

from shapewise.store.atomic_files import SPARE, use_spare, write_json

ABOUT: Final = "about.json"
LOG: Final = "log.txt"
PROGRESS: Final = "progress.json"
END: Final = "end.json"
FILES: Final = (ABOUT, PROGRESS, END, SPARE)
MOST_READ: Final = 2**20
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
            report(self._folder, share=round(min(share, 1.0), 4), words=words)


def report(folder: Path, **progress: Any) -> None:
    """Write how far the work is. Where it cannot be written, the work goes on: a report is not worth ending it."""
    making = folder / f".{PROGRESS}.tmp"
    with contextlib.suppress(OSError):
        making.write_text(json.dumps(progress), encoding="utf-8")
        making.replace(folder / PROGRESS)


def read_progress(folder: Path) -> dict[str, Any]:
    """Return what the child last reported; nothing before its first report. ValueError where it is no report."""
    with contextlib.suppress(FileNotFoundError):
        return _read(folder / PROGRESS)
    return {}


def _read(path: Path) -> dict[str, Any]:
    """Read what a child wrote, which may have been led astray by a file: no link, no pipe, and not much of it."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        file = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ValueError(f"{path.name} is no file") from error
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise ValueError(f"{path.name} is no file")
        text = opened.read(MOST_READ + 1)
    content = json.loads(text) if len(text) <= MOST_READ else None
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} is no object")
    return content


def write_end(folder: Path, end: dict[str, Any]) -> None:
    """Write how the work ended, in the place that was kept for it: a full disk is no reason not to say so."""
    use_spare(folder)
    write_json(folder / END, end)


def read_end(folder: Path) -> dict[str, Any] | None:
    """Return how the work ended; None while it goes on, or where the child died before it could say."""
    with contextlib.suppress(FileNotFoundError):
        return _read(folder / END)
    return None


def tail(folder: Path, size: int = 2000) -> str:
    """Return the last of what a child printed."""
    path = folder / LOG
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4 * size))
        return file.read(4 * size).decode("utf-8", "replace")[-size:].strip()


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
