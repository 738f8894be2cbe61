"""Tables in pieces: a Parquet dataset, a list of frames, or a Dask collection.

A piece knows its name, for messages, and reads itself as a frame. It is plain data, so it can be read anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads

from gamcore.common.types import Ints
from gamcore.data.columns import TableError
from gamcore.data.table import Table

PIECE_ROWS: Final = 2**19
"""Rows of neighbouring row groups of a Parquet file that are one piece: a row group has at most so many, mostly."""

WHOLE_NUMBERS: Final[dict[Any, Any]] = {
    pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(), pa.uint16(): pd.UInt16Dtype(), pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}  # fmt: skip
"""Types that keep whole numbers whole where cells are missing: 1 must not be the level "1.0" in one piece alone."""


class Piece(Protocol):
    """Some of the rows of a table."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def n_rows(self) -> int | None:
        """Its rows, None where they are not known before it is read."""
        ...

    def read(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return its rows, with the named columns or all."""
        ...


@dataclass(frozen=True)
class ParquetPiece:
    """Some row groups of a file of a Parquet dataset. fragment : of pyarrow, which can be pickled."""

    name: str
    n_rows: int
    fragment: Any
    schema: Any

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Read the rows, with the types of the whole dataset."""
        wanted = None if columns is None else list(columns)
        return self.fragment.to_table(schema=self.schema, columns=wanted, use_threads=False)

    def read(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Read the rows as a frame."""
        frame: pd.DataFrame = self.table(columns).to_pandas(types_mapper=WHOLE_NUMBERS.get, ignore_metadata=True)
        return frame


@dataclass(frozen=True)
class FramePiece:
    """A frame, or what a cluster has in its place: `frame` is then the result of a task."""

    name: str
    frame: Any
    n_rows: int | None = None

    def read(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the frame."""
        frame: pd.DataFrame = self.frame.set_axis([str(name) for name in self.frame.columns], axis=1)
        return frame if columns is None else frame[list(columns)]


def read(piece: Piece, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the rows of a piece; TableError that names it where it cannot be read."""
    try:
        return piece.read(columns)
    except (MemoryError, TableError):
        raise
    except Exception as error:
        raise TableError(
            f"{piece.name} cannot be read ({type(error).__name__}: {error}): repair it or leave it out."
        ) from error


@contextmanager
def naming(piece: Piece) -> Iterator[None]:
    """Let a TableError about the rows of a piece say which it is."""
    try:
        yield
    except TableError as error:
        raise TableError(f"{piece.name}: {error}") from error


def is_in_pieces(X: Any) -> bool:
    """Return whether a table comes in pieces: a path or URL, a Dask dataframe, or a list of frames, delayed frames or
    pieces."""
    if isinstance(X, str | Path):
        return True
    if hasattr(X, "to_delayed") and hasattr(X, "npartitions"):
        return True
    return isinstance(X, list | tuple) and bool(X) and all(_is_frame(part) for part in X)


def _is_frame(part: Any) -> bool:
    return isinstance(part, pd.DataFrame) or _is_delayed(part) or _is_piece(part)


def _is_delayed(part: Any) -> bool:
    return hasattr(part, "__dask_graph__")


def _is_piece(part: Any) -> bool:
    return not _is_delayed(part) and all(hasattr(part, name) for name in ("name", "n_rows", "read"))


def pieces_of(X: Any, compute: Callable[[list[Any]], list[Any]] | None = None) -> list[Piece]:
    """Return the pieces of a table; of one that is not in pieces, itself.

    compute : starts delayed frames where they are to be, and returns their futures. TableError where it has none, or
    needs a cluster and there is none.
    """
    if isinstance(X, str | Path):
        return _of_dataset(str(X))
    parts = X.to_delayed() if hasattr(X, "to_delayed") else X
    frames = list(parts) if is_in_pieces(X) else [Table.of(X).frame]
    if all(_is_piece(frame) for frame in frames):
        return frames
    if not all(isinstance(frame, pd.DataFrame) for frame in frames):
        if compute is None:
            raise TableError("Delayed frames are made by the workers of a cluster: give client=, a Dask client.")
        frames = compute(frames)
    sizes = [len(frame) if isinstance(frame, pd.DataFrame) else None for frame in frames]
    return [
        FramePiece(f"Piece {number} of {len(frames)}", frame, size)
        for number, (frame, size) in enumerate(zip(frames, sizes, strict=True), 1)
    ]


def _of_dataset(url: str) -> list[Piece]:
    """Return the pieces of a Parquet dataset: a file, a folder, or a URL that pyarrow knows."""
    try:
        dataset = pads.dataset(url, format="parquet")
        fragments = list(dataset.get_fragments())
    except (OSError, pa.ArrowException, ValueError) as error:
        raise TableError(f"{url} cannot be read as a Parquet dataset: {error}") from error
    if not fragments:
        raise TableError(f"{url} has no Parquet file: give the path of a file, or of a folder with some.")
    return [piece for fragment in fragments for piece in _of_file(fragment, dataset.schema)]


def _of_file(fragment: Any, schema: Any) -> list[Piece]:
    """Return neighbouring row groups of a file as pieces of about `PIECE_ROWS` rows; a file without rows is one."""
    name = Path(fragment.path).name
    try:
        sizes = [group.num_rows for group in fragment.row_groups]
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{name} cannot be read as a Parquet file: {error}; repair it or leave it out.") from error
    runs: list[list[int]] = []
    for place, size in enumerate(sizes):
        if runs and sum(sizes[k] for k in runs[-1]) + size <= PIECE_ROWS:
            runs[-1].append(place)
        else:
            runs.append([place])
    pieces: list[Piece] = []
    for run in runs:
        part = name if len(runs) == 1 else f"{name}, row groups {run[0]} to {run[-1]}"
        pieces.append(ParquetPiece(part, sum(sizes[k] for k in run), fragment.subset(row_group_ids=run), schema))
    return pieces


def starts_of(sizes: Sequence[int]) -> list[int]:
    """Return the number of the first row of each piece, given their rows."""
    ends: Ints = pd.Series(sizes, dtype="int64").cumsum().to_numpy()
    return [0, *ends[:-1].tolist()] if len(sizes) else []
