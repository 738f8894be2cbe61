"""Training runs: jobs that train a model, so that a run outlives the page that started it.

jobs/<id>/  about.json      what is trained, and when it was requested
            progress.jsonl  one line per report, written by the worker, at most ten per second
            model.json      the model, once it is trained; its bands may still be in progress
            tuned.json      settings that a search tried, best first
            and the files of `shapewise.jobs.process`
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.running.progress import Stage
from shapewise.jobs import queue as jobs
from shapewise.jobs.process import State
from shapewise.store.atomic_files import read_json
from shapewise.store.workspace import StoreError, TableAbout, Workspace
from shapewise.training.cost import Estimate, estimate, estimate_tasks
from shapewise.training.spec import Spec

KIND = "runs"
MODEL = "model.json"
TUNED = "tuned.json"
FEW_TASKS = 4


@dataclass(frozen=True)
class Standing:
    """The progress of a run in its current stage, such as main effects, the ranking of pairs, or a fit of pairs.

    points : (n, 4) refit, round, training and validation loss of every round; in a ranking, the pairs that are done.
    quits : (refit, task, last round kept) of tasks that have left the common trees, in this stage or an earlier one.
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
    """The present state of a run.

    model : the trained model, whose bands may still be in progress. column : by which the table is split into parts.
    budget : of a search for settings. tuned : its results, as `tuning.Trial.to_dict` returns them, best first. place :
    position in the queue; 0 if it is not waiting. threads : that train, here or on
    the cluster.
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
    place: int = 0
    threads: int = 1

    @property
    def goes_on(self) -> bool:
        """Whether the run is queued or running."""
        return self.state in ("queued", "running")


def start(
    workspace: Workspace,
    spec: Spec,
    n_jobs: int,
    model: str | None = None,
    column: str = "",
    budget: dict[str, float] | None = None,
    cost: Estimate | None = None,
    adds: str = "",
    cluster_threads: int = 0,
    edits: str = "",
) -> str:
    """Queue a training and return the run's id.

    model : a trained model that is to get bands, or, with `column`, to be refitted to the parts of its table. adds :
    a model that the rows are to be added to. edits : a model whose edits are made on the trained one, too. budget :
    fields of `tuning.Budget`, for a search for better settings instead. cost : estimated if None. cluster_threads :
    those of the cluster that is to train, 0 for this machine.
    StoreError if the cost exceeds what a job may use, or what this person may store.
    """
    table = workspace.tables.about(spec.table)
    if model:
        workspace.thing("models", model, "change")
    if adds:
        workspace.thing("models", adds, "view")
    if edits:
        workspace.thing("models", edits, "view")
    cost = cost or _cost(table, spec, n_jobs)
    here = 0 if cluster_threads else cost.memory
    memory = 0 if table.sampled else table.bytes + here  # a sampled table uses the memory that is free
    about = {
        "spec": spec.to_dict(), "n_jobs": n_jobs, "model": model, "column": column, "budget": budget, "adds": adds,
        "cluster_threads": cluster_threads, "edits": edits,
    }  # fmt: skip
    return jobs.submit(
        workspace, KIND, about=about, memory=memory, seconds=cost.seconds, disk=cost.disk, what=spec.name
    )


def _cost(table: TableAbout, spec: Spec, n_jobs: int) -> Estimate:
    """Return the estimated cost of a training on the rows of a table, or of its sample."""
    rows, features = table.sampled or table.rows, len(spec.features)
    if spec.kind == "tasks":
        n_tasks = max(len(spec.outcomes), len(spec.tables), FEW_TASKS)
        return estimate_tasks(rows, features, n_tasks, spec.parameters(), n_jobs=n_jobs, compare=spec.compare)
    return estimate(rows, features, spec.parameters() | {"bands": spec.bands}, n_jobs, spec.loss)


def again(workspace: Workspace, identifier: str) -> str:
    """Queue a failed run again and return the id of the new run."""
    about = read_json(jobs.folder(workspace, KIND, identifier) / "about.json")
    spec = Spec.from_dict(about["spec"])
    return start(
        workspace,
        spec,
        n_jobs=about["n_jobs"],
        model=about["model"],
        column=about["column"],
        budget=about["budget"],
        adds=about.get("adds", ""),
        cluster_threads=about.get("cluster_threads", 0),
        edits=about.get("edits", ""),
    )


def read(workspace: Workspace, identifier: str) -> Run:
    """Return a run and its progress so far."""
    folder = jobs.folder(workspace, KIND, identifier)
    about = read_json(folder / "about.json")
    end = jobs.end_of(workspace, KIND, identifier)
    return Run(
        id=identifier,
        spec=Spec.from_dict(about["spec"]),
        created=about["created"],
        state=end["state"],
        model=end.get("model") or about.get("model") or trained(folder),
        message=end["message"],
        standing=_read_progress(folder / "progress.jsonl"),
        column=about.get("column") or "",
        budget=about.get("budget"),
        tuned=read_json(folder / TUNED) if (folder / TUNED).is_file() else [],
        place=end.get("place", 0),
        threads=about.get("cluster_threads") or about.get("n_jobs", 1),
    )


def trained(folder: Path) -> str | None:
    """Return the id of a run's model; None if it is not trained yet."""
    return read_json(folder / MODEL)["model"] if (folder / MODEL).is_file() else None


def working_on(workspace: Workspace, model: str, column: str | None = None) -> Run | None:
    """Return the active run that computes a model's bands, or its parts by a column ("" for any column)."""
    for run in active(workspace):
        if run.model == model and (run.column == "" if column is None else run.column and column in ("", run.column)):
            return run
    return None


def _read_progress(path: Path) -> Standing:
    """Return the progress of the last stage that the worker reported."""
    lines: list[dict[str, Any]] = []
    quits: list[tuple[int, str, int]] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        try:
            line_of = json.loads(line)
        except ValueError:  # the worker is in the middle of writing the last line
            break
        if lines and (line_of["part"], line_of["stage"]) != (lines[-1]["part"], lines[-1]["stage"]):
            lines = []
        lines.append(line_of)
        quits += [(refit, name, number) for refit, name, number in line_of.get("quits", [])]
    if not lines:
        return Standing()
    points = np.array([point for line in lines for point in line["points"]], np.float64)  # null becomes NaN
    last = lines[-1]
    return Standing(
        stage=last["stage"], n_pairs=last["n_pairs"], n_refits=last["n_refits"], most=last["most"],
        seconds=last["seconds"], points=points.reshape(-1, 4), quits=quits,
    )  # fmt: skip


def listing(workspace: Workspace) -> list[Run]:
    """Return all runs, newest first."""
    return _readable(workspace, jobs.ids(workspace, KIND))


def _readable(workspace: Workspace, identifiers: list[str]) -> list[Run]:
    """Return the runs that can be read; a run may have just been deleted, or be half written."""
    readable = []
    for identifier in identifiers:
        with contextlib.suppress(StoreError, OSError, ValueError, KeyError, TypeError):
            readable.append(read(workspace, identifier))
    return readable


def active(workspace: Workspace) -> list[Run]:
    """Return the queued and running runs, newest first."""
    return [run for run in _readable(workspace, jobs.ids(workspace, KIND, active=True)) if run.goes_on]


def last_failure(workspace: Workspace, model: str) -> str:
    """Return why the newest run for a model's bands failed; empty if it did not fail."""
    for identifier in jobs.ids(workspace, KIND):
        with contextlib.suppress(StoreError, OSError, ValueError, KeyError):  # the run was deleted meanwhile
            folder = jobs.folder(workspace, KIND, identifier)
            about = read_json(folder / "about.json")
            if (about.get("model") or trained(folder)) == model and not about.get("column"):
                run = read(workspace, identifier)
                return run.message if run.state in ("failed", "interrupted") else ""
    return ""


def cancel(workspace: Workspace, identifier: str) -> None:
    """Ask a run to stop; if it does not react, it is terminated, then killed."""
    jobs.cancel(workspace, KIND, identifier)
