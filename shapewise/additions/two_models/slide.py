"""One slide of a report: whether a model is better than the newest other one of its outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gamcore.data.table import Table, as_table
from gamcore.estimators.saved import from_saved
from gamcore.viz.files.parts import ReportPart
from shapewise.additions.two_models import rivals
from shapewise.decisions import money
from shapewise.reports.sources import Review
from shapewise.store.projects import Project, projects
from shapewise.store.workspace import ModelAbout, StoreError, Workspace
from shapewise.training.naming import labels
from shapewise.training.spec import Spec
from shapewise.training.train import read_all


def _project(space: Workspace, model: ModelAbout) -> Project | None:
    listed = projects(space.tables.listed(), space.models.listed())
    return next((candidate for candidate in listed if model.id in {other.id for other in candidate.models}), None)


def rival(space: Workspace, model: ModelAbout) -> ModelAbout | None:
    """Return the model that another is compared with first, as on Compare; None where there is none whose table is
    here."""
    project = _project(space, model)
    there = {table.id for table in space.tables.listed()}
    if project is None or model.table not in there:
        return None
    return next((other for other in rivals.rivals_of(model, project.models) if other.table in there), None)


def parts(review: Review) -> Iterator[ReportPart]:
    """Yield the double lift of both models, and in words where they differ."""
    source, space = review.model(), review.space
    model, other, project = source.about, rival(space, source.about), _project(space, source.about)
    if other is None or project is None:
        raise StoreError("No other model of this outcome is here: train one.")
    named = labels(project)
    sources = rivals.Sources(
        space, lambda name: source.whole if name == model.id else from_saved(space.models.load(name)),
        lambda asked: read_all(space, Spec.from_dict(asked.spec)), lambda asked: _read(space, asked),
        lambda table: space.tables.read(table),
    )  # fmt: skip
    worth = money.of_table(space, model.table).of(model.target)
    answer, _ = rivals.compared(sources, (model, other), (named[model.id], named[other.id]), worth, source.label)
    plot = answer.describe(target=source.target)
    where = answer.where() or "Their predictions do not differ."
    yield ReportPart(plot=replace(plot, detail=f"{plot.detail} · model {model.name}"), text=[where])


def _read(space: Workspace, model: ModelAbout) -> Table:
    spec = Spec.from_dict(model.spec)
    return as_table(space.tables.read(model.table, spec.codes_of(model.table)))
