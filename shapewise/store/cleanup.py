"""Cleanup of a workspace when a server starts: remove what a crash left behind, purge what was deleted."""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from gamcore.common.numbers import count
from shapewise.errors import StoreError
from shapewise.store import identity, records
from shapewise.store.atomic_files import keep_spare, read_json, use_spare
from shapewise.store.database import job, part, released, thing
from shapewise.store.object_store import A_DAY
from shapewise.store.process_names import is_alive
from shapewise.store.workspace import Workspace

log = logging.getLogger(__name__)
TEMPORARY: Final = re.compile(r"\..*\.(\d+x[0-9a-fx]+)-[0-9a-f]{8}\.tmp")
PURGE_AFTER: Final = timedelta(days=7)
"""How long deleted things stay on disk; until then an administrator can restore them."""

TRASH_DAYS: Final = 7
"""How long swept objects stay in the trash; one that is requested meanwhile is restored."""

KEPT_JOBS: Final = 200
"""Ended jobs kept per person."""


@dataclass(frozen=True)
class Swept:
    """What a sweep removed: temporary files, purged things, unreferenced objects, job folders.

    stopped : why objects without a record were left, and what to do; empty if none were.
    """

    temporary: int = 0
    purged: int = 0
    objects: int = 0
    jobs: int = 0
    stopped: str = ""

    def words(self) -> str:
        """Return what was removed, as one line."""
        return (
            f"temporary files: {count(self.temporary)}; purged things: {count(self.purged)}; unreferenced files: "
            f"{count(self.objects)}; job folders: {count(self.jobs)}"
        )


def sweep(space: Workspace, purge_after: timedelta = PURGE_AFTER, at_once: bool = False, anyway: bool = False) -> Swept:
    """Remove what is no longer needed; safe beside other servers and workers. StoreError if the records are damaged.

    at_once : delete instead of moving to the trash, and empty the trash. anyway : also remove objects without a record,
    however many or recent they are.
    """
    with space.meta.reading() as connection:
        if space.meta.embedded:
            answer = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
            if answer != "ok":
                raise StoreError(f"The workspace's records are damaged ({answer}): restore them from a backup.")
    use_spare(space.root)  # the sweep makes room, and must be able to write that it did
    temporary, purged = _temporary(space.root), _purge(space, purge_after)
    let_go, unknown = _unheld(space)
    stopped = "" if anyway else _too_much(space, unknown)
    objects = sum(_discard(space, digest, at_once) for digest in let_go)
    taken = sum(_discard(space, digest, at_once) for digest in ([] if stopped else unknown))
    if anyway and taken < len(unknown):
        stopped = (
            f"{count(len(unknown) - taken)} of {count(len(unknown))} files without a record are being stored, "
            "or may have been stored by another machine within the last day: sweep again tomorrow."
        )
    if objects + taken:
        with space.meta.writing() as connection:
            identity.renew(connection, space.objects, space.meta.place)
    kept = timedelta(0) if at_once else timedelta(days=TRASH_DAYS)
    space.objects.empty_trash(datetime.now(UTC) + timedelta(seconds=1) - kept)
    swept = Swept(temporary, purged, objects + taken, _jobs(space, bool(stopped)), stopped)
    keep_spare(space.root)
    if swept != Swept():
        log.log(logging.WARNING if stopped else logging.INFO, "Swept %s: %s. %s", space.root, swept.words(), stopped)
    return swept


def _temporary(root: Path) -> int:
    """Remove temporary files and folders whose process has ended; return how many."""
    gone = 0
    for place in (
        root,
        root / "objects",
        root / "jobs",
        *(root / "jobs").glob("*/"),
        *(root / "objects").glob("??/"),
        root / "cache",
    ):
        for path in place.iterdir() if place.is_dir() else ():
            match = TEMPORARY.fullmatch(path.name)
            if match and not is_alive(match[1]):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                gone += 1
    return gone


def _purge(space: Workspace, after: timedelta) -> int:
    before = (datetime.now(UTC) - after).isoformat(timespec="milliseconds")
    with space.meta.writing() as connection:
        return records.purge(connection, sa.and_(thing.c.deleted.is_not(None), thing.c.deleted <= before))


def _unheld(space: Workspace) -> tuple[list[str], list[str]]:
    """Return the unreferenced objects: those that a record once held, and those unknown to these records."""
    with space.meta.reading() as connection:
        held = set(connection.execute(sa.select(part.c.object)).scalars())
        let_go = set(connection.execute(sa.select(released.c.object)).scalars())
    unheld = [digest for digest in space.objects.digests() if digest not in held]
    return [digest for digest in unheld if digest in let_go], [digest for digest in unheld if digest not in let_go]


def why_stopped(space: Workspace) -> str:
    """Return why a sweep would leave objects without a record; empty if it would not."""
    return _too_much(space, _unheld(space)[1])


def _too_much(space: Workspace, unknown: list[str]) -> str:
    """Return why objects without a record may belong to lost, newer records; empty if a crash between storing a file
    and its record explains them."""
    unknown = [digest for digest in unknown if not space.objects.is_marked(digest)]
    total, young = sum(1 for _ in space.objects.digests()), time.time() - A_DAY
    if not unknown:
        return ""
    with space.meta.reading() as connection:
        behind = identity.is_behind(connection, space.objects)
    n_young = sum(space.objects.stored(digest) > young for digest in unknown)
    if 2 * len(unknown) > total:
        which = "more than half"
    elif n_young:
        which = f"{count(n_young)} stored within the last day"
    elif behind:
        which = "stored after the last change that the records know of"
    else:
        return ""
    return (
        f"Files without a record: {count(len(unknown))} of {count(total)}, {which}, so none was swept. "
        "If the records are older than the files, restore newer records from a backup; "
        "otherwise run shapewise sweep --anyway to move these files to the trash."
    )


def _discard(space: Workspace, digest: str, at_once: bool) -> bool:
    """Remove an object if it is still unreferenced; return whether it was."""
    if not at_once:  # before the lock: copying may take minutes
        space.objects.copy_to_trash(digest)
    with space.meta.writing() as connection:  # a writer that needs it waits here
        held = connection.execute(sa.select(part.c.object).where(part.c.object == digest).limit(1)).first()
        if held is not None or space.objects.is_wanted(digest):
            return False
        space.objects.remove(digest)
        connection.execute(sa.delete(released).where(released.c.object == digest))
        return True


def _jobs(space: Workspace, keep_unknown: bool) -> int:
    """Remove jobs without a folder, old jobs and, unless `keep_unknown`, folders without a record; return how many."""
    gone = 0
    with space.meta.writing() as connection:
        rows = connection.execute(sa.select(job).order_by(job.c.created.desc(), job.c.id)).all()
        known, ended = {row.id for row in rows}, Counter[str]()
        for row in rows:
            ended[row.owner] += row.state == "ended"
            there = (space.root / "jobs" / row.id).is_dir()
            if not there or (row.state == "ended" and ended[row.owner] > KEPT_JOBS):
                connection.execute(sa.delete(job).where(job.c.id == row.id))
                shutil.rmtree(space.root / "jobs" / row.id, ignore_errors=True)
                gone += 1
        for path in (space.root / "jobs").iterdir() if (space.root / "jobs").is_dir() else ():
            if not (keep_unknown or path.name.startswith(".") or path.name in known) and _is_left(path):
                shutil.rmtree(path, ignore_errors=True)
                gone += 1
    return gone


def _is_left(folder: Path) -> bool:
    """Return whether the process that made a job's folder has ended; its record was then never made."""
    try:
        return not is_alive(str(read_json(folder / "about.json")["by"]))
    except (OSError, ValueError, KeyError, TypeError):
        return True
