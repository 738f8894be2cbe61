"""Parquet and Arrow files, and folders of Parquet, whole or in batches: size limits before and during unpacking, and
validation before use."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.ipc
import pyarrow.parquet

from gamcore.common.numbers import count, counted
from shapewise.errors import FULL_DISK, StoreError
from shapewise.ingest.arrow_types import Changed, not_text, plain_columns, plain_table
from shapewise.ingest.common import MAX_FIELD, MAX_UNPACKED, NO_ROWS, ReaderError, in_words, size_of
from shapewise.ingest.types import plans, trimmed
from shapewise.ingest.writer import Tell, Typed

MAX_TABLE: Final = 4 * 2**30
MAX_CELLS: Final = 500_000_000
MAX_RATIO: Final = 300
"""The most a file above 1 GiB unpacked may expand, as a multiple of its size: sorted categories reach about 100."""

BATCH_BYTES: Final = 2**22
BATCH_ROWS: Final = 2**16
LOOK_ROWS: Final = 512
CONTINUES: Final = b"\xff" * 4
"""How each part of a stream begins."""

TABLE_TIMES: Final = 6
"""Memory that reading a table whole takes, as a multiple of its size."""

DAMAGES: Final = (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, KeyError, NotImplementedError)
Result = TypeVar("Result")


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turn errors of the Arrow library into one sentence about a file of this kind."""
    try:
        yield
    except DAMAGES as error:
        if isinstance(error, ReaderError | StoreError) or getattr(error, "errno", None) in FULL_DISK:
            raise  # the last is not the file's fault
        raise ReaderError(f"The file is not a readable {what} file ({in_words(error)}): write it again.") from error


@dataclass(frozen=True)
class FilePart:
    """A file, the values in the names of its subfolders (year=2026), and its columns of bytes without text, as far as
    its first rows show."""

    source: Path | bytes
    keys: dict[str, Any]
    rows: int
    memory: int
    schema: pa.Schema
    pictures: set[str]


def read_arrow(
    source: Path | bytes, kind: str, notes: list[str], tell: Tell, consume: Callable[[Typed], Result], memory: float
) -> Result:
    """Read a Parquet, Feather or Arrow file, or a folder of Parquet files; return what `consume` makes of its rows.

    kind : its suffix, or "folder". memory : bytes that may be taken: a table that takes more goes by batches, and its
    categories are written out. tell : is told the progress."""
    changed = Changed()
    with refusing("parquet" if kind == "folder" else kind[1:]):
        if kind in (".feather", ".arrow"):
            data = source if isinstance(source, bytes) else source.read_bytes()
            schema, arrow_batches = _batches_of_arrow(data)
            whole, pictures = True, set[str]()
            rows = bytes_of_all = 0
            batches = (_valid(batch) for batch in arrow_batches)
        else:
            parts, keys = parts_of(source)
            schema = _common(parts, keys, notes)
            rows, bytes_of_all = sum(part.rows for part in parts), sum(part.memory for part in parts)
            pictures = set().union(*(part.pictures for part in parts))
            whole = kind != "folder" and size_of(source) + TABLE_TIMES * bytes_of_all <= memory
            if whole:  # The footer's byte counts can be made up or run-length encoded; rows times columns cannot lie.
                _check_cells(rows * max(len(schema), 1))
            batches = (batch for part in parts for batch in _batches(part, schema))
        if whole:
            table = _gather(batches, schema, tell, rows, size_of(source))
            rows, pictures = table.num_rows, not_text(table)
        columns = plain_columns(schema, notes, pictures, decode=not whole)
        if rows == 0:
            raise ReaderError(NO_ROWS)
        if whole:
            plain_rows = plain_table(table, columns, changed)
            _tell_of_texts(plain_rows, notes)
            typed = Typed.whole(plain_rows)
        else:
            plain = pa.schema([(column.name, column.kind) for column in columns])
            tables = (plain_table(batch, columns, changed) for batch in batches)
            typed = Typed(tables, plain, rows, bytes_of_all, share=0.0)
        result = consume(typed)
    changed.tell(notes)
    return result


def _tell_of_texts(table: pa.Table, notes: list[str]) -> None:
    """Note texts that a text file would have as dates, or as numbers that are no codes: the file says that they are
    text, and so they stay."""
    rows = pa.array(range(LOOK_ROWS))
    for name, cells in zip(table.column_names, table.columns, strict=True):
        if cells.type in (pa.string(), pa.large_string()):
            some = trimmed(cells.slice(0, 100 * LOOK_ROWS).unique()[:LOOK_ROWS].cast(pa.string()))
            plan = plans({name: (some, rows[: len(some)])}, semicolons=False, own={name: []})[0]
            has_point = plan.kind == "number" and pc.any(pc.match_substring_regex(some, r"\d[.,]\d")).as_py()
            if plan.kind == "date" or has_point:
                notes.append(f"{name}: text in the file, so it stays text; a step on Data reads its {plan.kind}s.")


def parts_of(source: Path | bytes) -> tuple[list[FilePart], pa.Schema]:
    """Return the files of a source, sorted by name, and the columns that folder names define."""
    if isinstance(source, bytes) or source.is_file():
        return [_look_at(source, {})], pa.schema([])
    paths = sorted(
        path for path in source.rglob("*.parquet")
        if path.is_file() and not any(name.startswith((".", "_")) for name in path.relative_to(source).parts)
    )  # fmt: skip
    if not paths:
        raise ReaderError("The folder holds no file that ends in .parquet: choose another.")
    for path in paths:
        if not path.resolve().is_relative_to(source.resolve()):
            raise ReaderError(
                f"{path.name[:60]!r} links to a file outside the folder: put the file itself in the folder."
            )
    dataset = pa.dataset.dataset([str(path) for path in paths], partition_base_dir=str(source), partitioning="hive")
    fragments = {
        Path(fragment.path): dict(pa.dataset.get_partition_keys(fragment.partition_expression))
        for fragment in dataset.get_fragments()
    }
    names = {name: None for keys in fragments.values() for name in keys}
    keys = pa.schema([dataset.schema.field(name) for name in names])
    return [_part(path, fragments.get(path, {})) for path in paths], keys


def _part(path: Path, keys: dict[str, Any]) -> FilePart:
    try:
        return _look_at(path, keys)
    except (ReaderError, pa.ArrowException, OSError) as error:
        raise ReaderError(f"The part {path.name[:60]!r} of the folder cannot be read ({in_words(error)}).") from error


def _look_at(source: Path | bytes, keys: dict[str, Any]) -> FilePart:
    with open_parquet(source) as file:
        memory = memory_of(file)
        check_ratio(memory, size_of(source))
        first = next(file.iter_batches(LOOK_ROWS), None)
        pictures = not_text(first) if first is not None else set()
        rows, schema = file.metadata.num_rows, file.schema_arrow
        return FilePart(source, keys, rows, memory, schema=schema, pictures=pictures)


def _common(parts: list[FilePart], keys: pa.Schema, notes: list[str]) -> pa.Schema:
    """Return the columns of all parts: a column that a part lacks is missing in its rows; whole numbers may become
    decimals."""
    schema = parts[0].schema.remove_metadata()
    for part in parts[1:]:
        try:
            schema = pa.unify_schemas([schema, part.schema.remove_metadata()], promote_options="permissive")
        except pa.ArrowException as error:
            raise ReaderError(
                f"The part {Path(str(part.source)).name[:60]!r} has other types than those before it "
                f"({in_words(error)}): write all parts with the same types."
            ) from error
    lacking = [name for name in schema.names if any(name not in part.schema.names for part in parts)]
    if lacking:
        notes.append(
            f"Not all {count(len(parts))} files have the columns {', '.join(lacking[:5])}: missing in the others."
        )
    for key in keys:
        if key.name not in schema.names:
            schema = schema.append(key)
    return schema


def _batches(part: FilePart, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of each part in the common columns, a bounded number of bytes at a time."""
    each = max(1, min(BATCH_ROWS, BATCH_BYTES * max(part.rows, 1) // max(part.memory, 1)))
    with open_parquet(part.source) as file:
        for batch in file.iter_batches(each):
            yield _in_schema(_valid(batch), part, schema)


def _valid(batch: pa.RecordBatch) -> pa.Table:
    """Return rows whose offsets and text are valid, so that no later code has to look."""
    table = pa.Table.from_batches([batch])
    table.validate(full=True)
    return table


def _in_schema(table: pa.Table, part: FilePart, schema: pa.Schema) -> pa.Table:
    if table.schema.equals(schema):
        return table  # so names that occur twice are told apart by position, which only a single file has
    arrays = []
    for field in schema:
        if field.name in table.column_names:
            arrays.append(table.column(field.name).cast(field.type))
        else:
            value = pa.scalar(part.keys.get(field.name), field.type)
            arrays.append(pa.chunked_array([pa.repeat(value, table.num_rows)]))
    return pa.table(arrays, schema=pa.schema(list(schema)))


def open_parquet(source: Path | bytes) -> pa.parquet.ParquetFile:
    """Open a Parquet file so that a batch takes only a batch's memory, whatever the size of the row groups."""
    with source.open("rb") if isinstance(source, Path) else io.BytesIO(source[:4]) as file:
        if file.read(4) == b"PARE":
            raise ReaderError("The Parquet file is encrypted: write it without encryption and load it again.")
    place = source if isinstance(source, Path) else io.BytesIO(source)
    # Times of old writers (int96) reach years that nanoseconds do not; text keeps its categories until it is asked.
    return pa.parquet.ParquetFile(place, coerce_int96_timestamp_unit="us", pre_buffer=False, buffer_size=2**18)


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


def _batches_of_arrow(data: bytes) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the columns and the batches of Arrow's data: a file, or a stream of it."""
    if data.startswith(b"FEA1"):
        raise ReaderError("The file is of Feather's first version: write it as an Arrow file, or as Parquet.")
    if data.startswith(CONTINUES):
        stream = pa.ipc.open_stream(data)
        return stream.schema, stream
    _check_ratio_of_arrow(data)
    file = pa.ipc.open_file(data)
    return file.schema, map(file.get_batch, range(file.num_record_batches))


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
            f"The file holds {counted(cells, 'cell')}, more than {count(MAX_CELLS)}: keep fewer rows or columns."
        )


def _gather(batches: Iterable[pa.Table], schema: pa.Schema, tell: Tell, total: int, packed: int) -> pa.Table:
    """Join batches into one table; stop as soon as they exceed the limit, as a small file may unpack to a huge one.

    total : rows of all batches, 0 if unknown. packed : bytes of the file."""
    kept, cells, size, rows = [], 0, 0, 0
    tell(0.0, "Reading the rows")
    for batch in batches:
        cells += batch.num_rows * max(batch.num_columns, 1)
        size += batch.nbytes
        _check_cells(cells)
        check_ratio(size, packed)
        if size > MAX_TABLE:
            raise ReaderError(f"The file unpacks to more than {MAX_TABLE >> 30} GiB: keep fewer rows or columns.")
        kept.append(batch)
        rows += batch.num_rows
        tell(0.8 * rows / total if total else 0.0, counted(rows, "row"))
    return pa.concat_tables(kept) if kept else schema.empty_table()
