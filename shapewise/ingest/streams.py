"""Text files read in parts: unpacked, decoded, with normalized line ends, and passed on as UTF-8."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast

from gamcore.numbers import count
from shapewise.ingest.common import ReaderError
from shapewise.ingest.text import open_quote

PART: Final = 2**20
HEAD: Final = 2**22
MAX_GZIP: Final = 300
"""The most a gzip file above 64 MiB unpacked may expand, as a multiple of its size: columns of zeros reach about
200."""
FREE: Final = 2**26


@contextmanager
def unpacked(source: Path, gz: bool) -> Iterator[IO[bytes]]:
    """Open the bytes of a file, unpacked if `gz`; a damaged file is refused."""
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
    """Return the next unpacked bytes; a bomb is refused by its size so far, before more is unpacked."""
    part = file.read(size)
    if isinstance(file, gzip.GzipFile) and file.tell() > max(FREE, MAX_GZIP * place(file)):
        raise ReaderError(
            f"The file unpacks to more than {MAX_GZIP} times its size: unpack it, or load it as Parquet instead."
        )
    return part


class Texts:
    """The parts of a text file in order; counts what was read and checks for an open quote."""

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
                f"Line {count(self._lines)} or one soon after it does not fit the encoding {self._encoding}: "
                "save the file as UTF-8 and load it again."
            ) from error

    def check_quotes(self) -> None:
        """Check at the end of the file: a quote that is never closed would swallow the rest of it."""
        if self.quotes % 2:
            raise open_quote(self._last_quote)


class _Watched(io.BufferedIOBase):
    """The bytes of a file, monitored for a bomb."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = PART) -> bytes:
        return read_part(self._file, PART if size is None else size)

    def read1(self, size: int = PART) -> bytes:
        return self.read(size)


class Feed(io.RawIOBase):
    """The parts of a text as a file of UTF-8 bytes, for a parser that reads as much as it likes."""

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
