"""Reading of files into tables. Changes made on the way are noted; an unreadable file is refused in one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pandas as pd

from shapewise.ingest.arrow import read_arrow
from shapewise.ingest.common import ReaderError, is_text, kind_of_name, size_of
from shapewise.ingest.excel import read_sheet
from shapewise.ingest.text import TextFile
from shapewise.ingest.writer import Tell, Typed

Result = TypeVar("Result")


@dataclass
class Loaded:
    """A table as read, and the changes made on the way."""

    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)


def _silent(share: float, words: str) -> None:
    """Tell nobody of the progress."""


def read_file(name: str, data: bytes, tell: Tell = _silent) -> Loaded:
    """Read a file by its suffix; text formats may also be compressed (`.gz`). tell : is told the progress."""
    notes: list[str] = []
    return Loaded(Reader(notes, tell).read(data, kind_of_name(name), Typed.frame), notes)


@dataclass(frozen=True)
class Reader:
    """What reads files of all kinds.

    notes : get the changes made on the way. tell : is told the progress. memory : bytes that reading may take."""

    notes: list[str]
    tell: Tell
    memory: float = math.inf

    def read(self, source: Path | bytes, kind: str, consume: Callable[[Typed], Result]) -> Result:
        """Return what `consume` makes of the rows of a file, or folder. kind : its suffix, or "folder"."""
        if kind != "folder" and size_of(source) == 0:
            raise ReaderError("The file is empty (0 bytes): choose another.")
        if is_text(kind):
            return TextFile[Result](source, kind.endswith(".gz"), self.notes, self.tell).read(consume)
        if kind == ".xlsx":
            data = source if isinstance(source, bytes) else source.read_bytes()
            return consume(Typed.whole(read_sheet(data, self.notes, self.tell)))
        return read_arrow(source, kind, self.notes, self.tell, consume=consume, memory=self.memory)
