"""Writing so that a file or folder is there whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import psutil

from shapewise.errors import room


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut, where the system can."""
    if os.name == "nt":  # a folder cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make what was written to a file survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@cache
def _told(pid: int) -> str:
    return f"{pid}x{int(100 * psutil.Process(pid).create_time())}"


def owner() -> str:
    """Return a name of this process that no other has, before or after it: ids of processes are given again."""
    return _told(os.getpid())


def is_alive(name: str) -> bool:
    """Return whether the process of a name lives."""
    pid, _, started = name.partition("x")
    try:
        return str(int(100 * psutil.Process(int(pid)).create_time())) == started
    except (psutil.Error, ValueError):
        return False


def temporary(path: Path) -> Path:
    """Return a name beside `path` for what takes its place; it says whose it is, for the sweep after a crash."""
    return path.with_name(f".{path.name}.{owner()}-{secrets.token_hex(4)}.tmp")


SPARE: Final = "spare"
SPARE_BYTES: Final = 2**18


def keep_spare(folder: Path, size: int = SPARE_BYTES) -> None:
    """Keep some room of the disk in a folder, for what must be written when the disk is full; not where it is."""
    place = folder / SPARE
    if size_of(place) < size:
        try:
            place.write_bytes(bytes(size))
        except OSError:  # else a part of it would take the last room
            with suppress(OSError):
                place.unlink(missing_ok=True)


def use_spare(folder: Path) -> None:
    """Let go of the room that was kept."""
    (folder / SPARE).unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """Return the bytes of a file; 0 of one that is gone."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """A place for a file that takes the place of another when the block ends well, and is gone when it does not;
    StoreError where the disk is full."""
    making = temporary(path)
    try:
        with room():
            yield making
            sync_file(making)
            making.replace(path)
            sync_folder(path.parent)
    finally:
        making.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file in place of another, atomically; StoreError where the disk is full."""
    with in_place_of(path) as making:
        making.write_bytes(data)


def write_json(path: Path, content: Any) -> None:
    """Write JSON in place of another file, atomically."""
    write_bytes(path, json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False).encode())


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to fill, which takes its name when the block ends well and vanishes when it does not.

    Where the name is taken by then, what was there first stays.
    """
    making = temporary(target)
    making.mkdir(mode=0o700, parents=True)
    try:
        with room():
            yield making
        try:
            making.rename(target)
        except OSError:
            if not target.is_dir():
                raise
        sync_folder(target.parent)
    finally:
        shutil.rmtree(making, ignore_errors=True)


@contextmanager
def scratch_file(root: Path) -> Iterator[Path]:
    """A place in a workspace for a file in the making; what is still there in the end is removed."""
    path = temporary(root / "new")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def scratch_folder(root: Path) -> Iterator[Path]:
    """A place in a workspace for files in the making; what is still there in the end is removed."""
    path = temporary(root / "new")
    path.mkdir(0o700)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
