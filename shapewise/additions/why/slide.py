"""One slide of a report: why the newest version of a model's table has another mean than the model's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

from gamcore.data.table import Table, as_table
from gamcore.estimators.saved import from_saved
from gamcore.viz.files.parts import ReportPart
from shapewise.additions.why import versions, written
from shapewise.additions.why.question import Sources, chosen_rows, named
from shapewise.decisions import money
from shapewise.reports.sources import Review
from shapewise.store.projects import projects
from shapewise.store.workspace import ModelAbout, StoreError, TableAbout, Workspace
from shapewise.training.carry_over import carried, newest
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
    model, spec = source.about, Spec.from_dict(source.about.spec)
    project = next(one for one in projects(space.tables.listed(), space.models.listed()) if one.table(later.id))

    def spec_on(table: str) -> Spec | None:
        return carried(spec, space.tables.read(model.table), table, space.tables.read(table)).spec

    def estimator(name: str) -> Any:
        return source.whole if name == model.id else from_saved(space.models.load(name))

    asked = versions.between(space, model, later, project, spec_on)
    sources = Sources(space.models.about, estimator, partial(rows, space), source.label)
    moved = replace(sources.answer(asked), worth=money.of_table(space, model.table).of(model.target) or None)
    per = f"units of {source.names.column(spec.exposure)}" if spec.exposure else "rows"
    yield written.page(named(moved, source.names), source.target, per, f"model {model.name}")


def rows(space: Workspace, model: ModelAbout, table: str) -> tuple[Table, Data]:
    """Return a table, and its rows that a model's specification chooses."""
    spec = Spec.from_dict(model.spec)
    if table == model.table:
        return as_table(space.tables.read(table, spec.codes_of(table))), read_all(space, spec)
    other = as_table(space.tables.read(table))
    return other, chosen_rows(other, spec)
