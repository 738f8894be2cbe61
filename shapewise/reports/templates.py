"""House templates of slides, as a workspace keeps them: checked by a child process, counted in their owner's quota."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Final

from gamcore.viz.files.pptx_template import MOST_BYTES
from shapewise import processes
from shapewise.errors import room
from shapewise.store.atomic_files import scratch_folder
from shapewise.store.names import known
from shapewise.store.workspace import StoreError, Workspace, clean_name, new_id, now

KIND: Final = "templates"
PART: Final = "template"
SUFFIXES: Final = (".pptx", ".potx")
SECONDS: Final = 60
MEMORY: Final = 600 * 2**20
"""Resident bytes that reading a template may take, imports included."""

AT_ONCE: Final = 2
_TURNS: Final = threading.BoundedSemaphore(AT_ONCE)
PROGRAM: Final = processes.READER.format("shapewise.workers.template")
GIVEN, MADE = "given", "template.pptx"


@dataclass(frozen=True)
class Template:
    """A stored template."""

    id: str
    name: str
    created: str


def add(workspace: Workspace, name: str, data: bytes) -> Template:
    """Check and store a template; StoreError if it cannot be one."""
    if PurePath(name.lower()).suffix not in SUFFIXES:
        raise StoreError("A template is a PowerPoint file: choose a .pptx or .potx.")
    if len(data) > MOST_BYTES:
        raise StoreError(f"The template has more than {MOST_BYTES >> 20} MB: remove pictures, or compress them.")
    about = Template(new_id(), clean_name(PurePath(name).stem), now())
    with room(), scratch_folder(workspace.root) as folder:
        (folder / GIVEN).write_bytes(data)
        _check(folder)
        workspace.add(KIND, about.id, asdict(about), {PART: folder / MADE}, detail=about.name)
    return about


def _check(folder: Path) -> None:
    """Let a child process read the file in a folder and write what is kept of it; StoreError says why it cannot."""
    with _TURNS:
        over = processes.see_out(processes.launch_reader(folder, PROGRAM), MEMORY, SECONDS)
    if over == "memory":
        raise StoreError(f"Reading the template took more than {MEMORY >> 20} MiB of memory: choose a simpler one.")
    if over == "time":
        raise StoreError(f"Reading the template took more than {SECONDS} seconds: choose a simpler one.")
    try:
        end = processes.read_end(folder)
    except ValueError:
        end = None
    if end is None:
        raise StoreError("The template cannot be read: save it again in PowerPoint.")
    if end.get("state") != "done":
        raise StoreError(str(end.get("message", ""))[:300])


def templates(workspace: Workspace) -> list[Template]:
    """Return the templates that this person can use, newest first."""
    return workspace.listed(KIND, lambda kept: known(Template, kept))[::-1]


def content(workspace: Workspace, identifier: str) -> bytes:
    """Return a stored template."""
    return workspace.part(KIND, identifier, PART).read_bytes()
