"""Atomic writes: a file or folder appears complete or not at all."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from shapewise.errors import room
from shapewise.store.process_names import own_name


def is_read_only(root: Path) -> bool:
    """Return whether a folder is on a disk that is mounted read-only."""
    try:
        return bool(os.statvfs(root).f_flag & os.ST_RDONLY)
    except (OSError, AttributeError):  # there is no such folder; Windows does not say
        return False


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut, where the system supports it."""
    if os.name != "nt":  # Windows cannot open a folder
        sync_file(folder)


def sync_file(path: Path) -> None:
    """Make the contents of a file survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def temporary(path: Path) -> Path:
    """Return a temporary name beside `path`; it names the owning process, for the sweep after a crash."""
    return path.with_name(f".{path.name}.{own_name()}-{secrets.token_hex(4)}.tmp")


SPARE: Final = "spare"
SPARE_BYTES: Final = 2**18


def keep_spare(folder: Path, size: int = SPARE_BYTES) -> None:
    """Reserve disk space in a folder for what must be written when the disk is full; nothing if it is full already."""
    place = folder / SPARE
    if size_of(place) < size:
        try:
            place.write_bytes(bytes(size))
        except OSError:  # a partial file would take the last free space
            with suppress(OSError):
                place.unlink(missing_ok=True)


def use_spare(folder: Path) -> None:
    """Release the reserved space."""
    (folder / SPARE).unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` if the block succeeds and is removed if it fails;
    StoreError if the disk is full."""
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
    """Write or replace a file atomically; StoreError if the disk is full."""
    with in_place_of(path) as making:
        making.write_bytes(data)


def write_json(path: Path, content: Any) -> None:
    """Write or replace a JSON file atomically."""
    write_bytes(path, json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False).encode())


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `target` if the block succeeds and removed if it fails.

    If `target` exists by then, the existing folder stays.
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
    """Yield a path in a workspace for a temporary file; it is removed at the end if it is still there."""
    path = temporary(root / "new")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def scratch_folder(root: Path) -> Iterator[Path]:
    """Yield a temporary folder in a workspace; it is removed at the end if it is still there."""
    path = temporary(root / "new")
    path.mkdir(0o700)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
