"""Which records belong to which files. A workspace has an id, kept in its records and beside its objects: where the two
differ, or there are objects and no records, somebody brought the wrong half back, and nothing opens before that is
mended. Whatever else would happen next, a sweep above all, would happen to files that nobody meant.
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from gamcore.workspace.errors import StoreError
from gamcore.workspace.meta import Meta, part, workspace
from gamcore.workspace.objects import Objects

BACK = "(see docs/deployment.md)"


def check_empty(records: Meta, objects: Objects) -> None:
    """StoreError where records are about to be made beside what other records must know of."""
    if records.has_log:
        raise StoreError(
            f"The workspace's records ({records.place}) are missing or empty, but their write-ahead log is there: "
            f"restore {records.place} beside it, or restore a backup {BACK}."
        )
    if objects.identity() is not None or next(objects.digests(), None) is not None:
        raise StoreError(
            f"The workspace has files, but its records ({records.place}) are missing or empty: restore them from a "
            f"backup, or correct their address {BACK}."
        )


def give(connection: sa.Connection, objects: Objects) -> None:
    """Give a workspace its id: the one beside its objects, where they have one already."""
    identity = objects.identity() or secrets.token_hex(16)
    connection.execute(workspace.insert().values(id=identity))
    objects.identify(identity)


def check_same(records: Meta, objects: Objects) -> None:
    """StoreError where records and objects are of two workspaces."""
    with records.reading() as connection:
        known = str(connection.execute(sa.select(workspace.c.id)).scalar_one())
        has_parts = connection.execute(sa.select(part.c.object).limit(1)).first() is not None
    beside = objects.identity()
    if beside is None and not has_parts:
        objects.identify(known)
    elif beside is None:
        raise StoreError(
            f"The workspace's files are missing from {objects.place}: restore them from a backup, or correct their "
            f"address {BACK}."
        )
    elif beside != known:
        raise StoreError(
            f"The records ({records.place}) and the files ({objects.place}) belong to different workspaces: correct "
            f"one of the two addresses, or restore a backup {BACK}."
        )
