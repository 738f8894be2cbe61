"""Child processes that work on a folder of the workspace, so that the work outlives the page that started it.

They add two files to the protocol of `shapewise.processes`: process.json (which process works on the folder) and cancel
(a request to stop).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import psutil

from shapewise import processes
from shapewise.access.quotas import Limits
from shapewise.store.atomic_files import keep_spare, read_json, write_json
from shapewise.store.process_names import process_name, process_named

State = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]

START_SECONDS: Final = 30.0
GRACE_SECONDS: Final = 5.0
"""Seconds that a worker has to react to a request to stop, and then to a signal."""

LAST_WORD: Final = 2**14
NICE: Final = 5
"""Niceness of workers: they yield to the server, as people wait for pages, not for training."""

PROGRAM: Final = (
    "import gc, sys; gc.disable(); from pathlib import Path; from {} import main; gc.freeze(); gc.enable(); "
    "sys.exit(main(Path(sys.argv[1])))"
)
"""What a worker runs. What it imports stays: to look for garbage among that takes a quarter of the time of a start."""

SERVER: Final = "GAMCORE_SERVER"
POOLS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_IO_THREADS")


ORPHANED: Final = "The server stopped while this was running: start it again."
CANCELLED: Final = {"state": "cancelled", "message": "Cancelled."}


class StoppedError(Exception):
    """The work was cancelled, or its server is gone."""


class OrphanedError(StoppedError):
    """The server that started the work is gone."""


def begin(folder: Path, module: str, limits: Limits) -> subprocess.Popen[bytes]:
    """Start the `main` of a module on a folder, with the limits in its environment, where it reads them as this server
    did.

    If this raises, nothing runs."""
    paths = [str(Path(__file__).parents[2]), *_inherited()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), SERVER: str(os.getpid()), **limits.environment()}
    if limits.threads:  # of the pools that libraries start by themselves
        environment |= dict.fromkeys(POOLS, str(limits.threads))
    keep_spare(folder, LAST_WORD)
    process = processes.launch(folder, ["-c", PROGRAM.format(module), str(folder.resolve())], environment)
    try:
        write_json(folder / "process.json", {"name": process_name(process.pid)})
    except BaseException:  # nobody would watch it, nor find it to cancel it
        process.kill()
        process.wait()
        raise
    return process


def _inherited() -> list[str]:
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


def process_of(folder: Path) -> psutil.Process | None:
    """Return the folder's worker if it is alive."""
    try:
        process = process_named(read_json(folder / "process.json")["name"])
        return process if process and process.status() != psutil.STATUS_ZOMBIE else None
    except (OSError, ValueError, KeyError, psutil.Error):
        return None


def end_of(folder: Path) -> dict[str, Any]:
    """Return how the work ended, with its state and message; it may still be running."""
    alive = process_of(folder) is not None  # checked before the end is read: a worker writes its end, then exits
    if (end := processes.read_end(folder)) is not None:
        return end
    if not alive and (folder / "cancel").exists():
        return dict(CANCELLED)
    if not alive and _has_begun(folder):
        return {"state": "interrupted", "message": f"The worker ended unexpectedly.{_last_words(folder)}"}
    return {"state": "running", "message": ""}


def write_end(folder: Path, end: dict[str, Any]) -> None:
    """Write how the work ended, unless that is already written or the folder was removed meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        if processes.read_end(folder) is None:
            processes.write_end(folder, end)


def ask_to_stop(folder: Path) -> None:
    """Leave a request to stop in a folder, unless the folder was removed meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        (folder / "cancel").touch()


def _has_begun(folder: Path) -> bool:
    """Return whether a worker has started or is overdue: it starts shortly after its folder is made."""
    return (folder / "process.json").is_file() or time.time() - folder.stat().st_mtime > START_SECONDS


def _last_words(folder: Path) -> str:
    lines = processes.tail(folder).splitlines()
    return f" The last line of its log: {lines[-1][:300]}" if lines else ""


# In the child


def look_for_a_stop(folder: Path) -> None:
    """Raise StoppedError in a worker that was cancelled or whose server is gone."""
    if (folder / "cancel").exists():
        raise StoppedError("Cancelled.")
    server = os.environ.get(SERVER)
    if server and processes.is_orphan(int(server)):
        raise OrphanedError(ORPHANED)


def work_on(folder: Path, work: Callable[[], dict[str, Any]], refused: tuple[type[Exception], ...], what: str) -> int:
    """Do a child's work and write how it ended; return the exit code, 1 if the work failed.

    work : returns further entries for end.json. refused : errors whose message is meant for the user; for others
    the user gets a number, and the log has the rest.
    """
    if server := os.environ.get(SERVER):
        processes.leave_with(int(server), partial(_last_word, folder))
    os.nice(NICE)
    end: dict[str, Any] = {"message": ""}
    try:
        end |= processes.outcome(work, refused, "There was not enough memory: use fewer rows or features.")
    except StoppedError as stop:
        end = {"state": "interrupted" if isinstance(stop, OrphanedError) else "cancelled", "message": str(stop)}
    except Exception as error:  # whatever it is, the page must learn of it
        number = processes.incident()
        words = f"{what} failed unexpectedly (error {number}, {type(error).__name__}): see its log."
        end = {"state": "failed", "message": words}
    processes.write_end(folder, end)
    return 0 if end["state"] != "failed" else 1


def _last_word(folder: Path) -> None:
    """Write why the work ended, unless the worker itself notices in time that its server is gone."""
    time.sleep(GRACE_SECONDS)
    write_end(folder, {"state": "interrupted", "message": ORPHANED})


# In the server


def cancel(folder: Path) -> None:
    """Ask the work to stop; a worker that does not react is terminated, then killed."""
    ask_to_stop(folder)
    threading.Thread(target=_insist, args=(folder,), daemon=True, name=f"cancel-{folder.name}").start()


def _insist(folder: Path) -> None:
    process = process_of(folder)
    for act in (None, psutil.Process.terminate, psutil.Process.kill):
        if process is None:
            break
        try:
            if act is not None:
                act(process)
            process.wait(GRACE_SECONDS)
            break
        except psutil.TimeoutExpired:
            continue
        except psutil.Error:
            break
    write_end(folder, CANCELLED)
