"""The arguments that all measurements on the real tables share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path


def parser(doc: str | None, tables: Iterable[str], json: Path | None = None) -> argparse.ArgumentParser:
    """Return a parser of the arguments that all measurements on these tables share; `doc` is the module's docstring,
    `json` the default folder of its cells."""
    arguments = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    arguments.add_argument("--data", type=Path, required=True, help="folder of the real tables (Parquet)")
    keep = "folder of the cells; existing ones are kept"
    arguments.add_argument("--json", type=Path, required=json is None, default=json, help=keep)
    arguments.add_argument("--tables", nargs="*", default=list(tables))
    return arguments
