"""Text files read in parts: unpacked, decoded, with normalized line ends, and passed on as UTF-8."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final, cast

from gamcore.common.numbers import count
from shapewise.ingest.common import ReaderError
from shapewise.ingest.layout import UTF8_IN_PART, Dialect, dialect_of, escape_of, has_inner_quotes

PART: Final = 2**20
HEAD: Final = 2**21
MAX_GZIP: Final = 300
"""The most a gzip file above 64 MiB unpacked may expand, as a multiple of its size: columns of zeros reach about
200."""
FREE: Final = 2**26


INVISIBLE: Final = "\ufeff\u200b\u2060\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks without width, of byte order and of the direction of writing, which keep 1 from being a number."""

INNER: Final = "\ufdd0"
"""A character that no text has, in place of a carriage return within a cell."""

WITHOUT_INVISIBLE: Final = dict.fromkeys(map(ord, INVISIBLE))
MAX_LINE: Final = 2**24


@contextmanager
def unpacked(source: Path | bytes, gz: bool) -> Iterator[IO[bytes]]:
    """Open the bytes of a file, unpacked if `gz`; a damaged file is refused."""
    try:
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
            yield cast(IO[bytes], Packed(fileobj=file)) if gz else file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ReaderError(f"The compressed file is damaged ({error}): compress or download it again.") from error


class Packed(gzip.GzipFile):
    """A packed file; a bomb is refused by its size so far, before more is unpacked."""

    def read1(self, size: int = PART) -> bytes:
        part = super().read1(size)
        if self.tell() > max(FREE, MAX_GZIP * place(self)):
            raise ReaderError(
                f"The file unpacks to more than {MAX_GZIP} times its size: unpack it, or load it as Parquet instead."
            )
        return part


def place(file: IO[bytes] | gzip.GzipFile) -> int:
    """Return how many bytes of the file on disk have been read."""
    packed: Any = file.fileobj if isinstance(file, gzip.GzipFile) else file
    return int(packed.tell())


class Texts:
    """The parts of a text file in order, in whole lines that end in \\n; counts what it removes.

    A carriage return alone ends a line where it does so in the first lines; elsewhere it is part of a cell, and
    stands as INNER until the cells are apart."""

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        codec, errors = ("utf-8", "replace") if encoding == UTF8_IN_PART else (encoding, "strict")
        self._text = io.TextIOWrapper(file, encoding=codec, errors=errors, newline="")
        self._encoding, self._rest = encoding, ""
        self.nuls = self.inner = self.odd = self.invisible = 0
        self.lines = 0
        self._ends_lines: bool | None = None

    def __iter__(self) -> Iterator[str]:
        while part := self._read():
            if nuls := part.count("\0"):
                self.nuls += nuls
                part = part.replace("\0", "")
            if not part.isascii() and (invisible := sum(map(part.count, INVISIBLE))):
                self.invisible += invisible
                part = part.translate(WITHOUT_INVISIBLE)
            if self._encoding == UTF8_IN_PART:
                self.odd += part.count("\ufffd")
            yield from self._whole_lines(part)
        yield from self._whole_lines("\n", last=True)

    def _whole_lines(self, part: str, last: bool = False) -> Iterator[str]:
        text = self._rest + part
        self._rest = text[-1:] if text.endswith("\r") and not last else ""
        text = text.removesuffix(self._rest).replace("\r\n", "\n")
        if "\r" in text:
            if self._ends_lines is None:
                self._ends_lines = returns_end_lines(text)
            self.inner += 0 if self._ends_lines else text.count("\r")
            text = text.replace("\r", "\n" if self._ends_lines else INNER)
        elif "\n" in text:
            self._ends_lines = self._ends_lines or False
        end = text.rfind("\n") + 1 or (len(text) if len(text) > MAX_LINE else 0)
        self._rest = text[end:] + self._rest
        self.lines += text.count("\n", 0, end)
        if end and text[:end] != "\n" * last:
            yield text[:end]

    def _read(self) -> str:
        try:
            return self._text.read(PART)
        except UnicodeDecodeError as error:
            raise ReaderError(
                f"Line {count(self.lines + 1)} or one soon after it does not fit the encoding {self._encoding}: "
                "save the file as UTF-8 and load it again."
            ) from error


def returns_end_lines(text: str) -> bool:
    """Return whether carriage returns alone end lines: where the other reading leaves more rows of another width."""
    if "\n" not in text:
        return True
    lines = text.split("\n")
    some = [*lines[:20], *[line for line in lines[20:] if "\r" in line][:50]]
    counts = [_ragged("\n".join(some).replace("\r", mark).split("\n")) for mark in ("\n", INNER)]
    return counts[0] < counts[1] or (counts[0] == counts[1] and 10 * text.count("\r") > len(lines))


def _ragged(lines: list[str]) -> int:
    """Return how many rows do not have the usual width."""
    dialect = dialect_of(lines)
    widths = Counter(len(row.cells) for row in dialect.rows(lines))
    return widths.total() - max(widths.values(), default=0)


class Quotes:
    """Counts the quotation marks of a text, and knows the dialect where later lines show another use of them."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.count, self.late = 0, cast(Dialect | None, None)

    def look(self, text: str) -> None:
        """Count in the next lines."""
        dialect, quote = self._dialect, self._dialect.quote
        if quote not in text:
            return
        if dialect.escape:
            text = re.sub(r"\\[^\n]", "", text)
        elif self.late is None and "\\" + quote in text and escape_of(text.split("\n"), dialect):
            self.late = replace(dialect, escape="\\", inner=False)
        elif self.late is None and not dialect.inner and has_inner_quotes(text, dialect):
            self.late = replace(dialect, inner=True)
        self.count += text.count(quote)


def check_closed(texts: Iterable[str], dialect: Dialect) -> None:
    """Refuse a text with a quotation mark that is never closed: it would swallow the rest. Marks within cells that do
    not begin with one, as in 5" by 7", are part of them."""
    quote, after = dialect.quote, re.escape(dialect.separator)
    cell = re.compile(rf"(?:^|{after}){quote}(?:[^{quote}]|{quote * 2})*({quote}|$)")
    end = re.compile(rf"(?:[^{quote}]|{quote * 2})*{quote}")
    number = opened = 0
    for part in texts:
        for line in dialect.plain(part).removesuffix("\n").split("\n"):
            number += 1
            if quote not in line:
                continue
            line = re.sub(r"\\.", "", line) if dialect.escape else line
            start = 0
            if opened:
                closing = end.match(line)
                if closing is None:
                    continue
                opened, start = 0, closing.end()
            opened = number if any(not match[1] for match in cell.finditer(line, start)) else 0
    if opened:
        raise ReaderError(f"A quotation mark opened near line {count(opened)} is never closed: close or remove it.")


class Feed(io.RawIOBase):
    """The parts of a text as a file of UTF-8 bytes."""

    def __init__(self, parts: Iterator[str]) -> None:
        self._parts, self._rest = parts, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._rest and (part := next(self._parts, None)) is not None:
            self._rest = memoryview(part.encode())
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
