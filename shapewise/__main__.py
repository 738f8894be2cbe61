"""`python -m shapewise backup|restore|check|sweep|adopt`: back up, restore, check and clean up a workspace."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import timedelta
from pathlib import Path

from gamcore.numbers import count
from shapewise.errors import StoreError
from shapewise.store import backup
from shapewise.store import database as meta
from shapewise.store.cleanup import PURGE_AFTER, sweep
from shapewise.store.items import adopt
from shapewise.store.workspace import Workspace, default_root


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m shapewise", description=__doc__)
    parser.add_argument(
        "--workspace", type=Path, default=default_root(), help="the workspace folder; GAMCORE_WORKSPACE by default"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("backup", help="copy it to a new folder, even while it is in use").add_argument("to", type=Path)
    restore = commands.add_parser("restore", help="restore a backup to an empty folder")
    restore.add_argument("of", type=Path)
    restore.add_argument("--partly", action="store_true", help="restore what is intact from a damaged backup")
    commands.add_parser("check", help="check every record, hash and model; nothing is deleted")
    tidy = commands.add_parser("sweep", help="remove what is no longer needed, as at every start of the app")
    tidy.add_argument("--now", action="store_true", help="delete at once instead of using the trash: cannot be undone")
    tidy.add_argument("--anyway", action="store_true", help="also remove files without a record, however many")
    commands.add_parser("adopt", help="declare that these records and files belong together, even if their ids differ")
    return parser


def _is_there(root: Path) -> bool:
    """Return whether a folder is a workspace, even one whose records are missing."""
    elsewhere = os.environ.get("GAMCORE_META_URL") or os.environ.get("GAMCORE_OBJECTS_URL")
    return bool(elsewhere) or (root / meta.FILE).is_file() or (root / "objects").is_dir()


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 on success, 1 if a problem was printed."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.command == "restore":
            space = backup.restore(asked.of, asked.workspace, asked.partly)
            print(f"Restored {asked.of} to {asked.workspace}.")
        elif not _is_there(asked.workspace):
            raise StoreError(f"There is no workspace in {asked.workspace}: give its folder with --workspace.")
        elif asked.command == "adopt":
            adopt(asked.workspace)
            space = Workspace(asked.workspace)
            print("The records and the files now belong together.")
        else:
            space = Workspace(asked.workspace)
        if asked.command == "backup":
            copied, damaged = backup.backup(space, asked.to)
            print(f"Copied the records and {count(copied)} objects to {asked.to}.")
            for digest in damaged:
                print(f"objects/{digest[:12]}: missing or changed, so not copied", file=sys.stderr)
            return 1 if damaged else 0
        if asked.command == "sweep":
            swept = sweep(space, timedelta(0) if asked.now else PURGE_AFTER, asked.now, asked.anyway)
            print(f"Swept: {swept.words()}.")
            if swept.stopped:
                print(f"Stopped: {swept.stopped}", file=sys.stderr)
            return 1 if swept.stopped else 0
        problems = list(backup.check(space))
    except (StoreError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(problems) or "The workspace is complete and undamaged.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
