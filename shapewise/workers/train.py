"""The child process that trains what the folder of a run says.

It reads the run's specification, writes its progress, and stops when asked to or when its parent is gone. A model is
stored as soon as it is trained; the bands of its curves follow, and stopping then loses only the bands.
"""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path
from typing import Any

from gamcore.boosting.running.progress import Progress
from gamcore.data.columns import TableError
from gamcore.io.checks import ModelFileError
from gamcore.kernels.warmup import warmup
from shapewise.jobs import process as child
from shapewise.jobs import queue as jobs
from shapewise.jobs.process import StoppedError
from shapewise.processes import Pace
from shapewise.store.atomic_files import read_json, write_json
from shapewise.store.workspace import StoreError, Workspace
from shapewise.training.adding import add_rows
from shapewise.training.after import after_training
from shapewise.training.dataset import Data
from shapewise.training.runs import MODEL, TUNED, trained
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, read_all, train, train_parts
from shapewise.training.tuning import Budget, tune


class _Reporter:
    """Writes the rounds since the last report as one line, at most ten per second, and checks for a reason to stop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "progress.jsonl"
        self._pace = Pace()
        self._told: dict[str, Any] = {"part": 0, "points": [], "quits": []}

    def __call__(self, progress: Progress) -> None:
        losses = _finite(progress.train_loss), _finite(progress.valid_loss)
        if (progress.part, progress.stage) != (self._told["part"], self._told.get("stage")):
            self.write()  # each line is about one fit, the ranking, or the bands
        self._told |= {
            "part": progress.part, "stage": progress.stage, "n_pairs": progress.n_pairs, "n_refits": progress.n_refits,
            "most": progress.max_rounds, "seconds": round(progress.seconds, 2),
        }  # fmt: skip
        self._told["quits"] += [[progress.refit, *left] for left in progress.quits]
        self._told["points"].append([progress.refit, progress.round, *losses])
        if not self._pace.due():
            return
        self.write()
        child.look_for_a_stop(self._folder)

    def write(self) -> None:
        """Append what has not been reported yet."""
        if self._told["points"]:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self._told) + "\n")
            self._told["points"], self._told["quits"] = [], []


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def main(folder: Path) -> int:
    """Work on one run; return the exit code, 1 if the work failed."""
    about = read_json(folder / "about.json")

    def work() -> dict[str, Any]:
        reporter, space = _Reporter(folder), jobs.space_of(folder)
        if not space.tables.about(
            about["spec"]["table"]
        ).sampled:  # for those, memory is short and reading is slow anyway
            threading.Thread(target=warmup, daemon=True, name="warm-up").start()  # while the table is read
        try:
            model = _work(space, about, folder, reporter)
            reporter.write()
        except StoppedError as stop:
            model = about.get("model") or trained(folder)
            if model is None:
                raise
            return {"model": model, "message": str(stop)}  # the model itself is complete
        return {"model": model}

    return child.work_on(folder, work, (TableError, StoreError, ModelFileError), "Training")


def _work(workspace: Workspace, about: dict[str, Any], folder: Path, reporter: _Reporter) -> str | None:
    """Do what is requested: train a model with bands, add bands, train parts by a column, or tune settings; return the
    id of the model, if any."""
    spec, n_jobs = Spec.from_dict(about["spec"]), about["n_jobs"]
    if about.get("budget"):
        _search(
            read_all(workspace, spec),
            spec,
            budget=Budget(**about["budget"]),
            n_jobs=n_jobs,
            folder=folder,
            reporter=reporter,
        )
        return None
    model: str | None = about.get("model")
    if about.get("column"):
        assert model is not None
        train_parts(workspace, model, about["column"], n_jobs, reporter)
        return model
    if model is None:
        adds: str = about.get("adds", "")
        if adds:
            model = add_rows(workspace, spec, adds, n_jobs, reporter).id
        else:
            model = train(workspace, spec, n_jobs, reporter, on_cluster=about.get("cluster_threads", 0) > 0).id
        reporter.write()
        write_json(folder / MODEL, {"model": model})
    if spec.kind == "additive" and spec.bands and not _has_own_bands(workspace, model):
        add_bands(workspace, model, n_jobs, reporter)
    return after_training(workspace, model, about)


def _has_own_bands(workspace: Workspace, model: str) -> bool:
    """Return whether a model got its bands in training, or cannot get others: of added rows there are only counts."""
    about = workspace.models.about(model)
    return about.bands > 0 or "added" in about.rows


def _search(data: Data, spec: Spec, budget: Budget, n_jobs: int, folder: Path, reporter: _Reporter) -> None:
    """Tune settings; when stopped, keep the trials so far."""
    stopped: list[StoppedError] = []

    def tell(progress: Progress) -> bool:
        try:
            reporter(progress)
        except StoppedError as stop:
            stopped.append(stop)
        return bool(stopped)

    trials = tune(data, spec, budget, n_jobs, tell)
    write_json(folder / TUNED, [trial.to_dict() for trial in trials])
    if stopped:
        raise stopped[0]
