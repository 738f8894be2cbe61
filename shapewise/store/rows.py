"""The rows of things as one person reads them: each once within a `reading_once`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row

from shapewise.store import records
from shapewise.store.database import Meta, once, seen


@dataclass(frozen=True)
class Rows:
    """The rows that one person, by id, reads from the records."""

    meta: Meta
    person: str

    def of_kind(self, kind: str, parent: str | None = "") -> dict[str, Row[Any]]:
        """Return the rows of all things of a kind that this person can view, by id, oldest first; parent as in
        `records.rows_of`."""

        def read() -> dict[str, Row[Any]]:
            with self.meta.reading() as connection:
                return {row.id: row for row in records.rows_of(connection, kind, self.person, parent)}

        return once(self._key("all", kind, str(parent)), read)

    def row(self, kind: str, identifier: str) -> Row[Any] | None:
        """Return the row of a thing; None if it does not exist."""

        def read() -> Row[Any] | None:
            with self.meta.reading() as connection:
                return records.row_of(connection, kind, identifier, self.person)

        listed = seen(self._key("all", kind, ""), dict[str, Row[Any]]())
        return listed[identifier] if identifier in listed else once(self._key("one", kind, identifier), read)

    def part(self, identifier: str, name: str) -> str | None:
        """Return the object that holds a part of a thing; None where there is none."""

        def read() -> str | None:
            with self.meta.reading() as connection:
                return records.part_of(connection, identifier, name)

        return once(self._key("part", identifier, name), read)

    def _key(self, *parts: str) -> tuple[Any, ...]:
        return self.meta.url, self.person, *parts
