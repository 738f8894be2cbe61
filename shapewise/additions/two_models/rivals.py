"""Which models can be asked about the same rows, and the rows that neither has learned from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gamcore import GAMClassifier, GAMRegressor, TwoModels, compare_models
from gamcore.data.column_names import free_name
from gamcore.data.columns import TableError
from gamcore.data.table import Table
from shapewise.decisions import boards
from shapewise.store.workspace import ModelAbout, Workspace
from shapewise.training import carry_over
from shapewise.training.dataset import Data, choose, columns_of
from shapewise.training.spec import Spec

PARTIAL = {"sample", "added"}
"""Kinds of rows that a model has learned from where its table here has not all of them."""


NO_GROUPS = ("target", "weight", "exposure", "group")
"""Columns of a specification that are no groups of rows."""


@dataclass(frozen=True)
class Sources:
    """Where models and rows are read from, by a page or a report. data : the rows of a model with their own targets,
    None where its table is gone. read : its table as it was read. frame : a table as it is stored."""

    space: Workspace
    model: Callable[[str], GAMRegressor | GAMClassifier]
    data: Callable[[ModelAbout], Data | None]
    read: Callable[[ModelAbout], Table]
    frame: Callable[[str], pd.DataFrame]


def rivals_of(model: ModelAbout, models: Sequence[ModelAbout]) -> list[ModelAbout]:
    """Return the other models of a project that predict what a model does, those of its table first."""
    alike = [rival for rival in models if rival.id != model.id and _asks_the_same(rival, model)]
    return sorted(alike, key=lambda rival: rival.table != model.table)


def _asks_the_same(model: ModelAbout, other: ModelAbout) -> bool:
    if not (model.has_one_outcome and other.spec):
        return False
    first, second = Spec.from_dict(model.spec), Spec.from_dict(other.spec)
    names = ("target", "kind_of_target", "positive", "negative", "classes", "exposure")
    asked = first.objective() == second.objective()  # the same quantile
    return asked and all(getattr(first, name) == getattr(second, name) for name in names)


@dataclass(frozen=True)
class SharedRows:
    """Rows that neither of two models has learned from. table : their id, of which `owner` has held them out. learned :
    how many more the other model has learned from, as rows that are alike in its own table."""

    data: Data
    table: str
    owner: str
    learned: int


def shared_rows(sources: Sources, model: ModelAbout, other: ModelAbout) -> SharedRows:
    """Return the rows of the same table that both have held out, or those of the newer table that the model of it has
    held out and the other one does not know from its own table; TableError where there are none."""
    older_ones = {version.id for version in carry_over.older(sources.space.tables.listed(), other.table)}
    owner, guest = (other, model) if model.table in older_ones else (model, other)
    read = {asked.id: sources.data(asked) for asked in (owner, guest)}
    own, known = read[owner.id], read[guest.id]
    if own is None or known is None:
        raise TableError("The table of one of the models is gone, so what it has learned from is not known.")
    if any(PARTIAL & set(asked.rows or {}) for asked in (owner, guest)):
        raise TableError("One of the models has learned from more rows than are here, so none is surely new to it.")
    held, learned = own.held_out, 0
    if owner.table == guest.table:
        held = held & own.X.index.isin(known.X.index[known.held_out])
    else:
        table, spec = sources.read(owner), Spec.from_dict(guest.spec)
        if lacking := [name for name in columns_of(spec, {}) if name not in table]:
            raise TableError(f"The newer table lacks {lacking[0]}, which {guest.name} reads: compare models of one "
                             "table.")  # fmt: skip
        inside, has_target, _ = choose(table, spec)
        held = held & (inside & has_target)[table.frame.index.get_indexer(own.X.index)]
        older = sources.frame(guest.table).loc[known.X.index[~known.held_out]]
        again = held & carry_over.known_before(sources.frame(owner.table).loc[own.X.index], older)
        held, learned = held & ~again, int(again.sum())
    if not held.any():
        raise TableError("There is no row that neither model has learned from: train both on one table.")
    return SharedRows(own.only(held), owner.table, owner.id, learned)


def _with_segments(space: Workspace, identifier: str, rows: Table) -> pd.DataFrame:
    """Return some rows of a table with a column for each of its segments: whether they are in it."""
    frame = rows.frame.copy(deep=False)
    for segment in boards.segments(space, identifier):
        rule = segment.read()
        if set(rule.columns) <= set(rows.names):
            name = free_name(frame.columns, f"segment {segment.name}")
            frame[name] = np.where(rule.holds(rows), "yes", "no")
    return frame


def compared(
    sources: Sources, models: tuple[ModelAbout, ModelAbout], names: tuple[str, str], worth: float, of_class: str
) -> tuple[TwoModels, SharedRows]:
    """Return how two models compare on rows that neither has learned from, and which these are; TableError where that
    cannot be said. worth : of an outcome, 0 if none is given. of_class : one of several classes, else ""."""
    rows = shared_rows(sources, *models)
    specs = [Spec.from_dict(model.spec) for model in models]
    read = {name for spec in specs for name in spec.features}
    apart = {getattr(spec, name) for spec in specs for name in NO_GROUPS} - {None, *read}
    owner = next(model for model in models if model.id == rows.owner)
    asked = sources.read(owner).take(rows.data.X.index)
    table = _with_segments(sources.space, rows.table, asked).drop(columns=[*apart])
    given = rows.data.of_rows(np.arange(len(rows.data.y)))
    label = next((level for level in rows.data.classes if str(level) == of_class), None)
    first, second = (sources.model(model.id) for model in models)
    answer = compare_models(first, second, table, rows.data.y, **given, of_class=label, worth=worth or None,
                            names=names)  # fmt: skip
    return answer, rows
