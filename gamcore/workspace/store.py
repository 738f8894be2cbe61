"""The workspace: a folder of tables, models and runs. What the app shows is read from here, so nothing is lost with a
browser session.

    tables/<id>/   table.parquet, about.json     id: hash of the content, so the same table is stored once
    models/<id>/   model.gamx, about.json, and what comes later: bands.json, headlines.json,
                   notes.json
    runs/<id>/     see runs.py
    segments/<id>/, boards/<id>/   see board.py
    reports/<id>/  see recipes.py; packs/<id>/ see packs.py
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import re
import secrets
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import platformdirs

from gamcore import serialize
from gamcore.modelfile import Saved
from gamcore.taskmodel import TaskModel
from gamcore.workspace.files import new_folder, read_json, write_bytes, write_json

_ID = re.compile(r"[0-9a-f]{16}")
MAX_NAME = 120
MAX_NOTE = 2_000
log = logging.getLogger(__name__)


class StoreError(ValueError):
    """Something asked for is not in the workspace, or cannot be put there; the message says what to do."""


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
    sampled: int = 0  # rows of the sample that pages see, where the table is larger than memory
    held_out_by: dict[str, str] | None = None  # set at the first training: {"group": column} or {"time": column} or {}


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


About = TypeVar("About", TableAbout, ModelAbout)
Thing = TypeVar("Thing")


def now() -> str:
    """The time in UTC, to the millisecond: what is listed by it keeps its order."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_id() -> str:
    """A random id; it cannot be guessed."""
    return secrets.token_hex(8)


def clean_name(name: str) -> str:
    """A name for display: no control characters, no runs of space, not too long, not empty."""
    text = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return (text[: MAX_NAME - 1] + "…" if len(text) > MAX_NAME else text) or "unnamed"


def _known(cls: type[About], told: dict[str, Any]) -> About:
    """A description from its file; what a newer version added is left out."""
    names = {field.name for field in fields(cls)}
    return cls(**{name: value for name, value in told.items() if name in names})


def readable(read: Callable[[str], Thing], identifiers: list[str]) -> list[Thing]:
    """What can be read of some things: one may be deleted meanwhile, and one bad file must not hide the others."""
    found = []
    for identifier in identifiers:
        try:
            found.append(read(identifier))
        except (StoreError, OSError, ValueError, TypeError) as error:
            log.warning("%s cannot be read and is not listed: %s", identifier, error)
    return found


def default_root() -> Path:
    """Where the workspace is: GAMCORE_WORKSPACE, or the user's data folder."""
    chosen = os.environ.get("GAMCORE_WORKSPACE")
    return Path(chosen) if chosen else Path(platformdirs.user_data_dir("shapewise", appauthor=False))


class Workspace:
    """Tables and models by id."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("tables", "models", "runs", "segments", "boards", "reports", "packs"):
            (root / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def folder(self, kind: str, identifier: str) -> Path:
        """The folder of one thing; ids from outside never become paths unchecked."""
        folder = self.root / kind / identifier
        if not _ID.fullmatch(identifier) or not folder.is_dir():
            raise StoreError(f"There is no such {kind.removesuffix('s')} in the workspace: it may have been deleted.")
        return folder

    def ids(self, kind: str) -> list[str]:
        """Ids of all things of a kind."""
        folders = [path for path in (self.root / kind).iterdir() if _ID.fullmatch(path.name)]
        return [path.name for path in folders if (path / "about.json").is_file()]

    # Tables

    def add_table(self, frame: pd.DataFrame, name: str, notes: list[str] | None = None) -> TableAbout:
        """Store a table; one with the same content is returned as it is."""
        if frame.shape[0] == 0 or frame.shape[1] == 0:
            raise StoreError("The table is empty: load one with at least one row and one column.")
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False, compression="zstd")
        data = buffer.getvalue()
        identifier = hashlib.sha256(data).hexdigest()[:16]
        target = self.root / "tables" / identifier
        if not target.is_dir():
            about = TableAbout(
                identifier, clean_name(name), len(frame), frame.shape[1], len(data), now(), list(notes or [])
            )
            with new_folder(target) as folder:
                write_bytes(folder / "table.parquet", data)
                write_json(folder / "about.json", asdict(about))
        return self.table(identifier)

    def table(self, identifier: str) -> TableAbout:
        """What is known of a table."""
        return _known(TableAbout, read_json(self.folder("tables", identifier) / "about.json"))

    def tables(self) -> list[TableAbout]:
        """All tables, the newest first."""
        return sorted(readable(self.table, self.ids("tables")), key=lambda t: t.created, reverse=True)

    def table_path(self, identifier: str) -> Path:
        """The Parquet file of a table."""
        return self.folder("tables", identifier) / "table.parquet"

    def read_table(self, identifier: str) -> pd.DataFrame:
        """The table itself."""
        return pd.read_parquet(self.table_path(identifier))

    def set_roles(self, identifier: str, roles: dict[str, str]) -> None:
        """Remember what each column of a table is for."""
        about = replace(self.table(identifier), roles=roles)
        write_json(self.folder("tables", identifier) / "about.json", asdict(about))

    def hold_out_by(self, identifier: str, group: str | None, when: str | None) -> dict[str, str]:
        """What decides which rows of a table are held out: fixed by its first training, whatever comes later."""
        about = self.table(identifier)
        if about.held_out_by is None:
            chosen = {"time": when} if when else {"group": group} if group else {}
            about = replace(about, held_out_by=chosen)
            write_json(self.folder("tables", identifier) / "about.json", asdict(about))
        return about.held_out_by or {}

    # Models

    def add_model(self, saved: Saved, about: ModelAbout) -> ModelAbout:
        """Store a model under the id in `about`."""
        with new_folder(self.root / "models" / about.id) as folder:
            write_bytes(folder / "model.gamx", serialize.to_bytes(saved))
            write_json(folder / "about.json", asdict(about))
        return self.model(about.id)

    def model(self, identifier: str) -> ModelAbout:
        """What is known of a model. What workers and people change apart from each other is in files of its own."""
        folder = self.folder("models", identifier)
        told = read_json(folder / "about.json")
        for name in ("bands", "headlines", "notes"):
            if (folder / f"{name}.json").is_file():
                told[name] = read_json(folder / f"{name}.json")
        return _known(ModelAbout, told)

    def _all_models(self) -> list[ModelAbout]:
        return sorted(readable(self.model, self.ids("models")), key=lambda m: m.created, reverse=True)

    def models(self) -> list[ModelAbout]:
        """All models, the newest first; not those of parts of another's rows."""
        return [model for model in self._all_models() if not model.part_of]

    def parts(self, identifier: str) -> list[ModelAbout]:
        """The models of parts of a model's rows, the first made first."""
        return [model for model in reversed(self._all_models()) if model.part_of == identifier]

    def set_bands(self, identifier: str, saved: Saved, n_refits: int) -> ModelAbout:
        """Put the same model with its bands in the place of the one without."""
        folder = self.folder("models", identifier)
        write_bytes(folder / "model.gamx", serialize.to_bytes(saved))
        write_json(folder / "bands.json", n_refits)
        return self.model(identifier)

    def set_headline(self, identifier: str, plot: str, text: str) -> None:
        """What a plot of a model is called; an empty text is what it says by itself."""
        told = {name: said for name, said in self.model(identifier).headlines.items() if name != plot}
        if text.strip():
            told[plot] = clean_name(text)
        write_json(self.folder("models", identifier) / "headlines.json", told)

    def set_note(self, identifier: str, plot: str, text: str) -> None:
        """Pin a note to a plot of a model; an empty one takes it off."""
        told = {name: said for name, said in self.model(identifier).notes.items() if name != plot}
        if text.strip():
            told[plot] = text.strip()[:MAX_NOTE]
        write_json(self.folder("models", identifier) / "notes.json", told)

    def model_path(self, identifier: str) -> Path:
        """The `.gamx` file of a model."""
        return self.folder("models", identifier) / "model.gamx"

    def load_model(self, identifier: str) -> Saved:
        """The model itself."""
        return serialize.load(self.model_path(identifier))

    def rename_model(self, identifier: str, name: str) -> None:
        """Give a model another name."""
        about = replace(self.model(identifier), name=clean_name(name))
        write_json(self.folder("models", identifier) / "about.json", asdict(about))

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

    def delete(self, kind: str, identifier: str) -> None:
        """Take a thing out of the workspace: out of sight at once by a rename, then off the disk."""
        folder = self.folder(kind, identifier)
        for part in self.parts(identifier) if kind == "models" else []:
            self.delete(kind, part.id)
        gone = folder.with_name(f".{identifier}.{secrets.token_hex(4)}.tmp")
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
