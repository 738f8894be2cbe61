"""Things of any kind in a workspace: create, view, change and delete them, with permission checks."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from sqlalchemy import Connection

from shapewise.access.permissions import LOCAL, Action, Person, may
from shapewise.access.quotas import Limits, is_shared
from shapewise.errors import READ_ONLY, READ_ONLY_DISK, DeniedError, FullError, StoreError, room
from shapewise.store import identity, records
from shapewise.store.atomic_files import is_read_only, use_spare
from shapewise.store.database import Meta, open_meta
from shapewise.store.migrations import migrate
from shapewise.store.object_store import digest_of, open_objects
from shapewise.store.records import Thing, text_of
from shapewise.store.room import check_room
from shapewise.store.rows import Rows

KINDS: Final = {
    "tables": "table", "models": "model", "segments": "segment", "boards": "board", "tests": "test",
    "plans": "plan", "reports": "report", "templates": "template",
}  # fmt: skip
ID: Final = re.compile(r"[0-9a-f]{16}")
About = TypeVar("About")
Stored = Callable[[str, str, dict[str, Any] | None, dict[str, Any] | None], None]
"""Takes the kind and id of a thing, and its description before (None: it is new) and after (None: it is deleted)."""
log = logging.getLogger(__name__)


def _make(root: Path) -> None:
    """Create the workspace's folder; StoreError if it is not a folder or not writable."""
    try:
        with room():
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreError("GAMCORE_WORKSPACE points to a file, not to a folder: set it to another folder.") from error
    except OSError as error:
        raise StoreError(
            f"{root} cannot be created ({error.strerror}): set GAMCORE_WORKSPACE to another folder."
        ) from error
    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        raise StoreError(READ_ONLY_DISK if is_read_only(root) else READ_ONLY)


def _nobody_asks(kind: str, identifier: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
    """Take note of nothing."""


def adopt(root: Path) -> None:
    """Declare that the records and the files of a workspace belong together; StoreError if there are no records."""
    records_of = open_meta(root, os.environ.get("GAMCORE_META_URL"))
    identity.adopt(records_of, open_objects(root, os.environ.get("GAMCORE_OBJECTS_URL")))


class Things:
    """Things of any kind by id, as one person may see and change them. stored : is told what is added, changed, deleted
    and brought back through this object, and not what others do."""

    def __init__(self, root: Path, person: Person = LOCAL, limits: Limits | None = None) -> None:
        self.root, self.person = root, person
        self.limits = limits or Limits.configured()
        self.stored: Stored = _nobody_asks
        _make(root)
        if is_shared() and os.name != "nt" and root.stat().st_mode & 0o077:
            raise StoreError(
                f"Others on this machine can read {root}: restrict its permissions (chmod 700), then restart."
            )
        self.objects = open_objects(root, os.environ.get("GAMCORE_OBJECTS_URL"))
        self._meta_url = os.environ.get("GAMCORE_META_URL")
        migrate(self.meta, root, self.objects)

    @property
    def meta(self) -> Meta:
        """The database of records."""
        return open_meta(self.root, self._meta_url)

    def seen_by(self, person: Person) -> Self:
        """Return the same workspace, as another person sees it."""
        other = copy(self)
        other.person = person
        return other

    def _check(self, action: Action, kind: str, thing: Thing | None) -> Thing:
        """Return the thing if this person may act on it, else raise; what they may not view does not exist."""
        owner, level = (thing.owner, thing.level) if thing else (None, None)
        if thing is None or not may(self.person, "view", owner, level):
            raise StoreError(f"There is no such {KINDS.get(kind, kind)} in the workspace: it may have been deleted.")
        if not may(self.person, action, owner, level):
            name = KINDS.get(kind, kind)
            raise DeniedError(f"This {name} is shared with you for viewing only: ask its owner to {action} it.")
        return thing

    def allowed(self, connection: Connection, action: Action, kind: str, identifier: str) -> Thing:
        """Return a thing on which this person may perform an action; StoreError otherwise."""
        thing = records.known_thing(connection, kind, identifier, self.person.id) if ID.fullmatch(identifier) else None
        return self._check(action, kind, thing)

    def may(self, action: Action, kind: str = "", identifier: str = "") -> bool:
        """Return whether this person may perform an action, on a thing if one is named."""
        if not identifier:
            return may(self.person, action)
        try:
            self.thing(kind, identifier, action)
        except StoreError:
            return False
        return True

    def thing(self, kind: str, identifier: str, action: Action = "view") -> Thing:
        """Return a thing; StoreError if it does not exist for this person or the action is not allowed."""
        row = Rows(self.meta, self.person.id).row(kind, identifier) if ID.fullmatch(identifier) else None
        return self._check(action, kind, None if row is None else records.read(row))

    def listed(self, kind: str, read: Callable[[dict[str, Any]], About], parent: str | None = "") -> list[About]:
        """Return all things of a kind that this person can view, oldest first; log and skip unreadable things."""
        listed = []
        for row in records.many(Rows(self.meta, self.person.id).of_kind(kind, parent).values()):
            try:
                listed.append(read(row.about))
            except (ValueError, TypeError, KeyError) as error:
                log.warning("%s/%s cannot be read and is not listed: %s", kind, row.id, error)
        return listed

    def ids(self, kind: str) -> list[str]:
        """Return the ids of all things of a kind that this person can view."""
        return [row.id for row in records.many(Rows(self.meta, self.person.id).of_kind(kind, None).values())]

    def add(
        self, kind: str, identifier: str, about: dict[str, Any], parts: Mapping[str, Path] | None = None,
        parent: str = "", detail: str = "",
    ) -> None:  # fmt: skip
        """Create a thing from a description and files, which are moved; objects are stored before the record."""
        if not may(self.person, "create"):
            raise DeniedError("You may view what is shared with you, not add to it: ask to be made an editor.")
        with self._held(parts or {}) as held, self.meta.writing() as connection:
            check_room(connection, self.root, self.person.id, self.limits, sum(size for _, size in held.values()))
            owner = self.person.id
            if parent:  # a part belongs to the owner of its parent, whoever made it
                owner = self.allowed(connection, "change", kind, parent).owner
            records.insert(connection, kind, identifier=identifier, owner=owner, about=about, parent=parent)
            self._put(connection, identifier, held)
            records.note(connection, self.person.id, "create", kind, identifier, "", text_of(about), detail)
        self.stored(kind, identifier, None, about)

    def edit(
        self, kind: str, identifier: str, change: Callable[[dict[str, Any]], dict[str, Any]],
        parts: Mapping[str, Path] | None = None, action: Action = "change",
    ) -> dict[str, Any]:  # fmt: skip
        """Change the current state of a thing, so that no concurrent change is lost; return its new description.

        change : maps the current description to the new one. action : the permission that this person needs.
        """
        with self._held(parts or {}) as held, self.meta.writing() as connection:
            about = self.allowed(connection, action, kind, identifier).about
            changed = change(about)
            before, after = text_of(about), text_of(changed)
            if held:
                check_room(connection, self.root, self.person.id, self.limits, sum(size for _, size in held.values()))
                self._put(connection, identifier, held)
            if after != before:
                records.update(connection, identifier, changed)
            if held or after != before:
                records.note(connection, self.person.id, "change", kind, identifier, before, after)
        self.stored(kind, identifier, about, changed)
        return changed

    @contextmanager
    def _held(self, parts: Mapping[str, Path]) -> Iterator[dict[str, tuple[str, int]]]:
        """Store files as objects, which no sweep removes before the block ends; yield name to (hash, bytes)."""
        with ExitStack() as stack:
            held: dict[str, tuple[str, int]] = {}
            try:
                for name, path in parts.items():
                    digest, size = digest_of(path), path.stat().st_size
                    stack.enter_context(self.objects.marked(digest))
                    self.objects.put(path, digest)
                    held[name] = digest, size
                yield held
            except BaseException:
                with suppress(StoreError), self.meta.writing() as connection:  # no record will refer to them
                    records.let_go(connection, [digest for digest, _ in held.values()])
                raise

    def _put(self, connection: Connection, identifier: str, held: dict[str, tuple[str, int]]) -> None:
        if held:
            identity.renew(connection, self.objects, self.meta.place)
        for name, (digest, size) in held.items():
            if not self.objects.has(digest):  # swept between the check and the mark
                raise StoreError("A file was removed while it was being stored: try again.")
            records.put_part(connection, identifier, name, digest, size)

    def part(self, kind: str, identifier: str, name: str) -> Path:
        """Return the file of a part of a thing; it never changes, so it can be read at any time."""
        self.thing(kind, identifier)
        digest = Rows(self.meta, self.person.id).part(identifier, name)
        if digest is None:
            raise StoreError(f"This {KINDS[kind]} has no {name}: load or train it again.")
        return self.objects.path(digest)

    def note(self, action: str, kind: str = "", identifier: str = "", detail: str = "") -> None:
        """Add an action that does not change a thing to the audit log."""
        with self.meta.writing() as connection:
            records.note(connection, self.person.id, action, kind, identifier, detail=detail[:200])

    def delete(self, kind: str, identifier: str) -> None:
        """Mark a thing and its parts as deleted; the sweep removes them from disk."""
        try:
            self._delete(kind, identifier)
        except FullError:  # the reserved space is for this: otherwise nobody could free any
            use_spare(self.root)
            self._delete(kind, identifier)

    def _delete(self, kind: str, identifier: str) -> None:
        with self.meta.writing() as connection:
            thing = self.allowed(connection, "view", kind, identifier)
            about = self._check("change" if thing.parent else "delete", kind, thing).about
            for gone in records.mark_deleted(connection, identifier):
                before = text_of(about) if gone == identifier else ""
                records.note(connection, self.person.id, "delete", kind, gone, before)
        self.stored(kind, identifier, about, None)
