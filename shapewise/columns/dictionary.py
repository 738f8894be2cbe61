"""Data dictionaries: a CSV file with the names of columns and levels, units, number forms and codes for missing.

One row per column or per level of a column:

    column, label, unit, format, missing, level, level label
    AGE,    Age,   years, whole number, -1; 99, ,
    STATUS, Contract, , , , A, active
    STATUS, , , , , T, terminated
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pandas as pd

from gamcore.data.codes import code_of
from gamcore.data.column_names import FORMS, ColumnNames, Names
from gamcore.data.columns import Kind, TableError
from gamcore.viz.files.spreadsheets import safe_csv

HEAD: Final = ("column", "label", "unit", "format", "missing", "level", "level label")
MOST_BYTES: Final = 2**22
GUARD: Final = re.compile(r"(^|[;\t\r\n]\s*)'(?=[=+\-@])")
"""The apostrophe that keeps spreadsheets from reading a text as a formula."""

BETWEEN: Final = ";"
"""Between the codes of a column."""


def codes_in(text: str, column: str, kind: Kind | None) -> tuple[str, ...]:
    """Return the codes that a cell lists, separated by semicolons; TableError where the column cannot hold one."""
    parts = [part.strip() for part in text.split(BETWEEN)]
    return tuple(dict.fromkeys(code_of(part, column, kind) for part in parts if part))


def write_dictionary(names: Names, columns: Sequence[str]) -> bytes:
    """Return the dictionary of a table as CSV, with a row for each of its columns."""
    lines = []
    for column in columns:
        own = names.of(column)
        form = "" if own.form == "automatic" else own.form
        lines.append([column, own.name, own.unit, form, f"{BETWEEN} ".join(own.missing), "", ""])
        lines += [[column, "", "", "", "", level, name] for level, name in own.levels.items()]
    return safe_csv(pd.DataFrame(lines, columns=list(HEAD)))


def read_dictionary(data: bytes, names: Names, kinds: Mapping[str, Kind | None]) -> tuple[Names, list[str]]:
    """Return a table's names with those of a dictionary on top, and the columns in it that the table lacks.

    names : the present ones, which stay where the dictionary has an empty cell or no column for them. kinds : of the
    table's columns. TableError names the line that cannot be used.
    """
    by_column, strange = dict(names.columns), dict[str, None]()
    for line, row in _rows(data):
        column = row.get("column", "")
        if not column:
            raise TableError(f"Line {line} names no column: fill in its first cell.")
        if column not in kinds:
            strange[column] = None
            continue
        try:
            by_column[column] = _with(by_column.get(column, ColumnNames()), row, column, kinds[column])
        except TableError as error:
            raise TableError(f"Line {line}: {error}") from error
    result = Names(by_column)
    result.check(kinds)
    return result, list(strange)


def _with(own: ColumnNames, row: Mapping[str, str], column: str, kind: Kind | None) -> ColumnNames:
    """Return the names of a column with those of one line."""
    form = row.get("format", "").lower() or own.form
    if form not in FORMS:
        raise TableError(f"{row['format']!r} is no number format: write one of {', '.join(FORMS)}.")
    own = replace(own, form=form, name=row.get("label") or own.name, unit=row.get("unit") or own.unit)
    if row.get("missing"):
        own = replace(own, missing=codes_in(row["missing"], column, kind))
    if row.get("level"):
        name = row.get("level label", "")
        kept = {level: shown for level, shown in own.levels.items() if level != row["level"]}
        own = replace(own, levels=kept | ({row["level"]: name} if name else {}))
    return own


def _rows(data: bytes) -> list[tuple[int, dict[str, str]]]:
    """Return the lines of a dictionary by the names in its head, in lower case; TableError where it is not one."""
    if len(data) > MOST_BYTES:
        raise TableError(
            f"The dictionary has over {MOST_BYTES // 2**20} MB: it should have a line per column and level."
        )
    try:
        text = data.decode("utf-8-sig")
        start = text.splitlines()[0] if text.strip() else ""
        between = max(",;\t", key=start.count)
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=between, strict=True))
    except UnicodeDecodeError as error:
        raise TableError("The dictionary is not UTF-8 text: save it as CSV UTF-8.") from error
    except csv.Error as error:
        raise TableError(f"The dictionary cannot be read as CSV ({error}): check its quotes.") from error
    head = [cell.strip().lower().replace("_", " ") for cell in lines[0]] if lines else []
    if "column" not in head:
        raise TableError(f"The dictionary's first line has no cell 'column': begin it with {', '.join(HEAD)}.")
    rows = []
    for number, cells in enumerate(lines[1:], 2):
        if any(cell.strip() for cell in cells):
            texts = (GUARD.sub(r"\1", cell.strip()) for cell in cells)
            rows.append((number, dict(zip(head, texts, strict=False))))
    return rows
