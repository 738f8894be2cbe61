"""Reading of files into tables. Changes made on the way are noted; an unreadable file is refused in one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd
import pyarrow as pa

from shapewise.ingest.arrow import read_arrow
from shapewise.ingest.common import NO_ROWS, ReaderError, is_text, kind_of_name
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
    kind = kind_of_name(name)
    notes: list[str] = []
    if is_text(kind):
        frame = TextFile[pd.DataFrame](data, kind.endswith(".gz"), notes, tell).read(_frame)
    elif kind == ".xlsx":
        frame = read_sheet(data, notes, tell)
    else:
        frame = read_arrow(data, kind, notes, tell)
    if frame.shape[0] == 0:
        raise ReaderError(NO_ROWS)
    check_columns(frame.shape[1])
    return Loaded(frame, notes)


def _frame(typed: Typed) -> pd.DataFrame:
    """Return typed rows as a DataFrame; booleans may be missing."""
    table = pa.Table.from_batches([batch for part in typed.batches for batch in part.to_batches()], typed.schema)
    return as_frame(table)
