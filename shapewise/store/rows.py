"""The rows of things as one person reads them: each once within a `reading_once`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row

from shapewise.store import records
from shapewise.store.database import Meta, once, seen

FEW: Final = ("boards", "reports", "segments", "templates", "tests")
"""Kinds of which a person has few, and small ones: whoever reads one of them has read all, by one statement."""


def _together(kind: str) -> tuple[str, ...]:
    return FEW if kind in FEW else (kind,)


@dataclass(frozen=True)
class Rows:
    """The rows that one person, by id, reads from the records."""

    meta: Meta
    person: str

    def of_kind(self, kind: str, parent: str | None = "") -> dict[str, Row[Any]]:
        """Return the rows of all things of a kind that this person can view, by id, oldest first; parent as in
        `records.rows_of`."""

        kinds = _together(kind) if parent == "" else (kind,)

        def read() -> dict[str, dict[str, Row[Any]]]:
            listed: dict[str, dict[str, Row[Any]]] = {each: {} for each in kinds}
            with self.meta.reading() as connection:
                for row in records.rows_of(connection, kinds, self.person, parent):
                    listed[row.kind][row.id] = row
            return listed

        return once(self._key("all", *kinds, str(parent)), read)[kind]

    def row(self, kind: str, identifier: str) -> Row[Any] | None:
        """Return the row of a thing; None if it does not exist."""

        def read() -> Row[Any] | None:
            with self.meta.reading() as connection:
                return records.row_of(connection, kind, identifier, self.person)

        known = seen(self._key("all", *_together(kind), ""), dict[str, dict[str, Row[Any]]]())
        listed = known.get(kind, {})
        return listed[identifier] if identifier in listed else once(self._key("one", kind, identifier), read)

    def part(self, identifier: str, name: str) -> str | None:
        """Return the object that holds a part of a thing; None where there is none."""

        def read() -> str | None:
            with self.meta.reading() as connection:
                return records.part_of(connection, identifier, name)

        return once(self._key("part", identifier, name), read)

    def _key(self, *parts: str) -> tuple[Any, ...]:
        return self.meta.url, self.person, *parts
