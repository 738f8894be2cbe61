"""Text files read a part at a time: unpacked, decoded, with plain line ends, and handed on as UTF-8."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast

from shapewise.ingest.common import ReaderError
from shapewise.ingest.text import open_quote

PART: Final = 2**20
HEAD: Final = 2**22
MAX_GZIP: Final = 300
"""Times its own size that a gzip file may unpack to, from 64 MiB on: columns of zeros reach about 200."""
FREE: Final = 2**26


@contextmanager
def unpacked(source: Path, gz: bool) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where `gz`; a damaged file is refused."""
    try:
        with gzip.open(source) if gz else source.open("rb") as file:
            yield file  # type: ignore[misc]
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ReaderError(f"The compressed file is damaged ({error}): compress or download it again.") from error


def place(file: IO[bytes] | gzip.GzipFile) -> int:
    """Return how many bytes of the file on disk have been read."""
    packed: Any = file.fileobj if isinstance(file, gzip.GzipFile) else file
    return int(packed.tell())


def read_part(file: IO[bytes] | gzip.GzipFile, size: int = PART) -> bytes:
    """Return the next unpacked bytes; a bomb is refused by what it has grown to so far, before more of it is
    unpacked."""
    part = file.read(size)
    if isinstance(file, gzip.GzipFile) and file.tell() > max(FREE, MAX_GZIP * place(file)):
        raise ReaderError(
            f"The file unpacks to more than {MAX_GZIP} times its size: unpack it, or load it as Parquet instead."
        )
    return part


class Texts:
    """Parts of a text file in order; counts what has been read and looks for an open quote on the way."""

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self._text = io.TextIOWrapper(cast(Any, _Watched(file)), encoding=encoding)
        self._encoding = encoding
        self.bytes = self.nuls = self.quotes = 0
        self._lines, self._last_quote = 1, 1

    def __iter__(self) -> Iterator[str]:
        while part := self._read():
            if nuls := part.count("\0"):
                self.nuls += nuls
                part = part.replace("\0", "")
            if quotes := part.count('"'):
                self.quotes += quotes
                self._last_quote = self._lines + part.count("\n", 0, part.rfind('"'))
            self._lines += part.count("\n")
            yield part

    def _read(self) -> str:
        try:
            return self._text.read(PART)
        except UnicodeDecodeError as error:
            raise ReaderError(
                f"Line {self._lines:,} or one soon after it does not fit the encoding {self._encoding}: "
                "save the file as UTF-8 and load it again."
            ) from error

    def check_quotes(self) -> None:
        """At the end: a quote that was opened and never closed would swallow the rest of the file."""
        if self.quotes % 2:
            raise open_quote(self._last_quote)


class _Watched(io.BufferedIOBase):
    """Bytes of a file, watched for a bomb."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = PART) -> bytes:
        return read_part(self._file, PART if size is None else size)

    def read1(self, size: int = PART) -> bytes:
        return self.read(size)


class Feed(io.RawIOBase):
    """Parts of a text as a file of UTF-8 bytes, for a parser that reads as much as it likes."""

    def __init__(self, first: str, rest: Iterator[str]) -> None:
        self._rest, self._bytes = rest, first.encode()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        parts, have = [self._bytes], len(self._bytes)
        while size < 0 or have < size:
            part = next(self._rest, None)
            if part is None:
                break
            parts.append(part.encode())
            have += len(parts[-1])
        content = b"".join(parts)
        size = len(content) if size < 0 else size
        self._bytes = content[size:]
        return content[:size]
