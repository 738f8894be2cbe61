"""The tables of a workspace: rows in a file that never changes, and what is known of them."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from shapewise.access.permissions import LOCAL
from shapewise.errors import DeniedError, StoreError, room
from shapewise.store import records
from shapewise.store.atomic_files import scratch_file
from shapewise.store.items import Things
from shapewise.store.names import clean_name, known, new_id
from shapewise.store.object_store import digest_of
from shapewise.store.records import now


@dataclass(frozen=True)
class TableAbout:
    """What is known of a stored table."""

    id: str
    name: str
    rows: int
    columns: int
    bytes: int
    created: str
    notes: list[str] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    held_out_by: dict[str, str] | None = None  # set at the first training: {"group": column} or {"time": column} or {}
    sampled: int = 0  # rows of the sample that pages read, where the table itself is too large for memory
    replaces: str = ""  # the older version of the table


class Tables:
    """The tables that one person sees."""

    def __init__(self, space: Things) -> None:
        self._space = space

    def add(self, frame: pd.DataFrame, name: str, notes: list[str] | None = None, replaces: str = "") -> TableAbout:
        """Store a table; one with the same content is returned as it is."""
        if frame.shape[0] == 0 or frame.shape[1] == 0:
            raise StoreError("The table is empty: load one with at least one row and one column.")
        with scratch_file(self._space.root) as path:
            with room():
                frame.to_parquet(path, index=False, compression="zstd")
            return self.add_file(path, name, rows=len(frame), columns=frame.shape[1], notes=notes, replaces=replaces)

    def add_file(
        self, path: Path, name: str, rows: int, columns: int, notes: list[str] | None = None, replaces: str = "",
        sample: tuple[Path, int] | None = None,
    ) -> TableAbout:  # fmt: skip
        """Store a table that is a Parquet file, which is moved away. sample : a file of so many rows to be shown, where
        the table is too large for memory."""
        if self._space.limits.rows and rows > self._space.limits.rows:
            raise StoreError(f"The table has {rows:,} rows, more than {self._space.limits.rows:,}: load fewer.")
        identifier = self._id_of(digest_of(path))
        if not self._has_table(identifier):
            with self._space.meta.reading() as connection:
                if records.exists(connection, identifier):  # it was theirs, and was handed over
                    identifier = new_id()
            about = TableAbout(
                id=identifier,
                name=clean_name(name),
                rows=rows,
                columns=columns,
                bytes=path.stat().st_size,
                created=now(),
                notes=list(notes or []),
                sampled=sample[1] if sample else 0,
                replaces=replaces,
            )
            parts = {"table": path} | ({"sample": sample[0]} if sample else {})
            self._space.add("tables", identifier, asdict(about), parts, detail=about.name)
        return self.about(identifier)

    def _id_of(self, digest: str) -> str:
        """Return the id of a table: the hash of its content; others' in a shared workspace are apart, though kept
        once."""
        if self._space.person.id != LOCAL.id:
            digest = hashlib.sha256(f"{self._space.person.id}\n{digest}".encode()).hexdigest()
        return digest[:16]

    def _has_table(self, identifier: str) -> bool:
        try:
            return self.about(identifier).id == identifier
        except StoreError:
            return False

    def about(self, identifier: str) -> TableAbout:
        """Return what is known of a table."""
        return known(TableAbout, self._space.thing("tables", identifier).about)

    def listed(self) -> list[TableAbout]:
        """Return all tables, the newest first."""
        return self._space.listed("tables", lambda kept: known(TableAbout, kept))[::-1]

    def path(self, identifier: str) -> Path:
        """Return the Parquet file of a table."""
        return self._space.part("tables", identifier, "table")

    def shown_path(self, identifier: str) -> Path:
        """Return the file of what pages show of a table: its sample where it is too large for memory."""
        return self._space.part("tables", identifier, "sample" if self.about(identifier).sampled else "table")

    def read(self, identifier: str) -> pd.DataFrame:
        """Return the table itself; its sample where it is too large for memory."""
        return pd.read_parquet(self.shown_path(identifier))

    def set_roles(self, identifier: str, roles: dict[str, str]) -> None:
        """Remember what each column of a table is for."""
        self._space.edit("tables", identifier, lambda about: about | {"roles": roles})

    def change_roles(self, identifier: str, changes: dict[str, str | None]) -> None:
        """Remember what some columns are for, None for the usual; what others are for stays as it is now."""

        def change(about: dict[str, Any]) -> dict[str, Any]:
            roles = {**about.get("roles", {}), **changes}
            return about | {"roles": {name: role for name, role in roles.items() if role is not None}}

        self._space.edit("tables", identifier, change)

    def hold_out_by(self, identifier: str, group: str | None, when: str | None) -> dict[str, str]:
        """Return what decides which rows of a table are held out: fixed by its first training, whatever comes later.

        Whoever may train on a table fixes it: to see the table, and to be allowed to make something, is enough.
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
