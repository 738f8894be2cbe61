"""The commands that look after a workspace: check, back up, restore, sweep, adopt."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from datetime import timedelta
from pathlib import Path

from gamcore.common.numbers import count
from shapewise.errors import READ_ONLY_DISK, StoreError
from shapewise.store import backup
from shapewise.store import database as meta
from shapewise.store.atomic_files import is_read_only
from shapewise.store.cleanup import PURGE_AFTER, sweep
from shapewise.store.items import adopt
from shapewise.store.read_only import for_looking
from shapewise.store.root import default_root
from shapewise.store.workspace import Workspace


def run(asked: Namespace) -> int:
    """Run a command; return 0 on success, 1 if a problem was printed."""
    root: Path = asked.workspace or default_root()
    try:
        if asked.command != "restore" and not _is_there(root):
            raise StoreError(f"There is no workspace in {root}: give its folder with --workspace.")
        return COMMANDS[asked.command](root, asked)
    except (StoreError, OSError) as error:
        print(error, file=sys.stderr)
        return 1


def _is_there(root: Path) -> bool:
    """Return whether a folder is a workspace, even one whose records are missing."""
    elsewhere = os.environ.get("GAMCORE_META_URL") or os.environ.get("GAMCORE_OBJECTS_URL")
    return bool(elsewhere) or (root / meta.FILE).is_file() or (root / "objects").is_dir()


def _check(root: Path, _: Namespace) -> int:
    with for_looking(root) as space:
        return _report(space)


def _report(space: Workspace) -> int:
    problems = list(backup.check(space))
    print("\n".join(problems) or "The workspace is complete and undamaged.")
    return 1 if problems else 0


def _back_up(root: Path, asked: Namespace) -> int:
    with for_looking(root) as space:
        copied, damaged = backup.backup(space, asked.to)
    print(f"Copied the records and {count(copied)} objects to {asked.to}.")
    for digest in damaged:
        print(f"objects/{digest[:12]}: missing or changed, so not copied", file=sys.stderr)
    return 1 if damaged else 0


def _restore(root: Path, asked: Namespace) -> int:
    space = backup.restore(asked.of, root, asked.partly)
    print(f"Restored {asked.of} to {root}.")
    return _report(space)


def _sweep(root: Path, asked: Namespace) -> int:
    swept = sweep(Workspace(root), timedelta(0) if asked.now else PURGE_AFTER, asked.now, asked.anyway)
    print(f"Swept: {swept.words()}.")
    if swept.stopped:
        print(f"Stopped: {swept.stopped}", file=sys.stderr)
    return 1 if swept.stopped else 0


def _adopt(root: Path, _: Namespace) -> int:
    if is_read_only(root):
        raise StoreError(READ_ONLY_DISK)
    adopt(root)
    space = Workspace(root)
    print("The records and the files now belong together.")
    return _report(space)


COMMANDS = {"check": _check, "backup": _back_up, "restore": _restore, "sweep": _sweep, "adopt": _adopt}
