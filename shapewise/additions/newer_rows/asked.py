"""A model on the newer version of its table: asked by a page, and by a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from gamcore import GAMClassifier, GAMRegressor, OnNewerRows, Sample, on_newer_rows
from gamcore.data.columns import TableError
from gamcore.data.table import Table
from gamcore.viz.files.parts import ReportPart
from shapewise.reports.sources import Review
from shapewise.store.workspace import ModelAbout, StoreError
from shapewise.training import carry_over, versions
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec

NO_GROUPS = ("target", "weight", "exposure", "group")
"""Columns of a specification that are no groups of rows."""


def asked_of(
    model: ModelAbout, estimator: GAMRegressor | GAMClassifier, version: str,
    rows_of: Callable[[ModelAbout, str], tuple[Table, Data]], of_class: str = "",
) -> tuple[OnNewerRows, int]:  # fmt: skip
    """Return how a model does on a newer version, and how many of its rows the older one has, too; TableError where
    that cannot be said. rows_of : returns a table, and its rows that a model's specification chooses."""
    (table, own), (later, new) = (rows_of(model, name) for name in (model.table, version))
    if {"sample", "added"} & set(model.rows or {}) or not own.held_out.any():
        raise TableError("The model has no rows here that it has not learned from.")
    known = carry_over.known_before(later.frame.loc[new.X.index], table.frame)
    if known.all():
        raise TableError("The newer version has no row that the older one has not.")
    label = next((level for level in own.classes if str(level) == of_class), None)
    samples = _sample(model, table, own.only(own.held_out)), _sample(model, later, new.only(~known))
    on = on_newer_rows(estimator, *samples, of_class=label, names=("its held-out rows", "newer rows"))
    return on, int(known.sum())


def _sample(model: ModelAbout, table: Table, data: Data) -> Sample:
    """Return rows with all columns that can be groups."""
    spec = Spec.from_dict(model.spec)
    apart = {getattr(spec, name) for name in NO_GROUPS} - {None, *spec.features}
    X = table.frame.loc[data.X.index].drop(columns=list(apart))
    return Sample(X, data.y, data.weight, data.groups, data.exposure)


def parts(review: Review) -> Iterator[ReportPart]:
    """Yield what is observed by bins of the prediction on both samples, with the answer in words."""
    source, space = review.model(), review.space
    later = versions.newer(space, source.about)
    if later is None:
        raise StoreError(versions.NO_NEWER)
    on, _ = asked_of(source.about, source.whole, later.id, partial(versions.rows, space), source.label)
    plot = on.describe(target=source.target)
    text = on.words().removeprefix(f"{plot.title}. ")
    yield ReportPart(plot=replace(plot, detail=f"{plot.detail} · model {source.about.name}"), text=[text])
