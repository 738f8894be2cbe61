"""The tables of the comparison: the eight public ones, and twenty that were drawn from those that R packages ship."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.wild.tables import Stranger, sample, strangers
from benchmarks.wild.tables import read as read_stranger
from tests.support.real_tables import BINARY, REGRESSION, RealTable
from tests.support.real_tables import read as read_public

PUBLIC: Final = (*REGRESSION, *BINARY)
LABELS: Final = Path(__file__).parents[1] / "wild" / "labels.csv"
PARTS: Final = ("developed", "held out")
"""Of the labelled tables; the others are kept for judging guesses about tables."""

ROWS: Final = (1_000, 20_000)
FEATURES: Final = (5, 60)
FEWEST_VALUES: Final = 20
"""More distinct numbers than this make a regression; two values a two-class table."""

GIVEN_AWAY: Final = 0.99
"""Rank correlation of a feature with the target above which a table is left out: the feature is the target."""

MOST_LEVELS: Final = 0.5
"""Distinct texts per row above which a column is a name."""

N_DRAWN: Final = 20
SEED: Final = 53


@cache
def drawn() -> dict[str, RealTable]:
    """Return the twenty tables by name: the first of a random order that fit the rule of `as_table`, no item twice."""
    labels = pd.read_csv(LABELS, dtype=str, keep_default_na=False)
    labels = labels[labels["part"].isin(PARTS) & (labels["target"] != "") & (labels["group"] == "")].set_index("table")
    fit = [table for table in strangers(ROWS) if table.name in labels.index]
    tables: dict[str, RealTable] = {}
    items: set[str] = set()
    for stranger in sample(fit, len(fit), SEED):
        table = None if stranger.item.lower() in items else as_table(stranger, labels.loc[stranger.name])
        if table is not None:
            items.add(stranger.item.lower())
            tables[table.name] = table
        if len(tables) == N_DRAWN:
            break
    return tables


def as_table(stranger: Stranger, label: Any) -> RealTable | None:
    """Return a table with the first of the labelled targets; None where it does not fit.

    Other targets and what the label calls an identifier are left out, with columns of names and constant ones, and
    rows without a target. A table fits with 1,000 to 20,000 rows, 5 to 60 features, a target that has two values or is
    a number with more than 20, and no feature whose ranks are those of the target.
    """
    frame = read_stranger(stranger)
    target, *others = [name for name in label["target"].split("|") if name in frame] or [""]
    if not target:
        return None
    frame = frame[frame[target].notna()].reset_index(drop=True)
    y = frame[target]
    ids = label["id"].split("|") if label["id"] else []
    X = _plain(frame.drop(columns=[target, "rownames", *others, *ids], errors="ignore"))
    binary = y.nunique() == 2
    is_number = pd.api.types.is_numeric_dtype(y) and y.nunique() > FEWEST_VALUES
    if not (binary or is_number) or not ROWS[0] <= len(y) <= ROWS[1] or not FEATURES[0] <= X.shape[1] <= FEATURES[1]:
        return None
    y = (y == sorted(y.unique(), key=str)[1]).astype(int) if binary else y.astype(float)
    numbers = X.select_dtypes("number")
    if bool((numbers.corrwith(y, method="spearman").abs() > GIVEN_AWAY).any()):
        return None
    return RealTable(stranger.name.replace("/", "-"), X, y, binary)


def _plain(X: pd.DataFrame) -> pd.DataFrame:
    """Return columns as numbers (truth values as 0 and 1, dates as days) and texts, with names that any library takes;
    without constant columns and names."""
    columns = {}
    for k, name in enumerate(X.columns):
        column = X.iloc[:, k]
        if pd.api.types.is_datetime64_any_dtype(column.dtype):
            column = (column - pd.Timestamp(0, tz=column.dt.tz)) / pd.Timedelta(days=1)
        is_text = not pd.api.types.is_numeric_dtype(column.dtype)
        column = column.astype(object).where(column.notna(), None) if is_text else column.astype(float)
        n_values = column.nunique()
        if n_values > 1 and not (is_text and n_values > MOST_LEVELS * len(column)):
            columns[re.sub(r"\W", "_", str(name))] = column
    return pd.DataFrame(columns)


def names() -> list[str]:
    """Return the names of all tables."""
    return [*PUBLIC, *drawn()]


def read(data: Path, name: str) -> RealTable:
    """Return a table by name; `data` is the folder of the public ones."""
    return read_public(data, name) if name in PUBLIC else drawn()[name]


def by_size(data: Path, tables: list[str]) -> list[str]:
    """Return tables from few cells to many."""
    return sorted(tables, key=lambda name: read(data, name).X.size)


def some_rows(X: pd.DataFrame, y: np.ndarray[Any, Any], most: int, seed: int) -> tuple[pd.DataFrame, Any]:
    """Return at most so many of the rows, drawn at random."""
    if len(y) <= most:
        return X, y
    chosen = np.sort(np.random.default_rng(seed).choice(len(y), most, replace=False))
    return X.iloc[chosen].reset_index(drop=True), y[chosen]
