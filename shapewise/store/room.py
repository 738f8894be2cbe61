"""How much disk space a person uses, and may use."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from gamcore.common.numbers import count, size
from shapewise.access.quotas import Limits
from shapewise.errors import StoreError
from shapewise.store import records
from shapewise.store.atomic_files import size_of


def used_by(connection: Connection, root: Path, who: str) -> int:
    """Return the bytes that a person owns in a workspace, including the files that jobs made for them."""
    files = (path for job in records.making(connection, who) for path in (root / "jobs" / job).glob("out.*"))
    return records.used(connection, who) + sum(size_of(path) for path in files)


def check_room(connection: Connection, root: Path, who: str, limits: Limits, more: int) -> None:
    """Raise StoreError if `more` bytes would exceed a person's quota."""
    most = limits.bytes
    if most and (used := used_by(connection, root, who)) + more > most:
        raise StoreError(
            f"This needs {size(more)}, and you use {count(used / 1e6)} of your {size(most)}: delete "
            "what you no longer need."
        )


def left(connection: Connection, root: Path, who: str, limits: Limits) -> int:
    """Return the bytes left in a person's quota, 0 if there is no quota; StoreError if none are left."""
    if not limits.bytes:
        return 0
    free = limits.bytes - used_by(connection, root, who)
    if free <= 0:
        raise StoreError(f"You use all of your {size(limits.bytes)}: delete what you no longer need.")
    return free
