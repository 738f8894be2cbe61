"""All rows of a table, whatever its size: what is counted or measured is that of the table, not of its sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gamcore.decide.strategies import Matches, StrategySet
from shapewise.memory import plain_pool
from shapewise.store.batches import batches, beginning, typed
from shapewise.store.workspace import StoreError, Workspace

CELL_BYTES: Final = 24
"""Of a cell while its column is read."""


def _like(space: Workspace, table: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return the first rows that pages show, with their types: of columns that there are, and of one at least."""
    head = beginning(space.tables.shown_path(table))
    known = [name for name in head.columns if name in columns]
    return head[known or [head.columns[0]]]


def in_parts(space: Workspace, table: str, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Return all rows of some columns, in their order, in batches that fit into memory."""
    return batches(space.tables.path(table), _like(space, table, columns))


def read(space: Workspace, table: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return all rows of some columns at once; StoreError where they are more than a table may take of memory."""
    like, most = _like(space, table, columns), space.limits.table_memory
    needed = CELL_BYTES * space.tables.about(table).rows * len(like.columns)
    if most and needed > most:
        raise StoreError(
            f"All rows of the {len(like.columns)} columns that are needed would take about {needed / 1e9:.1f} GB of "
            f"memory, more than the {most / 1e9:.1f} GB of a table here: count them where they are, give the counts."
        )
    with plain_pool():
        schema = pq.read_schema(space.tables.path(table))
        texts = [name for name in like.columns if _is_text(schema.field(name).type)]
        rows_read = pq.read_table(space.tables.path(table), columns=list(like.columns), read_dictionary=texts)
        return typed(rows_read, like)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def matches(space: Workspace, table: str, made: StrategySet) -> Matches:
    """Return who of all rows of a table matches which rules."""
    return Matches.joined([made.matches(part) for part in in_parts(space, table, made.cascade().columns)])
