"""The workspace's records: which things exist, who owns them, and which objects hold their bytes.

By default they are meta.sqlite in the workspace's folder (WAL, STRICT tables, every commit synced); a URL selects a
PostgreSQL database.

workspace  one row: the id and edition, which are also stored beside the objects (see identity.py)
released   objects that a thing no longer uses, so that a sweep can tell them from those of lost records
thing   a table, model, segment, board or report: its description (`about`, JSON), owner, version, deletion time
part    the objects of a thing, such as a table's rows or a model's file
share   whom a thing is shared with, and at which level
person  everyone who has signed in, and their role
job     work that is queued, running or ended; its folder is jobs/<id>
audit   who did what and when; rows are only ever added
draft   what a person has set or typed of a thing and not stored yet
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import sqlalchemy as sa

from shapewise.errors import FULL, GONE, READ_ONLY, FullError, GoneError, StoreError, without_secrets
from shapewise.store.atomic_files import size_of

APPLICATION: Final = 0x53484150  # "SHAP", so that `file` and other tools recognize the database
BUSY_SECONDS: Final = 10.0
FILE: Final = "meta.sqlite"

LONG: Final = sa.BigInteger().with_variant(sa.Integer, "sqlite")

Read = TypeVar("Read")

schema = sa.MetaData()


def _table(name: str, *columns: sa.Column[Any] | sa.Index | sa.Constraint) -> sa.Table:
    return sa.Table(name, schema, *columns, sqlite_strict=True)


def _text(name: str, *more: Any, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.Text, *more, **{"nullable": False} | options)


thing = _table(
    "thing", _text("id", primary_key=True), _text("kind"), _text("owner"), _text("created"), _text("about"),
    _text("parent", server_default=""), sa.Column("version", sa.Integer, nullable=False, server_default="1"),
    _text("deleted", nullable=True), sa.Index("thing_kind", "kind", "deleted", "owner"),
    sa.Index("thing_parent", "parent"),
)  # fmt: skip
part = _table(
    "part", _text("thing", sa.ForeignKey("thing.id", ondelete="CASCADE"), primary_key=True),
    _text("name", primary_key=True), _text("object"), sa.Column("bytes", LONG, nullable=False),
    sa.Index("part_object", "object"),
)  # fmt: skip
share = _table(
    "share", _text("thing", sa.ForeignKey("thing.id", ondelete="CASCADE"), primary_key=True),
    _text("person", primary_key=True), _text("level"), sa.Index("share_person", "person"),
)  # fmt: skip
person = _table("person", _text("id", primary_key=True), _text("name"), _text("role"), _text("seen"))
job = _table(
    "job", _text("id", primary_key=True), _text("kind"), _text("owner"), _text("created"), _text("state"),
    _text("server", server_default=""), sa.Index("job_state", "state", "created"),
)  # fmt: skip
audit = _table(
    "audit", sa.Column("number", sa.Integer, primary_key=True, autoincrement=True), _text("at"), _text("person"),
    _text("action"), _text("kind"), _text("thing"), _text("before"), _text("after"), _text("detail"),
    sa.Index("audit_thing", "thing"),
)  # fmt: skip


workspace = _table("workspace", _text("id", primary_key=True), _text("edition"))
released = _table("released", _text("object", primary_key=True))
draft = _table(
    "draft", _text("thing", sa.ForeignKey("thing.id", ondelete="CASCADE"), primary_key=True),
    _text("person", primary_key=True), _text("value"),
)  # fmt: skip


NOT_DELETED_PARTS: Final = (
    sa.select(thing.c.kind, thing.c.id, part.c.name, part.c.object)
    .select_from(part.join(thing)).where(thing.c.deleted.is_(None)).order_by(thing.c.kind, thing.c.id)
)  # fmt: skip


def _connected(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun explicitly in `_begun`
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def open_file(path: Path) -> sqlite3.Connection:
    """Return a connection to an existing database file; never create one."""
    address = f"{path.resolve().as_uri()}?mode=rw"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)


_seen: ContextVar[dict[Any, Any] | None] = ContextVar("seen", default=None)


@contextmanager
def reading_once() -> Iterator[None]:
    """Within the block, what this thread has read of the records it does not read again, until it writes to them. For
    what is done in a moment, as a run of a page: what others change meanwhile is seen by the next."""
    before = _seen.set({})
    try:
        yield
    finally:
        _seen.reset(before)


def once(key: Any, read: Callable[[], Read]) -> Read:
    """Return what is read, or was within this `reading_once`."""
    known = _seen.get()
    if known is None:
        return read()
    if key not in known:
        known[key] = read()
    return cast(Read, known[key])


def seen(key: Any, default: Read) -> Read:
    """Return what was read within this `reading_once`; the default where it was not."""
    return cast(Read, (_seen.get() or {}).get(key, default))


class Meta:
    """A database of records."""

    def __init__(self, url: str) -> None:
        self.url = _read(url)
        self.embedded = self.url.get_backend_name() == "sqlite"
        self.path = Path(self.url.database or FILE)  # of embedded records
        self._file: tuple[int, int] | None = None  # device and inode of what the connections have open
        creator = {"creator": partial(open_file, self.path)} if self.embedded else {}
        try:
            self._engine = sa.create_engine(self.url, pool_pre_ping=not self.embedded, **creator)
        except (sa.exc.ArgumentError, ImportError) as error:
            raise StoreError(NO_DATABASE.format(without_secrets(str(error), url)[:120])) from None
        if self.embedded:
            sa.event.listen(self._engine, "connect", _connected)
            sa.event.listen(self._engine, "begin", self._begun)

    @property
    def place(self) -> str:
        """The name of the records in messages; it reveals no address, as anybody may read it."""
        return self.path.name if self.embedded else "the database of GAMCORE_META_URL"

    @property
    def is_file(self) -> bool:
        """Whether the file of embedded records exists and is not empty; it may have no tables."""
        return size_of(self.path) > 0

    @property
    def has_log(self) -> bool:
        """Whether a write-ahead log exists without its database: SQLite would delete it."""
        return self.embedded and not self.is_file and size_of(self._log) > 0

    @property
    def _log(self) -> Path:
        return self.path.with_name(f"{self.path.name}-wal")

    def create(self) -> None:
        """Create an empty file for embedded records, readable only by its owner."""
        self.path.touch(0o600)

    def settle(self) -> None:
        """Checkpoint embedded records from the log to their file, so that a copy of the file alone has tables."""
        if self.embedded:
            with _in_words(self.url), closing(self._engine.raw_connection()) as connection:  # outside any transaction
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _check_file(self) -> None:
        """Raise GoneError if the file that the connections have open is no longer the one in the workspace."""
        if not self.embedded:
            return
        try:
            status = self.path.stat()
        except OSError as error:
            raise GoneError(GONE) from error
        now = status.st_dev, status.st_ino
        if self._file is None:
            self._file = now
            if os.name != "nt" and status.st_mode & 0o077:
                with suppress(OSError):
                    self.path.chmod(0o600)
        elif self._file != now:
            raise GoneError(GONE)

    @staticmethod
    def _begun(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        # A reader that turns writer fails if somebody wrote in between, so writers take the lock at the start.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that reads one snapshot of the records."""
        self._check_file()
        with _in_words(self.url), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Open a transaction that changes records; roll it back if the block fails."""
        self._check_file()
        with _in_words(self.url), self._engine.connect() as connection:
            connection = connection.execution_options(writes=True)
            with connection.begin():
                if not self.embedded:
                    # One writer at a time, as in SQLite: what was read before a change still holds at the change.
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(APPLICATION)))
                yield connection
        (_seen.get() or {}).clear()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


@contextmanager
def _in_words(url: sa.URL) -> Iterator[None]:
    """Raise the errors of a database as sentences, which nothing of its address is in that may be secret."""
    try:
        yield
    except sa.exc.OperationalError as error:
        message = str(error.orig).lower()
        if "locked" in message or "busy" in message:
            raise StoreError(
                "The workspace is busy with another change, so nothing was changed: try again in a moment."
            ) from error
        if "full" in message:
            raise FullError(FULL) from error
        if "readonly" in message:
            raise StoreError(READ_ONLY) from error
        why = without_secrets(str(error.orig), url.render_as_string(hide_password=False))
        raise StoreError(f"The workspace's records cannot be reached ({why[:120]}).") from None
    except sa.exc.DatabaseError as error:
        if "malformed" in str(error.orig) or "not a database" in str(error.orig):
            raise StoreError(
                "The workspace's records are damaged: restore them from a backup (see docs/deploy/deployment.md)."
            ) from error
        raise


NO_DATABASE: Final = (
    "GAMCORE_META_URL is not the address of a database that can be used here ({}): set it to one such as "
    "postgresql+psycopg://user:password@host/name, with @, : and / in a password written as %40, %3A and %2F."
)


def _read(url: str) -> sa.URL:
    """Return an address as its parts; StoreError where it has none, or a name of a host that is none."""
    try:
        parts = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise StoreError(NO_DATABASE.format("it cannot be read")) from None
    if "@" in (parts.host or ""):
        raise StoreError(NO_DATABASE.format("it has several @"))
    return parts


MOST_OPEN: Final = 8
_open: dict[str, Meta] = {}
_lock = threading.Lock()


def url_of(root: Path) -> str:
    """Return the URL of the records in a folder."""
    return sa.URL.create("sqlite", database=str(root.resolve() / FILE)).render_as_string()


def open_meta(root: Path, url: str | None = None) -> Meta:
    """Return the records of a workspace, with one connection pool per process; close the least recently used."""
    chosen = url or url_of(root)
    with _lock:
        records = _open.pop(chosen, None) or Meta(chosen)
        _open[chosen] = records  # the most recently used is last
        while len(_open) > MOST_OPEN:
            _open.pop(next(iter(_open))).close()
        return records


def forget(root: Path) -> None:
    """Close a workspace's records; its folder may then be moved or deleted."""
    with _lock:
        records = _open.pop(url_of(root), None)
    if records is not None:
        records.close()
