"""Read a Parquet table in batches of rows, and find the rows of its sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pandas.api import types

from gamcore.common.types import Ints
from gamcore.data.columns import hash_labels, read_dates, read_numbers
from gamcore.data.table import Table, as_table
from gamcore.distributed.pieces import WHOLE_NUMBERS
from shapewise import patience
from shapewise.memory import plain_pool

Hashes = NDArray[np.uint64]

BATCH_BYTES: Final = 2**24
FEWEST_ROWS, MOST_ROWS = 256, 65_536
"""Bounds of the rows in a batch: as many as fit into BATCH_BYTES, at the bytes per row of the sample."""

HEAD_ROWS: Final = 10_000
BUFFER_BYTES: Final = 2**17
"""Bytes of a column to read at a time; without it, whole columns of a row group would be read."""


def count_rows(path: Path) -> int:
    """Return the number of rows of a table, from the file's metadata."""
    with pq.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def beginning(path: Path) -> pd.DataFrame:
    """Return the first rows of a table with the types of the whole table, which later missing values may change."""
    with plain_pool(), pq.ParquetFile(path) as file:
        rows = [next(file.iter_batches(HEAD_ROWS))] if file.metadata.num_rows else []
        head: pd.DataFrame = pa.Table.from_batches(rows, file.schema_arrow).to_pandas()
        groups = [file.metadata.row_group(place) for place in range(file.num_row_groups)]
    parts = (group.column(place) for group in groups for place in range(group.num_columns))
    gaps = {part.path_in_schema for part in parts if part.statistics is None or part.statistics.null_count}
    broken = [name for name in head if name in gaps and isinstance(head[name].dtype, np.dtype)]
    return head.astype({name: np.float64 for name in broken if head[name].dtype.kind in "iu"})


def batches(path: Path, like: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Return a table's rows in order, in batches with the columns and types of `like`, some of its rows."""
    return (typed(batch, like) for batch in arrow_batches(path, like))


def arrow_batches(path: Path, like: pd.DataFrame) -> Iterator[pa.RecordBatch]:
    """Yield the same batches with the types of the file."""
    a_row = like.memory_usage(index=False, deep=True).sum() / len(like)
    size = max(FEWEST_ROWS, min(MOST_ROWS, int(BATCH_BYTES / a_row)))
    with plain_pool(), pq.ParquetFile(path, buffer_size=BUFFER_BYTES) as file:
        for group in range(file.num_row_groups):  # iterating all groups at once keeps each in memory
            for batch in file.iter_batches(size, [group], list(like.columns), use_threads=False):
                patience.look()
                yield batch


def plain(batch: pa.RecordBatch | pa.Table) -> pd.DataFrame:
    """Return a batch as a frame; integer columns stay integers even if values are missing."""
    return batch.to_pandas(types_mapper=WHOLE_NUMBERS.get, ignore_metadata=True)


def typed(batch: pa.RecordBatch | pa.Table, like: pd.DataFrame) -> pd.DataFrame:
    """Return a batch with the types of the columns of `like`.

    Otherwise types would vary by batch: integers become floats only if a value is missing, so 1 would be the level "1"
    in one batch and "1.0" in another.
    """
    frame = plain(batch)
    return pd.DataFrame({name: _as(frame[name], like[name].dtype) for name in like.columns}, copy=False)


def _as(series: pd.Series, dtype: Any) -> pd.Series:
    """Return a column with the given type; integers with missing values keep theirs if an integer type is wanted."""
    whole = isinstance(series.dtype, pd.api.extensions.ExtensionDtype) and types.is_integer_dtype(series.dtype)
    if not whole or not isinstance(dtype, np.dtype) or not types.is_numeric_dtype(dtype):
        return series
    return series if types.is_integer_dtype(dtype) and series.isna().any() else series.astype(dtype)


def fingerprints(frame: pd.DataFrame) -> Hashes:
    """Return a hash per row (n,), equal for rows with equal cells."""
    table, digests = as_table(frame), np.zeros(len(frame), np.uint64)
    for name in table.names:
        digests = digests * np.uint64(0x100000001B3) ^ _hashes(table, name)
    return digests


def _hashes(table: Table, name: str) -> Hashes:
    series, kind = table.frame[name], table.kind(name)
    if kind == "category":
        return hash_labels(series)
    values = read_dates(series) if kind == "date" else read_numbers(series)
    return np.asarray(pd.util.hash_array(np.where(np.isnan(values), np.nan, values)))


class Matching:
    """Finds the rows of a sample in its table, in the order of both.

    A sample does not record which rows were drawn. Each of its rows is matched to the next equal row of the table:
    rows that are equal in all columns of interest are interchangeable.
    """

    def __init__(self, sample: pd.DataFrame) -> None:
        self._wanted = fingerprints(sample)
        self._known = np.unique(self._wanted)
        self._found = 0

    def find(self, batch: pd.DataFrame) -> Ints:
        """Return the position in the sample (m,) of each row of the next batch; -1 for rows that are not in it."""
        seen = fingerprints(batch)
        place = np.full(seen.size, -1, np.int64)
        near = np.minimum(np.searchsorted(self._known, seen), self._known.size - 1)
        rows = np.flatnonzero(self._known[near] == seen)
        wanted: Sequence[int] = self._wanted[self._found : self._found + rows.size].tolist()
        matched = 0
        for row, mark in zip(rows.tolist(), seen[rows].tolist(), strict=True):
            if matched == len(wanted):
                break
            if mark == wanted[matched]:
                place[row] = self._found + matched
                matched += 1
        self._found += matched
        return place

    @property
    def complete(self) -> bool:
        """Whether all rows of the sample have been found."""
        return self._found == self._wanted.size
