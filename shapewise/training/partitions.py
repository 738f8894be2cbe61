"""Parts of a table by a column: levels, ranges or periods of time, to compare a model's curves between them."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.common.numbers import in_full, read, roundest
from gamcore.common.types import Floats
from gamcore.data.columns import TableError, read_dates, read_numbers, read_texts
from gamcore.data.dates import as_date
from gamcore.data.table import Table, as_table
from gamcore.decide.rules import Levels, Range, Rule

MOST_PARTS: Final = 6
MOST_RANGES: Final = 4
NEARBY: Final = 0.0025
"""Share of the rows by which the border of equal parts may be moved to be round."""

CALENDAR: Final = ("D", "W", "M", "Q", "Y")
"""Periods from short to long; the shortest that gives few enough parts is used."""

TablePart = tuple[str, Rule]


def split(frame: pd.DataFrame | Table, column: str, most: int = MOST_PARTS) -> list[TablePart]:
    """Split the rows into at most so many parts, each a name and a rule; rows without a value are in none."""
    table = as_table(frame)
    if column not in table:
        raise TableError(f"The table has no column {column!r}: choose another.")
    series, kind = table.frame[column], table.kind(column)
    if kind == "date":
        parts = _periods(series, most)
    elif kind == "number":
        parts = _ranges(series, most)
    else:
        parts = [(level, Levels(column, (level,))) for level in frequent_levels(series, most)]
    if len(parts) < 2:
        raise TableError(f"{column!r} has only one value: choose a column with at least two.")
    return parts


def frequent_levels(series: pd.Series, most: int) -> list[str]:
    """Return the most frequent levels of a column, named as in rules."""
    codes, names = read_texts(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    return [names[k] for k in np.argsort(-counts, kind="stable")[:most]]


def periods(table: Table, column: str, most: int = 24) -> tuple[NDArray[np.int64], list[str]]:
    """Return the period (n,) of each row by a time column, -1 if missing, and the names of the periods in order.

    Dates: the shortest of days, weeks, months, quarters and years that gives at most `most` periods; years if none
    does. Numbers: each value, or at most `most` equal ranges.
    """
    series = table.frame[column]
    if table.kind(column) == "date":
        days = read_dates(series)
        dates = pd.Series(pd.to_datetime(days, unit="D"))
        for unit in CALENDAR:
            names_of = dates.dt.to_period(unit)
            if names_of.nunique() <= most:
                break
        codes, names = pd.factorize(names_of, sort=True)
        return codes.astype(np.int64), [str(name) for name in names]
    values = read_numbers(series)
    distinct = np.unique(values[np.isfinite(values)])
    if distinct.size <= most:
        codes = np.searchsorted(distinct, values)
        names = [_plain(value) for value in distinct]
    else:
        edges = np.linspace(distinct[0], distinct[-1], most + 1)
        codes = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, most - 1)
        names = [f"from {_round(edge, distinct, (edges[-1] - edges[0]) / most / 3)}" for edge in edges[:-1]]
    return np.where(np.isfinite(values), codes, -1).astype(np.int64), names


def _ranges(series: pd.Series, most: int) -> list[TablePart]:
    """Return one part per value if there are few, else ranges with about equal numbers of rows."""
    name, values = str(series.name), read_numbers(series)
    values = values[np.isfinite(values)]
    distinct = np.unique(values)
    if distinct.size <= most:
        return [(_plain(value), Range(name, float(value), float(value), high_in=True)) for value in distinct]
    cuts = np.unique([_cut(values, share) for share in np.linspace(0, 1, MOST_RANGES + 1)[1:-1]])
    cuts = np.unique(np.where(cuts > distinct[0], cuts, distinct[1]))  # a frequent lowest value is a part of its own
    ends = [None, *[float(cut) for cut in cuts], None]
    return [_range(name, low, below) for low, below in pairwise(ends)]


def _cut(values: Floats, share: float) -> float:
    """Return the roundest cut with about a share of the values (n,) below it; see `NEARBY`."""
    low, near, high = np.quantile(values, [share - NEARBY, share, share + NEARBY]).tolist()
    return read(roundest(low, high, near))


def _plain(value: float) -> str:
    """Return a number as text, without loss of digits or commas, which a year would not have."""
    return in_full(value).replace(",", "")


def _round(edge: float, values: NDArray[np.float64], near: float) -> str:
    """Return a number with few digits that has as many values (n,), in order, below it as an edge has, and is at most
    `near` away."""
    k = int(np.searchsorted(values, edge))
    below = np.nextafter(values[k - 1], np.inf) if k else -np.inf
    low, high = max(below, edge - near), min(float(values[k]), edge + near)
    return roundest(float(low), float(high), float(edge)).replace(",", "")


def _range(name: str, low: float | None, below: float | None) -> TablePart:
    ends_words = [
        f"at least {_plain(low)}" if low is not None else "",
        f"below {_plain(below)}" if below is not None else "",
    ]
    return " and ".join(part for part in ends_words if part), Range(name, low, below)


def _periods(series: pd.Series, most: int) -> list[TablePart]:
    """Return days, weeks, months, quarters or years, the shortest that are few enough; else spans of years."""
    name, days = str(series.name), read_dates(series)
    known = np.unique(np.floor(days[np.isfinite(days)]))
    if not known.size:
        return []
    dates = pd.Series(pd.to_datetime(known, unit="D"))
    for unit in CALENDAR:
        spans = dates.dt.to_period(unit).unique()
        if spans.size <= most:
            break
    starts = sorted({period.start_time.to_datetime64().astype("datetime64[D]").astype(int) for period in spans})
    if len(starts) > most:
        starts = [starts[round(k)] for k in np.linspace(0, len(starts), most, endpoint=False)]
    ends = [*[float(start) for start in starts[1:]], None]
    parts: list[TablePart] = []
    for start, below in zip(starts, ends, strict=True):
        label = _label(float(start), below, unit)
        parts.append((label, Range(name, float(start), below, date=True)))
    return parts


def _label(start: float, below: float | None, unit: str) -> str:
    """Return the name of a single period, or the first day of a longer span."""
    first = pd.Timestamp(as_date(start).replace(tzinfo=None))
    period = first.to_period(unit)
    single = below is None or pd.Timestamp(as_date(below).replace(tzinfo=None)).to_period(unit) == period + 1
    return str(period) if single else f"from {first.date()}"
