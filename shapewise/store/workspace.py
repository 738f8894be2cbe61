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
import secrets
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import platformdirs

from gamcore.io import gamx as serialize
from gamcore.io.manifest import Saved
from gamcore.multitask.model import TaskModel
from shapewise.access.permissions import LOCAL
from shapewise.errors import DeniedError, StoreError, room
from shapewise.store import records
from shapewise.store.items import KINDS, Things
from shapewise.store.object_store import digest_of
from shapewise.store.records import now

__all__ = [
    "KINDS",
    "ModelAbout",
    "StoreError",
    "TableAbout",
    "Workspace",
    "clean_name",
    "default_root",
    "new_id",
    "now",
]

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


class Workspace(Things):
    """A workspace as one person sees it: its tables and models, and things of other kinds."""

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
            return self.add_table_file(
                path, name, rows=len(frame), columns=frame.shape[1], notes=notes, replaces=replaces
            )

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
            with self.meta.reading() as connection:
                if records.exists(connection, identifier):  # it was theirs, and was handed over
                    identifier = new_id()
            about = TableAbout(
                id=identifier,
                name=clean_name(name),
                rows=rows,
                columns=columns,
                bytes=path.stat().st_size,
                created=now(),
                notes=list(notes or []),
                sampled=sample[1] if sample else 0,
                replaces=replaces,
            )
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

    def table(self, identifier: str) -> TableAbout:
        """What is known of a table."""
        return known(TableAbout, self.thing("tables", identifier).about)

    def tables(self) -> list[TableAbout]:
        """All tables, the newest first."""
        return self.listed("tables", lambda told: known(TableAbout, told))[::-1]

    def table_path(self, identifier: str) -> Path:
        """The Parquet file of a table."""
        return self.part("tables", identifier, "table")

    def shown_path(self, identifier: str) -> Path:
        """The file of what pages show of a table: its sample where it is too large for memory."""
        return self.part("tables", identifier, "sample" if self.table(identifier).sampled else "table")

    def read_table(self, identifier: str) -> pd.DataFrame:
        """The table itself; its sample where it is too large for memory."""
        return pd.read_parquet(self.shown_path(identifier))

    def set_roles(self, identifier: str, roles: dict[str, str]) -> None:
        """Remember what each column of a table is for."""
        self.edit("tables", identifier, lambda about: about | {"roles": roles})

    def change_roles(self, identifier: str, changes: dict[str, str | None]) -> None:
        """Remember what some columns are for, None for the usual; what others are for stays as it is now."""

        def change(about: dict[str, Any]) -> dict[str, Any]:
            roles = {**about.get("roles", {}), **changes}
            return about | {"roles": {name: role for name, role in roles.items() if role is not None}}

        self.edit("tables", identifier, change)

    def hold_out_by(self, identifier: str, group: str | None, when: str | None) -> dict[str, str]:
        """What decides which rows of a table are held out: fixed by its first training, whatever comes later.

        Whoever may train on a table fixes it: to see the table, and to be allowed to make something, is enough.
        """
        if not self.may("create"):
            raise DeniedError("You may view what is shared with you, not train on it: ask to be made an editor.")
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
            self.add(
                "models", about.id, about=asdict(about), parts={"model": path}, parent=about.part_of, detail=about.name
            )
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
            id=new_id(),
            name=clean_name(name),
            table="",
            table_name="imported",
            target=clean_name(target) if target else "",
            kind=saved.kind,
            created=now(),
            seconds=0.0,
        )
        if not isinstance(saved.model, TaskModel):
            halves = saved.model.halves
            about = replace(about, n_pairs=len(saved.model.pairs), bands=halves.n_refits if halves else 0)
        return self.add_model(saved, about)
