"""Files that take a while, made by a child process: reports, and tables that are scored.

jobs/<id>/  about.json     what is made of what
            progress.json  the share that is done, and what comes next
            out.<ending>   the file, once it is whole
            and what `child` keeps
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from gamcore.model.output_names import predicted
from gamcore.viz.files.plot import file_name
from shapewise.jobs import queue as jobs
from shapewise.jobs.process import State
from shapewise.processes import read_progress
from shapewise.reports.card import names_of_table
from shapewise.reports.recipes import Recipe
from shapewise.scoring.changes import ROW_SECONDS
from shapewise.scoring.reasons import FIELD, MOST_LETTER, UNASKED, telling, wrong_in
from shapewise.scoring.score_file import FileKind, Wanted, check, row_changes, scoring_estimator, telling_formula
from shapewise.scoring.score_rows import Scorer
from shapewise.store.atomic_files import read_json, size_of
from shapewise.store.workspace import ModelAbout, StoreError, Workspace

KIND: Final = "packs"
FileWork = Literal["report", "scores"]
REPORT_BYTES: Final = 200_000
"""Estimated minimum bytes of a report's file."""

REASONS_LETTERS: Final = 300
FIELD_LETTERS: Final = 20
NUMBER_LETTERS: Final = 9
"""Letters of the reasons in a letter, of a field, and of a number, as they usually are. What is written counts."""

MOST_KEPT: Final = 20
"""Finished packs that are kept; the oldest are deleted first."""


@dataclass(frozen=True)
class Pack:
    """The state of a file job.

    about : what the file is made from. share, words : its progress."""

    id: str
    work: FileWork
    about: dict[str, Any]
    created: str
    state: State
    message: str
    share: float
    words: str
    name: str
    path: Path

    @property
    def goes_on(self) -> bool:
        """Whether the job is queued or running."""
        return self.state in ("queued", "running")

    @property
    def size(self) -> int:
        """Bytes of the file; 0 if there is none yet."""
        return size_of(self.path) if self.state == "done" else 0


def start_report(workspace: Workspace, recipe: Recipe, model: str, kind: str) -> str:
    """Queue a report; return the pack's id. model : the model in view, "" for none."""
    if model:
        workspace.models.about(model)
    about = {"recipe": asdict(recipe), "model": model, "kind": kind}
    return _start(workspace, "report", about, file_name(recipe.name, "report", kind), REPORT_BYTES)


def start_scores(
    workspace: Workspace, model: str, table: str, kind: FileKind, top: int = 3, keep: Sequence[str] = (),
    *, for_decision: bool = False, letter: bool = False, changes: bool = False,
) -> str:  # fmt: skip
    """Queue the scoring of all rows of a table; return the pack's id.

    keep : columns of the table to keep; all if not given. for_decision : whether reasons for the decision take the
    place of the largest effects. letter : whether each row gets the model's letter, too. changes : whether it gets the
    smallest change that would give it the other answer."""
    stored = workspace.models.about(model)
    name = file_name(workspace.tables.about(table).name, f"scored by {stored.name}", kind)
    exposure = stored.spec.get("exposure")
    formula = telling_formula(workspace, model) if for_decision else None
    numbers = Scorer(scoring_estimator(workspace, model), top, keep, exposure).n_numbers
    if formula is not None and formula.reasons is not None:
        top, numbers = formula.reasons.most, numbers + 2 + (_letter_numbers(workspace, stored, table) if letter else 0)
    needed, seconds = check(Wanted(workspace, table, kind, top, keep=tuple(keep), exposure=exposure, numbers=numbers))
    if changes:
        row_changes(workspace, model)
        seconds += ROW_SECONDS * workspace.tables.about(table).rows
    about = {"model": model, "table": table, "kind": kind, "top": top, "keep": list(keep),
             "for_decision": for_decision, "letter": letter, "changes": changes}  # fmt: skip
    return _start(workspace, "scores", about=about, name=name, disk=needed, seconds=seconds)


def _letter_numbers(workspace: Workspace, model: ModelAbout, table: str) -> int:
    """Return how many numbers take as much room as a letter; StoreError where its template names what is not there."""
    how = telling(model, 0.0)
    if how.helps is None:
        raise StoreError(f"{UNASKED}: letters open with it.")
    template = how.letter
    called = predicted(("exposure",) if model.spec.get("exposure") else ())
    wrong = wrong_in(template, names_of_table(workspace, model.table), workspace.tables.columns(table), called)
    if wrong:
        raise StoreError(f"{wrong} It is written on Rows.")
    fields = len(FIELD.findall(template))
    return min(len(template) + FIELD_LETTERS * fields + REASONS_LETTERS, MOST_LETTER) // NUMBER_LETTERS


def _start(
    workspace: Workspace, work: FileWork, about: dict[str, Any], name: str, disk: int, seconds: float = 0.0
) -> str:
    for old in packs(workspace)[MOST_KEPT - 1 :]:
        delete(workspace, old.id)
    record = {"work": work, "about": about, "name": name}
    return jobs.submit(workspace, KIND, record, seconds=seconds, disk=disk, what=name)


def pack(workspace: Workspace, identifier: str) -> Pack:
    """Return the present state of a pack."""
    folder = jobs.folder(workspace, KIND, identifier)
    record = read_json(folder / "about.json")
    end = jobs.end_of(workspace, KIND, identifier)
    waits = f"Waiting: number {end['place']} in the queue" if end["state"] == "queued" else "Starting"
    progress: dict[str, Any] = {"share": 0.0, "words": waits}
    if so_far := read_progress(folder):
        progress = so_far
    path = folder / f"out.{record['about']['kind']}"
    return Pack(
        id=identifier,
        work=record["work"],
        about=record["about"],
        created=record["created"],
        state=end["state"],
        message=end["message"],
        share=float(progress["share"]),
        words=str(progress["words"]),
        name=record["name"],
        path=path,
    )


def packs(workspace: Workspace, work: FileWork | None = None) -> list[Pack]:
    """Return all packs, newest first."""
    stored = []
    for identifier in jobs.ids(workspace, KIND):
        with contextlib.suppress(StoreError, OSError, ValueError, KeyError, TypeError):  # deleted meanwhile
            stored.append(pack(workspace, identifier))
    return [saved for saved in stored if work in (None, saved.work)]


def cancel(workspace: Workspace, identifier: str) -> None:
    """Ask a job to stop."""
    jobs.cancel(workspace, KIND, identifier)


def delete(workspace: Workspace, identifier: str) -> None:
    """Delete a finished pack from disk."""
    jobs.forget(workspace, KIND, identifier)


def content(workspace: Workspace, identifier: str) -> bytes:
    """Return the file of a finished pack."""
    file = pack(workspace, identifier)
    if not file.size:
        raise StoreError("The file no longer exists: create it again.")
    return file.path.read_bytes()
