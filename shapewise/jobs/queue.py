"""The queue of jobs: child processes do them in order of submission, as many at once as there are slots.

A job has a record (see database.py) and a folder jobs/<id> (see process.py). Its state is "queued", "running" or
"ended"; how it ended is written to its folder by its worker, or by the keeper if the worker no longer can.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from gamcore.common.numbers import fixed, size
from shapewise import processes
from shapewise.access.permissions import LOCAL, Person, may
from shapewise.access.quotas import OWN
from shapewise.errors import DeniedError, StoreError
from shapewise.jobs import process as child
from shapewise.jobs.scheduler import keeper, look_again
from shapewise.store import records
from shapewise.store.atomic_files import new_folder, read_json, write_json
from shapewise.store.database import job
from shapewise.store.process_names import own_name
from shapewise.store.workspace import Workspace, new_id

NAMES: Final = {"runs": "training", "packs": "file"}
MOST_SHOWN: Final = 100
"""Jobs of everybody that an administrator sees."""


def submit(
    space: Workspace, kind: str, about: dict[str, Any], memory: int = 0, seconds: float = 0.0, disk: int = 0,
    what: str = "",
) -> str:  # fmt: skip
    """Queue work, and start it if a slot is free; return the job's id.

    memory : estimated bytes that it needs; seconds : estimated time; disk : bytes of the files that it makes.
    what : what the job is about, for the audit log. StoreError if a limit of jobs or a quota of this person would be
    exceeded, or they already have too many jobs.
    """
    _check(space, memory, seconds)
    with space.meta.reading() as connection:  # before anything is written; jobs queued meanwhile are counted below
        _check_queue(connection, space)
    space.check_room(disk)
    identifier = new_id()
    row = {"id": identifier, "kind": kind, "owner": space.person.id, "created": records.now()}
    with new_folder(space.root / "jobs" / identifier) as making:
        write_json(making / "about.json", {**about, **row, "by": own_name()})
    try:
        with space.meta.writing() as connection:
            _check_queue(connection, space)
            connection.execute(job.insert().values(**row, state="queued"))
            records.note(connection, space.person.id, "begin", kind, identifier, detail=what[:200])
    except BaseException:
        shutil.rmtree(space.root / "jobs" / identifier, ignore_errors=True)
        raise
    keeper(space).wake()
    return identifier


def _check(space: Workspace, memory: int, seconds: float) -> None:
    if not may(space.person, "create"):
        raise DeniedError("You may view what is shared with you, not make something of it: ask to be an editor.")
    limits = space.limits
    if limits.memory and memory + OWN > limits.memory:
        raise StoreError(
            f"This would need about {size(memory + OWN)} of memory, more than the "
            f"{size(limits.memory)} allowed per job: use fewer rows, features or pairs."
        )
    if limits.seconds and seconds > limits.seconds:
        raise StoreError(
            f"This would take about {fixed(seconds / 3600, 1)} hours, more than the "
            f"{fixed(limits.seconds / 3600, 1)} allowed "
            "per job: use fewer rows or features, or a faster preset."
        )


def _check_queue(connection: sa.Connection, space: Workspace) -> None:
    most = space.limits.queue_each
    mine = sa.select(sa.func.count()).where(job.c.owner == space.person.id, job.c.state != "ended")
    if most and int(connection.execute(mine).scalar_one()) >= most:
        raise StoreError(f"You already have {most} jobs waiting or running: wait for one to finish, or cancel one.")


def folder(space: Workspace, kind: str, identifier: str) -> Path:
    """Return the folder of a job of this person; for an administrator, of any job."""
    return space.root / "jobs" / str(_row(space, kind, identifier).id)


def _row(space: Workspace, kind: str, identifier: str) -> sa.Row[Any]:
    with space.meta.reading() as connection:
        row = connection.execute(sa.select(job).where(job.c.id == identifier, job.c.kind == kind)).first()
    if row is None or not may(space.person, "view", row.owner) or not (space.root / "jobs" / row.id).is_dir():
        raise StoreError(f"There is no such {NAMES.get(kind, kind)} in the workspace: it may have been deleted.")
    return row


def end_of(space: Workspace, kind: str, identifier: str) -> dict[str, Any]:
    """Return the state and message of a job; for a queued one, also its place in the queue."""
    row = _row(space, kind, identifier)
    if row.state == "queued":
        look_again(space)
        return {"state": "queued", "message": "", "place": place(space, row)}
    return child.end_of(space.root / "jobs" / identifier)


def place(space: Workspace, row: sa.Row[Any]) -> int:
    """Return the place of a job among the queued jobs of all people; 1 is next."""
    before = sa.or_(job.c.created < row.created, sa.and_(job.c.created == row.created, job.c.id < row.id))
    with space.meta.reading() as connection:
        count = sa.select(sa.func.count()).where(job.c.state == "queued", before)
        return 1 + int(connection.execute(count).scalar_one())


def ids(space: Workspace, kind: str, active: bool = False) -> list[str]:
    """Return the ids of this person's jobs of a kind, newest first; with `active`, only those that have not ended."""
    chosen = sa.select(job.c.id).where(job.c.kind == kind, job.c.owner == space.person.id)
    chosen = chosen.where(job.c.state != "ended") if active else chosen
    with space.meta.reading() as connection:
        return list(connection.execute(chosen.order_by(job.c.created.desc(), job.c.id)).scalars())


def everyones(space: Workspace) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield id, kind, owner, time and state of the latest jobs, newest first; for an administrator."""
    if not may(space.person, "administer"):
        raise DeniedError("Only an administrator sees everybody's jobs.")
    with space.meta.reading() as connection:
        rows = connection.execute(sa.select(job).order_by(job.c.created.desc()).limit(MOST_SHOWN)).all()
    for row in rows:
        there = (space.root / "jobs" / row.id).is_dir()
        state = row.state if row.state == "queued" or not there else child.end_of(space.root / "jobs" / row.id)["state"]
        yield row.id, row.kind, row.owner, row.created, state


def cancel(space: Workspace, kind: str, identifier: str) -> None:
    """Ask a job to stop; a queued one never starts."""
    row = _row(space, kind, identifier)
    never = sa.update(job).where(job.c.id == identifier, job.c.state == "queued").values(state="ended")
    with space.meta.writing() as connection:
        waited = connection.execute(never).rowcount == 1
        records.note(connection, space.person.id, "cancel", kind, identifier)
    target = space.root / "jobs" / row.id
    if waited:
        child.ask_to_stop(target)
        child.write_end(target, child.CANCELLED)
    elif not (target / "end.json").is_file():
        child.cancel(target)
        if child.process_of(target) is None:  # nobody else would free its slot
            with space.meta.writing() as connection:
                connection.execute(sa.update(job).where(job.c.id == identifier).values(state="ended"))


def is_stopping(space: Workspace, kind: str, identifier: str) -> bool:
    """Return whether a job was asked to stop."""
    return (folder(space, kind, identifier) / "cancel").exists()


def log_of(space: Workspace, kind: str, identifier: str) -> str:
    """Return the end of what a job printed."""
    return processes.tail(folder(space, kind, identifier), 6000)


def forget(space: Workspace, kind: str, identifier: str) -> None:
    """Delete an ended job of this person; it may be gone already."""
    with contextlib.suppress(StoreError):
        if end_of(space, kind, identifier)["state"] in ("queued", "running"):
            return
    with space.meta.writing() as connection:
        mine = job.c.id == identifier, job.c.kind == kind, job.c.owner == space.person.id
        if connection.execute(sa.delete(job).where(*mine)).rowcount:
            records.note(connection, space.person.id, "delete", kind, identifier)
            shutil.rmtree(space.root / "jobs" / identifier, ignore_errors=True)


def space_of(target: Path) -> Workspace:
    """Return the workspace of a job's folder, as the job's owner sees it."""
    owner = str(read_json(target / "about.json").get("owner", LOCAL.id))
    space = Workspace(target.parent.parent)
    if owner == LOCAL.id:
        return space
    with space.meta.reading() as connection:
        return space.seen_by(records.somebody(connection, owner) or Person(owner, owner, "editor"))
