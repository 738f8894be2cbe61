"""Child processes that work on a folder of the workspace, so that the work outlives the page that began it.

A folder's files: process.json (who works on it), cancel (asks it to stop), log.txt (what it printed), end.json (how it
ended: state and message, and what else the work tells).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final, Literal

import psutil

from gamcore.workspace.files import read_json, write_json

State = Literal["running", "done", "failed", "cancelled", "interrupted"]

START_SECONDS: Final = 30.0
GRACE_SECONDS: Final = 5.0
"""Time a worker has to heed a request to stop, and then a signal to."""


class StoppedError(Exception):
    """The work was cancelled, or nobody is left to want it."""


def begin(folder: Path, module: str) -> None:
    """Let `python -m MODULE FOLDER` work on a folder."""
    # A session of its own: an interrupt typed at the server does not reach the worker before the server is gone.
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
            [sys.executable, "-m", module, str(folder.resolve())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *_inherited()])},
        )
    write_json(folder / "process.json", {"pid": process.pid, "started": psutil.Process(process.pid).create_time()})
    threading.Thread(target=process.wait, daemon=True, name=f"wait-{folder.name}").start()  # leaves no zombie


def _inherited() -> list[str]:
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


def process_of(folder: Path) -> psutil.Process | None:
    """The folder's worker, if it lives: a process id alone may have been given to another."""
    try:
        told = read_json(folder / "process.json")
        process = psutil.Process(told["pid"])
        same = abs(process.create_time() - told["started"]) < 1.0
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except (OSError, ValueError, KeyError, psutil.Error):
        return None


def end_of(folder: Path) -> dict[str, Any]:
    """How the work ended, with its state and message; it may still be running."""
    alive = process_of(folder) is not None  # before looking for the end: a worker writes its end, then goes
    if (folder / "end.json").is_file():
        return dict(read_json(folder / "end.json"))
    if not alive and (folder / "cancel").exists():
        return {"state": "cancelled", "message": "Cancelled."}
    if not alive and _has_begun(folder):
        return {"state": "interrupted", "message": f"The worker ended without a word.{_tail(folder / 'log.txt')}"}
    return {"state": "running", "message": ""}


def _has_begun(folder: Path) -> bool:
    """Whether a worker was there, or should long have been: between the folder and the process is a moment."""
    return (folder / "process.json").is_file() or time.time() - folder.stat().st_mtime > START_SECONDS


def _tail(path: Path, size: int = 2000) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")[-size:].strip() if path.is_file() else ""
    return f" Its last words: {text}" if text else ""


def look_for_a_stop(folder: Path, server: int) -> None:
    """Raise StoppedError in a worker that nobody wants any more."""
    if (folder / "cancel").exists():
        raise StoppedError("Cancelled.")
    if os.getppid() != server:
        raise StoppedError("The server that began this run is gone.")


def cancel(folder: Path) -> None:
    """Ask the work to stop; a worker that does not listen is terminated, then killed."""
    (folder / "cancel").touch()
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
    if not (folder / "end.json").is_file():
        write_json(folder / "end.json", {"state": "cancelled", "model": None, "message": "Cancelled."})
