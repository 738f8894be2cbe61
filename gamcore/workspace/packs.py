"""Files that take a while, made by a child process: reports, and tables that are scored.

packs/<id>/  about.json   what is made of what; the server that asked
             progress.json  the share that is done, and what comes next
             out.<ending>   the file, once it is whole
             and what `child` keeps: process.json, cancel, log.txt, end.json
"""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from gamcore.export.plot import file_name
from gamcore.workspace import child
from gamcore.workspace.child import State
from gamcore.workspace.files import new_folder, read_json, write_json
from gamcore.workspace.recipes import Recipe
from gamcore.workspace.store import StoreError, Workspace, new_id, now, readable

Work = Literal["report", "scores"]
MOST_KEPT: Final = 20
"""Packs of the past that are kept; the oldest go first."""


@dataclass(frozen=True)
class Pack:
    """A file as it stands. about : what it is made of. share, words : how far it is."""

    id: str
    work: Work
    about: dict[str, Any]
    created: str
    state: State
    message: str
    share: float
    words: str
    name: str
    path: Path

    @property
    def size(self) -> int:
        """Bytes of the file, 0 while there is none."""
        return self.path.stat().st_size if self.state == "done" and self.path.is_file() else 0


def start_report(workspace: Workspace, recipe: Recipe, model: str, kind: str) -> str:
    """Begin a report in a child process; returns the pack's id."""
    about = {"recipe": asdict(recipe), "model": model, "kind": kind}
    return _start(workspace, "report", about, file_name(recipe.name, "report", kind))


def start_scores(workspace: Workspace, model: str, table: str, kind: str, top: int = 3) -> str:
    """Begin scoring a table in a child process; returns the pack's id."""
    name = file_name(workspace.table(table).name, f"scored by {workspace.model(model).name}", kind)
    return _start(workspace, "scores", {"model": model, "table": table, "kind": kind, "top": top}, name)


def _start(workspace: Workspace, work: Work, about: dict[str, Any], name: str) -> str:
    workspace.model(about["model"])
    _make_room(workspace)
    identifier = new_id()
    folder = workspace.root / "packs" / identifier
    told = {"id": identifier, "work": work, "about": about, "name": name, "created": now(), "server": os.getpid()}
    with new_folder(folder) as making:
        write_json(making / "about.json", told)
    child.begin(folder, "gamcore.workspace.packing")
    return identifier


def _make_room(workspace: Workspace) -> None:
    for old in packs(workspace)[MOST_KEPT - 1 :]:
        if old.state != "running":
            shutil.rmtree(workspace.root / "packs" / old.id, ignore_errors=True)


def pack(workspace: Workspace, identifier: str) -> Pack:
    """A pack as it stands."""
    folder = workspace.folder("packs", identifier)
    told = read_json(folder / "about.json")
    end = child.end_of(folder)
    progress: dict[str, Any] = {"share": 0.0, "words": "Starting"}
    if (folder / "progress.json").is_file():
        progress = read_json(folder / "progress.json")
    path = folder / f"out.{told['about']['kind']}"
    return Pack(identifier, told["work"], told["about"], told["created"], end["state"], end["message"],
                float(progress["share"]), str(progress["words"]), told["name"], path)  # fmt: skip


def packs(workspace: Workspace, work: Work | None = None) -> list[Pack]:
    """All packs, the newest first."""
    found = readable(lambda identifier: pack(workspace, identifier), workspace.ids("packs"))
    chosen = (one for one in found if work in (None, one.work))
    return sorted(chosen, key=lambda one: one.created, reverse=True)


def cancel(workspace: Workspace, identifier: str) -> None:
    """Ask the work on a pack to stop."""
    child.cancel(workspace.folder("packs", identifier))


def content(workspace: Workspace, identifier: str) -> bytes:
    """The file of a pack that is done."""
    found = pack(workspace, identifier)
    if not found.size:
        raise StoreError("The file is not there any more: make it again.")
    return found.path.read_bytes()
