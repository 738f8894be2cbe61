"""Who owns a thing, and whom it is shared with."""

from __future__ import annotations

from shapewise.access.permissions import Level
from shapewise.errors import StoreError
from shapewise.store import records
from shapewise.store.items import Things


class Sharing:
    """Sharing of the things that one person can view."""

    def __init__(self, space: Things) -> None:
        self._space = space

    def share(self, kind: str, identifier: str, who: str, level: Level | None) -> None:
        """Share a thing with a person given by name or id, or stop sharing it (None)."""
        who = who.strip()
        with self._space.meta.writing() as connection:
            owner = self._space.allowed(connection, "share", kind, identifier).owner
            them = records.named(connection, who)
            if them is None:
                raise StoreError(
                    f"Nobody called {who!r} has signed in here yet, or several people have: ask them to, or use the "
                    "address that they sign in with."
                )
            if them.id == owner:
                raise StoreError("It is theirs already: choose somebody else.")
            records.share_with(connection, identifier, them.id, level)
            detail = f"{them.id}: {level or 'nothing'}"
            records.note(connection, self._space.person.id, "share", kind, identifier, detail=detail)

    def owner_name(self, kind: str, identifier: str) -> str:
        """Return the name of the owner of a thing."""
        owner = self._space.thing(kind, identifier).owner
        with self._space.meta.reading() as connection:
            member = records.somebody(connection, owner)
        return member.name if member else owner

    def people(self, kind: str, identifier: str) -> dict[str, tuple[str, Level]]:
        """Return whom a thing is shared with (id to name and level), for those who may share it."""
        self._space.thing(kind, identifier, "share")
        with self._space.meta.reading() as connection:
            names = {person.id: person.name for person, _ in records.people(connection)}
            levels = records.shares(connection, identifier)
        return {who: (names.get(who, who), level) for who, level in levels.items()}
