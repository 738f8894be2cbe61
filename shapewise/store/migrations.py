"""Migrate the records from one version to the next, each step in one transaction and after a backup."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from shapewise.errors import FULL, FullError, StoreError, room
from shapewise.store import database as meta
from shapewise.store import identity
from shapewise.store.database import APPLICATION, Meta
from shapewise.store.object_store import Objects

log = logging.getLogger(__name__)
Step = Callable[[sa.Connection, Path, Objects], None]
KEPT_BACKUPS: Final = 5

NEVER_CHANGED: Final = "what was done is only ever added to"
SEALED: Final = {
    "sqlite": [
        f"CREATE TRIGGER audit_{event.lower()} BEFORE {event} ON audit "
        f"BEGIN SELECT RAISE(ABORT, '{NEVER_CHANGED}'); END"
        for event in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        "CREATE FUNCTION audit_sealed() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{NEVER_CHANGED}'; END $$",
        "CREATE TRIGGER audit_sealed BEFORE UPDATE OR DELETE OR TRUNCATE ON audit EXECUTE FUNCTION audit_sealed()",
    ],
}

NEVER_REPLACED: Final = (
    "CREATE TRIGGER audit_insert BEFORE INSERT ON audit BEGIN "
    "SELECT RAISE(ABORT, 'what was done is only ever added to') FROM audit WHERE number = NEW.number; END"
)


def _begin(connection: sa.Connection, root: Path, objects: Objects) -> None:
    """Create the tables (version 1)."""
    meta.schema.create_all(connection, tables=[meta.thing, meta.part, meta.share, meta.person, meta.job, meta.audit])
    for statement in SEALED[connection.dialect.name]:
        connection.exec_driver_sql(statement)


def _identify(connection: sa.Connection, root: Path, objects: Objects) -> None:
    """Add the workspace's id and the released objects, and forbid replacing rows of the audit log (version 2)."""
    meta.schema.create_all(connection, tables=[meta.workspace, meta.released])
    if connection.dialect.name == "sqlite":  # REPLACE does not fire delete triggers
        connection.exec_driver_sql(NEVER_REPLACED)
    identity.give(connection, objects)


def _draft(connection: sa.Connection, root: Path, objects: Objects) -> None:
    """Add what people have not stored yet (version 3)."""
    meta.schema.create_all(connection, tables=[meta.draft])


def _edits(connection: sa.Connection, root: Path, objects: Objects) -> None:
    """Move the edits that people are making to models from what describes the models to the drafts (version 4)."""
    models = sa.select(meta.thing.c.id, meta.thing.c.about).where(
        meta.thing.c.kind == "models", meta.thing.c.about.contains('"drafts":', autoescape=True)
    )
    for identifier, text in connection.execute(models).all():
        with suppress(ValueError, AttributeError):  # what is no description stays as it is
            about = json.loads(text)
            for person, edits in about.pop("drafts", {}).items():
                row = {"thing": identifier, "person": person, "value": json.dumps(edits, ensure_ascii=False)}
                connection.execute(meta.draft.insert().values(row))
            left = json.dumps(about, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            connection.execute(meta.thing.update().where(meta.thing.c.id == identifier).values(about=left))


STEPS: list[Step] = [_begin, _identify, _draft, _edits]
"""Step k migrates version k to version k + 1. Released steps are never changed."""


def version(connection: sa.Connection) -> int:
    """Return the version of the records; 0 for an empty database."""
    if connection.dialect.name == "sqlite":
        return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
    connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
    return int(connection.exec_driver_sql("SELECT version FROM schema_version").scalar() or 0)


def _set_version(connection: sa.Connection, number: int) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
        connection.exec_driver_sql(f"PRAGMA user_version = {number:d}")
        return
    connection.exec_driver_sql("DELETE FROM schema_version")
    connection.execute(sa.text("INSERT INTO schema_version VALUES (:number)"), {"number": number})


def migrate(records: Meta, root: Path, objects: Objects) -> None:
    """Migrate the records to this version; StoreError if they are of a later one or do not match the objects."""
    if records.embedded and not records.is_file:
        _create(records, objects)
    with records.writing() if not records.embedded else records.reading() as connection:
        number = version(connection)
    began_at = number
    if number > len(STEPS):
        raise StoreError(
            f"The workspace was written by a later version (records {number}, supported {len(STEPS)}): update the "
            "app, "
            "or restore an earlier backup."
        )
    while number < len(STEPS):
        if began_at and records.embedded:
            backup(records, root / "backups" / f"before-{number + 1}-{datetime.now(UTC):%Y%m%dT%H%M%S}.sqlite")
        with records.writing() as connection:
            if version(connection) == number:  # else another server was faster
                if number == 0:
                    identity.check_empty(records, objects)
                log.info("The workspace's records go from version %d to %d", number, number + 1)
                STEPS[number](connection, root, objects)
                _set_version(connection, number + 1)
        number += 1
    if began_at < len(STEPS):
        records.settle()
    identity.check_same(records, objects)


def _create(records: Meta, objects: Objects) -> None:
    """Create the file of missing records; raise, before opening anything, if the objects belong to other records."""
    try:
        identity.check_empty(records, objects)
    except StoreError:
        if not records.is_file:  # else another server has created them meanwhile
            raise
    with room():
        records.create()


def backup(records: Meta, target: Path) -> None:
    """Copy a snapshot of the records while others may write; keep only the last backups made before migrations."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    making = target.with_suffix(".making")
    making.unlink(missing_ok=True)
    try:
        source = meta.open_file(records.path)
        try:
            source.execute("VACUUM INTO ?", (str(making),))
        finally:
            source.close()
        making.replace(target)
    except sqlite3.OperationalError as error:
        making.unlink(missing_ok=True)
        if "full" in str(error):
            raise FullError(FULL) from error
        raise StoreError(f"No backup of the records could be written ({error}).") from error
    for old in sorted(target.parent.glob("before-*.sqlite"), key=lambda path: path.stat().st_mtime)[:-KEPT_BACKUPS]:
        old.unlink(missing_ok=True)
