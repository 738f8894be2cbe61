"""Who is at the app: the people of a shared workspace, their roles, and what an administrator does about them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

import sqlalchemy as sa

from shapewise.access.permissions import LOCAL, ROLES, Person, Role, may
from shapewise.access.quotas import is_shared
from shapewise.errors import DeniedError, StoreError
from shapewise.store import records
from shapewise.store.database import thing
from shapewise.store.records import AuditEntry
from shapewise.store.room import used_by
from shapewise.store.workspace import KINDS, Workspace

MOST_NAME: Final = 200
MOST_ID: Final = 1_000
A_VISIT: Final = timedelta(minutes=30)
CLAIMS: Final = ("email", "preferred_username", "name", "sub")
"""What a sign-in may say of a person, the best name to call them by first."""


@dataclass(frozen=True)
class Member:
    """A person, when they were last here, and the bytes and things of theirs."""

    person: Person
    seen: str
    bytes: int
    things: int


def told_by(claims: Mapping[str, Any]) -> tuple[str, str] | None:
    """Id and name of a person by what the sign-in says of them; None where it says nothing to tell them by."""
    known = {name: str(claims[name]).strip(" \t\r\n") for name in (*CLAIMS, "iss") if claims.get(name)}
    name = next((known[claim] for claim in CLAIMS if claim in known), "")
    if not name or not all(text.isprintable() and len(text) <= MOST_ID for text in known.values()):
        return None
    if "sub" not in known:  # from a proxy, which is trusted to name people, but for the owner of an app used alone
        return None if records.folded(name) == LOCAL.id else (records.folded(name), name)
    if "email" not in known or not _is_verified(claims):
        # People choose such names themselves: with this behind it, it is nobody else's.
        name = f"{name[:MOST_NAME]} [{known['sub'][:40]}]"
    # A name may be given to somebody else one day; this may not.
    return f"{known.get('iss', '')}#{known['sub']}", name


def _is_verified(claims: Mapping[str, Any]) -> bool:
    """Return whether an address is the person's, as their provider says. GAMCORE_TRUST_EMAIL=1: also where it says
    nothing, for providers that check every address and send no such claim."""
    said = claims.get("email_verified")
    if said is None:
        return os.environ.get("GAMCORE_TRUST_EMAIL") == "1"
    return said is True or (isinstance(said, str) and said.lower() == "true")


def administrators() -> set[str]:
    """Return the names of those who are administrators whatever the records say: GAMCORE_ADMINS, separated by
    commas."""
    names = os.environ.get("GAMCORE_ADMINS", "").split(",")
    return {records.folded(name.strip(" \t\r\n")) for name in names if name.strip(" \t\r\n")}


def newcomers() -> Role:
    """Return the role of somebody who is here for the first time: GAMCORE_NEW_ROLE, else editor."""
    role = os.environ.get("GAMCORE_NEW_ROLE", "editor")
    if role not in ("viewer", "editor"):
        raise StoreError(f"GAMCORE_NEW_ROLE is {role!r}: set it to viewer or editor.")
    return cast(Role, role)


def arrive(space: Workspace, identifier: str, name: str) -> Person:
    """Somebody has signed in: they are remembered, and the log says that they came."""
    with space.meta.writing() as connection:
        before, seen = records.somebody(connection, identifier), records.last_seen(connection, identifier)
        person = Person(identifier, name, before.role if before else newcomers())
        records.put_person(connection, person)
        if seen < (datetime.now(UTC) - A_VISIT).isoformat(timespec="milliseconds"):  # a reload is no sign-in
            records.note(connection, identifier, "sign in", detail=name)
    return _raised(person)


def now(space: Workspace, identifier: str) -> Person | None:
    """Return a person as the records know them now; None for somebody who never came, or was sent away."""
    with space.meta.reading() as connection:
        member = records.somebody(connection, identifier)
    return _raised(member) if member is not None else None


def _raised(person: Person) -> Person:
    """Return a person with the role that the environment gives: it is not remembered, so that taking it back is
    enough."""
    return replace(person, role="admin") if records.folded(person.name) in administrators() else person


def _check(space: Workspace) -> None:
    if not may(space.person, "administer"):
        raise DeniedError("Only an administrator may do this: ask one.")


def members(space: Workspace) -> list[Member]:
    """Everybody, for an administrator."""
    _check(space)
    with space.meta.reading() as connection:
        of_each = sa.select(thing.c.owner, sa.func.count()).where(records.NOT_DELETED).group_by(thing.c.owner)
        counts = {owner: int(number) for owner, number in connection.execute(of_each)}
        known = records.people(connection)
        here = {one.id for one, _ in known}
        # Owners who never signed in here: whoever used the workspace before it was shared.
        known += [(Person(owner, owner), "") for owner in counts if owner not in here]
        return [
            Member(_raised(one), seen, used_by(connection, space.root, one.id), counts.get(one.id, 0))
            for one, seen in known
        ]


def set_role(space: Workspace, identifier: str, role: Role) -> None:
    """Give somebody a role; it holds from their next click."""
    _check(space)
    if role not in ROLES:
        raise StoreError(f"{role!r} is no role: choose {', '.join(ROLES)}.")
    if identifier == space.person.id:
        raise StoreError("Your own role is for another administrator to change.")
    with space.meta.writing() as connection:
        member = records.somebody(connection, identifier)
        if member is None:
            raise StoreError("There is no such person: they may have been taken out.")
        records.set_role(connection, identifier, role)
        detail = f"{member.role} to {role}"
        records.note(connection, space.person.id, "role", "people", identifier, member.role, role, detail)


def hand_over(space: Workspace, who: str, to: str) -> int:
    """Give all that one person owns to another, when they leave; the number of things."""
    _check(space)
    with space.meta.writing() as connection:
        if records.somebody(connection, to) is None:
            raise StoreError("There is no such person to give it to: choose another.")
        moved = connection.execute(sa.update(thing).where(thing.c.owner == who).values(owner=to)).rowcount
        records.note(connection, space.person.id, "hand over", "people", who, detail=f"{moved} things to {to}")
    return int(moved)


def log(space: Workspace, most: int = 500, of: str = "") -> list[AuditEntry]:
    """Return what was done, the last first, for an administrator."""
    _check(space)
    with space.meta.reading() as connection:
        return records.audit_log(connection, most, of)


def deleted(space: Workspace) -> list[tuple[str, str, str, str, str]]:
    """Kind, id, name, owner and time of what was deleted and can be brought back, the last first."""
    _check(space)
    chosen = sa.select(thing).where(thing.c.deleted.is_not(None)).order_by(thing.c.deleted.desc())
    with space.meta.reading() as connection:
        rows = connection.execute(chosen).all()
    return [(KINDS.get(row.kind, row.kind), row.id, records.name_of(row.about), row.owner, row.deleted) for row in rows]


def bring_back(space: Workspace, identifier: str) -> None:
    """Undo a deletion, of what was deleted with it, too."""
    _check(space)
    mine = sa.or_(thing.c.id == identifier, thing.c.parent == identifier)
    with space.meta.writing() as connection:
        when = connection.execute(sa.select(thing.c.deleted).where(thing.c.id == identifier)).scalar()
        if when is None:
            raise StoreError("It is not on the disk any more: bring it back from a backup.")
        connection.execute(sa.update(thing).where(mine, thing.c.deleted == when).values(deleted=None))
        records.note(connection, space.person.id, "bring back", "", identifier)


def alone() -> Person | None:
    """Return the one person of an app that is used alone; None in a shared one."""
    return None if is_shared() else LOCAL
