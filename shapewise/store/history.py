"""What others did to a thing, for those who may know: who changed it, and what became of it where it is gone."""

from __future__ import annotations

from dataclasses import dataclass

from shapewise.store import records
from shapewise.store.items import ID, KINDS, Things

MOST_ENTRIES = 1_000
MOST_CHANGES = 100


@dataclass(frozen=True)
class Departed:
    """Something that cannot be shown. deleted, by : when it was deleted and by whom; empty where that is not known, or
    not for this person to know."""

    kind: str
    name: str = ""
    deleted: str = ""
    by: str = ""

    @property
    def what(self) -> str:
        """What kind of thing it is, in a word."""
        return KINDS[self.kind]


def departed(space: Things, kind: str, identifier: str) -> Departed:
    """Return what this person may know of a thing that is not there for them.

    Those who made it, deleted it or had it shared with them, and administrators, learn its name and who deleted it
    when. To others, what was deleted and what never was look alike.
    """
    if not ID.fullmatch(identifier):
        return Departed(kind)
    with space.meta.reading() as connection:
        entries = [entry for entry in records.audit_log(connection, MOST_ENTRIES, identifier) if entry.kind == kind]
        end = entries[0] if entries and entries[0].action == "delete" else None
        if end is None:
            return Departed(kind)
        me = space.person.id
        involved = {entry.person for entry in entries}
        shares = [entry.detail for entry in entries if entry.action == "share" and entry.detail.startswith(f"{me}: ")]
        shared = bool(shares) and shares[0] != f"{me}: nothing"
        if not (space.person.role == "admin" or me in involved or shared):
            return Departed(kind)
        member = records.somebody(connection, end.person)
        name = records.last_name(connection, identifier)
    name = name or next((entry.detail for entry in entries if entry.action == "create"), "")
    by = "you" if end.person == me else member.name if member else end.person
    return Departed(kind, name, end.at, by)


def changed_by(space: Things, identifier: str, since: str) -> list[str]:
    """Return the names of others who changed, deleted or brought back a thing since a time, the latest first."""
    with space.meta.reading() as connection:
        entries = records.audit_log(connection, MOST_CHANGES, identifier)
        others = dict.fromkeys(line.person for line in entries if line.at >= since and line.person != space.person.id
                               and line.action in ("change", "delete", "bring back"))  # fmt: skip
        people = {who: records.somebody(connection, who) for who in others}
    return [who if person is None else person.name for who, person in people.items()]
