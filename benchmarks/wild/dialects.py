"""Eight ways in which programs write tables as text."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Dialect:
    """How a file is written.

    separator, decimal, thousands : marks. encoding : UTF-8 where it has no letter for a text. date : form of dates.
    quote_all : whether numbers have quotes, too. line_end : after each row. missing : what an empty cell holds.
    """

    name: str
    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8"
    date: str = "%Y-%m-%d"
    quote_all: bool = False
    line_end: str = "\n"
    missing: str = ""


DIALECTS: Final = (
    Dialect("commas"),
    Dialect("semicolons, decimal commas, byte-order mark", ";", ",", encoding="utf-8-sig"),
    Dialect("tabs, UTF-16", "\t", encoding="utf-16"),
    Dialect("bars, all in quotes", "|", quote_all=True, missing="NA"),
    Dialect("commas, thousands in quotes", thousands=","),
    Dialect("semicolons, decimal commas, points for thousands, day first", ";", ",", ".", "cp1252", "%d.%m.%Y"),
    Dialect("commas, month first, Windows", encoding="cp1252", date="%m/%d/%Y", line_end="\r\n"),
    Dialect("semicolons, decimal points", ";", line_end="\r\n", missing="NA"),
)


def write(frame: pd.DataFrame, dialect: Dialect, path: Path) -> None:
    """Write a table to a file."""
    cells = pd.DataFrame({name: texts(frame[name], dialect) for name in frame}, dtype=object)
    quoting = csv.QUOTE_ALL if dialect.quote_all else csv.QUOTE_MINIMAL
    text = cells.to_csv(index=False, sep=dialect.separator, quoting=quoting, lineterminator=dialect.line_end)
    try:
        data = text.encode(dialect.encoding)
    except UnicodeEncodeError:
        data = text.encode("utf-8")
    path.write_bytes(data)


def texts(series: pd.Series, dialect: Dialect) -> list[str]:
    """Return the cells of a column as they are written."""
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return [dialect.missing if pd.isna(cell) else _date(cell, dialect) for cell in series]
    is_number = pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype)
    return [
        dialect.missing if cell is None or pd.isna(cell) else _number(cell, dialect) if is_number else str(cell)
        for cell in series.tolist()
    ]


def _date(moment: pd.Timestamp, dialect: Dialect) -> str:
    """Return a day in the dialect's form; a moment within a day in the form that all programs read."""
    moment = moment.tz_convert("UTC").tz_localize(None) if moment.tzinfo else moment
    return moment.strftime(dialect.date) if moment == moment.normalize() else str(moment)


def _number(value: Any, dialect: Dialect) -> str:
    """Return a number with as many digits as it has."""
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    whole = isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15)
    text = f"{int(value):,}" if whole else f"{float(value)!r}"
    if not whole and "e" not in text and dialect.thousands:
        head, tail = text.split(".")
        text = f"{int(head):,}.{tail}" if head not in ("-0", "0") else text
    text = text if dialect.thousands else text.replace(",", "")
    return text.translate(str.maketrans({",": dialect.thousands, ".": dialect.decimal}))
