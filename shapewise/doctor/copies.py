"""Columns that say the same as another: exact copies, also under other values, near copies, and numbers in classes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.columns import TableError, read_dates, read_numbers, read_texts
from gamcore.data.table import Table
from shapewise.doctor.findings import Finding
from shapewise.doctor.name_words import is_id_of_several

Cells = dict[str, np.ndarray]
"""The cells of columns as numbers, or as text with None for missing, by the column's name."""

FEWEST_REPEATS: Final = 50
"""Fewest rows whose value has been seen before: two columns of distinct values agree on which rows are equal anyway."""

FEWEST_UNUSUAL: Final = 10
"""The fewest of those that do not have the most frequent value, for a copy under other values."""

NEARLY: Final = 0.99
MOST_COMPARED: Final = 100
"""Most columns that are compared with each other for near copies."""

FEWEST_AMOUNTS: Final = 12
"""A number of more values than this says more than the text that goes with it: it has an order."""

MOST_CLASSES: Final = 60
FINER: Final = 3
"""A number is cut into classes where it has at least three values to a class, and there are at most 60 classes."""

MOST_ON_BORDERS: Final = 0.02
"""Most rows with one number that two classes have, as where it was rounded after it had been cut."""


def copies(table: Table, names: list[str], part: Table) -> dict[str, Finding]:
    """Return which columns say the same as another of the table: all of it, nearly all, or a number in classes.

    Of two copies, the later is named; but of a number of many values and its text, the text. part : some rows of the
    table, to look at first: what is said holds for all.
    """
    cells = {name: values for name in names if (values := _readable(part, name)) is not None}
    codes = {name: codes for name, values in cells.items() if (codes := _codes(values)) is not None}
    first: dict[bytes, str] = {}
    copied: dict[str, Finding] = {}
    for name, seen in codes.items():
        digest = hashlib.sha256(seen.tobytes()).digest()
        earlier = first.setdefault(digest, name)
        if earlier == name or (copy := _verified(table, earlier, name)) is None:
            continue
        if _is_amount(part, name) and part.kind(earlier) == "category":
            first[digest] = name
            copied[earlier] = replace(copy, column=earlier, of=name)
        else:
            copied[name] = copy
    left = [name for name in codes if name not in copied][:MOST_COMPARED]
    copied |= {name: near for name, earlier in _near(cells, left) if (near := _counted(table, earlier, name))}
    numbers = [name for name in cells if name not in copied and part.kind(name) in ("number", "date")
               and not is_id_of_several(name)]  # fmt: skip
    return copied | _cut(table, [name for name in left if name not in copied], numbers[:MOST_COMPARED], cells)


def _is_amount(table: Table, name: str) -> bool:
    return table.kind(name) == "number" and table.frame[name].nunique() > FEWEST_AMOUNTS


def _readable(table: Table, name: str) -> np.ndarray | None:
    """Return a column's cells, see `_values`; None where they cannot be read."""
    try:
        return _values(table, name)
    except TableError:
        return None


def _codes(values: np.ndarray) -> Ints | None:
    """Return which cells are equal, as numbers in their order of first appearance; None if too few are."""
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    if len(distinct) < 2 or len(codes) - len(distinct) < FEWEST_REPEATS:
        return None
    return np.asarray(codes, np.int64)


def _values(table: Table, name: str) -> np.ndarray:
    """Return a column's cells as numbers, or as text with None for missing."""
    series, kind = table.frame[name], table.kind(name)
    if kind in ("number", "date"):
        return read_numbers(series) if kind == "number" else read_dates(series)
    codes, names = read_texts(series)
    return np.array([*names, None], object)[codes]


def _verified(table: Table, original: str, name: str) -> Finding | None:
    """Return that one column copies another in every row of the table; None if it does not, or if both are numbers of
    another order, such as the two coordinates of a place."""
    mine, other = _readable(table, original), _readable(table, name)
    if mine is None or other is None:
        return None
    first, second = _codes(mine), _codes(other)
    if first is None or second is None or not np.array_equal(first, second):
        return None
    n, relabelled = len(mine), not _equal(mine, other).all()
    if relabelled and _unusual_repeats(first) < FEWEST_UNUSUAL:
        return None
    are_numbers = mine.dtype == other.dtype == np.float64
    if relabelled and are_numbers and _is_amount(table, original) and not _in_order(mine, other):
        return None
    return Finding("copy", name, rows=n, n=n, of=original, relabelled=relabelled)


def _unusual_repeats(codes: Ints) -> int:
    """Return the rows whose value has been seen before, of those that do not have the most frequent value: where two
    columns are nearly always missing, or 0, the others may go together by chance."""
    rows = np.bincount(codes)
    return int(codes.size - rows.max() - (rows.size - 1))


def _in_order(first: Floats, other: Floats) -> bool:
    """Return whether two numbers rise together, or one falls as the other rises."""
    known = np.isfinite(first) & np.isfinite(other)
    steps = np.diff(other[known][np.argsort(first[known], kind="stable")])
    return bool((steps >= 0).all() or (steps <= 0).all())


def _counted(table: Table, original: str, name: str) -> Finding | None:
    """Return that a column is nearly a copy of another, with its rows in the whole table; None where it is not."""
    n, same = len(table), int(_equal(_values(table, original), _values(table, name)).sum())
    near = n - same <= 2 * (1 - NEARLY) * n
    return Finding("copy", name, rows=same, n=n, of=original) if near else None


def _cut(table: Table, names: list[str], numbers: list[str], cells: Cells) -> dict[str, Finding]:
    """Return the columns that are a number cut into classes."""
    cuts: dict[str, Finding] = {}
    for name in names:
        codes, levels = pd.factorize(cells[name], use_na_sentinel=True)
        if not 2 <= len(levels) <= MOST_CLASSES:
            continue
        for number in numbers:
            if number == name or number in cuts or rows_on_borders(codes, cells[number], len(levels)) is None:
                continue
            of_all, classes = pd.factorize(_values(table, name), use_na_sentinel=True)
            on_borders = rows_on_borders(of_all, _values(table, number), len(classes))
            if on_borders is not None:
                cuts[name] = Finding("cut", name, rows=on_borders, n=len(table), distinct=len(classes), of=number)
                break
    return cuts


def rows_on_borders(codes: Ints, values: Floats, classes: int) -> int | None:
    """Return how many rows have a value that two classes share, where each class is one range of a number and few rows
    do; None where classes overlap. codes, values : (n,)."""
    known = (codes >= 0) & np.isfinite(values)
    if known.sum() < max(FEWEST_REPEATS, (1 - NEARLY) * known.size):
        return None
    codes, values = codes[known], values[known]
    low, high = np.full(classes, np.inf), np.full(classes, -np.inf)
    np.minimum.at(low, codes, values)
    np.maximum.at(high, codes, values)
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    if not np.isfinite(low).all() or (high[:-1] > low[1:]).any() or np.unique(values).size < FINER * classes:
        return None
    borders, rows = np.unique(values[np.isin(values, low[1:][high[:-1] == low[1:]])], return_counts=True)
    shares = np.bincount(codes, np.isin(values, borders), classes) / np.bincount(codes, minlength=classes)
    few = rows.max(initial=0) <= MOST_ON_BORDERS * values.size and (shares <= 0.5).all()
    return int(rows.sum()) if few else None


def _equal(first: np.ndarray, second: np.ndarray) -> Bools:
    if first.dtype != second.dtype:
        return np.zeros(len(first), bool)
    return np.asarray((first == second) | (pd.isna(first) & pd.isna(second)))


def _near(values: Cells, names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the columns that equal an earlier one nearly everywhere, of rows that do not have the usual value."""
    usual = {name: pd.Series(values[name]).mode(dropna=False).iloc[0] for name in names}
    copied: set[str] = set()
    for k, name in enumerate(names):
        for earlier in names[:k]:
            if earlier in copied or values[earlier].dtype != values[name].dtype:
                continue
            same = _equal(values[earlier], values[name])
            differs = int((~same).sum())
            if differs > (1 - NEARLY) * len(same):
                continue
            special = ~(_is(values[earlier], usual[earlier]) & _is(values[name], usual[name]))
            if special.sum() >= FEWEST_REPEATS and differs <= (1 - NEARLY) * special.sum():
                copied.add(name)
                yield name, earlier
                break


def _is(values: np.ndarray, cell: object) -> Bools:
    return np.asarray(pd.isna(values) if pd.isna(cell) else values == cell)
