"""The column doctor: describes each column and what may go wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from pandas.api import types

from gamcore.data.columns import Kind, TableError, read_dates, read_numbers, read_texts
from gamcore.data.table import Table, as_table
from gamcore.numbers import count, percent
from shapewise.ingest.copies import copies

HISTOGRAM_BARS = 16
MANY_LEVELS = 1000
SAMPLE_ROWS = 20_000
MOST_TASK_LEVELS = 50
FEWEST_TASK_ROWS = 20
FEWEST_DECIDED = 2
MOSTLY = 0.5


@dataclass(frozen=True)
class ColumnReport:
    """Findings on one column; `role` is what the app suggests: feature, ignore, task or, by the user's choice,
    another."""

    name: str
    kind: Kind | None
    why: str
    missing: float
    distinct: int
    histogram: list[int]
    example: str
    role: str
    warnings: list[str]


def examine(of: pd.DataFrame | Table, rows: int | None = None) -> list[ColumnReport]:
    """Return a report per column.

    rows : rows of the whole table, if the frame is a sample of it."""
    table = as_table(of)
    reports = [_examine(table, name, rows or len(table)) for name in table.names]
    reports = _with_copies(table, reports, " of the sample" if rows and rows > len(table) else "")
    task = find_task(table.frame, [r.name for r in reports if r.kind == "category" and r.role == "feature"])
    task_words = "decides which other columns are filled: rows of one value are a task of their own"
    return [replace(r, role="task", warnings=[*r.warnings, task_words]) if r.name == task else r for r in reports]


def _with_copies(table: Table, reports: list[ColumnReport], sample: str) -> list[ColumnReport]:
    """Return the reports with what is said of copies; exact copies of a column before them are left out.

    The likely target is not, whatever it copies: what copies the target is found once that is chosen.
    """
    part = table if len(table) <= SAMPLE_ROWS else Table(table.frame.sample(SAMPLE_ROWS, random_state=0))
    names = [r.name for r in reports if r.kind is not None and r.role == "feature"]
    target, copied = likely_target(reports), copies(table, names, part)
    said = []
    for r in reports:
        copy = copied.get(r.name)
        if copy is None:
            said.append(r)
            continue
        out = copy.exact and target not in (r.name, copy.of)
        warnings = [*r.warnings, copy.words(sample)]
        said.append(replace(r, role="ignore" if out else r.role, warnings=warnings))
    return said


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


ID_NAMES: Final = re.compile(r"(?i:(?:.*[_ .-])?(?:id|uuid|guid|key|no|nr|number))|.*[a-z](?:Id|ID)")
"""Names of columns whose whole numbers, one per row, are IDs however far apart they are."""
LATER: Final = re.compile(
    r"(?:.*[_ .-])?(?:after|post|reason|cancel(?:l?ed|l?ation)?|closed|closing|ended|terminat\w+|refund\w*|returned|"
    r"resol\w+|complet\w+|duration)(?:[_ .-].*)?",
    re.IGNORECASE,
)
"""Names of columns that are often filled in only after the outcome."""

LATER_WORDS: Final = "by its name, it may be known only after the outcome: check when it is filled in"
CANNOT_KNOW: Final = (
    "The doctor sees values, not when they were filled in. Check that each feature was known before the outcome."
)

TARGETS: Final = re.compile(
    r"y|target|label|class|outcome|response|(?:.*_)?(?:churn|churned|defaulted|converted|renewed|purchased|fraud)",
    re.IGNORECASE,
)
"""Names that people give to what they want to predict."""


def likely_target(reports: list[ColumnReport]) -> str | None:
    """Return the column that is most likely the target, None where no column can be."""
    return next(iter(likely_targets(reports)), None)


def likely_targets(reports: list[ColumnReport]) -> list[str]:
    """Return the columns that may be the target, the likeliest first: by name, then the last, those with two values.

    Never an ID, a constant, a date or a column that cannot be used.
    """
    fit = [r for r in reports if r.kind not in (None, "date") and r.role != "ignore" and r.distinct > 1]
    named = [r for r in fit if TARGETS.fullmatch(r.name)]
    pairs = [r for r in fit if r.distinct == 2]
    last = fit[-1:] if fit and fit[-1] is reports[-1] else []
    return list(dict.fromkeys(r.name for group in (named[::-1], last, pairs[::-1], fit[::-1]) for r in group))


def _examine(table: Table, column: str, rows: int) -> ColumnReport:
    series = table.frame[column]
    missing = float(series.isna().mean())
    present = series.dropna()
    example = ", ".join(_shown(value) for value in present.iloc[:3])
    try:
        kind = table.kind(column)
        histogram = _histogram(series, kind)
    except TableError as error:
        return ColumnReport(
            name=str(series.name),
            kind=None,
            why="cannot be used",
            missing=missing,
            distinct=0,
            histogram=[],
            example=example,
            role="ignore",
            warnings=[str(error)],
        )
    distinct = int(present.nunique())
    example = ", ".join(_shown(value) for value in present.unique()[:3])
    warnings = []
    role, of = "feature", " of the sample" if rows > len(series) else ""
    if missing == 1.0:
        warnings.append(f"every cell{of} is missing")
        role = "ignore"
    elif distinct == 1:
        warnings.append(f"constant: every row{of} has the same value" if missing == 0 else f"one value{of}, or missing")
        role = "ignore" if missing == 0 else role
    elif missing > 0.5:
        warnings.append(f"mostly missing ({percent(missing, 0)})")
    if _looks_like_id(series, kind, distinct, rows / max(len(series), 1)):
        warnings.append(f"looks like an ID: almost every row{of} has a different value")
        role = "ignore"
    elif kind == "category" and distinct > MANY_LEVELS:
        warnings.append(f"{count(distinct)} levels{of}: all but the 253 most frequent are pooled")
    if LATER.fullmatch(column) and role == "feature":
        warnings.append(LATER_WORDS)
    if kind == "number" and np.nanmax(np.abs(read_numbers(series)), initial=0) > 2**53:
        warnings.append("numbers above 9 quadrillion lose their last digits")
    return ColumnReport(
        name=str(series.name),
        kind=kind,
        why=_why(series, kind),
        missing=missing,
        distinct=distinct,
        histogram=histogram,
        example=example,
        role=role,
        warnings=warnings,
    )


def _shown(value: object) -> str:
    return str(value).removesuffix(" 00:00:00")[:24]


def _why(series: pd.Series, kind: Kind) -> str:
    return {
        "number": f"stored as {'whole ' * types.is_integer_dtype(series.dtype)}numbers",
        "boolean": "two values, true and false",
        "date": "stored as dates",
        "category": "stored as text" if not isinstance(series.dtype, pd.CategoricalDtype) else "stored as categories",
    }[kind]


def _looks_like_id(series: pd.Series, kind: Kind, distinct: int, rows_a_row: float) -> bool:
    """Return whether a column is text with nearly as many values as rows, or as many whole numbers that count the rows
    or have the name of an ID.

    rows_a_row : rows of the table per row seen."""
    n = int(series.notna().sum())
    if n < 50 or distinct < 0.98 * n:
        return False
    if kind == "category":
        return True
    if kind != "number":
        return False
    numbers = np.sort(read_numbers(series.dropna()))
    counts_rows = np.ptp(numbers) < 1.5 * n * rows_a_row or ID_NAMES.fullmatch(str(series.name)) is not None
    return bool(np.all(numbers == np.floor(numbers)) and counts_rows)


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
