"""Parquet files, and folders of them, that are larger than memory, read in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset

from gamcore.numbers import count
from shapewise.ingest.arrow import LOOK_ROWS, check_ratio, memory_of, open_parquet, refusing
from shapewise.ingest.arrow_types import Changed, not_text, plain_columns, plain_table
from shapewise.ingest.common import MAX_COLUMNS, NO_ROWS, ReaderError, in_words
from shapewise.ingest.writer import Tell, Written, sample_size, write

BATCH_BYTES: Final = 2**22
BATCH_ROWS: Final = 2**16


@dataclass(frozen=True)
class FilePart:
    """A file of a folder, the values in the names of its subfolders (year=2026), and its columns of bytes without
    text, as far as its first rows show."""

    path: Path
    keys: dict[str, Any]
    rows: int
    memory: int
    schema: pa.Schema
    pictures: set[str]


def read_parquet(source: Path, into: Path, limit: int, notes: list[str], tell: Tell) -> Written:
    """Write a Parquet file, or a folder of them, as table.parquet; also a sample if it exceeds `limit` bytes."""
    with refusing("parquet"):
        parts, keys = parts_of(source)
        schema = _common(parts, keys, notes)
        rows, memory = sum(part.rows for part in parts), sum(part.memory for part in parts)
        if rows == 0:
            raise ReaderError(NO_ROWS)
        pictures = set().union(*(part.pictures for part in parts))
        columns, changed = plain_columns(schema, notes, pictures, decode=True), Changed()
        if len(columns) > MAX_COLUMNS:
            raise ReaderError(
                f"The file has {count(len(columns))} columns, more than {count(MAX_COLUMNS)}: drop some first."
            )
        sample = sample_size(rows, memory, limit) if memory > limit else 0
        plain = pa.schema([(column.name, column.kind) for column in columns])
        batches = (plain_table(batch, columns, changed) for part in parts for batch in _batches(part, schema))
        written = write(batches, plain, rows, sample=sample, into=into, tell=tell)
    changed.tell(notes)
    return written


def parts_of(source: Path) -> tuple[list[FilePart], pa.Schema]:
    """Return the files of a source, sorted by name, and the columns that folder names define."""
    if source.is_file():
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


def _look_at(path: Path, keys: dict[str, Any]) -> FilePart:
    with open_parquet(path) as file:
        memory = memory_of(file)
        check_ratio(memory, path.stat().st_size)
        first = next(file.iter_batches(LOOK_ROWS), None)
        pictures = not_text(first) if first is not None else set()
        rows, schema = file.metadata.num_rows, file.schema_arrow
        return FilePart(path, keys, rows, memory, schema=schema, pictures=pictures)


def _common(parts: list[FilePart], keys: pa.Schema, notes: list[str]) -> pa.Schema:
    """Return the columns of all parts: a column that a part lacks is missing in its rows; whole numbers may become
    decimals."""
    schema = parts[0].schema.remove_metadata()
    for part in parts[1:]:
        try:
            schema = pa.unify_schemas([schema, part.schema.remove_metadata()], promote_options="permissive")
        except pa.ArrowException as error:
            raise ReaderError(
                f"The part {part.path.name[:60]!r} has other types than those before it ({in_words(error)}): "
                "write all parts with the same types."
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
    with open_parquet(part.path) as file:
        for batch in file.iter_batches(each):
            table = pa.Table.from_batches([batch])
            table.validate(full=True)
            yield _in_schema(table, part, schema)


def _in_schema(table: pa.Table, part: FilePart, schema: pa.Schema) -> pa.Table:
    if len(set(table.column_names)) < table.num_columns:
        return table  # duplicate names are told apart by position, which only a single file has
    arrays = []
    for field in schema:
        if field.name in table.column_names:
            arrays.append(table.column(field.name).cast(field.type))
        else:
            value = pa.scalar(part.keys.get(field.name), field.type)
            arrays.append(pa.chunked_array([pa.repeat(value, table.num_rows)]))
    return pa.table(arrays, schema=pa.schema(list(schema)))
