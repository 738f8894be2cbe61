"""Slides of reports: why the newest version of a model's table, or another group of rows, has another mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from gamcore import WhyMoved
from gamcore.estimators.saved import from_saved
from gamcore.viz.files.parts import ReportPart
from shapewise.additions.why import versions, written
from shapewise.additions.why.question import Sources, named
from shapewise.decisions import money
from shapewise.reports.sources import Review
from shapewise.store.projects import projects
from shapewise.store.workspace import StoreError
from shapewise.training import versions as of_table
from shapewise.training.carry_over import carried
from shapewise.training.spec import Spec


def sources(review: Review) -> Sources:
    """Return where the answers of a report's model are made from."""
    source, space = review.model(), review.space

    def estimator(name: str) -> Any:
        return source.whole if name == source.about.id else from_saved(space.models.load(name))

    return Sources(space.models.about, estimator, partial(of_table.rows, space), source.label)


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
    later = of_table.newer(space, model)
    if later is None:
        raise StoreError(of_table.NO_NEWER)
    spec = Spec.from_dict(model.spec)
    project = next(each for each in projects(space.tables.listed(), space.models.listed()) if each.table(later.id))

    def spec_on(table: str) -> Spec | None:
        return carried(spec, space.tables.read(model.table), table, space.tables.read(table)).spec

    asked = versions.between(space, model, later, project, spec_on)
    yield page(review, sources(review).answer(asked))
