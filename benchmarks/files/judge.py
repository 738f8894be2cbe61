"""Whether a reading is right: its names, its rows, and its cells with their types."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.files.expected import Expected, Value
from benchmarks.files.readers import Reading

RIGHT: Final = "right"
TEXT: Final = "right, but numbers, days or truths as text"
WORDS: Final = "wrong, with a word"
SILENT: Final = "wrong without a word"
REFUSED: Final = "refused"
OF_LAYOUT: Final = ("Skipped", "Left out", "The first line", "The column names", "All in one", "Column ", "Read ")
"""How the reader's words on lines, rows, names and sheets begin."""

OUTCOMES: Final = (RIGHT, TEXT, WORDS, SILENT, REFUSED)


@dataclass(frozen=True)
class Verdict:
    """What became of a file: one of the OUTCOMES, and where it is wrong."""

    outcome: str
    why: str = ""


@dataclass(frozen=True)
class Fault:
    """A place where a reading is wrong. column : its name in the reading; empty for rows and names."""

    why: str
    column: str = ""


def verdict(reading: Reading, right: Expected, text: str) -> Verdict:
    """Judge a reading. text : of the file, in which a cell that stays text has to stand; empty if it is no text."""
    if reading.frame is None:
        return Verdict(RIGHT if right.why else REFUSED, reading.refusal)
    if right.why:
        if reading.frame.empty:
            return Verdict(RIGHT, "a table without rows says as much")
        return Verdict(WORDS if reading.words else SILENT, f"read, but {right.why}")
    frame = _without_empty_ends(reading.frame, right)
    faults = [*_names(frame, right.names), *_rows(frame, right.rows)]
    untyped = False
    for row, column, value in right.cells if not faults else ():
        name, cell = str(frame.columns[column]), frame.iloc[row, column]
        if equals(cell, value):
            continue
        if stays_text(cell, value, text):
            untyped = True
            continue
        faults.append(Fault(f"row {row + 1}, {name!r}: {cell!r} instead of {value!r}", name))
    if not faults:
        return Verdict(TEXT if untyped else RIGHT)
    silent = [fault for fault in faults if not _is_told(fault, reading.words)]
    return Verdict(SILENT if silent else WORDS, (silent or faults)[0].why)


def _without_empty_ends(frame: pd.DataFrame, right: Expected) -> pd.DataFrame:
    """Return a table without empty columns and rows behind the others, which some readers keep and some do not."""
    missing = frame.isna() | frame.eq("")
    rows, columns = len(frame), frame.shape[1]
    while columns > len(right.names) and missing.iloc[:, columns - 1].all():
        columns -= 1
    while rows > right.rows and missing.iloc[rows - 1].all():
        rows -= 1
    return frame.iloc[:rows, :columns]


def _is_told(fault: Fault, words: Sequence[str]) -> bool:
    """Return whether words name the change: the column's own, or those of lines, rows and names."""
    if fault.column:
        return any(word.startswith(f"{fault.column}: ") or word.startswith("Decoded") for word in words)
    return any(word.startswith(OF_LAYOUT) for word in words)


def _names(frame: pd.DataFrame, names: Sequence[str]) -> list[Fault]:
    """Return faults of names. An empty one may be called anything, and one that recurs anything that begins so."""
    here = [" ".join(str(name).split()) for name in frame.columns]
    if len(here) != len(names):
        return [Fault(f"{len(here)} columns instead of {len(names)}")]
    for place, (name, right) in enumerate(zip(here, names, strict=True)):
        fits = name.startswith(right) if right in names[:place] or right in names[place + 1 :] else name == right
        if right and not fits:
            return [Fault(f"column {place + 1} is named {name!r} instead of {right!r}")]
    return []


def _rows(frame: pd.DataFrame, rows: int) -> list[Fault]:
    return [] if len(frame) == rows else [Fault(f"{len(frame)} rows instead of {rows}")]


def equals(cell: Any, value: Value) -> bool:
    """Return whether a cell of a table is a value, in its type; an empty text is a missing cell."""
    if _is_missing(cell):
        return value == ""
    if isinstance(value, bool) or isinstance(cell, bool | np.bool_):
        return isinstance(value, bool) and isinstance(cell, bool | np.bool_) and bool(cell) == value
    if isinstance(value, int | float):
        return isinstance(cell, int | float | np.number) and math.isclose(float(cell), value, rel_tol=1e-12)
    if isinstance(value, str):
        return _as_text(cell) == " ".join(value.split())
    return isinstance(cell, dt.date | pd.Timestamp | np.datetime64) and _moment(cell) == _moment(value)


def _is_missing(cell: Any) -> bool:
    return cell == "" if isinstance(cell, str) else bool(np.all(pd.isna(cell)))


def _as_text(cell: Any) -> str:
    """Return a cell as text; a number that stands for digits is as good as they are."""
    whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
    return " ".join((str(int(cell)) if whole else str(cell)).split())


def _moment(when: Any) -> pd.Timestamp:
    moment = pd.Timestamp(when)
    return moment.tz_convert("UTC").tz_localize(None) if moment.tzinfo else moment


def stays_text(cell: Any, value: Value, text: str) -> bool:
    """Return whether a cell that is no text was kept as the text that the file has."""
    return isinstance(cell, str) and not isinstance(value, str) and any(c.isalnum() for c in cell) and cell in text
