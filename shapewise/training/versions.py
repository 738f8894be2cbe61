"""A model beside a newer version of its table: whether there is one, and the rows that it chooses of any table."""

from __future__ import annotations

from typing import Final

import numpy as np

from gamcore.data.table import Table, as_table
from shapewise.store.workspace import ModelAbout, TableAbout, Workspace
from shapewise.training.carry_over import newest
from shapewise.training.dataset import Data, choose, read_exposure, read_groups, read_weights
from shapewise.training.spec import Spec
from shapewise.training.train import read_all

NO_NEWER: Final = "The table of the model has no newer version: load one on the page Data."


def newer(space: Workspace, model: ModelAbout) -> TableAbout | None:
    """Return the newest version of a model's table; None where the model's is the newest, or cannot be asked."""
    return newest(space.tables.listed(), model.table) if can_be_asked(space, model) else None


def can_be_asked(space: Workspace, model: ModelAbout) -> bool:
    """Return whether a model can be asked about rows of its table, which is there."""
    return model.has_one_outcome and model.table in {table.id for table in space.tables.listed()}


def rows(space: Workspace, model: ModelAbout, table: str) -> tuple[Table, Data]:
    """Return a table, and its rows that a model's specification chooses."""
    spec = Spec.from_dict(model.spec)
    if table == model.table:
        return as_table(space.tables.read(table, spec.codes_of(table))), read_all(space, spec)
    other = as_table(space.tables.read(table))
    return other, chosen_rows(other, spec)


def chosen_rows(table: Table, spec: Spec) -> Data:
    """Return the rows of a table that a specification chooses, none of them held out: a model of another table has
    learned from none."""
    inside, known, values = choose(table, spec)
    chosen = inside & known
    part = table.take(chosen)
    return Data(
        X=part.frame, y=values[chosen], held_out=np.zeros(int(chosen.sum()), bool),
        weight=read_weights(part, spec.weight) if spec.weight else None,
        groups=read_groups(part.frame[spec.group]) if spec.group else None,
        binary=spec.kind_of_target == "binary", dropped=int((inside & ~known).sum()),
        exposure=read_exposure(part, spec.exposure) if spec.exposure else None,
        classes=tuple(sorted(set(values[chosen]))) if spec.kind_of_target == "classes" else (),
    )  # fmt: skip
