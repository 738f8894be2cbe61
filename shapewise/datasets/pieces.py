"""The rows of a dataset as the workers of a cluster read them: in the plain types of tables, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from gamcore.common.types import Ints
from gamcore.data.codes import MissingCodes, clear_codes
from gamcore.distributed.pieces import ParquetPiece
from shapewise.ingest.arrow_types import ArrowColumn, Changed, plain_table
from shapewise.ingest.writer import frame_bytes, sampled_rows
from shapewise.store.batches import plain, typed


@dataclass(frozen=True)
class _Same:
    """The rows of another piece."""

    piece: Any

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.piece.name)

    @property
    def n_rows(self) -> int:
        """Its rows."""
        return int(self.piece.n_rows)


@dataclass(frozen=True)
class PlainPiece(_Same):
    """Some rows of a dataset. kept : the columns that hold plain values, with their places in the dataset."""

    piece: ParquetPiece
    kept: tuple[ArrowColumn, ...]

    def table(self, columns: Sequence[str] | None = None) -> tuple[pa.Table, Changed]:
        """Return its rows in Arrow's types, with the named columns or all, and what had to be changed."""
        wanted = [column for column in self.kept if columns is None or column.name in columns]
        names = self.piece.schema.names
        read, changed = self.piece.table([names[column.place] for column in wanted]), Changed()
        there = [ArrowColumn(place, column.name, column.kind) for place, column in enumerate(wanted)]
        table = plain_table(read, there, changed)
        return (table if columns is None else table.select(list(columns))), changed

    def read(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return its rows as a frame."""
        return plain(self.table(columns)[0])


@dataclass(frozen=True)
class ShownPiece(_Same):
    """Some rows of a dataset as pages show them: with the columns and types of `like`, without codes for missing.

    below : hashes of row numbers below this are in the sample. before : rows of the sample before this piece.
    """

    piece: PlainPiece
    like: pd.DataFrame
    codes: MissingCodes
    below: int
    before: int = 0

    def read(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return its rows as a frame."""
        like = self.like if columns is None else self.like[list(columns)]
        return clear_codes(typed(self.piece.table(list(like.columns))[0], like), self.codes)

    def places(self, first: int) -> Ints:
        """Return the position in the sample of each row, or -1. first : number of the first row."""
        places = np.full(self.n_rows, -1, np.int64)
        inside = sampled_rows(first, first + self.n_rows, self.below)
        places[inside] = self.before + np.arange(inside.size)
        return places


def bytes_of(first: int, piece: PlainPiece) -> int:
    """Return the bytes of a piece as a frame."""
    return frame_bytes(piece.table()[0])


def sample_of(below: int, first: int, piece: PlainPiece) -> tuple[pa.Table, Changed]:
    """Return the rows of a piece that are in the sample, and what had to be changed in the piece."""
    table, changed = piece.table()
    return table.take(pa.array(sampled_rows(first, first + table.num_rows, below))), changed
