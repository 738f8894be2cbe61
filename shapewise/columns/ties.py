"""Which columns depend on each other, and which say the same of many rows: an outcome depends on most others, and what
is set for a region or a year, as a tax is, takes one value wherever another does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from gamcore.common.types import Floats, Ints
from gamcore.data.columns import read_numbers, read_texts
from gamcore.data.table import Table
from shapewise.doctor.examine import ColumnReport

MOST_ROWS: Final = 2_000
MOST_COLUMNS: Final = 120
MOST_LEVELS: Final = 13
"""Rows, columns and levels looked at: a tie that matters shows in them."""

BEYOND_CHANCE: Final = 3.5
"""Standard errors of a correlation of unrelated columns, beyond which two are taken to depend on each other."""

FEWEST_VALUES: Final = 10
ROWS_EACH: Final = 5
"""Least values of a column that may stand for places, years or policies, and least rows to each of them."""

FEWEST_AMOUNTS: Final = 5
ROWS_TO_AN_AMOUNT: Final = 20
"""Values, and rows to each of them, beyond which an amount with decimals repeats itself."""

NEARLY_ALL: Final = 0.98
USUAL: Final = 0.9
"""Share of rows that must agree, and the share of one value beyond which agreement says nothing."""


def sample_of(table: Table) -> Table:
    """Return some rows of a table, taken evenly."""
    step = max(len(table) // MOST_ROWS, 1)
    return Table(table.frame.iloc[::step].iloc[:MOST_ROWS])


def ties_by_rank(part: Table, reports: Sequence[ColumnReport]) -> dict[str, float]:
    """Return by column its place among all by how many of the others it depends on, from -1/2 for the fewest to 1/2 for
    the most; {} for too few columns.

    part : the rows to look at. Numbers are compared by ranks, and categories by their most frequent levels.
    """
    columns = {r.name: cells for r in reports[:MOST_COLUMNS] if (cells := _standardized(part, r)) is not None}
    if len(columns) < 2:
        return {}
    ends = np.cumsum([cells.shape[1] for cells in columns.values()])
    joint = np.concatenate(list(columns.values()), axis=1)
    sizes = np.abs(joint.T @ joint) / len(joint)
    starts = np.r_[0, ends[:-1]]
    largest = np.maximum.reduceat(np.maximum.reduceat(sizes, starts, axis=0), starts, axis=1)
    ties = (largest * np.sqrt(len(joint)) > BEYOND_CHANCE).sum(axis=1)
    return dict(zip(columns, ((rankdata(ties) - (len(ties) + 1) / 2) / len(ties)).tolist(), strict=True))


def _standardized(part: Table, report: ColumnReport) -> Floats | None:
    """Return the ranks (n, 1) of a number, or the levels (n, k) of a category but one, each of mean 0 and variance 1;
    None where nothing varies."""
    series = part.frame[report.name]
    if report.kind == "number":
        values = read_numbers(series)
        known = np.isfinite(values)
        cells = np.zeros((len(values), 1))
        cells[known, 0] = rankdata(values[known]) - (known.sum() + 1) / 2
    else:
        codes, levels = read_texts(series)
        most = np.bincount(codes[codes >= 0], minlength=len(levels)).argsort()[::-1]
        cells = (codes[:, None] == most[None, 1:MOST_LEVELS]).astype(np.float64)
        cells -= cells.mean(axis=0)
    spread = cells.std(axis=0)
    cells = cells[:, spread > 0] / spread[spread > 0]
    return cells if cells.shape[1] else None


def said_together(part: Table, names: Sequence[str]) -> set[str]:
    """Return the columns of a table whose value is the same wherever another, of many rows per value, has one value;
    and these others.

    part : the rows to look at. names : of the columns.
    """
    coded = {name: pd.factorize(part.frame[name]) for name in names[:MOST_COLUMNS]}
    values = {name: len(levels) for name, (_, levels) in coded.items()}
    varied = [name for name, (codes, _) in coded.items() if values[name] > 1 and not _has_usual(codes)]
    cells = np.stack([coded[name][0] for name in varied], axis=1) if varied else np.empty((len(part.frame), 0))
    together: set[str] = set()
    for name in varied:
        if FEWEST_VALUES <= values[name] <= len(cells) / ROWS_EACH:
            same = _first_of_each(coded[name][0])
            agrees = (cells[same] == cells).mean(axis=0) >= NEARLY_ALL
            others = {other for other, so in zip(varied, agrees, strict=True)
                      if so and other != name and values[other] <= values[name]}  # fmt: skip
            together |= others
            if any(values[other] > ROWS_EACH for other in others):
                together.add(name)
    return together


def _has_usual(codes: Ints) -> bool:
    known = codes[codes >= 0]
    return bool(known.size == 0 or np.bincount(known).max() > USUAL * codes.size)


def _first_of_each(codes: Ints) -> Ints:
    """Return for each row (n,) the first row that has the same value."""
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    rows: Ints = first[place]
    return rows


def repeats_amounts(part: Table, name: str) -> bool:
    """Return whether a number with decimals has few values for its rows, as the price or the rate of a region has."""
    values = read_numbers(part.frame[name])
    values = values[np.isfinite(values)]
    distinct = np.unique(values).size
    return bool(distinct > FEWEST_AMOUNTS and (values % 1).any() and values.size > ROWS_TO_AN_AMOUNT * distinct)
