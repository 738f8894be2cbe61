"""The child process that makes the pack of a folder."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from gamcore.common.numbers import size
from gamcore.data.columns import TableError
from gamcore.io.checks import ModelFileError
from gamcore.viz.files.report import to_report
from shapewise.jobs import process as child
from shapewise.jobs import queue as jobs
from shapewise.processes import Reporter
from shapewise.reports.card import card, measure_of_target, names_of_table
from shapewise.reports.recipes import from_dict
from shapewise.reports.review import review_of
from shapewise.scoring.reasons import telling, usual_line
from shapewise.scoring.score_file import MOST_BYTES, Wanted, row_changes, scoring_estimator, telling_formula, write
from shapewise.scoring.score_rows import ScoreError
from shapewise.store.atomic_files import in_place_of, read_json, size_of
from shapewise.store.workspace import StoreError, Workspace

OWN: Final = 0.3
"""Share of a report's time spent on reading the model; the rest is drawing."""


def main(folder: Path) -> int:
    """Make one pack; return the exit code, 1 if the work failed."""
    record = read_json(folder / "about.json")

    def work() -> dict[str, Any]:
        space = jobs.space_of(folder)
        with in_place_of(folder / f"out.{record['about']['kind']}") as making:
            _make(
                space, record["work"], record["about"], making, Reporter(folder, partial(child.look_for_a_stop, folder))
            )
            space.check_room(size_of(making))
        return {}

    return child.work_on(folder, work, (TableError, StoreError, ScoreError, ModelFileError), "Making the file")


def _make(space: Workspace, work: str, about: dict[str, Any], making: Path, tell: Reporter) -> None:
    if work == "report":
        recipe = from_dict(about["recipe"])
        report = review_of(space, recipe, about["model"], lambda share, words: tell(OWN * share, f"Reading: {words}"))
        file = to_report(report, about["kind"], lambda share, words: tell(OWN + (1 - OWN) * share, f"Drawing: {words}"))
        making.write_bytes(file)
        return
    estimator = scoring_estimator(space, about["model"])

    def step(share: float) -> None:
        tell(share, "Scoring the rows")
        written = size_of(making)
        if written > MOST_BYTES:
            raise StoreError(f"The file passes the {size(MOST_BYTES)} that a browser can download: keep fewer columns, "
                             "or take shorter letters.")  # fmt: skip
        space.check_room(written)  # an exceeded quota is noticed before the disk is full

    model = space.models.about(about["model"])
    names = names_of_table(space, model.table)
    wanted = Wanted(
        space, about["table"], about["kind"], about["top"], keep=tuple(about.get("keep", ())),
        exposure=model.spec.get("exposure"), unit=measure_of_target(model, names),
    )  # fmt: skip
    if about.get("for_decision"):
        letter = telling(model, usual_line(model, estimator)) if about.get("letter") else None
        wanted = replace(wanted, teller=telling_formula(space, model.id), letter=letter, names=names)
    if about.get("changes"):
        wanted = replace(wanted, changes=row_changes(space, model.id))
    write(wanted, estimator, making, card(space, model.id).text(), step)
