"""The right cells, as a person reads them in the file: one page of facts per package, in `expected/*.toml`.

Each `[[file]]` has its `path` in the package, and either `refused`, why it is no table, or: `names` (empty where the
file has none), `rows`, and some cells: whole rows as `first`, `last` and `more` (with the number of the row first), and
single ones as `cells` (number of the row, name or place of the column, value). A number, a truth, a day or a moment is
written as TOML has it, a text in quotes, and a missing cell as "". Places and rows are counted from 1."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "expected"
Value = int | float | bool | str | dt.date | dt.datetime


@dataclass(frozen=True)
class Expected:
    """The right reading of a file. cells : by row and column (0-based). why : it is no table; then nothing else."""

    source: str
    path: str
    names: tuple[str, ...] = ()
    rows: int = 0
    cells: tuple[tuple[int, int, Value], ...] = ()
    why: str = ""

    def place(self, folder: Path) -> Path:
        """Return where the file is in its unpacked package."""
        matches = [path for path in folder.rglob(Path(self.path).name) if str(path).endswith(f"/{self.path}")]
        if len(matches) != 1:
            raise ValueError(f"{self.source} has {len(matches)} files {self.path}")
        return matches[0]


def expected(folder: Path = FOLDER) -> list[Expected]:
    """Return the right readings of all files."""
    return [
        _expected(page.stem, entry)
        for page in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(page.read_text(encoding="utf-8"))["file"]
    ]


def _expected(source: str, entry: dict[str, Any]) -> Expected:
    if "refused" in entry:
        return Expected(source, entry["path"], why=entry["refused"])
    names = tuple(entry["names"])
    return Expected(source, entry["path"], names, entry["rows"], tuple(_cells(entry, names)))


def _cells(entry: dict[str, Any], names: tuple[str, ...]) -> Iterator[tuple[int, int, Value]]:
    rows = [(1, entry["first"])] if "first" in entry else []
    rows += [(entry["rows"], entry["last"])] if "last" in entry else []
    rows += [(number, row) for number, *row in entry.get("more", ())]
    for number, row in rows:
        if len(row) != len(names):
            raise ValueError(f"{entry['path']}: row {number} has {len(row)} cells")
        yield from ((number - 1, k, value) for k, value in enumerate(row))
    for number, column, value in entry.get("cells", ()):
        yield number - 1, column - 1 if isinstance(column, int) else names.index(column), value
