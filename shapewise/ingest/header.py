"""Where a table begins: lines before it, column names in one row, in several, or in none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Final

from gamcore.common.numbers import count, counted
from shapewise.ingest.amounts import CURRENCIES
from shapewise.ingest.common import ReaderError, clean_names
from shapewise.ingest.types import MISSING

LOOKED_AT: Final = 20
"""Rows among which the names are looked for."""

MOST_NAMES: Final = 3
FEWEST_WORDS: Final = 3
"""Words of a column above which a number is none of its cells."""

TYPED_SHARE: Final = 0.8
VALUE: Final = re.compile(
    rf"(?=.*\d)(?:[-+(]*(?:{CURRENCIES}))?[-\d\s.,:/'’()%+−–_°*]+(?:[eE][-+]?\d+|\s*[^\W\d_]{{1,3}}\.?\W*)?|true|false",
    re.IGNORECASE,
)
"""A number with its currency or unit, a date in digits, a truth."""

MONTHLY: Final = re.compile(r"\d{1,2}[-/. ]*[^\W\d_]{3,12}[-/. ,]*\d{2,4}.*|\d{4}-\d{2}-\d{2}T.*")
DATE: Final = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}\b.*")
YEAR: Final = re.compile(r"(?:1[89]|20)\d\d")
WHOLE: Final = re.compile(r"-?\d+(?:\.0)?")
PLAIN: Final = re.compile(r"[-+(]*[^\w\s%]?[\d\s.,'’()]+(?:e[-+]?\d+)?\s*[^\w\s%+]?", re.IGNORECASE)
"""A number as any row may have it, with a currency or an exponent in this row alone."""

RULE: Final = re.compile(r"\W*(?:[-=_]{3,}|:-+:?|-+:)\W*")
"""A line below names, of hyphens or equals signs."""


@dataclass(frozen=True)
class Header:
    """Where the names of the columns are. first, end : its first row, and the row after it; equal without names.

    joined : the rows that have names, without lines drawn below them. numbered : whether a row numbers the columns."""

    first: int
    end: int
    names: list[str]
    joined: int = 1
    numbered: bool = False


def header_of(rows: Sequence[Sequence[str]]) -> Header:
    """Return where the names are among the first rows of a table, all of one width; cells are text, or empty."""
    width = len(rows[0])
    filled = [[cell.strip() for cell in row] for row in rows]
    skipped = min(LOOKED_AT // 2, len(rows) // 2)
    typed = [k for k in range(width) if is_typed([row[k] for row in filled[skipped:]])]
    body = filled[skipped:]
    if len(rows) == 1:
        return Header(0, 1, list(rows[0]))
    bottom = -1
    for k, row in enumerate(filled[: min(LOOKED_AT, max(skipped, 1))]):
        if _are_names(row, typed, body, above=filled[:k]):
            bottom = k
    values = any(is_value(filled[0][k]) for k in typed)
    if bottom < 0 and values and not _are_numbered(filled[0], typed, filled[1:]):
        first = _after_padding(filled)
        return Header(first, first, [""] * width)
    if bottom < 0:
        if not typed and width > 1 and _recur(filled):
            return Header(0, 0, [""] * width)
        bottom = _after_padding(filled) if not typed else 0
    first, end = _top(filled, bottom), bottom + 1
    names = [row for row in filled[first:end] if not _is_rule(row)] or filled[first:end]
    start = end
    while end < len(filled) - 1 and (_is_rule(filled[end]) or _counts_columns(filled[end:])):
        end += 1
    numbered = any(not _is_rule(row) for row in filled[start:end])
    if len(names) > 1 and (labels := _labels_of_rows(filled[end:])):
        names = [[""] * labels + row[labels:] for row in names] + [filled[end]]  # above them are those of the rows
        end += 1
    return Header(first, end, _joined(names), len(names), numbered)


def _is_rule(row: list[str]) -> bool:
    """Return whether a row of several columns is a line below the names, or blank."""
    return len(row) > 1 and all(RULE.fullmatch(cell) for cell in row if cell)


def _counts_columns(rows: list[list[str]]) -> bool:
    """Return whether the first row numbers the columns, 1 2 3 or (1) (2) (3), also one that has words alone below."""
    numbers = [cell.strip("()[]") for cell in rows[0]]
    known = [[cell for cell in column[1:] if cell] for column in zip(*rows, strict=True)]
    words = any(len(cells) >= FEWEST_WORDS and not any(map(is_value, cells)) for cells in known)
    return len(numbers) > 2 and numbers == [str(k) for k, _ in enumerate(numbers, 1)] and words


def named(head: Header, notes: list[str]) -> list[str]:
    """Return clean and distinct names of the columns, and note what was made of them."""
    names, height = head.names, head.end - head.first
    if height == 0:
        notes.append("The first line looks like a row, not like column names: columns are named by their place.")
        return [f"column {k}" for k in range(1, len(names) + 1)]
    if head.numbered:
        notes.append("Left out the row that numbers the columns.")
    if head.joined > 1:
        notes.append(f"The column names are in {head.joined} rows, joined here.")
    if not any(name.strip() for name in names):
        raise ReaderError("The first line has no column names: give every column a name.")
    if len(names) > 1 and all(map(WHOLE.fullmatch, map(str.strip, names))):
        notes.append(f"The first line, {', '.join(names[:3])}{' ...' * (len(names) > 3)}, is read as column names.")
    return clean_names(names, notes)


def skipped_note(lines: int, head: Header) -> str:
    """Return the note on lines before the table."""
    what = "the column names" if head.end > head.first else "the first row"
    return f"Skipped {count(lines)} line{'s' * (lines > 1)} before {what}."


def names_note(rows: int) -> str:
    """Return the note on rows that repeat the names."""
    return f"Left out {counted(rows, 'row', 'that repeats', 'that repeat')} the column names."


def is_value(cell: str) -> bool:
    """Return whether a cell looks like a number, a date or a truth, and not like a word."""
    return bool(VALUE.fullmatch(cell) or MONTHLY.fullmatch(cell))


def _is_blank(cell: str) -> bool:
    return not cell or cell.lower() in MISSING


def is_typed(cells: Sequence[str]) -> bool:
    """Return whether nearly all cells of a column that are not missing look like values."""
    known = [cell for cell in cells if not _is_blank(cell)]
    return bool(known) and sum(map(is_value, known)) >= TYPED_SHARE * len(known)


def _are_names(row: list[str], typed: list[int], body: list[list[str]], above: list[list[str]]) -> bool:
    """Return whether a row has words where the columns have numbers, dates or truths.

    Below a complete row of names, one odd word is a mistake of a row and no name."""
    truths = {k for k in typed if all(cells[k].lower() in ("true", "false", "") for cells in body)}
    known = [k for k in typed if not _is_blank(row[k])]
    words = sum(not is_value(row[k]) or (k in truths and row[k].lower() not in ("true", "false")) for k in known)
    complete = any(all(cells) for cells in above)
    if known and 2 * words >= len(known):
        alone = words == len(typed) or not any(cell for k, cell in enumerate(row) if k not in typed)
        return not complete or (words == len(known) and words > 1 and alone)
    marked = sum(_is_marked(row[k], [cells[k] for cells in body]) for k in known)
    if not above and all(row[1:]) and 2 * marked > len(known):
        return True
    labels = above[-1] if above else []
    groups = any(labels[1:]) and (not all(labels) or len(set(labels)) < len(labels))
    cells = [row[k] for k in typed]
    return groups and (_years(cells, typed, body) or _are_dates_above(cells, typed, body))


def _is_marked(cell: str, body: Sequence[str]) -> bool:
    """Return whether a cell has letters or marks as no cell below it: 30d, 0-14, 65+ or 10% above numbers."""
    if PLAIN.fullmatch(cell):
        return False
    below = {mark for other in body if not _is_blank(other) for mark in _marks(other)}
    return not below.issuperset(_marks(cell))


def _marks(cell: str) -> set[str]:
    """Return the marks beside the digits of a cell; all letters are one."""
    return set(re.sub(r"[\d\s.,]", "", re.sub(r"[^\W\d_]+", "a", cell)))


def _is_date(cell: str) -> bool:
    return bool(DATE.fullmatch(cell) or MONTHLY.fullmatch(cell))


def _are_dates_above(cells: list[str], typed: list[int], body: list[list[str]]) -> bool:
    """Return whether cells are dates, in columns that hold none."""
    return all(map(_is_date, cells)) and not any(_is_date(row[k]) for row in body for k in typed)


def _years(cells: list[str], typed: list[int], body: list[list[str]]) -> bool:
    """Return whether cells are years, in columns that do not hold years."""
    below = [row[k] for row in body for k in typed]
    return len(cells) > 1 and all(map(YEAR.fullmatch, cells)) and not all(map(YEAR.fullmatch, filter(None, below)))


def _are_numbered(row: list[str], typed: list[int], body: list[list[str]]) -> bool:
    """Return whether the first row counts the columns, or names them by years or dates, and so is no row of values.

    A word above numbers is a name among them, such as that of the column of rows."""
    typed = [k for k in typed if is_value(row[k])]
    cells = [row[k] for k in typed]
    if any([row[k] for k in typed] == cells for row in body):
        return False  # a row like those below it
    if not all(map(WHOLE.fullmatch, cells)) or len(cells) < 2:
        return _are_dates_above(cells, typed, body)
    numbers = [int(float(cell)) for cell in cells]
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    counts = len(steps) == 1 and steps != {0} and (len(cells) > 2 or numbers in ([0, 1], [1, 2]))
    return counts or (len(set(cells)) == len(cells) and _years(cells, typed, body))


def _recur(rows: list[list[str]]) -> bool:
    """Return whether each cell of the first row occurs below it in its column: so it is a row like the others."""
    others = [row for row in rows if row != rows[0]]  # names may be repeated as a whole
    return len(others) > 1 and all(cell and cell in {row[k] for row in others} for k, cell in enumerate(rows[0]))


def _after_padding(rows: list[list[str]]) -> int:
    """Return the first full row of different words below titles, which spreadsheets pad with separators."""
    width = len(rows[0])
    for k, row in enumerate(rows[:LOOKED_AT]):
        filled = [cell for cell in row if cell]
        if len(filled) == width:
            return k
        if 2 * len(filled) > width:
            break
    return 0


def _top(rows: list[list[str]], bottom: int) -> int:
    """Return the first of the rows of names that end with `bottom`: groups above names, or units below them."""
    first = bottom
    while first > 0 and bottom - first + 1 < MOST_NAMES:
        row, names = rows[first - 1], rows[bottom]
        places = [k for k, cell in enumerate(row) if cell]
        gap = len(places) > 1 and places != list(range(len(places)))  # a label over several columns
        spans = gap or all(row) or len(set(filter(None, names))) < len([cell for cell in names if cell])
        if (len(places) < 2 and not (places and places[0] > 0)) or row[0].startswith("#"):
            break
        if not spans and places[0] == 0:
            break
        first -= 1
    return first


def _labels_of_rows(rows: list[list[str]]) -> int:
    """Return how many columns the first row names, if it has cells in these first ones alone, as no row below has:
    pandas writes the names of an index so, below names in several rows."""
    alone = [len(list(takewhile(bool, row))) for row in rows]
    alone = [n if not any(row[n:]) else 0 for n, row in zip(alone, rows, strict=True)]
    return alone[0] if len(rows) > 1 and 0 < alone[0] < len(rows[0]) and alone[0] not in alone[1:] else 0


def _joined(rows: list[list[str]]) -> list[str]:
    """Return one name per column: those of the groups above it before its own. A label that is not repeated goes on."""
    *groups, names = rows
    for group in reversed(groups):
        label, labels = "", []
        is_repeated = any(cell and cell == later for cell, later in pairwise(group))
        for k, cell in enumerate(group):
            label = cell or (label if names[k] and not is_repeated else "")
            labels.append(label)
        names = [
            name if label in ("", name) else f"{label} {name}".strip()
            for label, name in zip(labels, names, strict=True)
        ]
    return list(names)
