"""The tables of a workspace: rows in files that never change, and their descriptions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from gamcore.common.numbers import count, counted
from gamcore.data.codes import MissingCodes, clear_codes
from gamcore.data.column_names import Names
from gamcore.data.columns import TableError
from shapewise.access.permissions import LOCAL
from shapewise.errors import DeniedError, StoreError, room
from shapewise.store import records
from shapewise.store.atomic_files import scratch_file
from shapewise.store.database import once
from shapewise.store.items import Things
from shapewise.store.names import clean_name, known, new_id
from shapewise.store.object_store import digest_of
from shapewise.store.records import now


@dataclass(frozen=True)
class TableAbout:
    """The description of a stored table."""

    id: str
    name: str
    rows: int
    columns: int
    bytes: int
    created: str
    notes: list[str] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)  # those that people chose, see columns/roles
    as_levels: dict[str, bool] = field(default_factory=dict)  # numbers that are levels or not, where somebody said so
    held_out_by: dict[str, str] | None = None  # set at the first training: {"group": column} or {"time": column} or {}
    sampled: int = 0  # rows of the sample that pages read if the table is too large for memory
    replaces: str = ""  # id of the older version of the table
    names: dict[str, Any] = field(default_factory=dict)  # a `column_names.ColumnNames` by column
    steps: list[dict[str, Any]] = field(default_factory=list)  # computed columns and changed types, see columns/steps
    made_of: str = ""  # id of the table as it was loaded, if there are steps
    dataset: str = ""  # URL of the rows, if only the workers of the cluster read them
    asked: int = 0  # rows that a dataset's sample was to have, from which its rows follow
    dropped_on: str = ""  # id of the model that a file was dropped on to be scored: it belongs to no project
    query: dict[str, str] = field(default_factory=dict)  # that gave it, see databases/queries
    money: dict[str, Any] = field(default_factory=dict)  # what outcomes are worth, see decisions/money


class Tables:
    """The tables that one person can view."""

    def __init__(self, space: Things) -> None:
        self._space = space

    def add(self, frame: pd.DataFrame, name: str, notes: list[str] | None = None, replaces: str = "") -> TableAbout:
        """Store a table; if one with the same content exists, return that unchanged."""
        if frame.shape[0] == 0 or frame.shape[1] == 0:
            raise StoreError("The table is empty: load one with at least one row and one column.")
        with scratch_file(self._space.root) as path:
            with room():
                frame.to_parquet(path, index=False, compression="zstd")
            return self.add_file(path, name, rows=len(frame), columns=frame.shape[1], notes=notes, replaces=replaces)

    def add_file(
        self, path: Path, name: str, rows: int, columns: int, notes: list[str] | None = None, replaces: str = "",
        sample: tuple[Path, int] | None = None, dropped_on: str = "",
    ) -> TableAbout:  # fmt: skip
        """Store a Parquet file as a table; the file is moved. sample : a file to show instead, and its number of
        rows, if the table is too large for memory. dropped_on : id of the model that alone is to score it."""
        parts = {"table": path} | ({"sample": sample[0]} if sample else {})
        about = {"name": name, "rows": rows, "columns": columns, "notes": list(notes or []), "replaces": replaces}
        digest = digest_of(path)
        if dropped_on:  # the same file may also be a table of its own
            digest = hashlib.sha256(f"{dropped_on}\n{digest}".encode()).hexdigest()
        return self._add(digest, parts, about | {"sampled": sample[1] if sample else 0, "dropped_on": dropped_on})

    def add_dataset(
        self, url: str, asked: int, sample: tuple[Path, int], rows: int, columns: int, name: str, notes: list[str]
    ) -> TableAbout:
        """Store the sample of a dataset, whose file is moved. asked : rows that it was to have."""
        about = {"name": name, "rows": rows, "columns": columns, "notes": notes, "sampled": sample[1]}
        digest = hashlib.sha256(f"{url}\n{digest_of(sample[0])}".encode()).hexdigest()
        return self._add(digest, {"sample": sample[0]}, about | {"dataset": url, "asked": asked})

    def _add(self, digest: str, parts: dict[str, Path], about: dict[str, Any]) -> TableAbout:
        """Store the files of a table under the id that follows from a digest, unless it is stored already."""
        most = self._space.limits.rows
        if most and about["rows"] > most:
            raise StoreError(f"The table has {counted(about['rows'], 'row')}, more than {count(most)}: load fewer.")
        identifier = self._id_of(digest)
        if not self._has_table(identifier):
            with self._space.meta.reading() as connection:
                if records.exists(connection, identifier):  # it was theirs and was handed over to someone else
                    identifier = new_id()
            stored = sum(path.stat().st_size for path in ([parts["table"]] if "table" in parts else parts.values()))
            new = TableAbout(**about | {"name": clean_name(about["name"])}, id=identifier, bytes=stored, created=now())
            self._space.add("tables", identifier, asdict(new), parts, detail=new.name)
        return self.about(identifier)

    def _id_of(self, digest: str) -> str:
        """Return the id of a table, a hash of its content; in a shared workspace the owner is hashed, too, so that
        equal tables of two people are separate things."""
        if self._space.person.id != LOCAL.id:
            digest = hashlib.sha256(f"{self._space.person.id}\n{digest}".encode()).hexdigest()
        return digest[:16]

    def _has_table(self, identifier: str) -> bool:
        try:
            return self.about(identifier).id == identifier
        except StoreError:
            return False

    def about(self, identifier: str) -> TableAbout:
        """Return the description of a table."""
        return known(TableAbout, self._space.thing("tables", identifier).about)

    def listed(self) -> list[TableAbout]:
        """Return all tables, newest first, without those that were dropped on a model."""
        return [table for table in self._listed() if not table.dropped_on]

    def dropped(self, model: str) -> list[TableAbout]:
        """Return the tables that were dropped on a model to be scored, newest first."""
        return [table for table in self._listed() if table.dropped_on == model]

    def _listed(self) -> list[TableAbout]:
        key = "tables", self._space.root, self._space.person.id
        return once(key, lambda: self._space.listed("tables", lambda kept: known(TableAbout, kept)))[::-1]

    def path(self, identifier: str) -> Path:
        """Return the Parquet file of a table; StoreError if its rows are not here."""
        about = self.about(identifier)
        if about.dataset:
            raise StoreError(
                f"The rows of {about.name!r} are in {about.dataset}, and only the workers of the cluster read them: do "
                "this where they are, or load a part of them as a file."
            )
        return self._space.part("tables", identifier, "table")

    def columns(self, identifier: str) -> list[str]:
        """Return the names of a table's columns."""
        return list(pq.read_schema(self.shown_path(identifier)).names)

    def shown_path(self, identifier: str) -> Path:
        """Return the file that pages show of a table: its sample if it is too large for memory."""
        return self._space.part("tables", identifier, "sample" if self.about(identifier).sampled else "table")

    def read(self, identifier: str, codes: MissingCodes | None = None) -> pd.DataFrame:
        """Return the table itself; its sample if it is too large for memory.

        codes : those that mean missing, by column; None for the table's present ones.
        """
        frame = pd.read_parquet(self.shown_path(identifier))
        return clear_codes(frame, self.names(identifier).codes() if codes is None else codes)

    def names(self, identifier: str) -> Names:
        """Return how the columns of a table are shown, and which codes mean missing."""
        return Names.from_dict(self.about(identifier).names)

    def set_names(self, identifier: str, names: Names) -> None:
        """Set how the columns of a table are shown, and which codes mean missing; TableError where that cannot be."""
        about = self.about(identifier)
        columns = self.columns(identifier)
        names.check(columns)
        codes, before = names.codes(), Names.from_dict(about.names).codes()
        for column in (about.held_out_by or {}).values():
            if codes.get(column) != before.get(column):
                raise TableError(
                    f"Rows are held out by column {column!r}: what means missing there cannot change any more."
                )
        kept = {name: column for name, column in names.to_dict().items() if name in columns}
        self._space.edit("tables", identifier, lambda now: now | {"names": kept})

    def change_roles(self, identifier: str, changes: Mapping[str, str | None]) -> None:
        """Set the roles of some columns, None for the default; those of other columns stay as they are."""
        self._set_of_columns(identifier, "roles", changes)

    def read_as_levels(self, identifier: str, column: str, yes: bool | None) -> None:
        """Set whether the numbers of a column are levels, None for what the doctor says."""
        self._set_of_columns(identifier, "as_levels", {column: yes})

    def _set_of_columns(self, identifier: str, field_name: str, values: Mapping[str, Any]) -> None:
        """Set a field's values for some columns, None for none; those of other columns stay as they are."""

        def change(about: dict[str, Any]) -> dict[str, Any]:
            kept = {**about.get(field_name, {}), **values}
            return about | {field_name: {name: own for name, own in kept.items() if own is not None}}

        self._space.edit("tables", identifier, change)

    def hold_out_by(self, identifier: str, group: str | None, when: str | None) -> dict[str, str]:
        """Return the basis on which rows of a table are held out; the first training fixes it for good.

        Anyone who may train on the table may fix it: permission to view it and to create things is enough.
        """
        if not self._space.may("create"):
            raise DeniedError("You may view what is shared with you, not train on it: ask to be made an editor.")
        basis = self.about(identifier).held_out_by
        if basis is None:
            chosen = {"time": when} if when else {"group": group} if group else {}

            def fix(about: dict[str, Any]) -> dict[str, Any]:
                return about if about.get("held_out_by") is not None else about | {"held_out_by": chosen}

            basis = self._space.edit("tables", identifier, fix, action="view")["held_out_by"]
        return dict(basis)
