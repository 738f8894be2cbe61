"""Saved queries: what is asked of a database, run by a child process, and kept with the table that it gives."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from gamcore.common.numbers import count
from shapewise.access.quotas import is_shared
from shapewise.databases.connections import ROWS, SECONDS, Connection, most
from shapewise.errors import StoreError
from shapewise.ingest.supervisor import Loading, ReadLimits, TableInChild
from shapewise.processes import READER
from shapewise.store.atomic_files import scratch_folder
from shapewise.store.workspace import TableAbout, Workspace

PREVIEW_ROWS: Final = 50
LEAVE_SECONDS: Final = 5.0
LONGEST: Final = 20_000
"""The most characters of a query."""

Tell = Callable[[float, str], None]


@dataclass(frozen=True)
class SavedQuery:
    """A query that gave a table. by : the name of whoever ran it."""

    connection: str
    text: str
    by: str = ""


class Asking(TableInChild):
    """A database being asked. rows : the most that the query may give. cut : whether others are left out."""

    doing = "Asking the database"
    stopped = "The query could not be run because its reader stopped"
    repair = "ask for fewer rows or columns, or give the number to whoever runs this server."
    smaller = "ask for fewer rows or columns, or for shorter texts."
    fewer = "ask for fewer rows or columns."
    _stdin = subprocess.PIPE

    def __init__(
        self, connection: Connection, text: str, into: Path, limits: ReadLimits, tell: Tell, *, rows: int, cut: bool
    ) -> None:  # fmt: skip
        super().__init__(into, limits, tell)
        self._connection, self._text, self._rows, self._cut = connection, text, rows, cut

    def _program(self) -> str:
        return READER.format("shapewise.databases.child")

    def _job(self) -> dict[str, Any]:
        return {"name": self._connection.name, "text": self._text, "rows": self._rows, "cut": self._cut,
                "seconds": most(SECONDS), "shared": is_shared()}  # fmt: skip

    def _begin(self) -> subprocess.Popen[bytes]:
        process = super()._begin()
        assert process.stdin is not None
        with suppress(OSError):  # a child that has ended says why
            process.stdin.write(f"{self._connection.url}\n".encode())
            process.stdin.flush()
        return process

    def _leave(self, process: subprocess.Popen[bytes]) -> None:
        """Let the child end the query where it runs: that is what the end of its input asks for."""
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(LEAVE_SECONDS)


def _check(text: str) -> str:
    if len(text) > LONGEST:
        raise StoreError(f"The query has more than {count(LONGEST)} characters: make a view of it in the database.")
    return text


def preview(space: Workspace, connection: Connection, text: str, tell: Tell) -> tuple[pd.DataFrame, list[str]]:
    """Return the first rows of a query, and notes; nothing is stored. ReaderError or StoreError where it cannot run."""
    with scratch_folder(space.root) as into:
        loading = Asking(connection, _check(text), into, _limits(space), tell, rows=PREVIEW_ROWS, cut=True).finish()
        return pd.read_parquet(into / "table.parquet"), loading.notes


def load(space: Workspace, connection: Connection, text: str, name: str, tell: Tell) -> TableAbout:
    """Store the rows of a query as a table that knows its query. ReaderError or StoreError where that cannot be."""
    space.check_room(0)
    allowed = min(most(ROWS), space.limits.rows or most(ROWS))
    with scratch_folder(space.root) as into:
        loaded = Asking(connection, _check(text), into, _limits(space), tell, rows=allowed, cut=False).finish()
        tell(1.0, "Storing the table")
        table = _store(space, into, loaded, name)
    query = asdict(SavedQuery(connection.name, text, space.person.name))
    if space.may("change", "tables", table.id):
        space.edit("tables", table.id, lambda about: about | {"query": query})
    return space.tables.about(table.id)


def _store(space: Workspace, into: Path, loaded: Loading, name: str) -> TableAbout:
    sample = (into / "sample.parquet", loaded.sampled) if loaded.sampled else None
    return space.tables.add_file(into / "table.parquet", name, loaded.rows, loaded.columns, loaded.notes, sample=sample)


def _limits(space: Workspace) -> ReadLimits:
    memory = min(ReadLimits.memory, space.limits.memory or ReadLimits.memory)
    return ReadLimits(memory=memory, seconds=most(SECONDS), table=space.limits.table_memory, disk=space.left())


def source_of(tables: Sequence[TableAbout], table: TableAbout) -> TableAbout | None:
    """Return which table knows the query of a table: itself, or one that it was made from or replaces; None if none.

    tables : those that this person may see."""
    by_id, seen = {table.id: table for table in tables}, set[str]()
    at: TableAbout | None = table
    while at is not None and at.id not in seen:
        if at.query:
            return at
        seen.add(at.id)
        at = by_id.get(at.made_of) or by_id.get(at.replaces)
    return None
