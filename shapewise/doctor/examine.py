"""The column doctor: describes each column and what may go wrong with it, in findings that hold (`findings`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from pandas.api import types

from gamcore.common.types import Floats
from gamcore.data.columns import Kind, TableError, level_name, read_dates, read_numbers, read_texts
from gamcore.data.table import Table, as_table
from shapewise.doctor.codes_found import codes_in_numbers, codes_in_texts, open_ends
from shapewise.doctor.copies import copies
from shapewise.doctor.findings import DAYS_FORM, LARGEST_WHOLE, LATER_WORDS, Cure, Finding, FindingKind
from shapewise.doctor.name_words import (
    CALENDAR,
    is_code,
    is_id,
    is_id_of_several,
    numbers_rows,
    numbers_things,
    words_of,
)

HISTOGRAM_BARS = 16
MANY_LEVELS = 1000
SAMPLE_ROWS = 20_000
MOST_TASK_LEVELS = 50
FEWEST_TASK_ROWS = 20
FEWEST_DECIDED = 2
MOSTLY = 0.5

FEWEST_OF_ID: Final = 50
NEARLY_ALL: Final = 0.98
"""Rows that a column needs to be seen as an ID, and the least share of them that have a value of their own."""

FEWEST_NAMES: Final = 20
"""Rows from which texts that are nearly all different are names of them."""

MOSTLY_OWN: Final = 0.9
"""Least share of rows with a name of their own among their names: some are unnamed, and 1.1 and 1.10 are one number."""

TOGETHER: Final = 1.1
"""Most runs of rows with one number, per number, for these to be given to things: years at a school come in any order.
"""

FEW_OF_ONE: Final = 2.0
"""Rows per value below which texts are names of rows: nothing can be learnt from one."""

FEWEST_GROUPS: Final = 20
MOST_OF_GROUP: Final = 200
"""Least values of an ID of several rows each, and most rows to one of them: with more, its values are levels."""

FEWEST_OF_GROUP: Final = 1.02
MOST_IN_ONE: Final = 0.5
"""Largest share of all rows in one group: where one value has more, the others are what is rare."""

FEWEST_CODES: Final = 3
YEARS: Final = (1800, 2200)
FEWEST_DAYS: Final = 3


@dataclass(frozen=True)
class ColumnReport:
    """Findings on one column; `role` is what the doctor suggests: feature, id, group, task or leave out."""

    name: str
    kind: Kind | None
    why: str
    missing: float
    distinct: int
    histogram: list[int]
    example: str
    role: str
    findings: tuple[Finding, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """What is said of the column."""
        return [finding.words() for finding in self.findings]

    def has(self, kind: FindingKind) -> bool:
        """Return whether a kind of finding is among those of the column."""
        return any(finding.kind == kind for finding in self.findings)

    @property
    def as_levels(self) -> bool:
        """Whether its numbers are levels: codes, or yes and no."""
        return self.has("levels") or self.has("yes or no")


MOST_CELLS: Final = 20_000_000
"""Beyond them, a sample of the rows is looked at: these take three to six seconds."""

FEWEST_ROWS: Final = 2_000

ROLES_OF_CURES: Final[dict[Cure, str]] = {"leave out": "leave out", "group": "group"}


def examine(data: pd.DataFrame | Table, rows: int | None = None) -> list[ColumnReport]:
    """Return a report per column; of a large table, on a random sample of its rows.

    rows : rows of the whole table, if the frame is a sample of it."""
    table = as_table(data)
    rows, most = rows or len(table), max(FEWEST_ROWS, MOST_CELLS // max(len(table.names), 1))
    if len(table) > most:
        chosen = np.isin(np.arange(len(table)), np.random.default_rng(0).choice(len(table), most, replace=False))
        for name in table.names:
            table.usable_kind(name)  # of all its cells
        table = table.take(chosen)
    reports = [_examine(table, name, rows) for name in table.names]
    reports = _with_copies(table, reports)
    if rows > len(table):
        reports = [replace(r, findings=tuple(replace(f, sampled=True) for f in r.findings)) for r in reports]
    task = find_task(table.frame, [r.name for r in reports if r.kind == "category" and r.role == "feature"])
    text = "decides which other columns are filled: rows of one value are a task of their own"
    return [replace(r, role="task", findings=(*r.findings, Finding("task", r.name, said=text))) if r.name == task else r
            for r in reports]  # fmt: skip


def _with_copies(table: Table, reports: list[ColumnReport]) -> list[ColumnReport]:
    """Return the reports with what is said of copies; those that add nothing to the other column are left out."""
    part = table if len(table) <= SAMPLE_ROWS else Table(table.frame.sample(SAMPLE_ROWS, random_state=0))
    names = [r.name for r in reports if r.kind is not None and r.role == "feature"]
    copied = copies(table, names, part)
    return [replace(r, role="leave out" if copy.cure else r.role, findings=(*r.findings, copy))
            if (copy := copied.get(r.name)) else r for r in reports]  # fmt: skip


def find_task(frame: pd.DataFrame, candidates: list[str]) -> str | None:
    """Return the column that tells tasks apart: several others are empty for some of its levels.

    Those columns must be mostly filled for other levels. None if no column does so, or none beats all others."""
    part = frame.sample(min(len(frame), SAMPLE_ROWS), random_state=0)
    filled = part.notna()
    partly = [name for name in frame.columns if 0 < filled[name].mean() < 1]
    counts = {}
    for name in candidates:
        levels = part[name].dropna().astype(object)  # a categorical type may list levels without rows
        rows = levels.value_counts()
        if not 2 <= rows.size <= MOST_TASK_LEVELS or rows.iloc[-1] < FEWEST_TASK_ROWS:
            continue
        shares = filled.loc[levels.index, [other for other in partly if other != name]].groupby(levels).mean()
        counts[name] = int(((shares.min() == 0) & (shares.max() > MOSTLY)).sum())
    best = max(counts.values(), default=0)
    best_names = [name for name, count in counts.items() if count == best]
    return best_names[0] if best >= FEWEST_DECIDED and len(best_names) == 1 else None


LATER: Final = re.compile(
    r"(?:.*[_ .-])?(?:after|post|reason|cancel(?:l?ed|l?ation)?|closed|closing|ended|terminat\w+|refund\w*|returned|"
    r"resol\w+|complet\w+|duration)(?:[_ .-].*)?",
    re.IGNORECASE,
)
"""Names of columns that are often filled in only after the outcome."""

CANNOT_KNOW: Final = (
    "The doctor sees values, not when they were filled in. Check that each feature was known before the outcome."
)


def _examine(table: Table, column: str, rows: int) -> ColumnReport:
    series = table.frame[column]
    missing = float(series.isna().mean()) if len(series) else 0.0
    present = series.dropna()
    example = ", ".join(_shown(value) for value in present.iloc[:3])
    try:
        kind = table.kind(column)
        histogram = _histogram(series, kind)
        values = present.unique()
    except (TableError, TypeError) as error:  # cells that cannot be compared, such as lists
        why = str(error) if isinstance(error, TableError) else "its cells are not single values: flatten or drop it"
        return ColumnReport(
            name=str(series.name), kind=None, why="cannot be used", missing=missing, distinct=0, histogram=[],
            example=example, role="leave out", findings=(Finding("unusable", column, said=why),),
        )  # fmt: skip
    distinct = len(values)
    findings = tuple(_findings(series, kind, distinct, rows))
    roles = [ROLES_OF_CURES[f.cure] for f in findings if f.cure in ROLES_OF_CURES and not _is_partly(f)]
    role = "id" if any(f.kind == "id" for f in findings) else next(iter(roles), "feature")
    example = ", ".join(_shown(value) for value in values[:3])
    return ColumnReport(
        name=str(series.name), kind=kind, why=_why(series, kind), missing=missing, distinct=distinct,
        histogram=histogram, example=example, role=role, findings=findings,
    )  # fmt: skip


def _is_partly(finding: Finding) -> bool:
    """Return whether a constant has gaps, which may tell something."""
    return finding.kind == "constant" and finding.rows < finding.n


def _findings(series: pd.Series, kind: Kind, distinct: int, rows: int) -> Iterator[Finding]:
    """Yield what is said of a column alone. rows : of the whole table."""
    column, n = str(series.name), len(series)
    filled = int(series.notna().sum())
    if not filled:
        yield Finding("empty", column, n=n)
        return
    if distinct == 1:
        yield Finding("constant", column, rows=filled, n=n)
    elif 2 * filled < n:
        yield Finding("sparse", column, rows=filled, n=n)
    numbers = read_numbers(series) if kind == "number" else None
    named = _named(series, kind, numbers, distinct, rows / n)
    if named:
        yield Finding(named, column, n=filled, distinct=distinct)
    elif kind == "category" and distinct > MANY_LEVELS:
        yield Finding("pooled", column, distinct=distinct)
    if numbers is not None and np.nanmax(np.abs(numbers)) > LARGEST_WHOLE:
        yield Finding("large", column)
    if named in ("id", "group"):
        return
    if numbers is not None:
        special = _of_numbers(column, numbers, distinct)
        yield from special
        if not special and named is None:
            yield from codes_in_numbers(series)
    elif kind == "category":
        yield from codes_in_texts(series)
    elif kind == "date":
        yield from open_ends(series)
    if LATER.fullmatch(column) and distinct > 1:
        yield Finding("later", column, said=LATER_WORDS)


def _of_numbers(column: str, numbers: Floats, distinct: int) -> list[Finding]:
    """Return that numbers are yes or no, or days, where they are."""
    values = np.unique(numbers[np.isfinite(numbers)])
    if distinct == 2 and values.tolist() == [0.0, 1.0]:
        return [Finding("yes or no", column)]
    if distinct >= FEWEST_DAYS and _are_days(values):
        return [Finding("days", column, values=(level_name(float(values[0])),))]
    return []


def _are_days(values: Floats) -> bool:
    """Return whether distinct numbers are all days, such as 20240131."""
    years = values // 10_000
    if (values % 1).any() or years.min() < YEARS[0] or years.max() > YEARS[1]:
        return False
    days = pd.to_datetime(pd.Series(values.astype(np.int64).astype(str)), format=DAYS_FORM, errors="coerce")
    return bool(days.notna().all())


def _shown(value: object) -> str:
    return str(value).removesuffix(" 00:00:00")[:24]


def _why(series: pd.Series, kind: Kind) -> str:
    return {
        "number": f"stored as {'whole ' * types.is_integer_dtype(series.dtype)}numbers",
        "boolean": "two values, true and false",
        "date": "stored as dates",
        "category": "stored as text" if not isinstance(series.dtype, pd.CategoricalDtype) else "stored as categories",
    }[kind]


def _named(
    series: pd.Series, kind: Kind, numbers: Floats | None, distinct: int, rows_a_row: float
) -> FindingKind | None:
    """Return whether the values of a column are names: IDs of rows, of something with several rows, or codes.

    numbers : its cells, if it is a number. rows_a_row : rows of the table per row seen.
    """
    n, column = int(series.notna().sum()), str(series.name)
    known = None if numbers is None else numbers[np.isfinite(numbers)]
    if numbers_rows(column) and distinct >= MOSTLY_OWN * n:
        return "id"  # also where they are no whole numbers, as 1978.1, and where there are few
    if kind not in ("category", "number") or (known is not None and (known % 1).any()):
        return None
    if known is not None and words_of(column) & CALENDAR and YEARS[0] <= known.min() and known.max() <= YEARS[1]:
        return None  # a row per year is a series, and a year is no name
    if known is None and n >= FEWEST_NAMES and distinct >= MOSTLY_OWN * n:
        return "id"
    if n >= FEWEST_OF_ID and known is None and n < FEW_OF_ONE * distinct:
        return "group" if is_id_of_several(column) else "id"
    if n >= FEWEST_OF_ID and known is not None and distinct >= NEARLY_ALL * n:
        return "id" if np.ptp(known) < 1.5 * n * rows_a_row or is_id(column) else None
    each = n / max(distinct, 1)
    several = is_id_of_several(column) or (known is not None and numbers_things(column) and _stand_together(known))
    if several and distinct >= FEWEST_GROUPS and FEWEST_OF_GROUP <= each <= MOST_OF_GROUP:
        largest = int(series.value_counts().iloc[0])  # a porch of 0 feet in nearly all rows is no group of rows
        return "group" if largest <= MOST_IN_ONE * n else None
    coded = known is not None and distinct >= FEWEST_CODES and is_code(column)
    return "levels" if coded else None


def _stand_together(values: Floats) -> bool:
    """Return whether the rows of each number stand together, as those of a thing with a number do."""
    return 1 + int(np.count_nonzero(np.diff(values))) <= TOGETHER * np.unique(values).size


def _histogram(series: pd.Series, kind: Kind) -> list[int]:
    """Return the row counts of 16 equal parts of the range, or of the 16 most frequent levels."""
    if kind in ("number", "date"):
        values = read_numbers(series) if kind == "number" else read_dates(series)
        values = values[np.isfinite(values)]
        if values.size == 0:
            return []
        low, high = np.quantile(values, [0.005, 0.995])
        width = (high - low) / HISTOGRAM_BARS or 1.0
        if np.all(values == np.floor(values)):  # a whole number of values per bar, else some bars would look empty
            width = np.ceil(width)
            low -= 0.5
        bars = int(min(HISTOGRAM_BARS, np.ceil((high - low) / width + 1e-9))) or 1
        edges = low + width * np.arange(bars + 1)
        return [int(count) for count in np.histogram(values, edges)[0]]
    codes, _ = read_texts(series)
    counts = np.sort(np.bincount(codes[codes >= 0]))[::-1]
    return [int(count) for count in counts[:HISTOGRAM_BARS]]
