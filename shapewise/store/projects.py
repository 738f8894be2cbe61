"""Projects: a table with its versions, and all that is made from them.

A project is not stored. Its id is that of the first version of its table, which later versions lead back to, even
after the first one was deleted; a model remembers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shapewise.store.models import ModelAbout
from shapewise.store.tables import TableAbout

IMPORTED: Final = ""
"""The project of models that came as files: they have no table."""


@dataclass(frozen=True)
class Project:
    """The versions of a table and the models trained on them, both newest first; either may be empty."""

    id: str
    tables: tuple[TableAbout, ...]
    models: tuple[ModelAbout, ...]

    @property
    def name(self) -> str:
        """What its newest table is called, or was."""
        if self.tables:
            return self.tables[0].name
        return self.models[0].table_name if self.id else "Imported models"

    @property
    def touched(self) -> str:
        """When its newest table or model was made."""
        return max([table.created for table in self.tables] + [model.created for model in self.models])

    def model(self, identifier: str) -> ModelAbout | None:
        """Return one of its models; None where it is not among them."""
        return next((model for model in self.models if model.id == identifier), None)

    def table(self, identifier: str) -> TableAbout | None:
        """Return one of its tables; None where it is not among them."""
        return next((table for table in self.tables if table.id == identifier), None)

    def version(self, identifier: str) -> int:
        """Return the number of a version of its table, from 1 for the oldest that is left; 0 where it is gone."""
        places = [table.id for table in reversed(self.tables)]
        return places.index(identifier) + 1 if identifier in places else 0


def roots(tables: Sequence[TableAbout]) -> dict[str, str]:
    """Return the project of each table, by id."""
    replaced = {table.id: table.replaces for table in tables}
    first = {}
    for start in replaced:
        at, seen = start, {start}
        while (older := replaced.get(at)) and older not in seen:
            seen.add(older)
            at = older
        first[start] = at
    return first


def projects(tables: Sequence[TableAbout], models: Sequence[ModelAbout]) -> list[Project]:
    """Group tables and models (each newest first) into projects, the one with the newest thing first."""
    root = roots(tables)
    of_model = {model.id: project_of(model, root) for model in models}
    ids = dict.fromkeys([*root.values(), *of_model.values()])
    grouped = [
        Project(
            identifier,
            tuple(table for table in tables if root[table.id] == identifier),
            tuple(model for model in models if of_model[model.id] == identifier),
        )
        for identifier in ids
    ]
    return sorted(grouped, key=lambda project: project.touched, reverse=True)


def project_of(model: ModelAbout, root: dict[str, str]) -> str:
    """Return the project of a model. root : that of each table."""
    return root.get(model.table) or model.project or model.table
