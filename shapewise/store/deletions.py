"""What was deleted and can still be brought back: until a sweep takes it, after seven days."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from shapewise.access.permissions import may
from shapewise.errors import StoreError
from shapewise.store import records
from shapewise.store.database import part, thing
from shapewise.store.items import KINDS, Things
from shapewise.store.room import check_room

GONE = "It is no longer on the disk: restore it from a backup."


@dataclass(frozen=True)
class Deletion:
    """A thing that was deleted: its kind (a key of KINDS), id and name, whose it is, and when it was deleted."""

    kind: str
    id: str
    name: str
    owner: str
    at: str

    @property
    def what(self) -> str:
        """What kind of thing it is, in a word."""
        return KINDS.get(self.kind, self.kind)


def deletions(space: Things) -> list[Deletion]:
    """Return what this person may bring back, latest first: what they own; for an administrator, everything. Parts
    come back with their whole, and are not listed."""
    chosen = sa.select(thing).where(thing.c.deleted.is_not(None), thing.c.parent == "").order_by(thing.c.deleted.desc())
    with space.meta.reading() as connection:
        rows = connection.execute(chosen).all()
    return [
        Deletion(row.kind, row.id, records.name_of(row.about), row.owner, row.deleted)
        for row in rows
        if may(space.person, "delete", row.owner)
    ]


def bring_back(space: Things, identifier: str) -> None:
    """Undo a deletion, including the parts that were deleted with the thing.

    StoreError if it is gone for good, belongs to somebody else, or does not fit into its owner's quota."""
    mine = sa.or_(thing.c.id == identifier, thing.c.parent == identifier)
    with space.meta.writing() as connection:
        row = connection.execute(sa.select(thing).where(thing.c.id == identifier)).first()
        if row is None or not may(space.person, "delete", row.owner):
            raise StoreError(GONE)
        if row.deleted is None:  # from another tab
            return
        back = sa.and_(mine, thing.c.deleted == row.deleted)
        held = sa.select(sa.func.coalesce(sa.func.sum(part.c.bytes), 0)).select_from(part.join(thing)).where(back)
        more = int(connection.execute(held).scalar_one())
        check_room(connection, space.root, row.owner, space.limits, more)
        connection.execute(sa.update(thing).where(back).values(deleted=None))
        records.note(connection, space.person.id, "bring back", row.kind, identifier)
    space.stored(row.kind, identifier, None, records.parsed(row.about))
