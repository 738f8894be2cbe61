"""The child process that trains: `python -m gamcore.workspace.worker RUN_FOLDER`.

It reads the run's specification, writes its progress, and stops when it is asked to or when its parent is gone.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from gamcore.boosting import Progress
from gamcore.kernels.warm import warmup
from gamcore.table import TableError
from gamcore.workspace.files import read_json, write_json
from gamcore.workspace.spec import Spec
from gamcore.workspace.store import Workspace
from gamcore.workspace.training import train

REPORT_SECONDS = 0.1


class _StoppedError(Exception):
    """The run was cancelled, or nobody is left to want it."""


class _Reporter:
    """Writes the rounds since the last report as one line, at most ten a second, and looks for a reason to stop."""

    def __init__(self, folder: Path, server: int) -> None:
        self._cancel = folder / "cancel"
        self._path = folder / "progress.jsonl"
        self._server = server
        self._last = 0.0
        self._told: dict[str, Any] = {"part": 0, "points": [], "quits": []}

    def __call__(self, progress: Progress) -> None:
        losses = _finite(progress.train_loss), _finite(progress.valid_loss)
        if progress.part != self._told["part"]:
            self.write()  # a line is of one fit, or of the ranking
        self._told |= {
            "part": progress.part, "stage": progress.stage, "n_pairs": progress.n_pairs, "n_refits": progress.n_refits,
            "most": progress.max_rounds, "seconds": round(progress.seconds, 2),
        }  # fmt: skip
        self._told["quits"] += [[progress.refit, *left] for left in progress.quits]
        self._told["points"].append([progress.refit, progress.round, *losses])
        now = time.monotonic()
        if now - self._last < REPORT_SECONDS:
            return
        self._last = now
        self.write()
        if self._cancel.exists():
            raise _StoppedError("Cancelled.")
        if os.getppid() != self._server:
            raise _StoppedError("The server that began this run is gone.")

    def write(self) -> None:
        """Append what has not been told yet."""
        if self._told["points"]:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self._told) + "\n")
            self._told["points"], self._told["quits"] = [], []


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def main(folder: Path) -> int:
    """Work on one run; the exit code is 0 where it ended as it should."""
    threading.Thread(target=warmup, daemon=True, name="warm-up").start()  # while the table is read
    workspace = Workspace(folder.parent.parent)
    about = read_json(folder / "about.json")
    state, model, message = "failed", None, ""
    reporter = _Reporter(folder, about["server"])
    try:
        model = train(workspace, Spec.from_dict(about["spec"]), about["n_jobs"], reporter).id
        reporter.write()
        state = "done"
    except _StoppedError as stop:
        state, message = "cancelled", str(stop)
    except TableError as error:
        message = str(error)
    except MemoryError:
        message = "There was not enough memory: use fewer rows or features."
    except Exception as error:  # whatever it is, the page must be told; the log has the rest
        traceback.print_exc()
        message = f"Training failed: {type(error).__name__}: {error}"
    write_json(folder / "end.json", {"state": state, "model": model, "message": message})
    return 0 if state != "failed" else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
