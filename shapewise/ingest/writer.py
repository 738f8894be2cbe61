"""Tables larger than memory, written batch by batch as one Parquet file, with a sample of their rows beside it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from gamcore.common.mixing import GOLDEN, mixed
from gamcore.common.numbers import count, counted

Tell = Callable[[float, str], None]

GROUP_ROWS: Final = 2**17
GROUP_BYTES: Final = 2**24
"""Limits of a row group, whichever is reached first: wide tables and long texts have shorter groups."""

SAMPLE_ROWS: Final = 500_000
SAMPLE_SHARE: Final = 4
SEED: Final = np.uint64(0x5EED)


@dataclass(frozen=True)
class Typed:
    """The rows of a file in their types, and the bytes that they take as a DataFrame; share : of all work, so far."""

    batches: Iterator[pa.Table]
    schema: pa.Schema
    rows: int
    memory: int
    share: float

    @classmethod
    def whole(cls, table: pa.Table) -> Self:
        """Return the rows of a table in memory."""
        batches = (table.slice(start, GROUP_ROWS) for start in range(0, table.num_rows, GROUP_ROWS))
        return cls(batches, table.schema, table.num_rows, frame_bytes(table), share=0.8)

    def frame(self) -> pd.DataFrame:
        """Return the rows as a DataFrame; booleans may be missing."""
        table = pa.Table.from_batches([part for batch in self.batches for part in batch.to_batches()], self.schema)
        return table.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)


@dataclass(frozen=True)
class Written:
    """What was written: rows, columns, bytes as a DataFrame (estimated if it is big), and rows of the sample, 0 if it
    is small enough to have none."""

    rows: int
    columns: int
    memory: int
    sampled: int


def sample_size(rows: int, memory: int, limit: int) -> int:
    """Return the sample rows for a table of `memory` bytes: at most 500,000, and at most a quarter of a table's
    limit."""
    return min(rows, SAMPLE_ROWS, int(limit / SAMPLE_SHARE * rows / max(memory, 1)))


def hashes(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return an evenly spread 64-bit hash per row number (n,), whatever the batches."""
    return mixed((rows.astype(np.uint64) + SEED) * GOLDEN)


def threshold(size: int, rows: int) -> int:
    """Return the threshold below which a row's hash puts it into the sample.

    That selects about `size` rows, and more than `size` once in millions."""
    if size >= rows:
        return 2**64
    return int(2**64 * max(size - 5 * size**0.5, size / 2) / rows)


def sampled_rows(start: int, stop: int, below: int) -> npt.NDArray[np.int64]:
    """Return which of the rows from `start` to `stop` are sampled, as offsets from `start`."""
    if below >= 2**64:
        return np.arange(stop - start)
    return np.flatnonzero(hashes(np.arange(start, stop)) < np.uint64(below))


class Groups:
    """A Parquet file written in row groups of even size from batches of any size.

    told : the file's metadata; by default, the types with which pandas reads it."""

    def __init__(self, path: Path, schema: pa.Schema, metadata: dict[bytes, bytes] | None = None) -> None:
        known = _pandas(schema) if metadata is None else metadata
        self._writer = pa.parquet.ParquetWriter(path, schema.with_metadata(known), compression="zstd")
        self._waiting: list[pa.Table] = []
        self._rows = self._bytes = 0
        self.rows = self.memory = 0

    def add(self, table: pa.Table) -> None:
        """Add rows; write each full group."""
        self._waiting.append(table)
        self._rows += table.num_rows
        self._bytes += table.nbytes
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        group = pa.concat_tables(self._waiting)
        self.memory += frame_bytes(group)
        self.rows += group.num_rows
        self._writer.write_table(group, row_group_size=max(group.num_rows, 1))
        self._waiting, self._rows, self._bytes = [], 0, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write the remaining rows and the footer, also for a file without rows; after an error, only close it."""
        if kind is None:
            if self._waiting:
                self._flush()
            self._writer.close()
        else:
            with contextlib.suppress(OSError, pa.ArrowException):
                self._writer.close()


def _pandas(schema: pa.Schema) -> dict[bytes, bytes]:
    """Return the metadata that tells pandas that booleans may be missing; it would read them as objects."""
    frame = schema.empty_table().to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
    return dict(pa.Schema.from_pandas(frame, preserve_index=False).metadata)


def frame_bytes(table: pa.Table) -> int:
    """Return the bytes of a table as a DataFrame: text with 8-byte offsets, nullable numbers as float64."""
    size = 0
    for column in table.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            size += int(pa.compute.sum(pa.compute.binary_length(column)).as_py() or 0) + 8 * len(column)
        else:
            width = 8 if column.null_count else max(column.type.bit_width // 8, 1)
            size += width * len(column)
    return size


def write(typed: Typed, limit: int, into: Path, tell: Tell) -> Written:
    """Write table.parquet into a folder; also sample.parquet if the rows exceed `limit` bytes as a DataFrame."""
    rows = typed.rows
    sample = sample_size(rows, typed.memory, limit) if typed.memory > limit else 0
    below, seen = threshold(sample, rows), 0
    with contextlib.ExitStack() as files:
        table = files.enter_context(Groups(into / "table.parquet", typed.schema))
        some = files.enter_context(Groups(into / "sample.parquet", typed.schema)) if sample else None
        for batch in typed.batches:
            table.add(batch)
            if some is not None:
                places = sampled_rows(seen, seen + batch.num_rows, below)[: sample - some.rows]
                if len(places):
                    some.add(batch.take(pa.array(places)))
            seen += batch.num_rows
            tell(typed.share + (1 - typed.share) * seen / max(rows, 1), f"{count(seen)} of {counted(rows, 'row')}")
    return Written(table.rows, len(typed.schema), table.memory, some.rows if some is not None else 0)
