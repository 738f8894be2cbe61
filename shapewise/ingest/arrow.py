"""Parquet and Arrow files: size limits before and during unpacking, and validation before use."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.ipc
import pyarrow.parquet

from gamcore.numbers import count
from shapewise.errors import FULL_DISK, StoreError
from shapewise.ingest.arrow_types import Changed, not_text, plain_columns, plain_table
from shapewise.ingest.common import MAX_FIELD, MAX_UNPACKED, ReaderError, in_words
from shapewise.ingest.writer import Tell

MAX_TABLE: Final = 4 * 2**30
MAX_CELLS: Final = 500_000_000
MAX_RATIO: Final = 300
"""The most a file above 1 GiB unpacked may expand, as a multiple of its size: sorted categories reach about 100."""

BATCH_ROWS: Final = 4096
LOOK_ROWS: Final = 512


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turn errors of the Arrow library into one sentence about a file of this kind."""
    try:
        yield
    except (ReaderError, StoreError):
        raise
    except OSError as error:
        if error.errno in FULL_DISK:  # not the file's fault
            raise
        raise ReaderError(f"The file is not a readable {what} file ({in_words(error)}): write it again.") from error
    except (pa.ArrowException, ValueError, TypeError, OverflowError, KeyError, NotImplementedError) as error:
        raise ReaderError(f"The file is not a readable {what} file ({in_words(error)}): write it again.") from error


def read_arrow(data: bytes, suffix: str, notes: list[str], tell: Tell) -> pd.DataFrame:
    """Read a Parquet, Feather or Arrow file. tell : is told the progress."""
    with refusing(suffix[1:]):
        if suffix == ".parquet":
            file = open_parquet(io.BytesIO(data))
            # The footer's byte counts can be made up or run-length encoded; rows times columns cannot lie.
            _check_cells(file.metadata.num_rows * max(file.metadata.num_columns, 1))
            check_ratio(memory_of(file), len(data))
            table = _gather(file.iter_batches(BATCH_ROWS), file.schema_arrow, tell, file.metadata.num_rows)
        else:
            _check_ratio_of_arrow(data)
            stream = pa.ipc.open_file(io.BytesIO(data))
            batches = (stream.get_batch(k) for k in range(stream.num_record_batches))
            table = _gather(batches, stream.schema, tell)
        table.validate(full=True)  # validates offsets and text, so that no later code has to
        changed = Changed()
        plain = plain_table(table, plain_columns(table.schema, notes, not_text(table)), changed)
        frame = plain.to_pandas(ignore_metadata=True)
    for column in plain.schema:
        if column.type == pa.bool_() and frame[column.name].dtype == object:
            frame[column.name] = frame[column.name].astype("boolean")
    changed.tell(notes)
    return frame


def open_parquet(source: Path | io.BytesIO, **options: object) -> pa.parquet.ParquetFile:
    """Open a Parquet file so that a batch takes only a batch's memory, whatever the size of the row groups."""
    with source.open("rb") if isinstance(source, Path) else io.BytesIO(source.getbuffer()[:4]) as file:
        if file.read(4) == b"PARE":
            raise ReaderError("The Parquet file is encrypted: write it without encryption and load it again.")
    # Times of old writers (int96) reach years that nanoseconds do not; text keeps its categories until it is asked.
    return pa.parquet.ParquetFile(
        source, coerce_int96_timestamp_unit="us", pre_buffer=False, buffer_size=2**18, **options
    )


def memory_of(file: pa.parquet.ParquetFile) -> int:
    """Return the bytes of the whole table, estimated from a few rows of its first, middle and last row groups.

    The footer cannot be believed about bytes, and the rows of a small file may all be one long text.
    """
    rows = file.metadata.num_rows
    if rows == 0 or file.metadata.num_row_groups == 0:
        return 0
    last = file.metadata.num_row_groups - 1
    sizes = []
    for group in sorted({0, last // 2, last}):
        batch = next(file.iter_batches(LOOK_ROWS, row_groups=[group]), None)
        if batch is not None and batch.num_rows:
            sizes.append(sum(_expanded(column) for column in batch.columns) / batch.num_rows)
    return int(rows * max(sizes, default=0.0))


def _expanded(column: pa.Array) -> int:
    """Return the bytes of a column with its categories written out as values."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary)
    _check_field(pc.max(lengths).as_py() or 0)
    return int(pc.sum(pc.take(lengths, column.indices)).as_py() or 0) + 8 * len(column)


def _check_field(longest: int) -> None:
    if longest > 4 * MAX_FIELD:  # bytes; of one to four a character
        raise ReaderError(
            f"A cell has {count(longest)} bytes, more than {count(MAX_FIELD)} characters: shorten its column."
        )


def check_ratio(memory: int, size: int) -> None:
    """Refuse a file of `size` bytes whose table would take many times as much memory."""
    if memory > max(MAX_UNPACKED, MAX_RATIO * size):
        raise ReaderError(
            f"The file unpacks to about {count(memory >> 20)} MiB, more than {MAX_RATIO} times its size: "
            "keep fewer rows or columns."
        )


def _check_ratio_of_arrow(data: bytes) -> None:
    """Check the ratio like `check_ratio`, from the row counts, which are stored uncompressed."""
    with pa.BufferReader(data) as file:
        fragment = pa.dataset.IpcFileFormat().make_fragment(file)
        schema = fragment.physical_schema
        if twice := [name for name, times in Counter(schema.names).items() if times > 1]:
            raise ReaderError(f"The file has several columns named {twice[0]!r}: give each a name of its own.")
        rows = fragment.count_rows()
    widths = (1 if pa.types.is_boolean(kind) else getattr(kind, "bit_width", 32) // 8 for kind in map(_fixed, schema))
    check_ratio(rows * sum(widths), len(data))


def _fixed(column: pa.Field) -> pa.DataType:
    """Return the fixed-width type of a part of a column: offsets of text and lists, indices of categories."""
    kind = column.type
    return kind if pa.types.is_primitive(kind) else pa.int32()


def _check_cells(cells: int) -> None:
    if cells > MAX_CELLS:
        raise ReaderError(
            f"The file holds {count(cells)} cells, more than {count(MAX_CELLS)}: keep fewer rows or columns."
        )


def _gather(batches: Iterable[pa.RecordBatch], schema: pa.Schema, tell: Tell, total: int = 0) -> pa.Table:
    """Join batches into one table; stop as soon as they exceed the limit, as a small file may unpack to a huge one.

    total : rows of all batches, 0 if unknown."""
    kept, cells, size, rows = [], 0, 0, 0
    for batch in batches:
        cells += batch.num_rows * max(batch.num_columns, 1)
        size += batch.nbytes
        _check_cells(cells)
        if size > MAX_TABLE:
            raise ReaderError(f"The file unpacks to more than {MAX_TABLE >> 30} GiB: keep fewer rows or columns.")
        kept.append(batch)
        rows += batch.num_rows
        tell(0.8 * rows / total if total else 0.0, f"{count(rows)} rows")
    return pa.Table.from_batches(kept, schema)
