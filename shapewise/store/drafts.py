"""What a person has set or typed and not stored yet, kept with the thing that it is of: it outlives a reload, a closed
browser and the server, and goes when the thing is purged. Nobody else reads it, and it is no change of the thing."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from shapewise.store.database import draft, once
from shapewise.store.items import Things


class Drafts:
    """The drafts of one person, one for each thing."""

    def __init__(self, space: Things) -> None:
        self._space = space

    def read(self, kind: str, identifier: str) -> Any:
        """Return this person's draft of a thing; None where there is none. StoreError if they may not view it."""
        self._space.thing(kind, identifier)

        def text() -> str | None:
            with self._space.meta.reading() as connection:
                return connection.execute(sa.select(draft.c.value).where(self._is_mine(identifier))).scalar()

        kept = once((self._space.meta.url, self._space.person.id, "draft", identifier), text)
        return None if kept is None else json.loads(kept)

    def keep(self, kind: str, identifier: str, value: Any) -> None:
        """Replace this person's draft of a thing by a plain value, or forget it (None). StoreError if they may not view
        the thing."""
        self._space.thing(kind, identifier)
        with self._space.meta.writing() as connection:
            connection.execute(sa.delete(draft).where(self._is_mine(identifier)))
            if value is not None:
                text, person = json.dumps(value, ensure_ascii=False), self._space.person.id
                connection.execute(draft.insert().values(thing=identifier, person=person, value=text))

    def _is_mine(self, identifier: str) -> sa.ColumnElement[bool]:
        return sa.and_(draft.c.thing == identifier, draft.c.person == self._space.person.id)
