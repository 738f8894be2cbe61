"""Which records belong to which files.

A workspace has an id and an edition. Both are kept in its records and beside its objects; every change that stores or
sweeps files makes a new edition, in both places. So records that are missing, older than the files, or another
workspace's are detected before anything is opened; otherwise later changes, above all a sweep, would hit wrong files.

The edition is written beside the objects first and then, in the transaction that stores the file, to the records. A
crash between the two leaves the records one edition behind: they still open, since `previous` matches theirs, and a
sweep removes nothing that is unknown to them.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from shapewise.errors import StoreError
from shapewise.store.database import Meta, audit, part, workspace
from shapewise.store.object_store import Identity, Objects

SEE: Final = "(see docs/deploy/deployment.md)"
LOOKED_AT: Final = 20
"""How many objects to look up to decide whether files belong to records."""


@dataclass(frozen=True)
class _Known:
    """The id and edition stored in the records."""

    id: str
    edition: str


def check_empty(records: Meta, objects: Objects) -> None:
    """Raise StoreError if new records would be created beside files that must belong to other records."""
    if records.has_log:
        raise StoreError(
            f"The workspace's records ({records.place}) are missing or empty, but their write-ahead log is there: "
            f"restore {records.place} beside it, or restore a backup {SEE}."
        )
    if objects.identity() is not None or next(objects.digests(), None) is not None:
        raise StoreError(
            f"The workspace has files, but its records ({records.place}) are missing or empty: restore them from a "
            f"backup, or correct their address; to start empty, move the files away {SEE}."
        )


def give(connection: sa.Connection, objects: Objects) -> None:
    """Give records an id and an edition, and write them beside the objects."""
    first = connection.execute(sa.select(audit.c.at, audit.c.person, audit.c.thing).order_by(audit.c.number)).first()
    # Derived if possible: after a crash before the commit, the next start finds its own id beside the objects.
    known = hashlib.sha256(repr(tuple(first)).encode()).hexdigest()[:32] if first else secrets.token_hex(16)
    beside = objects.identity()
    if beside is not None and beside.id != known:
        if next(objects.digests(), None) is not None:
            raise _different(None, objects)
        known = beside.id
    edition = secrets.token_hex(8)
    objects.identify(Identity(known, edition))
    connection.execute(workspace.insert().values(id=known, edition=edition))


def renew(connection: sa.Connection, objects: Objects, place: str) -> None:
    """Make a new edition, in the transaction that stores or sweeps files; StoreError if somebody else has made one."""
    known, beside = _known(connection), objects.identity()
    if beside is not None and not _fits(known, beside):
        raise _older(place)
    edition = secrets.token_hex(8)
    objects.identify(Identity(known.id, edition, known.edition))
    connection.execute(sa.update(workspace).values(edition=edition))


def check_same(records: Meta, objects: Objects) -> None:
    """Raise StoreError if records and objects differ in workspace or edition."""
    beside = objects.identity()
    with records.reading() as connection:
        known = _known(connection)
    if beside is not None and _fits(known, beside):
        return
    with records.writing() as connection:  # so that nobody stores a file meanwhile
        beside, known = objects.identity(), _known(connection)
        if beside is None:
            _identify_again(connection, objects, known)
        elif beside.id != known.id:
            raise _different(records, objects)
        elif not _fits(known, beside):
            raise _older(records.place)


def adopt(records: Meta, objects: Objects) -> None:
    """Declare that these records and these objects belong together, even if their ids or editions differ."""
    with records.writing() as connection:
        connection.execute(sa.delete(workspace))
        known = _Known(secrets.token_hex(16), secrets.token_hex(8))
        objects.identify(Identity(known.id, known.edition))
        connection.execute(workspace.insert().values(id=known.id, edition=known.edition))


def is_behind(connection: sa.Connection, objects: Objects) -> bool:
    """Return whether the records are one edition behind, after a crash or in an older copy."""
    beside = objects.identity()
    return beside is not None and beside.edition != _known(connection).edition


def _known(connection: sa.Connection) -> _Known:
    row = connection.execute(sa.select(workspace.c.id, workspace.c.edition)).one()
    return _Known(row.id, row.edition)


def _identify_again(connection: sa.Connection, objects: Objects, known: _Known) -> None:
    """Write the id beside objects that lack it, if they belong to the records."""
    digests = connection.execute(sa.select(part.c.object).distinct().limit(LOOKED_AT)).scalars().all()
    if not all(objects.has(digest) for digest in digests):
        raise StoreError(
            f"The workspace's files are missing from {objects.place}: restore them from a backup, or correct their "
            f"address {SEE}."
        )
    objects.identify(Identity(known.id, known.edition))


def _fits(known: _Known, beside: Identity) -> bool:
    return beside.id == known.id and known.edition in (beside.edition, beside.previous)


def _older(place: str) -> StoreError:
    return StoreError(
        f"The workspace's records ({place}) are older than its files, or another deployment has changed the files: "
        f"restore the newest records. If there are none, run shapewise adopt {SEE}."
    )


def _different(records: Meta | None, objects: Objects) -> StoreError:
    place = records.place if records is not None else "an older version"
    return StoreError(
        f"The records ({place}) and the files ({objects.place}) belong to different workspaces: correct one of the two "
        f"addresses, or restore a backup {SEE}."
    )
