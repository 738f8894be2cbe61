"""`python -m gamcore.workspace backup|restore|check|sweep`: copy a workspace, look whether it is whole, make room."""

from __future__ import annotations

import argparse
import sys
from datetime import timedelta
from pathlib import Path

from gamcore.workspace import backup
from gamcore.workspace.errors import StoreError
from gamcore.workspace.store import Workspace, default_root
from gamcore.workspace.sweep import PURGE_AFTER, sweep


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gamcore.workspace", description=__doc__)
    parser.add_argument(
        "--workspace", type=Path, default=default_root(), help="its folder; GAMCORE_WORKSPACE by default"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("backup", help="copy it to a new folder, while it is in use").add_argument("to", type=Path)
    restore = commands.add_parser("restore", help="bring a backup back to an empty place")
    restore.add_argument("of", type=Path)
    restore.add_argument("--partly", action="store_true", help="what is whole, where not all is")
    commands.add_parser("check", help="look at every record, hash and model; nothing is changed")
    tidy = commands.add_parser("sweep", help="take away what nobody needs, as each start of the app does")
    tidy.add_argument("--now", action="store_true", help="what was deleted, at once: it cannot be brought back")
    tidy.add_argument("--anyway", action="store_true", help="files without a record, too, however many: to the trash")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The command; 0 where all is well, 1 where something is not, which is said."""
    told = _parser().parse_args(arguments)
    try:
        if told.command == "restore":
            space = backup.restore(told.of, told.workspace, told.partly)
            print(f"Restored {told.of} to {told.workspace}.")
        elif not (told.workspace.is_dir() and any(told.workspace.iterdir())):
            raise StoreError(f"There is no workspace in {told.workspace}: name its folder by --workspace.")
        else:
            space = Workspace(told.workspace)
        if told.command == "backup":
            copied, damaged = backup.backup(space, told.to)
            print(f"Copied the records and {copied:,} objects to {told.to}.")
            for digest in damaged:
                print(f"objects/{digest[:12]}: lost or changed, and not in the copy", file=sys.stderr)
            return 1 if damaged else 0
        if told.command == "sweep":
            swept = sweep(space, timedelta(0) if told.now else PURGE_AFTER, told.now, told.anyway)
            print(f"Swept: {swept.words()}.")
            if swept.stopped:
                print(f"Stopped: {swept.stopped}", file=sys.stderr)
            return 1 if swept.stopped else 0
        problems = list(backup.check(space))
    except (StoreError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(problems) or "Everything is there and as it was.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
