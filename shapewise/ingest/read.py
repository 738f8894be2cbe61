"""Reading of files into tables. Changes made on the way are noted; an unreadable file is refused in one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath

import pandas as pd
import pyarrow as pa

from shapewise.ingest.arrow import read_arrow
from shapewise.ingest.common import SUFFIXES, TEXT_SUFFIXES, ReaderError
from shapewise.ingest.excel import read_sheet
from shapewise.ingest.header import check_columns
from shapewise.ingest.text import TextFile, Typed, as_frame
from shapewise.ingest.writer import Tell


@dataclass
class Loaded:
    """A table as read, and the changes made on the way."""

    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)


def _silent(share: float, words: str) -> None:
    """Tell nobody of the progress."""


def read_file(name: str, data: bytes, tell: Tell = _silent) -> Loaded:
    """Read a file by its suffix; text formats may also be compressed (`.gz`). tell : is told the progress."""
    if not data:
        raise ReaderError("The file is empty (0 bytes): choose another.")
    path = PurePath(name.lower())
    notes: list[str] = []
    packed = path.suffix == ".gz"
    if packed:
        path = PurePath(path.stem)
        if path.suffix not in TEXT_SUFFIXES:
            raise ReaderError("Only .csv.gz, .tsv.gz and .txt.gz can be read compressed: unpack the file first.")
    if path.suffix in TEXT_SUFFIXES:
        frame = TextFile[pd.DataFrame](data, packed, notes, tell).read(_frame)
    elif path.suffix == ".xlsx":
        frame = read_sheet(data, notes, tell)
    elif path.suffix in (".parquet", ".feather", ".arrow"):
        frame = read_arrow(data, path.suffix, notes, tell)
    else:
        raise ReaderError(f"Files ending in {path.suffix or 'nothing'} are not supported: use {', '.join(SUFFIXES)}.")
    if frame.shape[0] == 0:
        raise ReaderError("The file has column names but no rows: choose another.")
    check_columns(frame.shape[1])
    return Loaded(frame, notes)


def _frame(typed: Typed) -> pd.DataFrame:
    """Return typed rows as a DataFrame; booleans may be missing."""
    table = pa.Table.from_batches([batch for part in typed.batches for batch in part.to_batches()], typed.schema)
    return as_frame(table)
