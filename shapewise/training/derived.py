"""Versions of a table with computed columns and changed types, and how newer versions repeat them.

The table as it was loaded stays; each set of steps makes a version of its own, which names the table it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shapewise.columns.steps import Step, replay
from shapewise.columns.stored import derive, kinds_of_stored, steps_of
from shapewise.store.workspace import StoreError, TableAbout, Workspace
from shapewise.training.carry_over import add_version

Tell = Callable[[float], object]


def _nobody(share: float) -> None:
    """Tell nobody about progress."""


def as_loaded(space: Workspace, table: TableAbout) -> TableAbout | None:
    """Return the table that a version with steps was made of, itself if it has none; None where that was deleted."""
    if not table.steps:
        return table
    return next((loaded for loaded in space.tables.listed() if loaded.id == table.made_of), None)


class _AlreadyHereError(Exception):
    """That a derived table was stored before."""

    def __init__(self, table: TableAbout) -> None:
        super().__init__(table.id)
        self.table = table


@dataclass(frozen=True)
class _Making:
    """A version with steps to make. apply : those that `source` lacks; steps, made_of : for the record."""

    source: TableAbout
    apply: Sequence[Step]
    steps: Sequence[Step]
    made_of: str
    notes: Sequence[str] = ()

    def store(self, space: Workspace, old: TableAbout, tell: Tell = _nobody) -> tuple[TableAbout, list[str]]:
        """Store it as the newer version of `old`; one that is there already is returned as it is."""
        there = {table.id for table in space.tables.listed()}

        def derived() -> TableAbout:
            table = derive(space, self.source, self.apply, tell)
            if table.id in there:
                raise _AlreadyHereError(table)
            return table

        try:
            version, messages = add_version(space, old, derived)
        except _AlreadyHereError as here:
            return here.table, ["This version was here already: it is opened."]
        about = {"steps": [step.to_dict() for step in self.steps], "made_of": self.made_of,
                 "notes": [*version.notes, *self.notes]}  # fmt: skip
        space.edit("tables", version.id, lambda now: now | about)
        return space.tables.about(version.id), messages


def keep(
    space: Workspace, table: TableAbout, steps: Sequence[Step], tell: Tell = _nobody
) -> tuple[TableAbout, list[str]]:
    """Store a table with steps as the newer version of it, and return it with messages for the user.

    steps : all of them, from the table as it was loaded; without any, that is returned. Where it was deleted, they
    begin with those of `table`. Raises StepError, FormulaError, TableError or StoreError.
    """
    table = space.tables.about(table.id)  # its roles may have changed since
    source = as_loaded(space, table)
    if source is None:
        return _Making(table, steps[len(table.steps) :], steps, table.made_of).store(space, table, tell)
    if not steps:
        return source, []
    return _Making(source, steps, steps, source.id).store(space, table, tell)


def add_newer(space: Workspace, old: TableAbout, store: Callable[[], TableAbout]) -> tuple[TableAbout, list[str]]:
    """Store a table as the newer version of another and repeat its steps; return the version to work on, and messages.

    What a newer version does not allow is left out, and said. store : stores the table on its own.
    """
    tables = space.tables.listed()
    with_steps = old if old.steps else next((table for table in tables if table.made_of == old.id), None)
    if with_steps is None:
        return add_version(space, old, store)
    source = as_loaded(space, with_steps)
    table, messages = add_version(space, source or with_steps, store)
    replayed = replay(steps_of(with_steps.steps), kinds_of_stored(space, table.id))
    messages += replayed.sentences()
    if not replayed.steps:
        space.edit("tables", table.id, lambda about: about | {"replaces": with_steps.id})
        return space.tables.about(table.id), messages
    making = _Making(table, replayed.steps, replayed.steps, table.id, replayed.sentences())
    version, more = making.store(space, with_steps if source else table)
    return version, [*messages, *more]


def fit_to_model(space: Workspace, table: TableAbout, steps: Sequence[Step]) -> tuple[TableAbout, list[str]]:
    """Store a version of a table with the columns that a model computes, and return it with messages.

    steps : those of the model's own table. StoreError where the table allows none of them.
    """
    replayed = replay(steps, kinds_of_stored(space, table.id))
    if not replayed.steps:
        raise StoreError(" ".join(replayed.sentences()))
    version, messages = keep(space, table, [*steps_of(table.steps), *replayed.steps])
    return version, [*replayed.sentences(), *messages]
