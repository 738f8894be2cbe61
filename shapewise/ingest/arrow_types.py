"""Conversion of Parquet and Arrow columns to the plain types of tables: numbers, text, booleans, times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shapewise.ingest.common import ReaderError, check_columns, clean_names
from shapewise.ingest.types import EXACT, check_lengths, infinity_note, rounding_note

DIGITS: Final = 15
"""Decimal digits that float64 always preserves."""

INT64_DIGITS: Final = 18
CONTROL: Final = r"[\x00-\x08\x0e-\x1f]"
"""Characters that bytes have and text has not."""


@dataclass(frozen=True)
class ArrowColumn:
    """A column to keep: its place in the file, its name here, and its type here."""

    place: int
    name: str
    kind: pa.DataType


class Changed(Counter[tuple[Callable[[object, int], str], str]]):
    """How many values became missing or were rounded, by the note on them and the column, summed over batches."""

    def tell(self, notes: list[str]) -> None:
        """Note them, those that are missing first."""
        for note in (infinity_note, rounding_note):
            notes.extend(note(name, n) for (why, name), n in self.items() if why is note and n)


def plain_kind(kind: pa.DataType) -> pa.DataType | None:
    """Return the plain type of a column; None if its cells do not each hold one number, text, date or boolean."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return plain_kind(pa.bool_()) if kind.extension_name == "arrow.bool8" else _plain_storage(kind)
    if types.is_run_end_encoded(kind):
        return plain_kind(kind.value_type)
    if types.is_dictionary(kind):
        value = plain_kind(kind.value_type)
        is_text = value in (pa.string(), pa.large_string())
        return pa.dictionary(kind.index_type, value, kind.ordered) if is_text else value
    if types.is_decimal(kind) and kind.scale == 0 and kind.precision <= INT64_DIGITS:
        return pa.int64()
    if types.is_decimal(kind) or types.is_null(kind) or types.is_float16(kind):
        return pa.float64()
    if types.is_date(kind):
        return pa.timestamp("ms")
    if types.is_timestamp(kind):
        return pa.timestamp(kind.unit)
    if types.is_string_view(kind) or holds_bytes(kind):
        return pa.string()
    text = types.is_string(kind) or types.is_large_string(kind)
    return kind if text or types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) else None


def _plain_storage(kind: pa.BaseExtensionType) -> pa.DataType | None:
    """Return the plain type of what stores an extension's values; None where that is a code of our own making, such as
    the number of a month, or bytes."""
    plain = plain_kind(kind.storage_type)
    return plain if plain == pa.string() and not holds_bytes(kind.storage_type) else None


def holds_bytes(kind: pa.DataType) -> bool:
    """Return whether cells are bytes, as Impala, Hive and old Spark write text."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
    return any(is_kind(value) for is_kind in kinds)


def not_text(table: pa.Table | pa.RecordBatch) -> set[str]:
    """Return the names of columns whose bytes are not text in UTF-8, such as pictures."""
    return {
        column.name for column, values in zip(table.schema, table.columns, strict=True)
        if holds_bytes(column.type)
        and not all(map(_are_text, values.chunks if isinstance(values, pa.ChunkedArray) else [values]))
    }  # fmt: skip


def _are_text(cells: pa.Array) -> bool:
    try:
        texts = _unwrapped(cells)
    except pa.ArrowInvalid:
        return False
    texts = texts.dictionary if pa.types.is_dictionary(texts.type) else texts
    return not pc.any(pc.match_substring_regex(texts, CONTROL)).as_py()


def plain_columns(
    schema: pa.Schema, notes: list[str], pictures: Container[str], decode: bool = False, what: str = "file"
) -> list[ArrowColumn]:
    """Return the columns with plain values, under clean names.

    pictures : those of bytes that are not to be read as text. decode : write categories out as values. what : has
    them, in words."""
    kept, left = [], dict[str, list[str]]()
    for place, column in enumerate(schema):
        kind = plain_kind(column.type)
        if kind is None or column.name in pictures:
            left.setdefault(_why_left_out(column.type), []).append(column.name)
        else:
            kept.append(
                (place, column, plain_kind(kind.value_type) if decode and pa.types.is_dictionary(kind) else kind)
            )
    notes.extend(f"Left out columns that {why}: {', '.join(names[:5])}." for why, names in left.items())
    if not kept:
        if not left:
            raise ReaderError(f"The {what} has no columns: choose another.")
        why = " or ".join(left)
        raise ReaderError(
            f"No column can be read, as they {why}: flatten nested columns, and write others as numbers or text."
        )
    check_columns(len(kept), what)
    names = clean_names([column.name for _, column, _ in kept], notes)
    for name, (_, column, _) in zip(names, kept, strict=True):
        if pa.types.is_timestamp(column.type) and column.type.tz:
            notes.append(f"{name}: times of the zone {column.type.tz} are in UTC here.")
        if pa.types.is_decimal(column.type) and column.type.precision > DIGITS and column.type.scale:
            notes.append(f"{name}: decimals of {column.type.precision} digits are rounded to about {DIGITS} here.")
        if holds_bytes(column.type):
            notes.append(f"{name}: its bytes are read as text.")
    return [ArrowColumn(place, name, kind) for name, (place, _, kind) in zip(names, kept, strict=True)]


def _why_left_out(kind: pa.DataType) -> str:
    if holds_bytes(kind):
        return "hold bytes"
    if pa.types.is_nested(kind):
        return "do not hold one plain value per cell"
    if pa.types.is_duration(kind) or pa.types.is_interval(kind):
        return "hold spans of time"
    return "hold times of day" if pa.types.is_time(kind) else f"hold values of the type {kind}"


def plain_table(table: pa.Table, columns: list[ArrowColumn], changed: Changed) -> pa.Table:
    """Return a table's kept columns in their plain types; infinite values become null and are counted."""
    arrays = [_plain(table.column(column.place), column, changed) for column in columns]
    plain = pa.table(arrays, names=[column.name for column in columns])
    check_lengths(plain)
    return plain


def _plain(values: pa.ChunkedArray, column: ArrowColumn, changed: Changed) -> pa.ChunkedArray:
    is_whole = pa.types.is_integer(column.kind) or (pa.types.is_decimal(values.type) and values.type.scale == 0)
    if pa.types.is_timestamp(values.type) and values.type.tz:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    try:
        values = pa.chunked_array([_unwrapped(chunk).cast(column.kind) for chunk in values.chunks], column.kind)
    except pa.ArrowInvalid as error:
        if not holds_bytes(values.type):
            raise
        raise ReaderError(
            f"Column {column.name!r} holds bytes that are not text in UTF-8: leave it out, or write text."
        ) from error
    if pa.types.is_floating(column.kind):
        infinite = pc.is_inf(values)
        if n := pc.sum(infinite).as_py():
            changed[infinity_note, column.name] += n
            values = pc.if_else(infinite, pa.scalar(None, column.kind), values)
    if is_whole and column.kind.bit_width == 64:
        large = pc.greater_equal(values, pa.scalar(EXACT, column.kind))
        if column.kind != pa.uint64():
            large = pc.or_(large, pc.less_equal(values, pa.scalar(-EXACT, column.kind)))
        changed[rounding_note, column.name] += pc.sum(large).as_py() or 0
    return values


def _unwrapped(cells: pa.Array) -> pa.Array:
    """Return cells without what holds them: extensions, runs, views, and bytes of text; each category is there once.

    ArrowInvalid : bytes are not UTF-8."""
    kind = cells.type
    if isinstance(kind, pa.BaseExtensionType):
        return _unwrapped(cells.storage)
    if pa.types.is_run_end_encoded(kind):
        places = np.searchsorted(np.asarray(cells.run_ends), cells.offset + np.arange(len(cells)), side="right")
        return _unwrapped(cells.values).take(pa.array(places))
    if pa.types.is_dictionary(kind):
        values, places = _unwrapped(cells.dictionary), cells.indices
        if values.null_count or len(values.unique()) < len(values):
            again = values.take(places).dictionary_encode()
            values, places = again.dictionary, again.indices.cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(places, values, ordered=kind.ordered)
    if holds_bytes(kind):
        return cells.cast(pa.binary()).cast(pa.string())
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):  # Arrow casts them to no integer
        return cells.cast(pa.decimal128(INT64_DIGITS, kind.scale))
    return cells.cast(pa.string()) if pa.types.is_string_view(kind) else cells
