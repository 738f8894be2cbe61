"""A session with PostgreSQL that reads only: one transaction, which the server itself keeps from writing.

The query's text goes to the server as it is, once to be looked at (what it returns, and what is wrong with it) and once
behind DECLARE CURSOR, which takes nothing but a query. Cells come as the server writes them, and Arrow reads them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from gamcore.common.extras import extra
from shapewise.databases.sessions import (
    BATCH_BYTES,
    CONNECT_SECONDS,
    FIRST_BATCH,
    MOST_BATCH,
    Answer,
    EndedError,
    Lost,
    placed,
    reads_only,
)
from shapewise.ingest.arrow_types import DIGITS, ArrowColumn
from shapewise.ingest.common import ReaderError

if TYPE_CHECKING:
    import psycopg
    from psycopg.pq.abc import PGresult
    from sqlalchemy import URL

KINDS: Final[dict[str, pa.DataType]] = {
    "bool": pa.bool_(), "int2": pa.int16(), "int4": pa.int32(), "int8": pa.int64(), "oid": pa.int64(),
    "float4": pa.float32(), "float8": pa.float64(), "numeric": pa.float64(),
    "date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", "UTC"),
    "time": pa.time64("us"), "timetz": pa.time64("us"), "interval": pa.month_day_nano_interval(), "bytea": pa.binary(),
    "record": pa.struct([]),
}  # fmt: skip
"""Arrow's types by PostgreSQL's; what is not among them is text."""

TEXTS: Final = {"text", "varchar", "bpchar", "name", "char", "uuid", "json", "jsonb", "xml", "citext", "inet", "cidr",
                "unknown"}  # fmt: skip
SETTINGS: Final = {
    "TimeZone": "UTC", "DateStyle": "ISO, YMD", "extra_float_digits": "1", "cursor_tuple_fraction": "1",
    "default_transaction_read_only": "on",
}  # fmt: skip
SET: Final = "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS given(name, value)"
LOOKS: Final = "SELECT set_config(name, '2s', false) FROM pg_settings WHERE name = 'client_connection_check_interval'"
"""The server looks whether the child is still there, also while it computes (PostgreSQL 14 and newer)."""

MIGHTY: Final = (
    "SELECT rolsuper OR EXISTS (SELECT FROM pg_roles m WHERE pg_has_role(m.oid, 'member') AND m.rolname IN "
    "('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')) FROM pg_roles r "
    "WHERE r.rolname = current_user"
)
TYPES: Final = "SELECT oid, typname, typtype, typcategory FROM pg_type WHERE oid = ANY(%s)"
MOST_MILLISECONDS: Final = 2**31 - 1
NOT_A_QUERY: Final = {"42601", "42P11", "0A000"}
PLAIN_DATE: Final = r"^\d{4}-.*[^C]$"
"""A date of the years 1 to 9999: others are written longer, as `infinity`, or end in BC."""


class PostgresSession:
    """A session with PostgreSQL. seconds : that a statement may take. shared : whether the app serves a team."""

    def __init__(self, name: str, url: URL, seconds: int, shared: bool) -> None:
        with extra("databases"):
            import psycopg
            from psycopg.types.string import TextLoader
        self._library, self._loader, self._name, self._text = psycopg, TextLoader, name, ""
        plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
        try:
            self._open: psycopg.Connection[Any] = psycopg.connect(
                plain, autocommit=True, connect_timeout=CONNECT_SECONDS, application_name="shapewise",
                client_encoding="UTF8",
            )  # fmt: skip
        except psycopg.Error as error:
            raise ReaderError(_unreached(name, url, str(error))) from error
        with contextlib.suppress(psycopg.Error):  # not every system can look
            self._open.execute(LOOKS)
        if shared and self._open.execute(MIGHTY).fetchone() == (True,):
            raise ReaderError(
                f"The database {name!r} is declared with a user that may do anything to the server, its files "
                "included: whoever runs this app has to declare one that may only read tables."
            )
        settings = SETTINGS | {"statement_timeout": str(min(1000 * seconds, MOST_MILLISECONDS))}
        self._open.execute("BEGIN READ ONLY")  # which no query can take back, as another one has run in it:
        self._open.execute(SET, [list(settings), list(settings.values())])

    def ask(self, text: str) -> Answer:
        """Begin a query."""
        self._text = text
        shape = self._shape(text)
        oids = [shape.ftype(place) for place in range(shape.nfields)]
        known = {oid: kind for oid, *kind in self._open.execute(TYPES, [oids]).fetchall()}
        names = [(shape.fname(place) or b"").decode() for place in range(shape.nfields)]
        kinds = [known.get(oid, ["unknown", "b", "X"]) for oid in oids]
        schema = pa.schema([pa.field(name, _kind(*kind)) for name, kind in zip(names, kinds, strict=True)])
        notes = [
            f"{name}: values of the type {kind[0]} are kept as text." for name, kind in zip(names, kinds, strict=True)
            if _kind(*kind) == pa.string() and kind[0] not in TEXTS and kind[1] != "e" and kind[2] != "S"
        ]  # fmt: skip
        cursor = self._open.cursor("rows")
        for oid in set(oids):
            cursor.adapters.register_loader(oid, self._loader)
        try:
            cursor.execute(text.encode())
        except self._library.Error as error:
            if error.sqlstate in NOT_A_QUERY:
                raise reads_only("this is something else, or writes") from error
            raise
        readers = [_reader(kind[0]) for kind in kinds]

        def batches(columns: Sequence[ArrowColumn], lost: Lost) -> Iterator[pa.Table]:
            size = FIRST_BATCH
            while rows := cursor.fetchmany(size):
                cells = list(zip(*rows, strict=True))
                arrays = [pa.chunked_array([pa.nulls(len(rows), column.type)]) for column in schema]
                taken = 0
                for column in columns:
                    texts = pa.array(cells[column.place], pa.string())
                    taken += texts.nbytes
                    values = readers[column.place](texts, column.name, lost).cast(schema.field(column.place).type)
                    arrays[column.place] = pa.chunked_array([values])
                yield pa.Table.from_arrays(arrays, schema=schema)
                size = max(1, min(MOST_BATCH, BATCH_BYTES * len(rows) // max(taken, 1)))

        return Answer(schema, batches, notes)

    def _shape(self, text: str) -> PGresult:
        """Return the columns of a query that the server has looked at and not run; one statement at most."""
        from psycopg import errors
        from psycopg.pq import ExecStatus

        if "\0" in text:
            raise reads_only("this has a character that no query has")
        looked = self._open.pgconn.prepare(b"", text.encode())
        if looked.status != ExecStatus.COMMAND_OK:
            error = errors.error_from_result(looked)
            if error.sqlstate == "42601" and "multiple commands" in str(error):
                raise reads_only("this is several statements") from error
            raise error
        shape = self._open.pgconn.describe_prepared(b"")
        if shape.nparams:
            raise ReaderError("The query has a place for a value ($1), and nobody gives one: write the value itself.")
        if not shape.nfields:
            raise reads_only("this returns no columns")
        return shape

    def cancel(self) -> None:
        """End the query on the server."""
        self._open.cancel_safe(timeout=CONNECT_SECONDS)

    def refusal(self, error: Exception) -> ReaderError | None:
        """Return what an error of the database means, in a sentence; None if it is none of the database's."""
        if not isinstance(error, self._library.Error):
            return None
        words, state = error.diag.message_primary or _first(str(error)), error.sqlstate or ""
        if state == "25006" or state == "25001":
            return ReaderError(f"The query writes, and connections here only read ({words}): take that out of it.")
        if state == "57014":
            return EndedError(f"The database ended the query ({words}): ask for fewer rows, or try again later.")
        if state == "42501":
            return ReaderError(
                f"The database {self._name!r} does not let this app read that ({words}): ask whoever runs it."
            )
        if not state or state.startswith(("08", "57")):
            return ReaderError(f"The connection to the database {self._name!r} was lost ({words}): try again.")
        position = error.diag.statement_position
        return placed(words, self._text, int(position) - 1 if position else None, error.diag.message_hint or "")


def _kind(name: str, form: str, category: str) -> pa.DataType:
    """Return Arrow's type for one of PostgreSQL, by pg_type's typname, typtype (form) and typcategory."""
    if category == "A":
        return pa.list_(pa.string())
    return pa.struct([]) if form == "c" else KINDS.get(name, pa.string())


def _reader(kind: str) -> Callable[[pa.Array, str, Lost], pa.Array]:
    """Return what reads the texts of a type, before they are cast."""
    if kind == "bool":
        return lambda texts, name, lost: pc.equal(texts, "t")
    if kind == "bpchar":
        return lambda texts, name, lost: pc.utf8_rtrim(texts, " ")
    if kind in ("date", "timestamp", "timestamptz"):
        return _days
    return _decimals if kind == "numeric" else lambda texts, name, lost: texts


def _days(texts: pa.Array, name: str, lost: Lost) -> pa.Array:
    within = pc.match_substring_regex(texts, PLAIN_DATE)
    lost.count_days(name, pc.sum(pc.invert(within)).as_py() or 0)
    return pc.if_else(within, texts, pa.scalar(None, pa.string()))


def _decimals(texts: pa.Array, name: str, lost: Lost) -> pa.Array:
    digits = pc.utf8_trim(pc.replace_substring_regex(texts, "[-.]", ""), "0")
    lost.count_digits(name, pc.sum(pc.greater(pc.utf8_length(digits), DIGITS)).as_py() or 0)
    return texts


def _first(message: str) -> str:
    return " ".join(message.split("\n")[0].split())[:200]


def _unreached(name: str, url: URL, message: str) -> str:
    """Return why a database cannot be reached, in a sentence without the user."""
    if "password" in message:
        return (
            f"The database {name!r} refuses the user or the password that are declared for it: whoever runs this "
            "server has to correct them."
        )
    if "FATAL:" in message:
        why = re.sub(r'(user|role) "[^"]*"', r"the \1", _first(message.partition("FATAL:")[2]))
        return f"The database {name!r} refuses the connection ({why}): whoever runs this server has to correct it."
    where = f"{url.host or 'this machine'}, port {url.port or 5432}"
    reason = _first(message).rpartition("failed: ")[2]
    return f"The database {name!r} cannot be reached at {where} ({reason}): see that it runs, or try again later."
