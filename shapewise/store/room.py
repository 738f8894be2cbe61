"""How much a person keeps, and may keep."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from shapewise.access.quotas import Limits
from shapewise.errors import StoreError
from shapewise.store import records
from shapewise.store.atomic_files import size_of


def used_by(connection: Connection, root: Path, who: str) -> int:
    """Return the bytes of all that a person owns in a workspace's folder, files that jobs made for them among it."""
    made = (path for one in records.making(connection, who) for path in (root / "jobs" / one).glob("out.*"))
    return records.used(connection, who) + sum(size_of(path) for path in made)


def check_room(connection: Connection, root: Path, who: str, limits: Limits, more: int) -> None:
    """StoreError where so many bytes more are over what a person may keep."""
    most = limits.bytes
    if most and (used := used_by(connection, root, who)) + more > most:
        raise StoreError(
            f"This needs {more / 1e6:,.0f} MB, and you use {used / 1e6:,.0f} of your {most / 1e6:,.0f} MB: delete "
            "what you no longer need."
        )


def left(connection: Connection, root: Path, who: str, limits: Limits) -> int:
    """Return the bytes that a person may still keep, 0 where that is not limited; StoreError where there are none."""
    if not limits.bytes:
        return 0
    free = limits.bytes - used_by(connection, root, who)
    if free <= 0:
        raise StoreError(f"You use all of your {limits.bytes / 1e6:,.0f} MB: delete what you no longer need.")
    return free
