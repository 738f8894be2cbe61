"""Read and write records in terms of the workspace. Permissions are checked elsewhere."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

import sqlalchemy as sa

from shapewise.access.permissions import Level, Person, Role
from shapewise.store.database import audit, job, part, person, released, share, thing

log = logging.getLogger(__name__)
NOT_DELETED: Final = thing.c.deleted.is_(None)


@dataclass(frozen=True)
class Thing:
    """A stored thing. level : at which it is shared with the person who asks; None if it is not shared."""

    id: str
    kind: str
    owner: str
    created: str
    about: dict[str, Any]
    version: int
    parent: str
    level: Level | None


@dataclass(frozen=True)
class AuditEntry:
    """An action of a person. before, after : fingerprints of the description around the change."""

    number: int
    at: str
    person: str
    action: str
    kind: str
    thing: str
    before: str
    after: str
    detail: str


def now() -> str:
    """Return the time in UTC, to the millisecond, so that lists sorted by it keep their order."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def text_of(about: dict[str, Any]) -> str:
    """Return a description as the JSON text that is stored."""
    return json.dumps(about, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def parsed(text: str) -> dict[str, Any] | None:
    """Return a description from its stored text; None if it is none."""
    try:
        about = json.loads(text)
    except ValueError:
        return None
    return about if isinstance(about, dict) else None


def fingerprint(text: str) -> str:
    """Return a short hash of a description, for the audit log."""
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


def _select(who: str, *where: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Select things with the level at which they, or their parents, are shared with a person."""
    whole = sa.func.coalesce(sa.func.nullif(thing.c.parent, ""), thing.c.id)
    shared = sa.and_(share.c.person == who, share.c.thing == whole)
    return sa.select(thing, share.c.level).select_from(thing.outerjoin(share, shared)).where(NOT_DELETED, *where)


def read(row: sa.Row[Any]) -> Thing:
    """Return a thing from its row; ValueError where it cannot be read."""
    about = parsed(row.about)
    if about is None:
        raise ValueError("its description is not one")
    level = cast("Level | None", row.level)
    return Thing(
        id=row.id,
        kind=row.kind,
        owner=row.owner,
        created=row.created,
        about=about,
        version=row.version,
        parent=row.parent,
        level=level,
    )


def row_of(connection: sa.Connection, kind: str, identifier: str, who: str) -> sa.Row[Any] | None:
    """Return the row of a thing with the level at which it is shared with a person; None if it does not exist."""
    return connection.execute(_select(who, thing.c.kind == kind, thing.c.id == identifier)).first()


def known_thing(connection: sa.Connection, kind: str, identifier: str, who: str) -> Thing | None:
    """Return a thing with the level at which it is shared with a person; None if it does not exist."""
    row = row_of(connection, kind, identifier, who)
    return read(row) if row is not None else None


def rows_of(
    connection: sa.Connection, kinds: Collection[str], who: str, parent: str | None = ""
) -> Sequence[sa.Row[Any]]:
    """Return the rows of the things of some kinds that a person owns or that are shared with them, oldest first.

    parent : the thing that they are parts of; "" for things without a parent, None for all.
    """
    where = [thing.c.kind.in_(kinds), sa.or_(thing.c.owner == who, share.c.level.is_not(None))]
    if parent is not None:
        where.append(thing.c.parent == parent)
    return connection.execute(_select(who, *where).order_by(thing.c.created, thing.c.id)).all()


def many(rows: Iterable[sa.Row[Any]]) -> Iterator[Thing]:
    """Yield the things of rows; log and skip those that cannot be read."""
    for row in rows:
        try:
            yield read(row)
        except ValueError as error:
            log.warning("%s/%s cannot be read and is not listed: %s", row.kind, row.id, error)


def exists(connection: sa.Connection, identifier: str) -> bool:
    """Return whether a thing with this id exists, whoever owns it."""
    query = sa.select(thing.c.id).where(thing.c.id == identifier, NOT_DELETED)
    return connection.execute(query).first() is not None


def insert(
    connection: sa.Connection, kind: str, identifier: str, owner: str, about: dict[str, Any], parent: str
) -> None:
    """Insert a new thing; purge a deleted one with the same id."""
    purge(connection, sa.and_(thing.c.id == identifier, thing.c.deleted.is_not(None)))
    when = str(about.get("created") or now())
    connection.execute(
        thing.insert().values(id=identifier, kind=kind, owner=owner, created=when, about=text_of(about), parent=parent)
    )


def update(connection: sa.Connection, identifier: str, about: dict[str, Any]) -> None:
    """Replace the description of a thing."""
    changed = {"about": text_of(about), "version": thing.c.version + 1}
    connection.execute(sa.update(thing).where(thing.c.id == identifier).values(**changed))


def put_part(connection: sa.Connection, identifier: str, name: str, digest: str, size: int) -> None:
    """Set the object of a part of a thing and release the one that it replaces."""
    replaced = sa.and_(part.c.thing == identifier, part.c.name == name)
    let_go(connection, connection.execute(sa.select(part.c.object).where(replaced)).scalars())
    connection.execute(sa.delete(part).where(replaced))
    connection.execute(part.insert().values(thing=identifier, name=name, object=digest, bytes=size))


def let_go(connection: sa.Connection, digests: Iterable[str]) -> None:
    """Record objects as released: the sweep may remove those that nothing else refers to."""
    gone = set(digests)
    connection.execute(sa.delete(released).where(released.c.object.in_(gone)))
    for digest in sorted(gone):
        connection.execute(released.insert().values(object=digest))


def purge(connection: sa.Connection, which: sa.ColumnElement[bool]) -> int:
    """Remove things from the records permanently; return how many."""
    let_go(connection, connection.execute(sa.select(part.c.object).join(thing).where(which)).scalars())
    return int(connection.execute(sa.delete(thing).where(which)).rowcount)


def part_of(connection: sa.Connection, identifier: str, name: str) -> str | None:
    """Return the object that holds a part of a thing."""
    query = sa.select(part.c.object).where(part.c.thing == identifier, part.c.name == name)
    return connection.execute(query).scalar()


def mark_deleted(connection: sa.Connection, identifier: str) -> list[str]:
    """Mark a thing and its parts as deleted; return their ids."""
    mine = sa.and_(NOT_DELETED, sa.or_(thing.c.id == identifier, thing.c.parent == identifier))
    gone = list(connection.execute(sa.select(thing.c.id).where(mine)).scalars())
    connection.execute(sa.update(thing).where(thing.c.id.in_(gone)).values(deleted=now()))
    return gone


def making(connection: sa.Connection, who: str) -> list[str]:
    """Return the ids of a person's jobs that make, or have made, files."""
    return list(connection.execute(sa.select(job.c.id).where(job.c.owner == who, job.c.kind == "packs")).scalars())


def used(connection: sa.Connection, who: str) -> int:
    """Return the bytes of all things that a person owns; a file that several share counts for each."""
    held = sa.select(sa.func.coalesce(sa.func.sum(part.c.bytes), 0)).select_from(part.join(thing))
    return int(connection.execute(held.where(NOT_DELETED, thing.c.owner == who)).scalar_one())


def name_of(about: str) -> str:
    """Return the name of a thing from its stored description."""
    try:
        return str(json.loads(about)["name"])
    except (ValueError, KeyError, TypeError):
        return "unnamed"


def last_name(connection: sa.Connection, identifier: str) -> str:
    """Return what a thing was called last; empty where it is gone for good."""
    about = connection.execute(sa.select(thing.c.about).where(thing.c.id == identifier)).scalar()
    return name_of(about) if about is not None else ""


# Who a thing is shared with


def share_with(connection: sa.Connection, identifier: str, who: str, level: Level | None) -> None:
    """Share a thing with somebody, or stop sharing it (None)."""
    connection.execute(sa.delete(share).where(share.c.thing == identifier, share.c.person == who))
    if level is not None:
        connection.execute(share.insert().values(thing=identifier, person=who, level=level))


def shares(connection: sa.Connection, identifier: str) -> dict[str, Level]:
    """Return whom a thing is shared with, and at which level."""
    rows = connection.execute(sa.select(share.c.person, share.c.level).where(share.c.thing == identifier))
    return {row.person: row.level for row in rows}


# People and what they did


def people(connection: sa.Connection) -> list[tuple[Person, str]]:
    """Return everybody who has signed in, and when they were last seen."""
    rows = connection.execute(sa.select(person).order_by(person.c.name, person.c.id))
    return [(Person(row.id, row.name, cast(Role, row.role)), row.seen) for row in rows]


def somebody(connection: sa.Connection, who: str) -> Person | None:
    """Return a person by id."""
    row = connection.execute(sa.select(person).where(person.c.id == who)).first()
    return Person(row.id, row.name, cast(Role, row.role)) if row is not None else None


def last_seen(connection: sa.Connection, who: str) -> str:
    """Return when a person was last seen; empty for somebody who never signed in."""
    return str(connection.execute(sa.select(person.c.seen).where(person.c.id == who)).scalar() or "")


def named(connection: sa.Connection, name: str) -> Person | None:
    """Return a person by id or by name; None if nobody, or more than one person, matches."""
    everybody, wanted = [member for member, _ in people(connection)], folded(name)
    by_id = [member for member in everybody if folded(member.id) == wanted]
    by_name = [member for member in everybody if folded(member.name) == wanted]
    return next((same[0] for same in (by_id, by_name) if len(same) == 1), None)


def folded(name: str) -> str:
    """Return a name in lower case, for comparison; non-ASCII letters whose lower case is ASCII (the Kelvin sign) are
    kept."""
    return "".join(letter if letter.lower().isascii() and not letter.isascii() else letter.lower() for letter in name)


def put_person(connection: sa.Connection, who: Person) -> None:
    """Store a person, their role, and that they were seen now."""
    connection.execute(sa.delete(person).where(person.c.id == who.id))
    connection.execute(person.insert().values(id=who.id, name=who.name, role=who.role, seen=now()))


def set_role(connection: sa.Connection, who: str, role: Role) -> None:
    """Give somebody a role."""
    connection.execute(sa.update(person).where(person.c.id == who).values(role=role))


def note(
    connection: sa.Connection, who: str, action: str, kind: str = "", identifier: str = "", before: str = "",
    after: str = "", detail: str = "",
) -> None:  # fmt: skip
    """Add an entry to the audit log."""
    connection.execute(
        audit.insert().values(at=now(), person=who, action=action, kind=kind, thing=identifier,
                              before=fingerprint(before), after=fingerprint(after), detail=detail)
    )  # fmt: skip


def audit_log(connection: sa.Connection, most: int, identifier: str = "") -> list[AuditEntry]:
    """Return the audit log, latest entry first; only of one thing if `identifier` names it."""
    chosen = sa.select(audit).order_by(audit.c.number.desc()).limit(most)
    chosen = chosen.where(audit.c.thing == identifier) if identifier else chosen
    return [AuditEntry(**row) for row in connection.execute(chosen).mappings()]
