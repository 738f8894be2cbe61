"""What all file formats share: the error, the limits, and the cleaning of names."""

from __future__ import annotations

import itertools
from pathlib import Path, PurePath
from typing import Final

from gamcore.common.numbers import count

TEXT_SUFFIXES: Final = (".csv", ".tsv", ".txt")
SUFFIXES: Final = (*TEXT_SUFFIXES, ".parquet", ".feather", ".arrow", ".xlsx")
NO_ROWS: Final = "The file has column names but no rows: choose another."
MAX_UNPACKED: Final = 2**30
MAX_COLUMNS: Final = 10_000
MAX_FIELD: Final = 100_000
"""The most characters in a cell."""


class ReaderError(ValueError):
    """A file that cannot be read; the message says where the problem is and how to solve it."""


def kind_of_name(name: str) -> str:
    """Return the suffix that says how to read a file, such as .csv.gz; ReaderError where it cannot be read."""
    path = PurePath(name.lower())
    if path.suffix == ".gz":
        if (kind := PurePath(path.stem).suffix) not in TEXT_SUFFIXES:
            raise ReaderError("Only .csv.gz, .tsv.gz and .txt.gz can be read compressed: unpack the file first.")
        return f"{kind}.gz"
    if path.suffix not in SUFFIXES:
        shown = "".join(c for c in path.suffix[:20] if c.isprintable())
        raise ReaderError(f"Files ending in {shown or 'nothing'} are not supported: use {', '.join(SUFFIXES)}.")
    return path.suffix


def is_text(kind: str) -> bool:
    """Return whether files of a kind are delimited text, packed or not."""
    return kind.removesuffix(".gz") in TEXT_SUFFIXES


def check_columns(width: int, what: str = "file") -> None:
    """Refuse more columns than there may be, before their names are cleaned, each with a note."""
    if width > MAX_COLUMNS:
        raise ReaderError(f"The {what} has {count(width)} columns, more than {count(MAX_COLUMNS)}: drop some first.")


def size_of(source: Path | bytes) -> int:
    """Return the bytes of a file, or of what was read of one."""
    return len(source) if isinstance(source, bytes) else source.stat().st_size


def in_words(error: Exception) -> str:
    """Return a library's error message, shortened to fit into a sentence."""
    return " ".join(str(error).split()).split(". ")[0].rstrip(".")[:120]


def clean_names(names: list[str], notes: list[str]) -> list[str]:
    """Return the names without control characters, none empty, all distinct; note the changes."""
    cleaned, seen = [], set(names)
    taken: set[str] = set()
    for place, raw in enumerate(names, 1):
        name = " ".join("".join(c if c.isprintable() else " " for c in str(raw)).split())
        if not name:
            name = f"column {place}"
        if len(name) > 80:
            name = name[:79] + "…"
        if name in taken:
            others = (f"{name} ({number})" for number in itertools.count(2))
            name = next(other for other in others if other not in taken and other not in seen)
        if name != raw:
            notes.append(f"Column {place} is named {name!r} here." if raw.strip() else f"Column {place} had no name.")
        taken.add(name)
        cleaned.append(name)
    return cleaned
