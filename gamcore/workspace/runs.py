"""Training runs: a folder each, worked on by a child process, so that a run outlives the page that began it.

runs/<id>/  about.json      what is trained, when it began, the worker's process
            progress.jsonl  one line a report, written by the worker, at most ten a second
            model.json      the model, once it is trained: its bands may still be in the making
            tuned.json      settings that a search tried, the best first
            end.json        how it ended: done, failed or cancelled
            cancel          this file asks the worker to stop
            log.txt         the worker's output
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting import Stage
from gamcore.workspace import child
from gamcore.workspace.child import State
from gamcore.workspace.files import new_folder, read_json, write_json
from gamcore.workspace.spec import Spec
from gamcore.workspace.store import StoreError, Workspace, new_id, now

MODEL = "model.json"
TUNED = "tuned.json"


@dataclass(frozen=True)
class Standing:
    """Where a run stands in its present stage: main effects, the ranking of pairs, or a fit of some pairs.

    points : (n, 4) refit, round, training and validation loss of every round; in a ranking, the pairs that are done.
    quits : (refit, task, round it keeps) of tasks that have left the common trees, in this stage or before.
    """

    stage: Stage = "main effects"
    n_pairs: int = 0
    n_refits: int = 0
    most: int = 0  # rounds of a refit, or pairs of a ranking
    seconds: float = 0.0
    points: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 4)))
    quits: list[tuple[int, str, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Run:
    """A run as it stands.

    model : the trained model, whose bands may still be in the making. column : of the parts that are compared. budget :
        of a search for settings; tuned : what it found, as `tuning.Trial.told` gives it, the best first.
    """

    id: str
    spec: Spec
    created: str
    state: State
    model: str | None
    message: str
    standing: Standing
    column: str = ""
    budget: dict[str, float] | None = None
    tuned: list[dict[str, Any]] = field(default_factory=list)


def start(
    workspace: Workspace,
    spec: Spec,
    n_jobs: int,
    model: str | None = None,
    column: str = "",
    budget: dict[str, float] | None = None,
) -> str:
    """Begin a training in a child process; returns the run's id.

    model : one that is trained already, and is to get its bands, or to be fitted to the parts of its table by `column`.
    budget : of a search for better settings instead, as fields of `tuning.Budget`.
    """
    workspace.table(spec.table)
    identifier = new_id()
    folder = workspace.root / "runs" / identifier
    about: dict[str, Any] = {
        "id": identifier, "spec": asdict(spec), "created": now(), "n_jobs": n_jobs, "server": os.getpid(),
        "model": model, "column": column, "budget": budget,
    }  # fmt: skip
    with new_folder(folder) as making:
        write_json(making / "about.json", about)
    child.begin(folder, "gamcore.workspace.worker")
    return identifier


def read(workspace: Workspace, identifier: str) -> Run:
    """A run with its progress so far."""
    folder = workspace.folder("runs", identifier)
    about = read_json(folder / "about.json")
    end = child.end_of(folder)
    return Run(
        identifier,
        Spec.from_dict(about["spec"]),
        about["created"],
        end["state"],
        end.get("model") or about.get("model") or trained(folder),
        end["message"],
        _read_progress(folder / "progress.jsonl"),
        about.get("column") or "",
        about.get("budget"),
        read_json(folder / TUNED) if (folder / TUNED).is_file() else [],
    )


def trained(folder: Path) -> str | None:
    """The model of a run, where it is trained by now."""
    return read_json(folder / MODEL)["model"] if (folder / MODEL).is_file() else None


def working_on(workspace: Workspace, model: str, column: str | None = None) -> Run | None:
    """The active run that makes the bands of a model, or its parts by a column ("" for any)."""
    for run in active(workspace):
        if run.model == model and (run.column == "" if column is None else run.column and column in ("", run.column)):
            return run
    return None


def _read_progress(path: Path) -> Standing:
    """The last stage that a worker told of."""
    lines: list[dict[str, Any]] = []
    quits: list[tuple[int, str, int]] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        try:
            told = json.loads(line)
        except ValueError:  # the worker is in the middle of writing the last line
            break
        if lines and (told["part"], told["stage"]) != (lines[-1]["part"], lines[-1]["stage"]):
            lines = []
        lines.append(told)
        quits += [(refit, name, number) for refit, name, number in told.get("quits", [])]
    if not lines:
        return Standing()
    points = np.array([point for line in lines for point in line["points"]], np.float64)  # null becomes NaN
    last = lines[-1]
    about = last["stage"], last["n_pairs"], last["n_refits"], last["most"], last["seconds"]
    return Standing(*about, points.reshape(-1, 4), quits)


def listing(workspace: Workspace) -> list[Run]:
    """All runs, the newest first."""
    folders = [path for path in (workspace.root / "runs").iterdir() if (path / "about.json").is_file()]
    found = _readable(workspace, [folder.name for folder in folders])
    return sorted(found, key=lambda run: run.created, reverse=True)


def _readable(workspace: Workspace, identifiers: list[str]) -> list[Run]:
    """The runs that can be read: one may be deleted meanwhile, or just be in the making."""
    found = []
    for identifier in identifiers:
        with contextlib.suppress(StoreError, OSError, ValueError, KeyError, TypeError):
            found.append(read(workspace, identifier))
    return found


def active(workspace: Workspace) -> list[Run]:
    """Runs that are being worked on, the newest first."""
    waiting = (path for path in (workspace.root / "runs").iterdir() if not (path / "end.json").is_file())
    names = [path.name for path in waiting if (path / "about.json").is_file() and not path.name.startswith(".")]
    found = _readable(workspace, names)
    return sorted((run for run in found if run.state == "running"), key=lambda run: run.created, reverse=True)


def last_failure(workspace: Workspace, model: str, column: str = "") -> str:
    """Why the newest run that made the bands of a model, or its parts, did not end well; empty where it did."""
    of_model = []
    for path in (workspace.root / "runs").iterdir():
        with contextlib.suppress(OSError, ValueError):  # one that is deleted meanwhile
            about = read_json(path / "about.json")
            if (about.get("model") or trained(path)) == model and bool(about.get("column")) == bool(column):
                of_model.append((about["created"], path.name))
    for run in _readable(workspace, [name for _, name in sorted(of_model)[-1:]]):
        return run.message if run.state in ("failed", "interrupted") else ""
    return ""


def cancel(workspace: Workspace, identifier: str) -> None:
    """Ask a run to stop; one that does not listen is terminated, then killed."""
    child.cancel(workspace.folder("runs", identifier))
