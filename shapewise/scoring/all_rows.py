"""All rows of a table of any size, with missing cells in place of the table's codes: counts and metrics refer to the
whole table, not to its sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gamcore.data.codes import clear_codes
from gamcore.decide.strategies import Matches, StrategySet
from gamcore.numbers import size
from shapewise.memory import plain_pool
from shapewise.store.batches import batches, beginning, typed
from shapewise.store.workspace import StoreError, Workspace

CELL_BYTES: Final = 24
"""Bytes per cell while its column is read."""


def _like(space: Workspace, table: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return the first sample rows, with their types, of the columns that exist, and of at least one."""
    head = beginning(space.tables.shown_path(table))
    known = [name for name in head.columns if name in columns]
    return clear_codes(head[known or [head.columns[0]]], space.tables.names(table).codes())


def in_parts(space: Workspace, table: str, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield all rows of some columns, in order, in batches that fit into memory."""
    codes = space.tables.names(table).codes()
    return (clear_codes(part, codes) for part in batches(space.tables.path(table), _like(space, table, columns)))


def read(space: Workspace, table: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return all rows of some columns at once; StoreError if they exceed the memory allowed for a table."""
    like, most = _like(space, table, columns), space.limits.table_memory
    needed = CELL_BYTES * space.tables.about(table).rows * len(like.columns)
    if most and needed > most:
        raise StoreError(
            f"All rows of the {len(like.columns)} columns that are needed would take about {size(needed)} of "
            f"memory, more than the {size(most)} allowed for a table: "
            "count the rows in the source and enter the counts."
        )
    with plain_pool():
        schema = pq.read_schema(space.tables.path(table))
        texts = [name for name in like.columns if _is_text(schema.field(name).type)]
        rows_read = pq.read_table(space.tables.path(table), columns=list(like.columns), read_dictionary=texts)
        return clear_codes(typed(rows_read, like), space.tables.names(table).codes())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def matches(space: Workspace, table: str, made: StrategySet) -> Matches:
    """Return which of all rows of a table match which rules."""
    return Matches.joined([made.matches(part) for part in in_parts(space, table, made.cascade().columns)])
