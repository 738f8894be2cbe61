"""The workspace: tables, models and what people make of them, as one person sees them. What the app shows is read from
here, so nothing is lost with a browser session.

    meta.sqlite    what there is, whose it is, who did what (see meta.py)
    objects/       the rows of tables and the files of models, each under the hash of its content (see objects.py)
    jobs/<id>/     work that waits, goes on or has ended (see jobs.py)
    backups/       the records before each of their migrations
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import pandas as pd
import platformdirs
from sqlalchemy import Connection

from gamcore import serialize
from gamcore.modelfile import Saved
from gamcore.taskmodel import TaskModel
from gamcore.workspace import records
from gamcore.workspace.access import LOCAL, Action, Level, Person, may
from gamcore.workspace.errors import DeniedError, StoreError, room
from gamcore.workspace.files import temporary
from gamcore.workspace.limits import Limits
from gamcore.workspace.meta import Meta, open_meta
from gamcore.workspace.migrations import migrate
from gamcore.workspace.objects import digest_of, open_objects
from gamcore.workspace.records import Thing, now, text_of

__all__ = ["ModelAbout", "StoreError", "TableAbout", "Workspace", "clean_name", "default_root", "new_id", "now"]

KINDS: Final = {"tables": "table", "models": "model", "segments": "segment", "boards": "board", "reports": "report"}
_ID = re.compile(r"[0-9a-f]{16}")
MAX_NAME = 120
MAX_NOTE = 2_000
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TableAbout:
    """What is known of a stored table."""

    id: str
    name: str
    rows: int
    columns: int
    bytes: int
    created: str
    notes: list[str] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    held_out_by: dict[str, str] | None = None  # set at the first training: {"group": column} or {"time": column} or {}
    sampled: int = 0  # rows of the sample that pages read, where the table itself is too large for memory
    replaces: str = ""  # the older version of the table


@dataclass(frozen=True)
class ModelAbout:
    """What is known of a stored model; `metrics` are those of the held-out rows."""

    id: str
    name: str
    table: str
    table_name: str
    target: str
    kind: str
    created: str
    seconds: float
    metrics: dict[str, float] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    n_pairs: int = 0
    tasks: list[dict[str, Any]] = field(default_factory=list)  # a `tasks.TaskScore` each
    bands: int = 0  # refits on halves of the rows
    headlines: dict[str, str] = field(default_factory=dict)  # what people call a plot, by the names of its features
    notes: dict[str, str] = field(default_factory=dict)  # what people say of it
    part_of: str = ""  # the model that it is one of the parts of, and which
    part: str = ""

    @property
    def of_tasks(self) -> bool:
        """Whether it is a model of several tasks."""
        return self.kind.startswith("multitask")


About = TypeVar("About")


def new_id() -> str:
    """A random id; it cannot be guessed."""
    return secrets.token_hex(8)


def clean_name(name: str) -> str:
    """A name for display: no control characters, no runs of space, not too long, not empty."""
    text = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return (text[: MAX_NAME - 1] + "…" if len(text) > MAX_NAME else text) or "unnamed"


def known(cls: type[About], told: dict[str, Any]) -> About:
    """A description as it is kept; what a newer version added is left out."""
    names = {of.name for of in fields(cls)}  # type: ignore[arg-type]
    return cls(**{name: value for name, value in told.items() if name in names})


def default_root() -> Path:
    """Where the workspace is: GAMCORE_WORKSPACE, or the user's data folder."""
    chosen = os.environ.get("GAMCORE_WORKSPACE")
    return Path(chosen) if chosen else Path(platformdirs.user_data_dir("shapewise", appauthor=False))


class Workspace:
    """Things by id, as one person may see and change them."""

    def __init__(self, root: Path, person: Person = LOCAL, limits: Limits | None = None) -> None:
        self.root, self.person = root, person
        self.limits = limits or Limits.told()
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.objects = open_objects(root, os.environ.get("GAMCORE_OBJECTS_URL"))
        self._meta_url = os.environ.get("GAMCORE_META_URL")
        migrate(self.meta, root, self.objects)

    @property
    def meta(self) -> Meta:
        """The records."""
        return open_meta(self.root, self._meta_url)

    def seen_by(self, person: Person) -> Workspace:
        """The same workspace, as another person sees it."""
        other = copy(self)
        other.person = person
        return other

    # Things of any kind

    def _check(self, action: Action, kind: str, found: Thing | None) -> Thing:
        """The one place where a person's right to a thing is asked for; what may not be seen is not there."""
        owner, level = (found.owner, found.level) if found else (None, None)
        if found is None or not may(self.person, "view", owner, level):
            raise StoreError(f"There is no such {KINDS.get(kind, kind)} in the workspace: it may have been deleted.")
        if not may(self.person, action, owner, level):
            name = KINDS.get(kind, kind)
            raise DeniedError(f"This {name} is shared with you to be viewed: ask its owner to {action} it.")
        return found

    def may(self, action: Action, kind: str = "", identifier: str = "") -> bool:
        """Whether this person may do something, with a thing where one is named."""
        if not identifier:
            return may(self.person, action)
        try:
            self.thing(kind, identifier, action)
        except StoreError:
            return False
        return True

    def thing(self, kind: str, identifier: str, action: Action = "view") -> Thing:
        """A thing; StoreError where there is none for this person, or none to do this with."""
        with self.meta.reading() as connection:
            found = records.one(connection, kind, identifier, self.person.id) if _ID.fullmatch(identifier) else None
            return self._check(action, kind, found)

    def listed(self, kind: str, read: Callable[[dict[str, Any]], About], parent: str | None = "") -> list[About]:
        """All things of a kind that this person has, the first made first; one that cannot be read hides no other."""
        with self.meta.reading() as connection:
            things = list(records.many(connection, kind, self.person.id, parent))
        found = []
        for one in things:
            try:
                found.append(read(one.about))
            except (ValueError, TypeError, KeyError) as error:
                log.warning("%s/%s cannot be read and is not listed: %s", kind, one.id, error)
        return found

    def ids(self, kind: str) -> list[str]:
        """Ids of all things of a kind that this person has."""
        with self.meta.reading() as connection:
            return [one.id for one in records.many(connection, kind, self.person.id, None)]

    def add(
        self, kind: str, identifier: str, about: dict[str, Any], parts: Mapping[str, Path] | None = None,
        parent: str = "", detail: str = "",
    ) -> None:  # fmt: skip
        """Make a thing of a description and files, which are moved away: objects first, then the record."""
        if not may(self.person, "create"):
            raise DeniedError("You may view what is shared with you, not add to it: ask to be made an editor.")
        with self._held(parts or {}) as held, self.meta.writing() as connection:
            self._check_room(connection, sum(size for _, size in held.values()))
            records.insert(connection, kind, identifier, self.person.id, about, parent)
            self._put(connection, identifier, held)
            records.note(connection, self.person.id, "create", kind, identifier, "", text_of(about), detail)

    def edit(
        self, kind: str, identifier: str, change: Callable[[dict[str, Any]], dict[str, Any]],
        parts: Mapping[str, Path] | None = None, action: Action = "change",
    ) -> dict[str, Any]:  # fmt: skip
        """Change a thing as it is now, so that nobody's change undoes another's; its new description.

        change : makes the new description of the present one. action : what this person needs to be allowed.
        """
        with self._held(parts or {}) as held, self.meta.writing() as connection:
            found = records.one(connection, kind, identifier, self.person.id) if _ID.fullmatch(identifier) else None
            about = self._check(action, kind, found).about
            changed = change(about)
            before, after = text_of(about), text_of(changed)
            if held:
                self._check_room(connection, sum(size for _, size in held.values()))
                self._put(connection, identifier, held)
            if after != before:
                records.update(connection, identifier, changed)
            if held or after != before:
                records.note(connection, self.person.id, "change", kind, identifier, before, after)
            return changed

    @contextmanager
    def _held(self, parts: Mapping[str, Path]) -> Iterator[dict[str, tuple[str, int]]]:
        """Files as objects, which no sweep takes before the block ends: name to (hash, bytes)."""
        with ExitStack() as stack:
            held = {}
            for name, path in parts.items():
                digest, size = digest_of(path), path.stat().st_size
                stack.enter_context(self.objects.marked(digest))
                self.objects.put(path, digest)
                held[name] = digest, size
            yield held

    def _put(self, connection: Connection, identifier: str, held: dict[str, tuple[str, int]]) -> None:
        for name, (digest, size) in held.items():
            if not self.objects.has(digest):  # swept between the look at it and the mark on it
                raise StoreError("A file was taken away while it was stored: try again.")
            records.put_part(connection, identifier, name, digest, size)

    def _check_room(self, connection: Connection, more: int) -> None:
        most, used = self.limits.bytes, records.used(connection, self.person.id)
        if most and used + more > most:
            raise StoreError(
                f"This needs {more / 1e6:,.0f} MB, and you use {used / 1e6:,.0f} of your {most / 1e6:,.0f} MB: delete "
                "what you no longer need."
            )

    def part(self, kind: str, identifier: str, name: str) -> Path:
        """The file of a part of a thing; it is never changed, so it can be read at leisure."""
        with self.meta.reading() as connection:
            found = records.one(connection, kind, identifier, self.person.id) if _ID.fullmatch(identifier) else None
            self._check("view", kind, found)
            digest = records.part_of(connection, identifier, name)
        if digest is None:
            raise StoreError(f"This {KINDS[kind]} has no {name}: load or train it again.")
        return self.objects.path(digest)

    def note(self, action: str, kind: str = "", identifier: str = "", detail: str = "") -> None:
        """Add to the audit log what is done with a thing but does not change it."""
        with self.meta.writing() as connection:
            records.note(connection, self.person.id, action, kind, identifier, detail=detail[:200])

    def delete(self, kind: str, identifier: str) -> None:
        """Take a thing and its parts out of sight; the sweep takes them off the disk."""
        with self.meta.writing() as connection:
            found = records.one(connection, kind, identifier, self.person.id) if _ID.fullmatch(identifier) else None
            told = text_of(self._check("delete", kind, found).about)
            for gone in records.bury(connection, identifier):
                records.note(connection, self.person.id, "delete", kind, gone, told if gone == identifier else "")

    # Sharing

    def share(self, kind: str, identifier: str, who: str, level: Level | None) -> None:
        """Share a thing with a person by what they are called, or no longer (None)."""
        who = who.strip()
        with self.meta.writing() as connection:
            found = records.one(connection, kind, identifier, self.person.id) if _ID.fullmatch(identifier) else None
            owner = self._check("share", kind, found).owner
            them = records.named(connection, who)
            if them is None:
                raise StoreError(f"Nobody called {who!r} has signed in here yet: ask them to, then share it again.")
            if them.id == owner:
                raise StoreError("It is theirs already: choose somebody else.")
            records.share_with(connection, identifier, them.id, level)
            detail = f"{them.id}: {level or 'nothing'}"
            records.note(connection, self.person.id, "share", kind, identifier, detail=detail)

    def owner_name(self, kind: str, identifier: str) -> str:
        """What the owner of a thing is called."""
        owner = self.thing(kind, identifier).owner
        with self.meta.reading() as connection:
            found = records.somebody(connection, owner)
        return found.name if found else owner

    def shares(self, kind: str, identifier: str) -> dict[str, Level]:
        """Whom a thing is shared with by name, for those who may share it."""
        self.thing(kind, identifier, "share")
        with self.meta.reading() as connection:
            names = {person.id: person.name for person, _ in records.people(connection)}
            return {names.get(who, who): level for who, level in records.shares(connection, identifier).items()}

    # Tables

    def add_table(
        self, frame: pd.DataFrame, name: str, notes: list[str] | None = None, replaces: str = ""
    ) -> TableAbout:
        """Store a table; one with the same content is returned as it is."""
        if frame.shape[0] == 0 or frame.shape[1] == 0:
            raise StoreError("The table is empty: load one with at least one row and one column.")
        with self.new_file() as path:
            with room():
                frame.to_parquet(path, index=False, compression="zstd")
            return self.add_table_file(path, name, len(frame), frame.shape[1], notes, replaces)

    def add_table_file(
        self, path: Path, name: str, rows: int, columns: int, notes: list[str] | None = None, replaces: str = "",
        sample: tuple[Path, int] | None = None,
    ) -> TableAbout:  # fmt: skip
        """Store a table that is a Parquet file, which is moved away. sample : a file of so many rows to be shown, where
        the table is too large for memory."""
        if self.limits.rows and rows > self.limits.rows:
            raise StoreError(f"The table has {rows:,} rows, more than {self.limits.rows:,}: load fewer.")
        identifier = self._id_of(digest_of(path))
        if not self._has_table(identifier):
            about = TableAbout(
                identifier, clean_name(name), rows, columns, path.stat().st_size, now(), list(notes or []),
                sampled=sample[1] if sample else 0, replaces=replaces,
            )  # fmt: skip
            parts = {"table": path} | ({"sample": sample[0]} if sample else {})
            self.add("tables", identifier, asdict(about), parts, detail=about.name)
        return self.table(identifier)

    def _id_of(self, digest: str) -> str:
        """The id of a table: the hash of its content; others' in a shared workspace are apart, though kept once."""
        if self.person.id != LOCAL.id:
            digest = hashlib.sha256(f"{self.person.id}\n{digest}".encode()).hexdigest()
        return digest[:16]

    def _has_table(self, identifier: str) -> bool:
        try:
            return self.table(identifier).id == identifier
        except StoreError:
            return False

    @contextmanager
    def new_file(self) -> Iterator[Path]:
        """A place for a file that is about to become an object; what is still there in the end is removed."""
        path = temporary(self.root / "new")
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    @contextmanager
    def new_folder(self) -> Iterator[Path]:
        """A place for files that are about to become objects; what is still there in the end is removed."""
        path = temporary(self.root / "new")
        path.mkdir(0o700)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def table(self, identifier: str) -> TableAbout:
        """What is known of a table."""
        return known(TableAbout, self.thing("tables", identifier).about)

    def tables(self) -> list[TableAbout]:
        """All tables, the newest first."""
        return self.listed("tables", lambda told: known(TableAbout, told))[::-1]

    def table_path(self, identifier: str) -> Path:
        """The Parquet file of a table."""
        return self.part("tables", identifier, "table")

    def read_table(self, identifier: str) -> pd.DataFrame:
        """The table itself; its sample where it is too large for memory."""
        return pd.read_parquet(self.part("tables", identifier, "sample" if self.table(identifier).sampled else "table"))

    def set_roles(self, identifier: str, roles: dict[str, str]) -> None:
        """Remember what each column of a table is for."""
        self.edit("tables", identifier, lambda about: about | {"roles": roles})

    def hold_out_by(self, identifier: str, group: str | None, when: str | None) -> dict[str, str]:
        """What decides which rows of a table are held out: fixed by its first training, whatever comes later.

        Whoever may train on a table fixes it: to see the table is enough.
        """
        found = self.table(identifier).held_out_by
        if found is None:
            chosen = {"time": when} if when else {"group": group} if group else {}

            def fix(about: dict[str, Any]) -> dict[str, Any]:
                return about if about.get("held_out_by") is not None else about | {"held_out_by": chosen}

            found = self.edit("tables", identifier, fix, action="view")["held_out_by"]
        return dict(found)

    # Models

    def add_model(self, saved: Saved, about: ModelAbout) -> ModelAbout:
        """Store a model under the id in `about`."""
        with self.new_file() as path:
            with room():
                path.write_bytes(serialize.to_bytes(saved))
            self.add("models", about.id, asdict(about), {"model": path}, about.part_of, about.name)
        return self.model(about.id)

    def model(self, identifier: str) -> ModelAbout:
        """What is known of a model."""
        return known(ModelAbout, self.thing("models", identifier).about)

    def models(self) -> list[ModelAbout]:
        """All models, the newest first; not those of parts of another's rows."""
        return self.listed("models", lambda told: known(ModelAbout, told))[::-1]

    def parts(self, identifier: str) -> list[ModelAbout]:
        """The models of parts of a model's rows, the first made first."""
        return self.listed("models", lambda told: known(ModelAbout, told), identifier) if identifier else []

    def set_bands(self, identifier: str, saved: Saved, n_refits: int) -> ModelAbout:
        """Put the same model with its bands in the place of the one without."""
        with self.new_file() as path:
            with room():
                path.write_bytes(serialize.to_bytes(saved))
            self.edit("models", identifier, lambda about: about | {"bands": n_refits}, {"model": path})
        return self.model(identifier)

    def set_headline(self, identifier: str, plot: str, text: str) -> None:
        """What a plot of a model is called; an empty text is what it says by itself."""
        self._say(identifier, "headlines", plot, clean_name(text) if text.strip() else "")

    def set_note(self, identifier: str, plot: str, text: str) -> None:
        """Pin a note to a plot of a model; an empty one takes it off."""
        self._say(identifier, "notes", plot, text.strip()[:MAX_NOTE])

    def _say(self, identifier: str, what: str, plot: str, text: str) -> None:
        def say(about: dict[str, Any]) -> dict[str, Any]:
            told = {name: said for name, said in about.get(what, {}).items() if name != plot}
            return about | {what: told | ({plot: text} if text else {})}

        self.edit("models", identifier, say)

    def model_path(self, identifier: str) -> Path:
        """The `.gamx` file of a model."""
        return self.part("models", identifier, "model")

    def load_model(self, identifier: str) -> Saved:
        """The model itself."""
        return serialize.load(self.model_path(identifier))

    def rename_model(self, identifier: str, name: str) -> None:
        """Give a model another name."""
        self.edit("models", identifier, lambda about: about | {"name": clean_name(name)})

    def import_model(self, data: bytes, name: str) -> ModelAbout:
        """Store a `.gamx` file from elsewhere; `ModelFileError` where it is none."""
        saved = serialize.from_bytes(data)
        target = str(saved.about.get("target", ""))
        about = ModelAbout(
            new_id(), clean_name(name), "", "imported", clean_name(target) if target else "", saved.kind, now(), 0.0,
        )  # fmt: skip
        if not isinstance(saved.model, TaskModel):
            halves = saved.model.halves
            about = replace(about, n_pairs=len(saved.model.pairs), bands=halves.n_refits if halves else 0)
        return self.add_model(saved, about)
