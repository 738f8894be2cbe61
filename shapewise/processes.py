"""The protocol for child processes. A child works on a folder, through which it and its server communicate:

    about.json      what to do
    log.txt         what it printed
    progress.json   share done and current step; written at most ten times per second
    spare           disk space reserved for end.json
    end.json        how it ended: state, message, and any other results of the work

A child ends with its server, and may be killed for using too much memory or time.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import psutil

from shapewise.errors import room
from shapewise.store.atomic_files import SPARE, use_spare, write_json

ABOUT: Final = "about.json"
LOG: Final = "log.txt"
PROGRESS: Final = "progress.json"
END: Final = "end.json"
FILES: Final = (ABOUT, PROGRESS, END, SPARE)
MOST_READ: Final = 2**20
REPORT_SECONDS: Final = 0.1
LOOK_SECONDS: Final = 0.5
WATCH_SECONDS: Final = 0.02

PASSED: Final = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH", "VIRTUAL_ENV",
                 "PYTHONPATH")  # fmt: skip

READER: Final = "import sys; sys.path.insert(0, sys.argv[1]); from {} import main; main(sys.argv[2])"
"""The program of a reader; the package's own __init__ loads the kernels, which no reader needs: a second, 150 MB."""


def launch(
    folder: Path, arguments: Sequence[str], environment: dict[str, str], stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start our interpreter on the work of a folder, whose log gets all that it prints.

    It has a session of its own, so that Ctrl-C at the server does not reach it before the server is gone."""
    with (folder / LOG).open("wb") as log:
        return subprocess.Popen(  # noqa: S603 (our own interpreter and program)
            [sys.executable, *arguments], stdin=stdin, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            env=environment,
        )  # fmt: skip


def launch_reader(folder: Path, program: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start a program that reads what may be hostile: its environment has no secrets, no database addresses."""
    known = {name: text for name, text in os.environ.items() if name in PASSED or name.startswith("LC_")}
    bare = known | {"ARROW_DEFAULT_MEMORY_POOL": "system"}  # other memory pools do not return freed memory
    # -P: do not import from the folder in which the server was started.
    return launch(folder, ["-P", "-c", program, str(Path(__file__).parents[1]), str(folder.resolve())], bare, stdin)


def outcome(work: Callable[[], dict[str, Any]], refused: tuple[type[Exception], ...], too_large: str) -> dict[str, Any]:
    """Do a child's work and return how it ended, for end.json; any other error is raised.

    work : returns further entries. refused : errors whose message is meant for the user. too_large : what is said where
    memory ends."""
    try:
        with room():
            return {"state": "done"} | work()
    except refused as error:
        return {"state": "failed", "message": str(error)}
    except MemoryError:
        return {"state": "failed", "message": too_large}


class Pace:
    """Limits reports to ten per second."""

    def __init__(self) -> None:
        self._last = 0.0

    def due(self) -> bool:
        """Return whether a report is due; if so, the interval to the next one starts."""
        if time.monotonic() - self._last < REPORT_SECONDS:
            return False
        self._last = time.monotonic()
        return True


class Reporter:
    """Writes the progress of the work in a folder; `check` may stop the work by raising an exception.

    always : what each report says besides: whoever looks may miss the first."""

    def __init__(self, folder: Path, check: Callable[[], None] = lambda: None, **always: Any) -> None:
        self._folder, self._check, self._always, self._pace = folder, check, always, Pace()

    def __call__(self, share: float, words: str) -> None:
        self._check()
        if self._pace.due():
            report(self._folder, share=round(min(share, 1.0), 4), words=words, **self._always)


def report(folder: Path, **progress: Any) -> None:
    """Write the progress of the work. If writing fails, the work goes on: a report is not worth stopping it."""
    making = folder / f".{PROGRESS}.tmp"
    with contextlib.suppress(OSError):
        making.write_text(json.dumps(progress), encoding="utf-8")
        making.replace(folder / PROGRESS)


def read_progress(folder: Path) -> dict[str, Any]:
    """Return the child's last report, {} before the first; ValueError if the file is not a report."""
    with contextlib.suppress(FileNotFoundError):
        return _read(folder / PROGRESS)
    return {}


def _read(path: Path) -> dict[str, Any]:
    """Read a JSON object that a child wrote; refuse links, pipes and large files: input may have hijacked the child."""
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
    """Write how the work ended, in the space reserved for it, so that a full disk does not prevent it."""
    use_spare(folder)
    write_json(folder / END, end)


def read_end(folder: Path) -> dict[str, Any] | None:
    """Return how the work ended; None while it is running, or if the child died without writing it."""
    with contextlib.suppress(FileNotFoundError):
        return _read(folder / END)
    return None


def tail(folder: Path, size: int = 2000) -> str:
    """Return the last `size` characters that a child printed."""
    path = folder / LOG
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4 * size))
        return file.read(4 * size).decode("utf-8", "replace")[-size:].strip()


def incident() -> str:
    """Print the exception being handled under a random number; return the number, which is all the user sees of it."""
    number = secrets.token_hex(4)
    print(f"error {number}", file=sys.stderr)
    traceback.print_exc()
    return number


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes, mapped files included; 0 once it has ended."""
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def see_out(process: subprocess.Popen[bytes], memory: int, seconds: float) -> Literal["", "memory", "time"]:
    """Wait until a process ends, and end it if it takes more memory (bytes, resident) or time; return which it was. It
    does not outlive this call."""
    until = time.monotonic() + seconds
    try:
        while process.poll() is None:
            if resident(process.pid) > memory:
                return "memory"
            if time.monotonic() > until:
                return "time"
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(WATCH_SECONDS)
        return ""
    finally:
        process.kill()
        process.wait()


def worked(pid: int) -> float:
    """Return the seconds that a process has computed on any core; 0 once it has ended."""
    try:
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    except psutil.Error:
        return 0.0


def is_orphan(server: int) -> bool:
    """Return whether the server that started this process is gone."""
    return os.getppid() != server


def leave_with(server: int, last_word: Callable[[], None] = lambda: None) -> None:
    """End this process once its server is gone, as nobody would clean up after it; a background thread watches."""

    def watch() -> None:
        while not is_orphan(server):
            time.sleep(LOOK_SECONDS)
        last_word()
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="leave").start()
