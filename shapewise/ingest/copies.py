"""Columns that say the same as an earlier one: exact copies, also under other names, and near copies."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from gamcore.data.columns import TableError, read_dates, read_numbers, read_texts
from gamcore.data.table import Table
from gamcore.numbers import count
from gamcore.types import Bools, Ints

FEWEST_REPEATS: Final = 50
"""Fewest rows whose value has been seen before: two columns of distinct values agree on which rows are equal anyway."""

NEARLY: Final = 0.99
MOST_COMPARED: Final = 100
"""Most columns that are compared with each other for near copies."""


@dataclass(frozen=True)
class Copy:
    """A column that says the same as an earlier one. differs : rows that differ; relabelled : under other values."""

    of: str
    differs: int = 0
    relabelled: bool = False

    @property
    def exact(self) -> bool:
        """Whether it adds nothing to the other."""
        return self.differs == 0

    def words(self, sample: str) -> str:
        """Return in words what it is. sample : " of the sample", or empty."""
        if self.differs:
            return f"the same as {self.of} in all but {count(self.differs)} rows{sample}"
        values = ": each of its values goes with one of the other's" if self.relabelled else ""
        return f"copy of {self.of}{f', as the rows{sample} say' if sample else ''}{values}"


def copies(table: Table, names: list[str], part: Table) -> dict[str, Copy]:
    """Return which columns are copies of one before them. part : some rows of the table, to look at first."""
    codes = {name: codes for name in names if (codes := _codes(part, name)) is not None}
    first: dict[bytes, str] = {}
    copied: dict[str, Copy] = {}
    for name, seen in codes.items():
        digest = hashlib.sha256(seen.tobytes()).digest()
        of = first.setdefault(digest, name)
        if of != name and (whole := _verified(table, of, name)) is not None:
            copied[name] = whole
    left = [name for name in codes if name not in copied][:MOST_COMPARED]
    return copied | _near(part, left)


def _codes(table: Table, name: str) -> Ints | None:
    """Return which rows of a column are equal, as numbers in their order of first appearance; None if too few are."""
    try:
        values = _values(table, name)
    except TableError:
        return None
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


def _verified(table: Table, of: str, name: str) -> Copy | None:
    """Return whether one column copies another in every row of the table; None if not."""
    first, second = (_codes(table, one) for one in (of, name))
    if first is None or second is None or not np.array_equal(first, second):
        return None
    return Copy(of, relabelled=not _equal(_values(table, of), _values(table, name)).all())


def _equal(first: np.ndarray, second: np.ndarray) -> Bools:
    if first.dtype != second.dtype:
        return np.zeros(len(first), bool)
    return np.asarray((first == second) | (pd.isna(first) & pd.isna(second)))


def _near(part: Table, names: list[str]) -> dict[str, Copy]:
    """Return the columns that equal an earlier one nearly everywhere, of rows that do not have the usual value."""
    values = {name: _values(part, name) for name in names}
    usual = {name: pd.Series(column).mode(dropna=False).iloc[0] for name, column in values.items()}
    copied: dict[str, Copy] = {}
    for k, name in enumerate(names):
        for of in names[:k]:
            if of in copied or values[of].dtype != values[name].dtype:
                continue
            same = _equal(values[of], values[name])
            differs = int((~same).sum())
            if differs > (1 - NEARLY) * len(same):
                continue
            special = ~(_is(values[of], usual[of]) & _is(values[name], usual[name]))
            if special.sum() >= FEWEST_REPEATS and differs <= (1 - NEARLY) * special.sum():
                copied[name] = Copy(of, differs)
                break
    return copied


def _is(values: np.ndarray, one: object) -> Bools:
    return np.asarray(pd.isna(values) if pd.isna(one) else values == one)
