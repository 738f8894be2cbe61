"""The question of two versions of a table, or of any two that have a model's columns; with and without pages."""

from __future__ import annotations

from collections.abc import Callable

from shapewise.additions.why.question import Group, Question
from shapewise.store.projects import Project
from shapewise.store.workspace import ModelAbout, TableAbout, Workspace
from shapewise.training import carry_over
from shapewise.training.spec import Spec


def between(
    space: Workspace, model: ModelAbout, other: TableAbout, project: Project | None,
    spec_on: Callable[[str], Spec | None],
) -> Question:  # fmt: skip
    """Return the question of a model's own table and another, the earlier version first; each with a model of its own
    where one was trained alike on the other table. spec_on : a model's specification carried over to a table, None
    where it cannot be."""
    own, listed = space.tables.about(model.table), space.tables.listed()
    on_other = [candidate for candidate in space.models.listed() if candidate.table == other.id]
    spec = spec_on(other.id) if on_other else None
    twin = carry_over.counterpart(spec, on_other) if spec else None
    first = Group(_name(own, other, project), own.id, model=model.id if twin else "")
    second = Group(_name(other, own, project), other.id, model=twin.id if twin else "")
    if other.id in {table.id for table in carry_over.older(listed, own.id)}:
        first, second = second, first
    return Question(model.id, first, second)


def _name(table: TableAbout, other: TableAbout, project: Project | None) -> str:
    """Return what the rows of a table are called beside those of another: a version by its number."""
    if project is not None and project.version(table.id) and project.version(other.id):
        return f"version {project.version(table.id)}"
    return table.name if table.name != other.name else f"{table.name} ({table.id[:4]})"
