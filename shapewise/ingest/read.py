"""Reading of files into tables. Changes made on the way are noted; an unreadable file is refused in one sentence."""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass, field
from pathlib import PurePath

import pandas as pd

from gamcore.numbers import count
from shapewise.ingest.arrow import read_arrow
from shapewise.ingest.common import MAX_COLUMNS, MAX_UNPACKED, SUFFIXES, TEXT_SUFFIXES, ReaderError
from shapewise.ingest.excel import read_sheet
from shapewise.ingest.streams import read_part
from shapewise.ingest.text import read_text


@dataclass
class Loaded:
    """A table as read, and the changes made on the way."""

    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)


def read_file(name: str, data: bytes) -> Loaded:
    """Read a file by its suffix; text formats may also be compressed (`.gz`)."""
    if not data:
        raise ReaderError("The file is empty (0 bytes): choose another.")
    path = PurePath(name.lower())
    notes: list[str] = []
    if path.suffix == ".gz":
        data = _unzip(data)
        path = PurePath(path.stem)
        if path.suffix not in TEXT_SUFFIXES:
            raise ReaderError("Only .csv.gz, .tsv.gz and .txt.gz can be read compressed: unpack the file first.")
    if path.suffix in TEXT_SUFFIXES:
        frame = read_text(data, notes)
    elif path.suffix == ".xlsx":
        frame = read_sheet(data, notes)
    elif path.suffix in (".parquet", ".feather", ".arrow"):
        frame = read_arrow(data, path.suffix, notes)
    else:
        raise ReaderError(f"Files ending in {path.suffix or 'nothing'} are not supported: use {', '.join(SUFFIXES)}.")
    if frame.shape[0] == 0:
        raise ReaderError("The file has column names but no rows: choose another.")
    if frame.shape[1] > MAX_COLUMNS:
        raise ReaderError(
            f"The file has {count(frame.shape[1])} columns, more than {count(MAX_COLUMNS)}: drop some first."
        )
    return Loaded(frame, notes)


def _unzip(data: bytes) -> bytes:
    """Unpack gzip, and stop as soon as the limit is exceeded."""
    size, parts = 0, []
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while size <= MAX_UNPACKED and (part := read_part(file)):
                size += len(part)
                parts.append(part)
    except (OSError, EOFError, zlib.error) as error:
        raise ReaderError(f"The compressed file is damaged ({error}): compress or download it again.") from error
    if size > MAX_UNPACKED:
        raise ReaderError(f"The file unpacks to more than {count(MAX_UNPACKED >> 20)} MiB: load it as Parquet instead.")
    return b"".join(parts)
