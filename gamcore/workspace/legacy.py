"""Workspaces of before there were records: a folder a thing. They are taken over once, and then put aside.

    tables/<id>/   table.parquet, about.json
    models/<id>/   model.gamx, about.json, and what came later: bands.json, headlines.json, notes.json
    segments/<id>/, boards/<id>/, reports/<id>/   about.json
    runs/<id>/, packs/<id>/   what are jobs now

Nothing is moved before all of it is in the records: whatever ends the process, the next start finds one or the other.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from gamcore.workspace import meta
from gamcore.workspace.access import LOCAL
from gamcore.workspace.files import read_json, temporary
from gamcore.workspace.objects import Objects, digest_of
from gamcore.workspace.records import text_of

log = logging.getLogger(__name__)
FILES: Final[dict[str, dict[str, str]]] = {
    "tables": {"table": "table.parquet"}, "models": {"model": "model.gamx"}, "segments": {}, "boards": {},
    "reports": {},
}  # fmt: skip
LATER: Final = ("bands", "headlines", "notes")
JOBS: Final = ("runs", "packs")
ASIDE: Final = "before-records"


def _folders(root: Path, kind: str) -> Iterator[Path]:
    if (root / kind).is_dir():
        for path in sorted((root / kind).iterdir()):
            if not path.name.startswith(".") and (path / "about.json").is_file():
                yield path


def adopt(connection: sa.Connection, root: Path, objects: Objects) -> None:
    """Make records of everything in folders; what cannot be read stays where it is put aside, and is logged."""
    known = set(connection.execute(sa.select(meta.thing.c.id)).scalars())
    known |= set(connection.execute(sa.select(meta.job.c.id)).scalars())
    for kind in FILES:
        for folder in _folders(root, kind):
            if folder.name in known:
                continue
            try:
                _adopt(connection, root, folder, objects)
            except (OSError, ValueError, KeyError, TypeError) as error:
                log.warning("%s/%s cannot be read and is not taken over: %s", kind, folder.name, error)
    for kind in JOBS:
        for folder in _folders(root, kind):
            if folder.name in known:
                continue
            told = {"id": folder.name, "kind": kind, "owner": LOCAL.id, "state": "ended", "created": _made(folder)}
            connection.execute(meta.job.insert().values(**told))


def _made(folder: Path) -> str:
    return datetime.fromtimestamp(folder.stat().st_mtime, UTC).isoformat(timespec="milliseconds")


def _adopt(connection: sa.Connection, root: Path, folder: Path, objects: Objects) -> None:
    kind = folder.parent.name
    about: dict[str, Any] = dict(read_json(folder / "about.json"))
    if about["id"] != folder.name:
        raise ValueError("its description is another's")
    for name in LATER:
        if (folder / f"{name}.json").is_file():
            about[name] = read_json(folder / f"{name}.json")
    parts = []
    for name, file in FILES[kind].items():
        size = (folder / file).stat().st_size
        parts.append((name, _put(folder / file, temporary(root / "new"), objects), size))
    connection.execute(
        meta.thing.insert().values(
            id=folder.name, kind=kind, owner=LOCAL.id, created=about.get("created") or _made(folder),
            about=text_of(about), parent=about.get("part_of", ""),
        )
    )  # fmt: skip
    for name, digest, size in parts:
        connection.execute(meta.part.insert().values(thing=folder.name, name=name, object=digest, bytes=size))


def _put(path: Path, near: Path, objects: Objects) -> str:
    """Put a file without moving it: as another name of the same bytes, `near`, where the disk can."""
    try:
        os.link(path, near)
    except OSError:
        shutil.copyfile(path, near)
    try:
        digest = digest_of(near)
        objects.put(near, digest)
        return digest
    finally:
        near.unlink(missing_ok=True)


def is_there(root: Path) -> bool:
    """Whether there is something of before: not put away yet, or made since by an older version."""
    return any((root / kind).is_dir() for kind in (*FILES, *JOBS))


def put_away(root: Path) -> None:
    """Move the folders of a workspace that was taken over out of the way; jobs keep theirs, among the others'."""
    with contextlib.suppress(FileNotFoundError):  # another server was faster
        _put_away(root)


def _put_away(root: Path) -> None:
    for kind in JOBS:
        if (root / kind).is_dir():
            (root / "jobs").mkdir(mode=0o700, exist_ok=True)
            for folder in _folders(root, kind):
                if not (root / "jobs" / folder.name).exists():
                    folder.rename(root / "jobs" / folder.name)
    for kind in (*FILES, *JOBS):
        if (root / kind).is_dir():
            aside = root / "backups" / ASIDE
            aside.mkdir(mode=0o700, parents=True, exist_ok=True)
            target = aside / kind
            while target.exists():
                target = target.with_name(f"{target.name}-again")
            (root / kind).rename(target)
