"""Tables that stay where they are: the workers of the cluster read them, and the workspace keeps a sample.

A row is in the sample by the hash of its number, so workers know which of their rows the pages show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, Self

import pandas as pd
import pyarrow as pa

from gamcore.common.numbers import count
from gamcore.data.codes import MissingCodes, clear_codes
from gamcore.data.columns import TableError
from gamcore.distributed.pieces import ParquetPiece, starts_of
from shapewise.access import cluster
from shapewise.datasets.pieces import PlainPiece, ShownPiece, bytes_of, sample_of
from shapewise.errors import StoreError
from shapewise.ingest.arrow_types import Changed, holds_bytes, plain_columns
from shapewise.ingest.common import ReaderError
from shapewise.ingest.writer import Groups, Tell, Written, sample_size, sampled_rows, threshold
from shapewise.store.atomic_files import scratch_folder
from shapewise.store.batches import beginning
from shapewise.store.workspace import TableAbout, Workspace

if TYPE_CHECKING:
    from gamcore.distributed.cluster import OnCluster


MOST_PIECE_ROWS: Final = 2**30
"""Most rows of a piece, which a worker reads into memory at once."""


@dataclass(frozen=True)
class Dataset:
    """The pieces of a dataset. notes : what is changed in reading them."""

    url: str
    pieces: list[PlainPiece]
    notes: list[str] = field(default_factory=list)

    @classmethod
    def at(cls, url: str, crew: OnCluster) -> Self:
        """Look at a dataset; StoreError where it may not be loaded, ReaderError where it cannot be."""
        place = cluster.check_dataset(url)
        with _refusing():
            pieces = [piece for piece in crew.pieces(place) if isinstance(piece, ParquetPiece)]
        _check_counts(pieces)
        notes: list[str] = []
        schema = pieces[0].schema
        unread = {column.name for column in schema if holds_bytes(column.type)}  # a dataset is not read here to judge
        kept = plain_columns(schema, notes, unread, decode=True, what="dataset")
        return cls(place, [PlainPiece(piece, tuple(kept)) for piece in pieces], notes)

    @property
    def n_rows(self) -> int:
        """Rows of all pieces."""
        return sum(piece.n_rows for piece in self.pieces)

    def sample(self, crew: OnCluster, into: Path, limit: int, tell: Tell) -> tuple[int, Written]:
        """Write a sample of at most `limit` / 4 bytes to a file; return how many rows it was to have, and its size."""
        rows = self.n_rows
        if not rows:
            raise ReaderError("The dataset has column names but no rows: choose another.")

        def tell_pieces(done: int, n_pieces: int) -> bool:
            tell(done / n_pieces, f"Drawing a sample of {count(rows)} rows: {count(done)} of {count(n_pieces)} pieces")
            return False

        first = next(piece for piece in self.pieces if piece.n_rows)
        with _refusing():
            memory = crew.sketch(bytes_of, [first], [0], lambda done, n_pieces: False)[0] / first.n_rows * rows
            asked = sample_size(rows, int(memory), limit)
            below, starts = threshold(asked, rows), starts_of([piece.n_rows for piece in self.pieces])
            parts = crew.sketch(partial(sample_of, below), self.pieces, starts, tell_pieces)
        schema = pa.schema([(column.name, column.kind) for column in first.kept])
        for piece, start, (table, _) in zip(self.pieces, starts, parts, strict=True):
            due = sampled_rows(start, start + piece.n_rows, below).size
            if table.num_rows != due or table.schema.names != schema.names or table.schema.types != schema.types:
                raise ReaderError(
                    f"{piece.name}: a worker returned {count(table.num_rows)} rows of the sample, or other columns, "
                    f"where {count(due)} rows belong: see that all workers read the same files with the same version, "
                    "then load it again."
                )
        with Groups(into, schema) as some:
            for table, _ in parts:
                some.add(table)
        all_changed = Changed()
        for _, changed in parts:
            all_changed.update(changed)
        all_changed.tell(self.notes)
        return asked, Written(rows, len(schema), int(memory), some.rows)


def _check_counts(pieces: Sequence[ParquetPiece]) -> None:
    """Raise ReaderError where a worker says of a piece that it has a number of rows that none can have."""
    for piece in pieces:
        if type(piece.n_rows) is not int or not 0 <= piece.n_rows <= MOST_PIECE_ROWS:
            raise ReaderError(
                f"{piece.name}: a worker says that it has {str(piece.n_rows)[:30]} rows, which cannot be: see that all "
                "workers have the same version, then load it again."
            )


@contextmanager
def _refusing() -> Iterator[None]:
    """Raise what a worker could not read as a ReaderError."""
    try:
        yield
    except TableError as error:
        raise ReaderError(str(error)) from error


def load_dataset(space: Workspace, url: str, crew: OnCluster, tell: Tell) -> TableAbout:
    """Let the workers draw a sample of a dataset, and store it as a table; ReaderError or StoreError where it cannot
    be. tell : called with the share done, and words."""
    with scratch_folder(space.root) as into:
        dataset, sample = Dataset.at(url, crew), into / "sample.parquet"
        asked, written = dataset.sample(crew, sample, space.limits.table_memory, tell)
        return space.tables.add_dataset(
            dataset.url, asked, (sample, written.sampled), written.rows, written.columns,
            name=PurePosixPath(dataset.url).stem, notes=dataset.notes,
        )  # fmt: skip


def shown_pieces(
    space: Workspace, table: str, crew: OnCluster, columns: Sequence[str], codes: MissingCodes | None = None
) -> list[ShownPiece]:
    """Return the rows of a stored dataset as pages show them; StoreError where it has changed since.

    columns : those to read, of which at least one exists. codes : those that mean missing; None for the table's own.
    """
    about = space.tables.about(table)
    try:
        dataset = Dataset.at(about.dataset, crew)
    except ReaderError as error:
        raise StoreError(str(error)) from error
    if dataset.n_rows != about.rows:
        raise StoreError(
            f"{about.dataset} has {count(dataset.n_rows)} rows now, and had {count(about.rows)} when it was loaded: "
            "load it again, as a newer version."
        )
    like, below = like_of(space, table, columns, codes), threshold(about.asked, about.rows)
    sizes = [piece.n_rows for piece in dataset.pieces]
    inside = [sampled_rows(first, first + n, below).size for first, n in zip(starts_of(sizes), sizes, strict=True)]
    befores = [0, *accumulate(inside)][: len(sizes)]
    known = space.tables.names(table).codes() if codes is None else codes
    return [
        ShownPiece(piece, like, known, below, before) for piece, before in zip(dataset.pieces, befores, strict=True)
    ]


def like_of(space: Workspace, table: str, columns: Sequence[str], codes: MissingCodes | None = None) -> pd.DataFrame:
    """Return the first rows that pages show of a table, with the types of all, of the columns that exist, and of at
    least one. codes : those that mean missing; None for the table's own."""
    head = beginning(space.tables.shown_path(table))
    wanted = [name for name in head.columns if name in columns]
    known = space.tables.names(table).codes() if codes is None else codes
    return clear_codes(head[wanted or [head.columns[0]]], known)
