"""One table to the end: as a user loads it, trains it, reads it and takes it elsewhere.

As a program, it takes tables from its input, a JSON object per line, and keeps a cell for each.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.harness.cells import Cell, keep
from benchmarks.wild import check_curves, check_loading, check_pairs, check_rows, check_segments
from benchmarks.wild.dialects import DIALECTS, write
from benchmarks.wild.faults import Fault
from benchmarks.wild.first_form import first_spec
from benchmarks.wild.tables import Stranger, read
from gamcore.data.columns import TableError
from gamcore.data.table import as_table
from gamcore.estimators.base import n_scores
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.io.checks import ModelFileError
from gamcore.io.formula import ScoringError
from gamcore.viz.files.parts import Report
from gamcore.viz.files.plot import ExportError
from gamcore.viz.files.report import to_report
from shapewise.doctor.examine import examine
from shapewise.ingest.common import ReaderError
from shapewise.ingest.supervisor import load
from shapewise.reports.recipes import usual
from shapewise.reports.review import review_of
from shapewise.scoring.score_file import Wanted, scoring_estimator
from shapewise.scoring.score_file import write as write_scores
from shapewise.scoring.score_rows import ScoreError
from shapewise.store.workspace import StoreError, TableAbout, Workspace
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, read_all, train

OWN_ERRORS: Final = (ReaderError, TableError, StoreError, ScoreError, ModelFileError, ScoringError, ExportError)
"""What the app says in a sentence."""


@dataclass
class Meeting:
    """What came of a table so far: faults, doubts, what was refused, counts of what was checked, and seconds."""

    faults: list[Fault] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    checked: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    about: Cell = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, and note how it failed: in the app's own words, or with a crash."""
        started = time.monotonic()
        try:
            yield
        except OWN_ERRORS as error:
            self.refused[name] = str(error)
        except Exception as error:
            self.faults.append(Fault("crash", said=f"{type(error).__name__}: {error}"[:300], right=_where(error)))
        self.seconds[name] = round(time.monotonic() - started, 3)

    def failed(self, name: str) -> bool:
        """Return whether a stage was refused, or crashed as the last thing that happened."""
        return name in self.refused or bool(self.faults and self.faults[-1].kind == "crash")

    def cell(self) -> Cell:
        """Return all of it as JSON."""
        return {**asdict(self), "faults": [asdict(fault) for fault in self.faults]}


def _where(error: Exception) -> str:
    """Return the file and line of ours in which an exception arose."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/gamcore/" in frame.filename or "/shapewise/" in frame.filename] or frames
    path = Path(ours[-1].filename)
    return f"{'/'.join(path.parts[-3:])}:{ours[-1].lineno}"


def meet(frame: pd.DataFrame, place: int, has_pairs: bool, folder: Path) -> Meeting:
    """Take a table through the app in an empty folder. place : decides the dialect."""
    met, dialect = Meeting(), DIALECTS[place % len(DIALECTS)]
    met.about = {"rows": len(frame), "columns": frame.shape[1], "dialect": dialect.name, "pairs": has_pairs}
    space, file = Workspace(folder / "space"), folder / "stranger.csv"
    with met.stage("load"):
        write(frame, dialect, file)
        table = _loaded(space, file, folder)
        loaded = space.tables.read(table.id)
        met.faults += check_loading.check(frame, loaded, table.notes)
    if met.failed("load"):
        return met
    with met.stage("propose"):
        rows = as_table(loaded)
        reports = examine(rows)
        spec = first_spec(table, rows, reports, has_pairs)
        met.about["tasks"] = next((r.name for r in reports if r.role == "task"), None)
        met.about |= {"target": spec.target, "kind": spec.goal, "features": len(spec.features), "preset": spec.preset}
    if met.failed("propose"):
        return met
    with met.stage("train"):
        model = train(space, spec).id
    if met.failed("train"):
        return met
    with met.stage("bands"):
        add_bands(space, model)
    if not met.failed("bands"):
        _read(met, space, model, spec, folder)
    return met


def _loaded(space: Workspace, file: Path, folder: Path) -> TableAbout:
    """Load a file as the Data page does."""
    done = load(file, file.name, folder / "loaded")
    return space.tables.add_file(folder / "loaded" / "table.parquet", file.stem, done.rows, done.columns, done.notes)


def _read(met: Meeting, space: Workspace, model: str, spec: Spec, folder: Path) -> None:
    """Check all that is said of a model, and all that leaves the app."""
    estimator, data = scoring_estimator(space, model), read_all(space, spec)
    X, metrics = data.X[~data.held_out], space.models.about(model).metrics
    with met.stage("curves"):
        wrong, met.checked["curves"] = check_curves.check(estimator, X, _explained(metrics, data.y[data.held_out]))
        met.faults += wrong
    with met.stage("pairs"):
        wrong, met.checked["pairs"] = check_pairs.check(estimator, X)
        met.faults += wrong
    with met.stage("rows"):
        met.faults += check_rows.parts(estimator, data.X[data.held_out])
    with met.stage("segments"):
        wrong, met.checked["segments"] = check_segments.check(estimator, data, space.tables.read(spec.table))
        met.faults += wrong
    with met.stage("SQL"):
        met.faults += check_rows.sql(estimator, data.X)
    with met.stage("scored"):
        path = folder / "scored.csv"
        wanted = Wanted(space, spec.table, "csv", exposure=spec.exposure)
        write_scores(wanted, estimator, path, "", lambda share: None)
        met.faults += check_rows.scored(estimator, space.tables.read(spec.table)[spec.features], path)
    with met.stage("report"):
        review, known = _review(space, model, estimator), _known(space, spec, data)
        met.faults += check_rows.report(to_report(review, "html"), known)
    with met.stage("slides"):
        met.faults += check_rows.slides(to_report(review, "pptx"), known)


def _explained(metrics: dict[str, float], y: Any) -> float:
    """Return the share of the target, or of its loss, that a model explains on held-out rows, with targets (n,); for
    chances, how far the AUC is from one half, less two errors at most (Birnbaum and Klose, 1957), and nothing where
    always the same chances are better."""
    for share in ("r2", "explained"):
        if share in metrics:
            return metrics[share]
    if metrics["log_loss"] >= metrics["baseline_log_loss"]:
        return 0.0
    area, fewest = metrics.get("auc", metrics.get("class_auc", 0.5)), int(np.unique(y, return_counts=True)[1].min())
    return 2 * (area - 2 * math.sqrt(area * (1 - area) / fewest)) - 1


def _review(space: Workspace, model: str, estimator: GAMRegressor | GAMClassifier) -> Report:
    """Return the report of a model, with the items that the Report page begins with."""
    about, label = space.models.about(model), ""
    if isinstance(estimator, GAMClassifier) and n_scores(estimator) > 1:
        label = str(estimator.classes_[0])
    view: Any = estimator.of_class(label) if label else estimator  # type: ignore[union-attr]
    names = [str(name) for name in view.importance().frame().iloc[:, 0]]
    features = [name for name in names if name in {bins.feature.name for bins in estimator.model_.bins}]
    recipe = usual(about, features, None, None, "analyst", label)
    return review_of(space, recipe, model)


def _known(space: Workspace, spec: Spec, data: Data) -> set[str]:
    """Return the texts of a table: its columns, and their levels."""
    frame = space.tables.read(spec.table)
    texts = {str(name) for name in frame.columns} | set(map(str, data.classes))
    for name in frame:
        if frame[name].dtype == object or str(frame[name].dtype).startswith("str"):
            texts |= set(frame[name].dropna().astype(str).unique())
    return texts


def main() -> None:
    """Meet the tables of the input, one JSON object per line (package, item, path), and keep a cell for each."""
    for line in sys.stdin:
        asked: dict[str, str] = json.loads(line)
        table = Stranger(asked["package"], asked["item"])
        with tempfile.TemporaryDirectory() as folder:
            met = meet(read(table), table.place, table.has_pairs, Path(folder))
        keep(Path(asked["path"]), {"table": table.name, **met.cell()})
        sys.stdout.write(f"{table.name}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
