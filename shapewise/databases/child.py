"""The child process that asks a database: rows, drivers and their memory stay out of the server.

The database's URL comes as the first line of its input, which stays open as long as somebody waits for the rows: when
it ends, or the time is over, the query is ended where it runs.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, quote_plus

import pyarrow as pa
import pyarrow.parquet as pq

from gamcore.common.numbers import count, counted
from shapewise.databases.connections import Connection, address
from shapewise.databases.duckdb_file import DuckDBSession
from shapewise.databases.postgres import PostgresSession
from shapewise.databases.sessions import EndedError, Lost, Session
from shapewise.errors import StoreError
from shapewise.ingest.arrow_types import Changed, holds_bytes, plain_columns, plain_table
from shapewise.ingest.child import run
from shapewise.ingest.common import ReaderError
from shapewise.ingest.writer import Groups, Written, sample_size, sampled_rows, threshold
from shapewise.processes import Reporter

TICK_SECONDS: Final = 0.5
LAST_SECONDS: Final = 10.0
SECRET: Final = re.compile("pass|secret|token|key", re.IGNORECASE)
TOO_LARGE: Final = "The query's rows need more memory than there is: ask for fewer rows or columns."


class Watch:
    """Knows what a query has come to, tells it, and ends the query when its time is over or nobody waits any more."""

    def __init__(self, seconds: float, tell: Reporter) -> None:
        self._seconds, self._tell, self._began = seconds, tell, time.monotonic()
        self.session: Session | None = None
        self.rows, self.late, self.ended = 0, False, threading.Event()
        for work in (self._wait_for_the_end_of_input, self._tick):
            threading.Thread(target=work, daemon=True).start()

    def _wait_for_the_end_of_input(self) -> None:
        with suppress(OSError, ValueError):
            sys.stdin.buffer.read()
        self._cancel()
        os._exit(1)

    def _tick(self) -> None:
        while not self.ended.wait(TICK_SECONDS):
            passed = time.monotonic() - self._began
            what = (
                "Connecting" if self.session is None else counted(self.rows, "row") if self.rows else "The query runs"
            )
            self._tell(0.0, f"{what} ({count(int(passed))} s)")
            if passed > self._seconds:
                self.late = True
                self._cancel()  # each time: between two batches there is nothing to cancel
            if passed > self._seconds + LAST_SECONDS:
                os._exit(1)

    def _cancel(self) -> None:
        if self.session is not None:
            with suppress(Exception):
                self.session.cancel()

    def too_late(self) -> ReaderError:
        """Return what is said of a query that took too long."""
        return ReaderError(
            f"The query took more than {count(self._seconds)} seconds and was ended: ask for fewer rows, or group them "
            "in the query."
        )


def answer(job: dict[str, Any], into: Path, tell: Reporter, url: str) -> dict[str, Any]:
    """Ask a database, write the rows as table.parquet, with a sample if they are many; return its size, and notes."""
    watch = Watch(job["seconds"], tell)
    try:
        return _answer(job, into, url, watch)
    except (StoreError, MemoryError):  # of this machine, not of the query
        raise
    except (ReaderError, ImportError) as error:
        raise ReaderError(hidden(str(error), url)) from error
    except Exception as error:
        refusal = watch.session.refusal(error) if watch.session else None
        if watch.late and isinstance(refusal, EndedError):
            raise watch.too_late() from error
        if refusal is None and isinstance(error, OSError):  # of the disk, too
            raise
        if refusal is None:
            print(hidden("".join(traceback.format_exception(error)), url), file=sys.stderr)
            sys.exit(1)
        raise ReaderError(hidden(str(refusal), url)) from error
    finally:
        watch.ended.set()


def hidden(text: str, url: str) -> str:
    """Return a text without what a URL keeps secret: itself, its password, and options that are secrets."""
    parts = address(Connection("", url))
    options = [value for name, values in parts.query.items() if SECRET.search(name)
               for value in ([values] if isinstance(values, str) else values)]  # fmt: skip
    plain = [str(secret) for secret in (parts.password, *options) if secret]
    for secret in sorted({url, *plain, *map(quote_plus, plain), *map(quote, plain)}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return text


def _answer(job: dict[str, Any], into: Path, url: str, watch: Watch) -> dict[str, Any]:
    watch.session = _session(job, url, into)
    asked = watch.session.ask(job["text"])
    notes, lost, changed = list(asked.notes), Lost(), Changed()
    bytes_of = {column.name for column in asked.schema if holds_bytes(column.type)}
    columns = plain_columns(asked.schema, notes, bytes_of, decode=True, what="query")
    schema = pa.schema([(column.name, column.kind) for column in columns])
    batches = (plain_table(batch, columns, changed) for batch in asked.batches(columns, lost))
    table = into / "table.parquet"
    with Groups(table, schema) as written:
        for batch in _no_more_than(batches, job["rows"], job["cut"]):
            watch.rows += batch.num_rows
            written.add(batch)
    if watch.rows == 0:
        raise ReaderError("The query gives no rows: loosen its conditions.")
    changed.tell(notes)
    sampled = (
        _sample(table, into / "sample.parquet", written, job["table"], schema) if written.memory > job["table"] else 0
    )
    size = Written(written.rows, len(schema), written.memory, sampled)
    return asdict(size) | {"notes": [*notes, *lost.notes()]}


def _session(job: dict[str, Any], url: str, into: Path) -> Session:
    parts = address(Connection("", url))
    if parts.get_backend_name() == "duckdb":
        return DuckDBSession(job["name"], parts, scratch=into / "spilled", memory=job["memory"])
    return PostgresSession(job["name"], parts, seconds=job["seconds"], shared=job["shared"])


def _no_more_than(batches: Iterable[pa.Table], rows: int, cut: bool) -> Iterator[pa.Table]:
    """Yield batches of at most so many rows in all. cut : leave out the others; they are refused otherwise."""
    left = rows
    for batch in batches:
        if batch.num_rows > left and not cut:
            raise ReaderError(
                f"The query gives more than {counted(rows, 'row')}: filter or group them in the query, or have whoever "
                "runs this server allow more."
            )
        yield batch.slice(0, left)
        left -= min(left, batch.num_rows)
        if cut and not left:
            return


def _sample(table: Path, into: Path, written: Groups, limit: int, schema: pa.Schema) -> int:
    """Write a sample of a written table; return its rows."""
    size, seen = sample_size(written.rows, written.memory, limit), 0
    below = threshold(size, written.rows)
    with pq.ParquetFile(table) as file, Groups(into, schema) as some:
        for batch in file.iter_batches():
            places = sampled_rows(seen, seen + batch.num_rows, below)[: size - some.rows]
            some.add(pa.Table.from_batches([batch.take(pa.array(places))]).replace_schema_metadata())
            seen += batch.num_rows
    return some.rows


def main(argument: str) -> None:
    """Ask the database whose URL is the first line of the input what the job of a folder asks."""
    url = sys.stdin.buffer.readline().decode().rstrip("\n")
    run(Path(argument), partial(answer, url=url), "Connecting", TOO_LARGE)
