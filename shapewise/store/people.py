"""The people of a shared workspace, their roles, and what an administrator can do."""

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
from shapewise.store.workspace import Workspace

MOST_NAME: Final = 200
MOST_ID: Final = 1_000
A_VISIT: Final = timedelta(minutes=30)
CLAIMS: Final = ("email", "preferred_username", "name", "sub")
"""Sign-in claims that name a person, the best name for display first."""


@dataclass(frozen=True)
class Member:
    """A person, when they were last seen, and how many bytes and things they own."""

    person: Person
    seen: str
    bytes: int
    things: int


def told_by(claims: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the id and name of a person from their sign-in claims; None if these do not identify them."""
    known = {name: str(claims[name]).strip(" \t\r\n") for name in CLAIMS if claims.get(name)}
    name = next((known[claim] for claim in CLAIMS if claim in known), "")
    issuer, subject = (claims.get(claim) or "" for claim in ("iss", "sub"))
    if not name or not all(str(text).isprintable() and len(str(text)) <= MOST_ID for text in (*known.values(), issuer)):
        return None
    if "sub" not in claims and "iss" not in claims:  # from a proxy, which may name anyone except the local user
        return None if records.folded(name) == LOCAL.id else (records.folded(name), name)
    if not isinstance(issuer, str) or not isinstance(subject, str) or not subject.strip() or not subject.isprintable():
        return None  # nobody in particular, whatever they are called
    if "email" not in known or not _is_verified(claims):
        # People choose such names themselves: the suffix makes them unique.
        name = f"{name[:MOST_NAME]} [{subject[:40]}]"
    # A name may be reassigned to somebody else; issuer and subject may not. The first # is between the two.
    return f"{issuer.replace('%', '%25').replace('#', '%23')}#{subject}", name


def _is_verified(claims: Mapping[str, Any]) -> bool:
    """Return whether the provider has verified the person's address. GAMCORE_TRUST_EMAIL=1 also accepts a missing
    claim, for providers that verify every address without saying so."""
    verified = claims.get("email_verified")
    if verified is None:
        return os.environ.get("GAMCORE_TRUST_EMAIL") == "1"
    return verified is True or (isinstance(verified, str) and verified.lower() == "true")


def administrators() -> set[str]:
    """Return the names of those who are administrators regardless of the records: GAMCORE_ADMINS, comma-separated."""
    names = os.environ.get("GAMCORE_ADMINS", "").split(",")
    return {records.folded(name.strip(" \t\r\n")) for name in names if name.strip(" \t\r\n")}


def newcomers() -> Role:
    """Return the role of new people: GAMCORE_NEW_ROLE, editor by default."""
    role = os.environ.get("GAMCORE_NEW_ROLE", "editor")
    if role not in ("viewer", "editor"):
        raise StoreError(f"GAMCORE_NEW_ROLE is {role!r}: set it to viewer or editor.")
    return cast(Role, role)


def arrive(space: Workspace, identifier: str, name: str) -> Person:
    """Record that somebody has signed in, in the list of people and, once per visit, in the audit log; return them."""
    with space.meta.writing() as connection:
        before, seen = records.somebody(connection, identifier), records.last_seen(connection, identifier)
        person = Person(identifier, name, before.role if before else newcomers())
        records.put_person(connection, person)
        if seen < (datetime.now(UTC) - A_VISIT).isoformat(timespec="milliseconds"):  # a page reload is not a sign-in
            records.note(connection, identifier, "sign in", detail=name)
    return _raised(person)


def now(space: Workspace, identifier: str) -> Person | None:
    """Return a person as the records have them now; None for somebody who never signed in or was removed."""
    with space.meta.reading() as connection:
        member = records.somebody(connection, identifier)
    return _raised(member) if member is not None else None


def _raised(person: Person) -> Person:
    """Return a person with the role that the environment gives; it is not stored, so unsetting it revokes the role."""
    return replace(person, role="admin") if records.folded(person.name) in administrators() else person


def _check(space: Workspace) -> None:
    if not may(space.person, "administer"):
        raise DeniedError("Only an administrator may do this: ask one.")


def members(space: Workspace) -> list[Member]:
    """Return everybody, for an administrator."""
    _check(space)
    with space.meta.reading() as connection:
        of_each = sa.select(thing.c.owner, sa.func.count()).where(records.NOT_DELETED).group_by(thing.c.owner)
        counts = {owner: int(number) for owner, number in connection.execute(of_each)}
        known = records.people(connection)
        here = {person.id for person, _ in known}
        # Owners who never signed in: whoever used the workspace before it was shared.
        known += [(Person(owner, owner), "") for owner in counts if owner not in here]
        return [
            Member(_raised(person), seen, used_by(connection, space.root, person.id), counts.get(person.id, 0))
            for person, seen in known
        ]


def set_role(space: Workspace, identifier: str, role: Role) -> None:
    """Give somebody a role; it takes effect at their next click."""
    _check(space)
    if role not in ROLES:
        raise StoreError(f"{role!r} is not a role: choose {', '.join(ROLES)}.")
    if identifier == space.person.id:
        raise StoreError("Your own role can only be changed by another administrator.")
    with space.meta.writing() as connection:
        member = records.somebody(connection, identifier)
        if member is None:
            raise StoreError("There is no such person: they may have been removed.")
        records.set_role(connection, identifier, role)
        detail = f"{member.role} to {role}"
        records.note(connection, space.person.id, "role", "people", identifier, member.role, role, detail)


def hand_over(space: Workspace, who: str, to: str) -> int:
    """Transfer all that one person owns to another, for example when they leave; return the number of things."""
    _check(space)
    with space.meta.writing() as connection:
        if records.somebody(connection, to) is None:
            raise StoreError("There is no such person to give it to: choose another.")
        moved = connection.execute(sa.update(thing).where(thing.c.owner == who).values(owner=to)).rowcount
        records.note(connection, space.person.id, "hand over", "people", who, detail=f"{moved} things to {to}")
    return int(moved)


def log(space: Workspace, most: int = 500, identifier: str = "") -> list[AuditEntry]:
    """Return the audit log, latest entry first, for an administrator."""
    _check(space)
    with space.meta.reading() as connection:
        return records.audit_log(connection, most, identifier)


def alone() -> Person | None:
    """Return the only person of a single-user app; None in a shared one."""
    return None if is_shared() else LOCAL
