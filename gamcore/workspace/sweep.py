"""What a server does with a workspace when it starts: take away what a crash left, and purge what was deleted."""

from __future__ import annotations

import logging
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from gamcore.workspace.errors import StoreError
from gamcore.workspace.files import is_alive, read_json
from gamcore.workspace.meta import job, part, thing
from gamcore.workspace.store import Workspace

log = logging.getLogger(__name__)
TEMPORARY: Final = re.compile(r"\..*\.(\d+x\d+)-[0-9a-f]{8}\.tmp")
PURGE_AFTER: Final = timedelta(days=7)
"""Deleted things are on the disk for so long: an administrator can bring them back."""

KEPT_JOBS: Final = 200
"""Jobs of the past that are kept, of each person."""


@dataclass(frozen=True)
class Swept:
    """How many were taken away: temporary files, purged things, objects that nothing holds, folders of jobs."""

    temporary: int = 0
    purged: int = 0
    objects: int = 0
    jobs: int = 0


def sweep(space: Workspace, purge_after: timedelta = PURGE_AFTER) -> Swept:
    """Take away what nobody needs; safe beside other servers and workers. StoreError where the records are damaged."""
    with space.meta.reading() as connection:
        if space.meta.embedded:
            found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
            if found != "ok":
                raise StoreError(f"The workspace's records are damaged ({found}): bring them back from a backup.")
    swept = Swept(_temporary(space.root), _purge(space, purge_after), _objects(space), _jobs(space))
    if swept != Swept():
        log.info("Swept %s: %s", space.root, swept)
    return swept


def _temporary(root: Path) -> int:
    """Files and folders in the making whose process has ended."""
    gone = 0
    for place in (root, root / "jobs", *(root / "jobs").glob("*/"), *(root / "objects").glob("??/"), root / "cache"):
        for path in place.iterdir() if place.is_dir() else ():
            found = TEMPORARY.fullmatch(path.name)
            if found and not is_alive(found[1]):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                gone += 1
    return gone


def _purge(space: Workspace, after: timedelta) -> int:
    before = (datetime.now(UTC) - after).isoformat(timespec="milliseconds")
    with space.meta.writing() as connection:
        gone = connection.execute(sa.delete(thing).where(thing.c.deleted.is_not(None), thing.c.deleted <= before))
        return int(gone.rowcount)


def _objects(space: Workspace) -> int:
    """Objects that no record holds, and nobody is about to make a record of."""
    with space.meta.reading() as connection:
        held = set(connection.execute(sa.select(part.c.object)).scalars())
    gone = 0
    for digest in [digest for digest in space.objects.digests() if digest not in held]:
        with space.meta.writing() as connection:  # whoever would hold it now waits, and then sees that it is gone
            held_now = connection.execute(sa.select(part.c.object).where(part.c.object == digest).limit(1)).first()
            if held_now is None and not space.objects.is_wanted(digest):
                space.objects.remove(digest)
                gone += 1
    return gone


def _jobs(space: Workspace) -> int:
    """Folders without a record, records without a folder, and jobs of long ago."""
    gone = 0
    with space.meta.writing() as connection:
        rows = connection.execute(sa.select(job).order_by(job.c.created.desc(), job.c.id)).all()
        known, count = {row.id for row in rows}, dict[str, int]()
        for row in rows:
            count[row.owner] = count.get(row.owner, 0) + (row.state == "ended")
            there = (space.root / "jobs" / row.id).is_dir()
            if not there or (row.state == "ended" and count[row.owner] > KEPT_JOBS):
                connection.execute(sa.delete(job).where(job.c.id == row.id))
                shutil.rmtree(space.root / "jobs" / row.id, ignore_errors=True)
                gone += 1
        for path in (space.root / "jobs").iterdir() if (space.root / "jobs").is_dir() else ():
            if not path.name.startswith(".") and path.name not in known and _is_left(path):
                shutil.rmtree(path, ignore_errors=True)
                gone += 1
    return gone


def _is_left(folder: Path) -> bool:
    """Whether a job's folder is of a process that ended before it made the record."""
    try:
        return not is_alive(str(read_json(folder / "about.json")["by"]))
    except (OSError, ValueError, KeyError, TypeError):
        return True
