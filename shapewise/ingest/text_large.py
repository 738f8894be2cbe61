"""Text files larger than memory, in two passes: the first finds the layout, the rows and the types, the second writes.

Types come from a sample of rows spread over the file, by the rules of types.py. A later cell may not fit. Then the
rules for small files apply: a column of numbers keeps its type while at most 5% of its cells are not numbers (they
become missing and are counted); a column of dates or booleans keeps it only while all cells fit; digits that turn out
to be identifiers make the column text. A column that loses its type is written again as text: nothing is lost, at the
price of a third pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from gamcore.numbers import count
from shapewise.ingest.common import ReaderError
from shapewise.ingest.layout import Layout, encoding_of, layout_of
from shapewise.ingest.streams import HEAD, Feed, Texts, place, unpacked
from shapewise.ingest.text import (
    Ragged,
    drop_spare,
    footer_note,
    footer_rows,
    is_spare,
    parse_options,
    unreadable,
)
from shapewise.ingest.types import (
    EXACT,
    MOSTLY,
    Tally,
    TypePlan,
    check_lengths,
    code_note,
    convert,
    plain_numbers,
    plan_column,
    tell,
    trimmed,
)
from shapewise.ingest.writer import Tell, Written, frame_bytes, hashes, sample_size, write

BLOCK: Final = 2**22
BATCH_ROWS: Final = 2**15
TYPE_ROWS: Final = 20_000
TYPE_BYTES: Final = 2**23
TAIL_ROWS: Final = 20
PASSES: Final = 4
"""The most passes: text, whole numbers to decimals, and one more for a column that changes both ways."""


@dataclass
class TextColumn:
    """A column's plan, its Arrow type, and the tally of its cells in the last pass."""

    name: str
    plan: TypePlan
    kind: pa.DataType
    tally: Tally = field(default_factory=Tally)
    broken: bool = False  # whole numbers that turned out to have decimals, or too many digits for an integer type

    def demoted(self, notes: list[str]) -> TextColumn:
        """Return this column, or its replacement after a pass in which its type did not hold."""
        tally, said = self.tally, self.tally.present - self.tally.missing
        if self.plan.kind == "number" and tally.code:
            notes.append(code_note(self.name, tally.code))
        elif tally.odd > ((1 - MOSTLY) * said if self.plan.kind == "number" else 0):
            notes.append(
                f"{self.name}: {count(tally.odd)} of {count(said)} cells are not {self.plan.kind}s, so it stays text."
            )
        elif self.broken:
            return replace(self, kind=pa.float64(), tally=Tally(), broken=False)
        else:
            return self
        return TextColumn(self.name, TypePlan(), pa.string())


@dataclass
class First:
    """What the first pass finds: the rows, a numbered sample of them, the last ones, and the skipped ones."""

    layout: Layout
    encoding: str
    ragged: Ragged
    rows: int = 0
    sample: pd.DataFrame = field(default_factory=pd.DataFrame)
    below: int = 0
    spare: bool = False
    quoted: bool = True


def read_big_text(source: Path, gz: bool, into: Path, limit: int, notes: list[str], tell_: Tell) -> Written:
    """Write a delimited text file as table.parquet; also a sample if it exceeds `limit` bytes as a DataFrame."""
    first = _first_pass(source, gz, notes, tell_)
    comma = first.layout.comma_is_decimal
    own: dict[str, list[str]] = {}  # notes of plans, replaced when a column is demoted
    columns = [_plan(first.sample[name], comma, own.setdefault(str(name), [])) for name in first.sample]
    schema = pa.schema([(column.name, column.kind) for column in columns])
    memory = frame_bytes(_convert(pa.Table.from_pandas(first.sample, preserve_index=False), columns, schema))
    rows = first.rows - first.below
    memory = memory * rows // max(len(first.sample), 1)
    sample = sample_size(rows, memory, limit) if memory > limit else 0
    for turn in range(PASSES):
        columns = [TextColumn(column.name, column.plan, column.kind) for column in columns]
        schema = pa.schema([(column.name, column.kind) for column in columns])
        with _batches(source, gz, first) as batches:
            typed = (_convert(batch, columns, schema) for batch in _first_rows(batches, rows))
            written = write(typed, schema, rows, sample=sample, into=into, tell=tell_, share=0.4 + 0.2 * min(turn, 2))
        after = [column.demoted(own[column.name]) for column in columns]
        if after == columns:
            break
        columns = after
    for column in columns:
        notes.extend(own[column.name])
        tell(column.name, column.plan, column.tally, notes)
    return written


def _plan(cells: pd.Series, comma_is_decimal: bool, notes: list[str]) -> TextColumn:
    text = trimmed(cells)
    plan = plan_column(text, notes, comma_is_decimal)
    if plan.kind == "number":
        values = convert(text, plan, Tally()).dropna()
        whole = len(values) > 0 and bool((values == np.floor(values)).all() and values.abs().max() < EXACT)
        return TextColumn(str(cells.name), plan, pa.int64() if whole else pa.float64())
    kinds = {"text": pa.string(), "boolean": pa.bool_(), "date": pa.timestamp("us")}
    return TextColumn(str(cells.name), plan, kinds[plan.kind])


def _first_pass(source: Path, gz: bool, notes: list[str], tell_: Tell) -> First:
    packed = source.stat().st_size
    with unpacked(source, gz) as file:
        encoding = encoding_of(file.read(HEAD), notes, whole=False)
    with unpacked(source, gz) as file:
        texts = Texts(file, encoding)
        parts = iter(texts)
        head = _head(parts)
        first = First(layout_of(head, notes), encoding, Ragged())
        kept = Kept(first.layout.names)
        for batch in _parsed(Feed(head[first.layout.start :], parts), first.layout, True, first.ragged):
            kept.add(batch)
            tell_(0.4 * place(file) / max(packed, 1), f"{count(kept.rows)} rows looked at")
        texts.check_quotes()
    if texts.nuls:
        notes.append(f"Removed {count(texts.nuls)} NUL characters.")
    if kept.rows == 0:
        raise ReaderError("The file has column names but no rows: choose another.")
    first.ragged.tell(kept.rows, len(first.layout.names), notes)
    first.quoted, first.rows = texts.quotes > 0, kept.rows
    return _settled(first, kept, notes)


def _head(parts: Iterator[str]) -> str:
    """Return the first 4 million characters, from the first line that is not empty."""
    head = ""
    for part in parts:
        head = (head + part).lstrip("\n")
        if len(head) >= HEAD:
            break
    if not head.strip():
        raise ReaderError("The file has no text in it: choose another.")
    return head


def _settled(first: First, kept: Kept, notes: list[str]) -> First:
    """Leave out an empty last column and rows below the table."""
    first.sample, names = kept.frame(), first.layout.names
    if is_spare(names) and not kept.filled_last:
        first.spare = True
        spare = drop_spare(names, notes)
        first.sample = first.sample.drop(columns=spare)
        kept.tail = kept.tail.drop_columns([spare])
    tail = kept.tail.to_pandas()
    first.below = footer_rows(tail)
    if first.below:
        notes.append(footer_note(first.below, " ".join(tail.iloc[-first.below].dropna()[:3])[:40]))
        first.sample = first.sample[first.sample.index < first.rows - first.below]
    return first


class Kept:
    """A bounded sample of rows spread evenly over a stream of unknown length, and its last rows."""

    def __init__(self, names: list[str]) -> None:
        schema = pa.schema([(name, pa.string()) for name in names])
        self._table, self.tail = schema.empty_table(), schema.empty_table()
        self._numbers, self._hashes = np.empty(0, np.int64), np.empty(0, np.uint64)
        self._below = 2**64
        self.rows, self.filled_last = 0, False

    def add(self, batch: pa.Table) -> None:
        """Add the next rows."""
        digests = hashes(self.rows, self.rows + batch.num_rows)
        places = np.flatnonzero(digests <= np.uint64(self._below - 1))
        self._table = pa.concat_tables([self._table, batch.take(pa.array(places))])
        self._numbers = np.concatenate([self._numbers, places + self.rows])
        self._hashes = np.concatenate([self._hashes, digests[places]])
        while self._table.num_rows > TYPE_ROWS or (self._table.nbytes > TYPE_BYTES and self._table.num_rows > 100):
            self._below //= 2
            stay = self._hashes <= np.uint64(self._below - 1)
            self._table = self._table.filter(pa.array(stay)).combine_chunks()
            self._numbers, self._hashes = self._numbers[stay], self._hashes[stay]
        last = batch.slice(max(batch.num_rows - TAIL_ROWS, 0))
        joined = pa.concat_tables([self.tail, last])
        self.tail = joined.take(pa.array(range(max(joined.num_rows - TAIL_ROWS, 0), joined.num_rows)))
        self.filled_last |= batch.column(batch.num_columns - 1).null_count < batch.num_rows
        self.rows += batch.num_rows

    def frame(self) -> pd.DataFrame:
        """Return the sample as text, indexed by row number."""
        return self._table.to_pandas().set_axis(self._numbers, axis=0)


def _parsed(feed: Feed, layout: Layout, quoted: bool, ragged: Ragged) -> Iterator[pa.Table]:
    options = parse_options(layout, quoted, ragged)
    reading = pa.csv.ReadOptions(column_names=layout.names, use_threads=False, block_size=BLOCK)
    try:
        with pa.csv.open_csv(pa.PythonFile(feed, mode="r"), read_options=reading, **options) as stream:
            for batch in stream:
                table = pa.Table.from_batches([batch])
                check_lengths(table)
                # A block of short rows may have a million of them, whose overhead exceeds their bytes.
                yield from (table.slice(start, BATCH_ROWS) for start in range(0, len(table), BATCH_ROWS))
    except pa.ArrowInvalid as error:
        raise unreadable(error) from error


@contextmanager
def _batches(source: Path, gz: bool, first: First) -> Iterator[Iterator[pa.Table]]:
    """Yield the rows again, as text, without what the first pass left out."""
    with unpacked(source, gz) as file:
        parts = iter(Texts(file, first.encoding))
        head = _head(parts)
        tables = _parsed(Feed(head[first.layout.start :], parts), first.layout, first.quoted, Ragged())
        drop = first.layout.names[-1:] if first.spare else []
        yield (table.drop_columns(drop) if drop else table for table in tables)


def _first_rows(batches: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    for batch in batches:
        yield batch.slice(0, rows)
        rows -= min(rows, batch.num_rows)


def _convert(batch: pa.Table, columns: list[TextColumn], schema: pa.Schema) -> pa.Table:
    """Return the cells in the types of their columns; those that do not fit are tallied with their column."""
    arrays = [_cells(batch.column(k), column) for k, column in enumerate(columns)]
    return pa.table(arrays, schema=schema)


def _cells(text: pa.ChunkedArray, column: TextColumn) -> pa.Array:
    numbers = plain_numbers(text) if column.plan == TypePlan("number") else None
    if numbers is not None:
        column.tally.present += len(numbers) - numbers.null_count
    else:
        cells = trimmed(text.to_pandas().rename(column.name))
        values = convert(cells, column.plan, column.tally)
        if column.plan.kind != "number":
            return _array(values, column)
        numbers = pa.array(values.to_numpy(), from_pandas=True)
    if column.kind == pa.int64():
        largest = pc.max(pc.abs(numbers)).as_py() or 0
        try:
            if largest < EXACT:
                return numbers.cast(pa.int64())
        except pa.ArrowInvalid:
            pass  # a fraction
        column.broken = True
        return pa.nulls(len(numbers), pa.int64())
    return numbers


def _array(values: pd.Series, column: TextColumn) -> pa.Array:
    if column.plan.kind == "date":
        values = values.astype("datetime64[us]")
    made: Any = pa.array(values, type=column.kind, from_pandas=True)
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made
