"""What all file formats share: the refusal, the limits, and names made whole."""

from __future__ import annotations

from typing import Final

TEXT_SUFFIXES: Final = (".csv", ".tsv", ".txt")
SUFFIXES: Final = (*TEXT_SUFFIXES, ".parquet", ".feather", ".arrow", ".xlsx")
MAX_UNPACKED: Final = 2**30
MAX_COLUMNS: Final = 10_000
MAX_FIELD: Final = 100_000
"""Characters of one cell."""


class ReaderError(ValueError):
    """A file that cannot be read; the message names the place and the way out."""


def in_words(error: Exception) -> str:
    """Return what a library says is wrong, short enough for a place in a sentence."""
    return " ".join(str(error).split()).split(". ")[0].rstrip(".")[:120]


def clean_names(names: list[str], notes: list[str]) -> list[str]:
    """Return the names without control characters, none empty, all distinct; changes are noted."""
    cleaned, seen = [], set(names)
    taken: set[str] = set()
    for place, raw in enumerate(names, 1):
        name = " ".join("".join(c if c.isprintable() else " " for c in str(raw)).split())
        if not name:
            name = f"column {place}"
        if len(name) > 80:
            name = name[:79] + "…"
        if name in taken:
            number = 2
            while f"{name} ({number})" in taken or f"{name} ({number})" in seen:
                number += 1
            name = f"{name} ({number})"
        if name != raw:
            notes.append(f"Column {place} is named {name!r} here." if raw.strip() else f"Column {place} had no name.")
        taken.add(name)
        cleaned.append(name)
    return cleaned
