"""The column doctor: what each column is, and what may go wrong with it, in words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from pandas.api import types
from sklearn.metrics import roc_auc_score

from gamcore.data.table import Kind, TableError, kind_of, read_dates, read_numbers, read_texts

HISTOGRAM_BARS = 16
MANY_LEVELS = 1000
SAMPLE_ROWS = 20_000
MOST_TASK_LEVELS = 50
FEWEST_TASK_ROWS = 20
FEWEST_DECIDED = 2
MOSTLY = 0.5
LEAK_AUC = 0.999
LEAK_CORRELATION = 0.999


@dataclass(frozen=True)
class ColumnReport:
    """One column; `role` is what the app suggests: feature, ignore, task or, by the user's choice, another."""

    name: str
    kind: Kind | None
    why: str
    missing: float
    distinct: int
    histogram: list[int]
    example: str
    role: str
    warnings: list[str]


def examine(frame: pd.DataFrame, rows: int | None = None) -> list[ColumnReport]:
    """Return a report a column. rows : of the table, where the frame is a sample of it."""
    reports = [_examine(frame[name], rows or len(frame)) for name in frame.columns]
    task = find_task(frame, [r.name for r in reports if r.kind == "category" and r.role == "feature"])
    task_words = "decides which other columns are filled: rows of one value are a task of their own"
    return [replace(r, role="task", warnings=[*r.warnings, task_words]) if r.name == task else r for r in reports]


def find_task(frame: pd.DataFrame, candidates: list[str]) -> str | None:
    """Return the column that tells tasks apart: for each of several others, some of its levels have no cell filled, and
    some have most. None where no column does, or none better than all others."""
    part = frame.sample(min(len(frame), SAMPLE_ROWS), random_state=0)
    filled = part.notna()
    partly = [name for name in frame.columns if 0 < filled[name].mean() < 1]
    counts = {}
    for name in candidates:
        levels = part[name].dropna()
        if not 2 <= levels.nunique() <= MOST_TASK_LEVELS or levels.value_counts().iloc[-1] < FEWEST_TASK_ROWS:
            continue
        shares = filled.loc[levels.index, [other for other in partly if other != name]].groupby(levels).mean()
        counts[name] = int(((shares.min() == 0) & (shares.max() > MOSTLY)).sum())
    best = max(counts.values(), default=0)
    best_names = [name for name, count in counts.items() if count == best]
    return best_names[0] if best >= FEWEST_DECIDED and len(best_names) == 1 else None


def _examine(series: pd.Series, rows: int) -> ColumnReport:
    missing = float(series.isna().mean())
    present = series.dropna()
    example = ", ".join(_shown(value) for value in present.iloc[:3])
    try:
        kind = kind_of(series)
        if kind == "number":
            numbers = read_numbers(series)
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
        warnings.append(f"constant: the same value in every row{of}" if missing == 0 else f"one value{of}, or missing")
        role = "ignore" if missing == 0 else role
    elif missing > 0.5:
        warnings.append(f"mostly missing ({missing:.0%})")
    if _looks_like_id(series, kind, distinct, rows / max(len(series), 1)):
        warnings.append(f"looks like an ID: nearly every row{of} has its own value")
        role = "ignore"
    elif kind == "category" and distinct > MANY_LEVELS:
        warnings.append(f"{distinct:,} levels{of}: all but the 253 most frequent are pooled")
    if kind == "number" and np.nanmax(np.abs(numbers), initial=0) > 2**53:
        warnings.append("numbers beyond 2^53 lose digits")
    return ColumnReport(
        name=str(series.name),
        kind=kind,
        why=_why(series, kind),
        missing=missing,
        distinct=distinct,
        histogram=_histogram(series, kind),
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
    """Return the text with nearly as many values as rows, or whole numbers that count the rows, of which a row stands
    for some."""
    n = int(series.notna().sum())
    if n < 50 or distinct < 0.98 * n:
        return False
    if kind == "category":
        return True
    if kind != "number":
        return False
    numbers = np.sort(read_numbers(series.dropna()))
    return bool(np.all(numbers == np.floor(numbers)) and np.ptp(numbers) < 1.5 * n * rows_a_row)


def _histogram(series: pd.Series, kind: Kind) -> list[int]:
    """Return the rows in each of 16 parts of the range, or of the 16 most frequent levels."""
    if kind in ("number", "date"):
        values = read_numbers(series) if kind == "number" else read_dates(series)
        values = values[np.isfinite(values)]
        if values.size == 0:
            return []
        low, high = np.quantile(values, [0.005, 0.995])
        width = (high - low) / HISTOGRAM_BARS or 1.0
        if np.all(values == np.floor(values)):  # a whole number of values per bar, else some bars look empty
            width = np.ceil(width)
            low -= 0.5
        bars = int(min(HISTOGRAM_BARS, np.ceil((high - low) / width + 1e-9))) or 1
        edges = low + width * np.arange(bars + 1)
        return [int(count) for count in np.histogram(values, edges)[0]]
    codes, _ = read_texts(series)
    counts = np.sort(np.bincount(codes[codes >= 0]))[::-1]
    return [int(count) for count in counts[:HISTOGRAM_BARS]]


def leaks(frame: pd.DataFrame, target: str, positive: list[str] | None, features: list[str]) -> dict[str, str]:
    """Return the features that alone give the target away, with the reason; looked for in at most 20,000 rows."""
    part = frame.sample(min(len(frame), SAMPLE_ROWS), random_state=0)
    goal = part[target]
    if positive is not None:
        y = goal.astype("string").isin(positive).fillna(False).to_numpy(np.float64)
        y[goal.isna().to_numpy()] = np.nan
    else:
        y = read_numbers(goal)
    reasons = {}
    for name in features:
        reason = _leak(part[name], y, positive is not None) if name != target else None
        if reason:
            reasons[name] = reason
    return reasons


def _leak(series: pd.Series, y: np.ndarray[tuple[int], np.dtype[np.float64]], binary: bool) -> str | None:
    """Return why a column may be the target in disguise."""
    try:
        kind = kind_of(series)
    except TableError:
        return None
    known = np.isfinite(y)
    if kind in ("number", "date"):
        x = read_numbers(series) if kind == "number" else read_dates(series)
    else:
        codes, names = read_texts(series)
        if len(names) > 50 or not binary:
            return None
        sums = np.bincount(codes[known] + 1, y[known], minlength=len(names) + 1)
        x = (sums / np.maximum(np.bincount(codes[known] + 1, minlength=len(names) + 1), 1))[codes + 1]
    known &= np.isfinite(x)
    if known.sum() < 50 or np.ptp(y[known]) == 0 or np.ptp(x[known]) == 0:
        return None
    if binary:
        auc = roc_auc_score(y[known], x[known])
        return (
            f"gives the target away on its own (AUC {max(auc, 1 - auc):.3f})" if max(auc, 1 - auc) > LEAK_AUC else None
        )
    strength = abs(float(np.corrcoef(x[known], y[known])[0, 1]))
    return f"gives the target away on its own (correlation {strength:.4f})" if strength > LEAK_CORRELATION else None
