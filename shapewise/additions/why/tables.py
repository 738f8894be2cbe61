"""Which tables a model can be asked about beside its own."""

from __future__ import annotations

from functools import partial

from shapewise.additions.why import versions
from shapewise.additions.why.question import Question
from shapewise.store.projects import Project
from shapewise.store.workspace import ModelAbout, TableAbout
from shapewise.training.carry_over import Carried, carried
from shapewise.training.spec import Spec
from shapewise.ui.session import state


def is_there(model: ModelAbout) -> bool:
    """Return whether the table of a model is."""
    return model.table in {table.id for table in state.workspace().tables.listed()}


@state.kept(show_spinner=False, max_entries=64)
def _carried(model: str, table: str) -> Carried:
    about = state.workspace().models.about(model)
    return carried(Spec.from_dict(about.spec), state.frame(about.table), table, state.frame(table))


def spec_on(model: str, table: str) -> Spec | None:
    """Return a model's specification carried over to a table; None where it cannot be."""
    return _carried(model, table).spec


def between(model: ModelAbout, other: TableAbout, project: Project | None) -> Question:
    """Return the question of a model's own table and another; see `versions.between`."""
    return versions.between(state.workspace(), model, other, project, partial(spec_on, model.id))
