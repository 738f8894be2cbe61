"""All rows of a table of any size, with missing cells in place of the table's codes: counts and metrics refer to the
whole table, not to its sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gamcore.common.numbers import size
from gamcore.data.codes import clear_codes
from gamcore.decide.strategies import Matches, StrategySet
from gamcore.distributed import gather, over_pieces
from shapewise.access import cluster
from shapewise.datasets.dataset import like_of, shown_pieces
from shapewise.memory import plain_pool
from shapewise.store.batches import batches, typed
from shapewise.store.workspace import StoreError, Workspace

CELL_BYTES: Final = 24
"""Bytes per cell while its column is read."""


def in_parts(space: Workspace, table: str, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield all rows of some columns, in order, in batches that fit into memory."""
    codes = space.tables.names(table).codes()
    return (clear_codes(part, codes) for part in batches(space.tables.path(table), like_of(space, table, columns)))


def read(space: Workspace, table: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return all rows of some columns at once; StoreError if they exceed the memory allowed for a table."""
    like, most = like_of(space, table, columns), space.limits.table_memory
    needed = CELL_BYTES * space.tables.about(table).rows * len(like.columns)
    if most and needed > most:
        raise StoreError(
            f"All rows of the {len(like.columns)} columns that are needed would take about {size(needed)} of "
            f"memory, more than the {size(most)} allowed for a table: "
            "count the rows in the source and enter the counts."
        )
    if space.tables.about(table).dataset:
        with cluster.connected() as crew:
            return gather(shown_pieces(space, table, crew, list(like.columns)), list(like.columns), crew)
    with plain_pool():
        schema = pq.read_schema(space.tables.path(table))
        texts = [name for name in like.columns if _is_text(schema.field(name).type)]
        rows_read = pq.read_table(space.tables.path(table), columns=list(like.columns), read_dictionary=texts)
        return clear_codes(typed(rows_read, like), space.tables.names(table).codes())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def matches(space: Workspace, table: str, rules: StrategySet) -> Matches:
    """Return which of all rows of a table match which rules."""
    columns = rules.cascade().columns
    if space.tables.about(table).dataset:
        with cluster.connected() as crew:
            return Matches.joined(over_pieces(rules.matches, shown_pieces(space, table, crew, columns), client=crew))
    return Matches.joined([rules.matches(part) for part in in_parts(space, table, columns)])
