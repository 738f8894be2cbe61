"""`shapewise` shows the app in a browser; `shapewise check|backup|restore|sweep|adopt` looks after its workspace."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from gamcore import __version__
from shapewise import lacks, places

FOLDER = "the workspace folder; GAMCORE_WORKSPACE or the user's data folder by default"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shapewise", description="Show the app in a browser, or look after its workspace."
    )
    parser.add_argument("--version", action="version", version=f"Shapewise {__version__}")
    parser.add_argument("--port", type=int, help="the port to serve on; 8501 by default, or the next free one")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    parser.add_argument("--workspace", type=Path, help=FOLDER)
    _add_commands(parser.add_subparsers(dest="command", metavar="COMMAND"))
    return parser


def _add_commands(commands: Any) -> None:
    after = argparse.ArgumentParser(add_help=False)  # --workspace is read before a command and after it
    after.add_argument("--workspace", type=Path, help=FOLDER, default=argparse.SUPPRESS)
    commands.add_parser("check", parents=[after], help="check every record, hash and model; nothing is deleted")
    copy = commands.add_parser("backup", parents=[after], help="copy it to a new folder, even while it is in use")
    copy.add_argument("to", type=Path)
    restore = commands.add_parser("restore", parents=[after], help="restore a backup to an empty folder")
    restore.add_argument("of", type=Path)
    restore.add_argument("--partly", action="store_true", help="restore what is intact from a damaged backup")
    tidy = commands.add_parser("sweep", parents=[after], help="remove what is no longer needed, as at every start")
    tidy.add_argument("--now", action="store_true", help="delete at once instead of using the trash: cannot be undone")
    tidy.add_argument("--anyway", action="store_true", help="also remove files without a record, however many")
    adopt = "declare that these records and files belong together, even if their ids differ"
    commands.add_parser("adopt", parents=[after], help=adopt)


def _serve(asked: argparse.Namespace) -> int:
    """Serve the app until it is stopped."""
    from shapewise.ui.session import deployment

    if asked.workspace:
        os.environ["GAMCORE_WORKSPACE"] = str(asked.workspace.resolve())
    options = ["--server.headless", "true"] if asked.no_browser else []
    if asked.port is not None:
        options += ["--server.port", str(asked.port)]
    deployment.launch(str(places.SCRIPT), options)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 on success, 1 if a problem was printed, 2 if the application is not installed."""
    asked = _parser().parse_args(arguments)
    if words := lacks():
        print(words, file=sys.stderr)
        return 2
    if asked.command is None:
        return _serve(asked)
    from shapewise import maintenance

    return maintenance.run(asked)


if __name__ == "__main__":
    sys.exit(main())
