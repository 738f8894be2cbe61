"""The workspace: tables, models and what people make of them, as one person sees them. The app reads what it shows from
here, so nothing is lost with a browser session.

    meta.sqlite    which things exist, who owns them, who did what (see database.py)
    objects/       the rows of tables and the files of models, each under the hash of its content (see object_store.py)
    jobs/<id>/     work that is queued, running or ended (see jobs)
    backups/       copies of the records before each migration
"""

from __future__ import annotations

from shapewise.errors import StoreError
from shapewise.store.drafts import Drafts
from shapewise.store.items import KINDS, Things
from shapewise.store.models import ModelAbout, Models
from shapewise.store.names import clean_name, new_id
from shapewise.store.records import now
from shapewise.store.room import check_room, left
from shapewise.store.sharing import Sharing
from shapewise.store.tables import TableAbout, Tables

__all__ = [
    "KINDS",
    "ModelAbout",
    "StoreError",
    "TableAbout",
    "Workspace",
    "clean_name",
    "new_id",
    "now",
]


class Workspace(Things):
    """A workspace as one person sees it: its tables and models, and things of other kinds."""

    @property
    def tables(self) -> Tables:
        """Its tables."""
        return Tables(self)

    @property
    def models(self) -> Models:
        """Its models."""
        return Models(self)

    @property
    def sharing(self) -> Sharing:
        """Who else sees its things."""
        return Sharing(self)

    @property
    def drafts(self) -> Drafts:
        """What this person has not stored yet."""
        return Drafts(self)

    def check_room(self, more: int) -> None:
        """Raise StoreError if `more` bytes would exceed this person's quota."""
        with self.meta.reading() as connection:
            check_room(connection, self.root, self.person.id, self.limits, more)

    def left(self) -> int:
        """Return the bytes left in this person's quota, 0 if there is no quota; StoreError if none are left."""
        with self.meta.reading() as connection:
            return left(connection, self.root, self.person.id, self.limits)
