"""One slide of a report: why the newest version of a model's table has another mean than the model's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from gamcore.data.table import Table, as_table
from gamcore.viz.files.parts import ReportPart
from shapewise.additions.why.question import Group, Question, Sources, chosen_rows, named
from shapewise.reports.sources import Review
from shapewise.store.projects import projects
from shapewise.store.workspace import ModelAbout, StoreError, TableAbout, Workspace
from shapewise.training.carry_over import newest
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec
from shapewise.training.train import read_all

NO_NEWER: Final = "The table of the model has no newer version: load one on the page Data."


def newer(space: Workspace, model: ModelAbout) -> TableAbout | None:
    """Return the newest version of a model's table; None where the model's is the newest, or cannot be asked."""
    listed = space.tables.listed()
    if not model.spec or model.of_tasks or model.spec.get("treatment"):
        return None
    return newest(listed, model.table) if model.table in {table.id for table in listed} else None


def parts(review: Review) -> Iterator[ReportPart]:
    """Yield the waterfall, with its parts in words."""
    source, space = review.model(), review.space
    later = newer(space, source.about)
    if later is None:
        raise StoreError(NO_NEWER)
    project = next(one for one in projects(space.tables.listed(), space.models.listed()) if one.table(later.id))
    first, second = (Group(f"version {project.version(table)}", table) for table in (source.about.table, later.id))
    sources = Sources(space.models.about, lambda _: source.estimator, partial(rows, space))
    moved = named(sources.answer(Question(source.about.id, first, second)), source.names)
    difference, *rest = [claim.words() for claim in moved.claims()]
    plot = moved.describe(target=source.target, title=f"{source.target}, {difference}")
    text = "; ".join(rest)
    detail = f"{plot.detail} · model {source.about.name}"
    yield ReportPart(plot=replace(plot, detail=detail), text=[f"{text[0].upper()}{text[1:]}."])


def rows(space: Workspace, model: ModelAbout, table: str) -> tuple[Table, Data]:
    """Return a table, and its rows that a model's specification chooses."""
    spec = Spec.from_dict(model.spec)
    if table == model.table:
        return as_table(space.tables.read(table, spec.codes_of(table))), read_all(space, spec)
    other = as_table(space.tables.read(table))
    return other, chosen_rows(other, spec)
