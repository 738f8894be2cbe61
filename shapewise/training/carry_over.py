"""Newer versions of a table, and how a model's specification carries over to them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from gamcore.common.types import Bools
from gamcore.data.table import Table, as_table
from gamcore.stats.column_drift import kinds
from shapewise.store.workspace import ModelAbout, StoreError, TableAbout, Workspace
from shapewise.training.by_feature import among, terms_among
from shapewise.training.spec import Spec

NEEDED: Final = {"weight": "weights", "group": "groups", "time": "time", "task": "tasks"}
DISTINCT: Final = 0.95
"""Share of different rows of a table from which one that is alike is the same row."""


def older(tables: list[TableAbout], identifier: str) -> list[TableAbout]:
    """Return the earlier versions of a table that still exist, newest first."""
    known, earlier = {table.id: table for table in tables}, []
    at = known.get(identifier)
    seen = {identifier}
    while at is not None and at.replaces in known and at.replaces not in seen:
        at = known[at.replaces]
        seen.add(at.id)
        earlier.append(at)
    return earlier


def newest(tables: list[TableAbout], identifier: str) -> TableAbout | None:
    """Return the newest version of a table, which may itself be deleted; None if nothing replaces it.

    tables : newest first. If several replace the same table, the newest counts.
    """
    latest, seen = None, {identifier}
    while (after := next((t for t in tables if t.replaces == identifier and t.id not in seen), None)) is not None:
        latest, identifier = after, after.id
        seen.add(identifier)
    return latest


def add_version(space: Workspace, old: TableAbout, store: Callable[[], TableAbout]) -> tuple[TableAbout, list[str]]:
    """Store a table as the newer version of another, and return it with messages for the user.

    The new version takes over the name, the roles, the names of columns and the hold-out rule. StoreError if it equals
    the older version, or is already stored as something else.

    store : stores the table on its own.
    """
    before = {table.id for table in space.tables.listed()}
    table = store()
    new = table.id not in before
    if table.id == old.id or (new and _equal(space, table, old)):
        if new:
            space.delete("tables", table.id)
        raise StoreError(f"What was loaded holds the same table as this version of {old.name}: nothing was stored.")
    if not new:
        _check_link(space, table, old)
    about: dict[str, Any] = {"replaces": old.id, "dropped_on": old.dropped_on} | ({"name": old.name} if new else {})
    columns = space.tables.columns(table.id)
    roles = {name: role for name, role in old.roles.items() if name in columns}
    about |= {"roles": roles} if roles and not table.roles else {}
    levels = {name: yes for name, yes in old.as_levels.items() if name in columns}
    about |= {"as_levels": levels} if levels and not table.as_levels else {}
    names = {name: column for name, column in old.names.items() if name in columns}
    about |= {"names": names} if names and not table.names else {}
    about |= {"money": old.money} if old.money and not table.money else {}
    space.edit("tables", table.id, lambda now: now | about)
    messages = [] if new else [f"It is now the newer version of {old.name}."]
    messages += _hold_out_alike(space, table, columns, old)
    return space.tables.about(table.id), messages


def _equal(space: Workspace, table: TableAbout, old: TableAbout) -> bool:
    """Return whether two tables are equal although their files differ."""
    if (table.rows, table.columns) != (old.rows, old.columns) or table.sampled or old.sampled:
        return False
    return bool(space.tables.read(table.id, {}).equals(space.tables.read(old.id, {})))


def _check_link(space: Workspace, table: TableAbout, old: TableAbout) -> None:
    """Raise StoreError if a table that is already stored cannot become the newer version of another."""
    tables = space.tables.listed()
    if table.id in {version.id for version in older(tables, old.id)}:
        raise StoreError(
            f"What was loaded holds an older version of {old.name}, which is here already: choose a newer one."
        )
    if table.replaces and table.replaces in {version.id for version in tables}:
        name = space.tables.about(table.replaces).name
        raise StoreError(
            f"This table has already been loaded, as the newer version of {name}: choose it on the Data page."
        )
    if not space.may("change", "tables", table.id):
        raise StoreError(
            f"This table has already been loaded, as {table.name}, and only its owner can make it a newer version: "
            f"ask them to."
        )


def _hold_out_alike(space: Workspace, table: TableAbout, columns: list[str], old: TableAbout) -> list[str]:
    """Hold out rows by the same column as the older version.

    Where that is impossible, the first training decides; return a message that says so.
    """
    by = space.tables.about(old.id).held_out_by
    if by is None or table.held_out_by is not None:
        return []
    for column in by.values():
        why = f"has no column {column}" if column not in columns else ""
        if not why and "time" in by:
            then, now = (as_table(space.tables.read(version.id)) for version in (old, table))
            why = f"has another type of {column}" if column in _retyped(then, now) else ""
        if why:
            return [f"Rows were held out by {column}, and this version {why}: its first training will decide."]
    space.tables.hold_out_by(table.id, by.get("group"), by.get("time"))
    return []


def delete(space: Workspace, identifier: str) -> None:
    """Delete a table and link the version that replaces it to the version before it, if that still exists."""
    tables = space.tables.listed()
    before = older(tables, identifier)
    space.delete("tables", identifier)
    for after in tables:
        if before and after.replaces == identifier:
            with contextlib.suppress(StoreError):  # a table of another person stays as it is
                space.edit("tables", after.id, lambda about: about | {"replaces": before[0].id})


@dataclass(frozen=True)
class Carried:
    """A model's specification on another version of its table.

    spec : None if it cannot be trained there. left_out : features that are gone. retyped : features whose type changed.
    why : the reason it cannot be trained, or empty.
    """

    spec: Spec | None
    left_out: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()
    why: str = ""


def carried(spec: Spec, then: pd.DataFrame | None, to: str, now: pd.DataFrame) -> Carried:
    """Carry a specification over to a newer version of its table.

    then : the older table, None if it is gone. to : id of the newer one. now : the newer table.
    """
    if spec.target not in now.columns:
        return Carried(None, why=f"The newer version has no column {spec.target}, which is the target.")
    retyped = [] if then is None else _retyped(as_table(then), as_table(now))
    if spec.target in retyped:
        return Carried(None, why=f"The target, {spec.target}, is of another type in the newer version.")
    for field, what in NEEDED.items():
        name = getattr(spec, field)
        if name and name not in now.columns:
            return Carried(None, why=f"The newer version has no column {name}, which holds the {what}.")
    if spec.treatment and spec.treatment.arm not in now.columns:
        return Carried(None, why=f"The newer version has no column {spec.treatment.arm}, which tells the arms apart.")
    gone = [column for column in spec.filter_columns() if column not in now.columns]
    if gone:
        return Carried(None, why=f"The newer version has no column {gone[0]}, which the row filter names.")
    features = [name for name in spec.features if name in now.columns]
    if not features:
        return Carried(None, why="The newer version has none of the features.")
    same = set(now.columns) - set(retyped)  # of another kind, order and cuts no longer are what was meant
    adapted = replace(
        spec, table=to, codes=None, features=features,
        changes=terms_among(among(spec.changes, same), set(now.columns)),
        categories=[name for name in spec.categories if name in now.columns],
        tables={name: to if table == spec.table else table for name, table in spec.tables.items()},
    )  # fmt: skip
    left_out = tuple(name for name in spec.features if name not in now.columns)
    return Carried(adapted, left_out, tuple(name for name in retyped if name != spec.target))


def _retyped(then: Table, now: Table) -> list[str]:
    """Return the columns that both tables have, but with different kinds."""
    both = [(name, kinds(then, now, name)) for name in then.names if name in now]
    return [name for name, (old, new) in both if old != new]


def counterpart(spec: Spec, models: list[ModelAbout]) -> ModelAbout | None:
    """Return the first model that was trained with the same specification, whatever its name, and not edited."""
    trained = [model for model in models if model.spec and not model.edits]
    return next((model for model in trained if alike(Spec.from_dict(model.spec), spec)), None)


def alike(spec: Spec, other: Spec) -> bool:
    """Return whether two specifications train the same model."""
    first, second = (
        replace(each, name="", bands=0, codes=None, keep_counts=False,
                treatment=each.treatment and replace(each.treatment, known_by=""))
        for each in (spec, other)
    )  # fmt: skip
    return first == second


def known_before(rows: pd.DataFrame, older: pd.DataFrame) -> Bools:
    """Return which rows (n,) an older version of their table has, too: alike in all columns that both have.

    Where rows of the older version are often alike among themselves, so are new ones by chance: then as many as it has
    are known if it is whole among the rows, and none otherwise.
    """
    shared = [name for name in rows.columns if name in older.columns]
    now, then = (pd.util.hash_pandas_object(_plain(frame[shared]), index=False) for frame in (rows, older))
    if then.nunique() >= DISTINCT * then.size:
        return np.asarray(now.isin(then), bool)
    counts = then.value_counts()
    if (now.value_counts().reindex(counts.index, fill_value=0) < counts).any():
        return np.zeros(now.size, bool)
    return np.asarray(now.groupby(now).cumcount() < now.map(counts).fillna(0), bool)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return cells as numbers or texts: versions may store the same ones in other types."""
    return pd.DataFrame({name: values.astype("float64" if is_numeric_dtype(values) else "string")
                         for name, values in frame.items()})  # fmt: skip
