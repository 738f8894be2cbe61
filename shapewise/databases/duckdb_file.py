"""A session with a file of DuckDB: opened to read only, without access to any other file, its settings locked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from gamcore.common.extras import extra
from shapewise.databases.sessions import MOST_BATCH, Answer, EndedError, Lost, days_within, placed, reads_only
from shapewise.ingest.arrow_types import ArrowColumn
from shapewise.ingest.common import ReaderError

if TYPE_CHECKING:
    from sqlalchemy import URL

LINE: Final = re.compile(r"^LINE (\d+): ")
MEMORY_SHARE: Final = 2
"""The engine may hold 1 / MEMORY_SHARE of the child's memory: the rest is for the rows on their way."""


class DuckDBSession:
    """A session with a file of DuckDB. memory : bytes that the child may hold. scratch : a folder for as many bytes of
    what the engine cannot hold."""

    def __init__(self, name: str, url: URL, scratch: Path, memory: int) -> None:
        with extra("databases"):
            import duckdb

        self._library, self._name, self._text = duckdb, name, ""
        path = Path(url.database or "")
        if not path.is_file():
            raise ReaderError(
                f"The file of the database {name!r} is not there: whoever runs this server has to put it back."
            )
        # They are given before the file is opened, which may hold statements of its own.
        settings = {
            "enable_external_access": "false", "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false", "python_enable_replacements": "false", "threads": "2",
            "memory_limit": f"{memory // MEMORY_SHARE >> 20}MiB", "temp_directory": str(scratch),
            "max_temp_directory_size": f"{memory >> 20}MiB",
        }  # fmt: skip
        try:
            self._open = duckdb.connect(str(path), read_only=True, config=dict(settings))
            self._open.execute("SET enable_progress_bar = false; SET lock_configuration = true")
        except duckdb.Error as error:
            words = str(error)
            why = ("another program has it open to write: close that, or copy the file" if "lock" in words.lower() else
                   f"{_first(words)}: write it again with a version of DuckDB up to {duckdb.__version__}")  # fmt: skip
            raise ReaderError(f"The file of the database {name!r} cannot be opened, as {why}.") from error

    def ask(self, text: str) -> Answer:
        """Begin a query."""
        self._text = text
        statements = self._open.extract_statements(text)
        if len(statements) != 1:
            raise reads_only(f"this is {'none' if not statements else 'several statements'}")
        if statements[0].type != self._library.StatementType.SELECT:
            raise reads_only(f"this is {str(statements[0].type).rpartition('.')[2]}")
        rows = self._open.sql(statements[0].query).to_arrow_reader(MOST_BATCH)

        def batches(columns: Sequence[ArrowColumn], lost: Lost) -> Iterator[pa.Table]:
            for batch in rows:
                table = pa.Table.from_batches([batch])
                for column in columns:
                    values = table.column(column.place)
                    if pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
                        within = days_within(values, column.name, lost)
                        table = table.set_column(column.place, table.field(column.place), within)
                yield table

        return Answer(rows.schema, batches)

    def cancel(self) -> None:
        """End the query."""
        self._open.interrupt()

    def refusal(self, error: Exception) -> ReaderError | None:
        """Return what an error of the database means, in a sentence; None if it is none of the database's."""
        words = str(error)
        on_its_way = isinstance(error, OSError | pa.ArrowException) and "Error: " in words  # Arrow passes on the words
        if not on_its_way and not isinstance(error, self._library.Error):
            return None
        if "INTERRUPT Error: " in words:
            return EndedError("The query was ended: ask for fewer rows.")
        if "Permission Error: " in words:
            return ReaderError(f"The query reaches for something outside its database ({_first(words)}): that is off.")
        if "Out of Memory Error: " in words:
            return ReaderError(
                "The query needs more memory than it may take: group or filter more rows before it sorts or joins."
            )
        return placed(_first(words), self._text, None if on_its_way else self._position(words))

    def _position(self, words: str) -> int | None:
        """Return the place of an error in the query; None if it is not known. What binds a query does not say, so it is
        asked for its plan."""
        before = 0
        if "\nLINE " not in words:
            try:
                self._open.execute(f"EXPLAIN\n{self._text}")
            except self._library.Error as again:
                words, before = str(again), 1
        lines = words.split("\n")
        place = next((k for k, line in enumerate(lines) if LINE.match(line)), None)
        if place is None or place + 1 >= len(lines) or "..." in lines[place]:
            return None
        prefix = LINE.match(lines[place])
        assert prefix is not None
        line, marks = int(prefix[1]) - 1 - before, lines[place + 1]
        column = len(marks) - len(marks.lstrip()) - prefix.end()
        starts = [0, *(match.end() for match in re.finditer("\n", self._text))]
        return starts[line] + column if 0 <= line < len(starts) and column >= 0 else None


def _first(words: str) -> str:
    """Return the first line of an error, without what kind it is of."""
    return " ".join(words.split("\n")[0].split(": ", 1)[-1].split())[:200].rstrip("!.")
