"""Slides of reports: why the newest version of a model's table, or another group of rows, has another mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

from gamcore import WhyMoved
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
    return newest(space.tables.listed(), model.table) if is_asked(space, model) else None


def is_asked(space: Workspace, model: ModelAbout) -> bool:
    """Return whether a model has terms and rows: one of several tasks or of an effect has not."""
    there = model.table in {table.id for table in space.tables.listed()}
    return there and bool(model.spec) and not model.of_tasks and not model.spec.get("treatment")


def sources(review: Review) -> Sources:
    """Return where the answers of a report's model are made from."""
    source, space = review.model(), review.space

    def estimator(name: str) -> Any:
        return source.whole if name == source.about.id else from_saved(space.models.load(name))

    return Sources(space.models.about, estimator, partial(rows, space), source.label)


def page(review: Review, moved: WhyMoved) -> ReportPart:
    """Return an answer as a slide: the waterfall, with its parts in words."""
    source, model = review.model(), review.model().about
    worth, spec = money.of_table(review.space, model.table).of(model.target), Spec.from_dict(model.spec)
    per = f"units of {source.names.column(spec.exposure)}" if spec.exposure else "rows"
    moved = named(replace(moved, worth=worth or None), source.names)
    return written.page(moved, source.target, per, f"model {model.name}")


def parts(review: Review) -> Iterator[ReportPart]:
    """Yield the waterfall from a model's table to its newest version."""
    space, model = review.space, review.model().about
    later = newer(space, model)
    if later is None:
        raise StoreError(NO_NEWER)
    spec = Spec.from_dict(model.spec)
    project = next(each for each in projects(space.tables.listed(), space.models.listed()) if each.table(later.id))

    def spec_on(table: str) -> Spec | None:
        return carried(spec, space.tables.read(model.table), table, space.tables.read(table)).spec

    asked = versions.between(space, model, later, project, spec_on)
    yield page(review, sources(review).answer(asked))


def rows(space: Workspace, model: ModelAbout, table: str) -> tuple[Table, Data]:
    """Return a table, and its rows that a model's specification chooses."""
    spec = Spec.from_dict(model.spec)
    if table == model.table:
        return as_table(space.tables.read(table, spec.codes_of(table))), read_all(space, spec)
    other = as_table(space.tables.read(table))
    return other, chosen_rows(other, spec)
