"""Who else has changed a thing since somebody saw it."""

from __future__ import annotations

from shapewise.store import records
from shapewise.store.items import Things

MOST_ENTRIES = 100


def changed_by(space: Things, identifier: str, since: str) -> list[str]:
    """Return the names of others who changed, deleted or brought back a thing since a time, the latest first."""
    with space.meta.reading() as connection:
        entries = records.audit_log(connection, MOST_ENTRIES, identifier)
        others = dict.fromkeys(line.person for line in entries if line.at >= since and line.person != space.person.id
                               and line.action in ("change", "delete", "bring back"))  # fmt: skip
        people = {who: records.somebody(connection, who) for who in others}
    return [who if person is None else person.name for who, person in people.items()]
