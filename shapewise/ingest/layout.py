"""The layout of a text file: its encoding, its delimiter, and where the table begins."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import Final, NamedTuple

from charset_normalizer import from_bytes

from gamcore.numbers import count
from shapewise.ingest.common import MAX_COLUMNS, ReaderError, clean_names

SAMPLE_LINES: Final = 200
SAMPLE_CHARACTERS: Final = 400_000
# Commas last: if two fit equally well, the comma may be a decimal mark or part of a sentence.
DELIMITERS: Final = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose byte-order mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
GUESSES: Final = ["cp1252", "latin_1", "cp1250", "shift_jis", "gb18030", "cp1251"]
BEGINNINGS: Final = (
    (re.compile(rb"PK\x03\x04"), "a ZIP archive or workbook"),
    (re.compile(rb"PAR1"), "Parquet"),
    (re.compile(rb"ARROW1"), "Arrow"),
    (re.compile(rb"\x1f\x8b"), "packed by gzip"),
    (re.compile(rb"%PDF"), "PDF"),
    (re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8"), "a picture such as PNG"),
    (re.compile(rb"\xd0\xcf\x11\xe0"), "an old or encrypted workbook"),
    (re.compile(rb"\s*<(?:!doctype html|html)", re.IGNORECASE), "a web page"),
    (re.compile(rb'\s*(?:\[\s*)?\{\s*"'), "JSON"),
)
CONTROL: Final = bytes(set(range(1, 32)) - set(b"\t\n\r\f\x1a\x1b"))
MAX_CONTROL: Final = 0.02
"""Maximum share of control characters; in random bytes it is a tenth."""

NUMERIC: Final = re.compile(r"[-+]?[\d.,]+%?")


@dataclass(frozen=True)
class Layout:
    """Where the table is in a text."""

    delimiter: str
    names: list[str]
    start: int  # characters before the first row
    comma_is_decimal: bool


class TextLine(NamedTuple):
    """One of the first rows: the line it begins in (0-based), its cells, and how many are not blank."""

    number: int
    cells: list[str]
    filled: int

    @property
    def spare(self) -> bool:
        return self.cells[-1] == ""


def encoding_of(head: bytes, notes: list[str], whole: bool = True) -> str:
    """Return the encoding of a file that begins with `head`: by its byte-order mark, UTF-8 if valid, else the
    likeliest.

    `whole` says that the head is the entire file; otherwise its last character may be cut."""
    for pattern, what in BEGINNINGS:
        if pattern.match(head):
            raise ReaderError(
                f"The file is not text with columns but {what}: save the table as CSV, or rename the file."
            )
    for mark, encoding in MARKS:
        if head.startswith(mark):
            notes.append(f"Decoded from {encoding.removesuffix('-sig').upper()} with a byte-order mark.")
            return encoding
    if wide := _unmarked_utf16(head):
        notes.append(f"Decoded from {wide.upper()} without a byte-order mark: check a few accented names.")
        return wide
    part = head[:100_000]
    if len(part) - len(part.translate(None, CONTROL)) > max(8, MAX_CONTROL * len(part)):
        raise ReaderError("The file is not text, as it is full of control characters: save the table as CSV.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, whole)
    except UnicodeDecodeError:
        return _guess(head, notes)
    return "utf-8"


def _unmarked_utf16(head: bytes) -> str:
    """Detect UTF-16 without a mark: mostly Latin text has a NUL in every other byte, always on the same side."""
    part = head[:20_000]
    even, odd = part[::2].count(0), part[1::2].count(0)
    if len(part) < 8 or even + odd < 0.3 * len(part):
        return ""
    return "utf-16-le" if even < 0.01 * odd else "utf-16-be" if odd < 0.01 * even else ""


def _guess(head: bytes, notes: list[str]) -> str:
    guess = from_bytes(head[:200_000], cp_isolation=GUESSES).best()
    if guess is None:
        raise ReaderError("The file is not text in a known encoding: save it as UTF-8 and load it again.") from None
    # Similar encodings can read most files; the one that most programs write is the better guess.
    encoding = "cp1252" if "cp1252" in guess.could_be_from_charset else guess.encoding
    notes.append(f"Decoded from {encoding}: check a few accented names; if they look odd, save it as UTF-8.")
    return encoding


def layout_of(text: str, notes: list[str]) -> Layout:
    """Return the layout of a text with line ends \\n, from its first 400,000 characters."""
    said, start = _said_delimiter(text)
    lines = text[start : start + SAMPLE_CHARACTERS].split("\n")[:SAMPLE_LINES]
    delimiter, width, first = _sniff(lines, said)
    if delimiter != ",":
        notes.append(f"Columns are separated by {DELIMITERS[delimiter]}.")
    if first:
        notes.append(f"Skipped {first} line{'s' * (first > 1)} before the column names.")
        start += sum(len(line) + 1 for line in lines[:first])
    names, start = _header(text, start, delimiter, width, notes)
    return Layout(delimiter, names, start, comma_is_decimal=delimiter == ";")


def _said_delimiter(text: str) -> tuple[str, int]:
    """Return the delimiter that a first line such as sep=; declares, as spreadsheets write it, and where the rest
    begins."""
    match = re.match(r'"?sep=([;\t|,])"?[;\t|,]*\n', text, re.IGNORECASE)
    return (match.group(1), match.end()) if match else ("", 0)


def _sniff(lines: list[str], said: str) -> tuple[str, int, int]:
    """Return the delimiter, the number of columns, and the lines before the header.

    The delimiter is the one for which most lines agree on a width above one. The header is the first line of that
    width, or of one less if every row ends in a spare delimiter."""
    best = (0.0, said or ",", 1, 0)
    wrong: list[ReaderError] = []
    for delimiter in said or DELIMITERS:
        try:
            rows = _rows(lines, delimiter)
        except ReaderError as error:  # with a wrong delimiter, a long row is one long cell
            wrong.append(error)
            continue
        if not rows:
            continue
        width, times = Counter(len(row.cells) for row in rows).most_common(1)[0]
        score = times / len(rows)
        if width > 1 and score > best[0] + 1e-9:
            best = (score, delimiter, width, _header_line(rows, width))
    if wrong and best[2] == 1:
        raise wrong[0]
    return best[1], best[2], best[3]


def _rows(lines: list[str], delimiter: str) -> list[TextLine]:
    """Return the rows that are not blank."""
    kept: list[TextLine] = []
    start = 0
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        for row in rows:
            if row:
                kept.append(TextLine(start, row, sum(cell.strip() != "" for cell in row)))
            start = rows.line_num
    except csv.Error as error:
        raise ReaderError(
            f"Line {count(start + 1)} cannot be read ({error}): a cell may be too long, or a quote open."
        ) from error
    return kept


def _header_line(rows: list[TextLine], width: int) -> int:
    """Return the line of the column names: the first of the usual width, or one cell less if every row ends in a spare
    separator.

    A narrower line right before the data is refused: it could be a title, or names with one missing."""
    spare = all(row.spare for row in rows if len(row.cells) == width)
    fitting = (width, width - 1) if spare else (width,)
    first = next(k for k, row in enumerate(rows) if len(row.cells) in fitting)
    first = _after_titles(rows, first, width - spare)
    if first > 0 and len(rows[first - 1].cells) == width - 1 and width > 2 and not spare:
        raise ReaderError(
            f"Line {rows[first - 1].number + 1} has {width - 1} cells and the rows below have {width}: "
            "give every column a name, or remove the line if it is a title."
        )
    return rows[first].number


def _after_titles(rows: list[TextLine], first: int, width: int) -> int:
    """Skip titles, which spreadsheets pad with separators: rows of one cell before the first full row of words."""
    if rows[first].filled > 1 or width < 3:
        return first
    for k in range(first, min(first + 10, len(rows))):
        if rows[k].filled == width:
            words = [cell.strip() for cell in rows[k].cells if cell.strip()]
            names = len(set(words)) == width and not any(NUMERIC.fullmatch(word) for word in words)
            return k if names else first
        if rows[k].filled > 1:
            break
    return first


def _header(text: str, start: int, delimiter: str, width: int, notes: list[str]) -> tuple[list[str], int]:
    """Return the column names, cleaned and distinct, and where the rows begin."""
    stream = io.StringIO(text[start : start + 2**24])
    try:
        names = next(csv.reader(stream, delimiter=delimiter), [])
    except csv.Error as error:
        raise ReaderError(f"The line of column names cannot be read ({error}): check its quotes.") from error
    if len(names) > MAX_COLUMNS:  # before the names are cleaned, each with a note
        raise ReaderError(f"The file has {count(len(names))} columns, more than {count(MAX_COLUMNS)}: drop some first.")
    if not any(name.strip() for name in names):
        raise ReaderError("The first line has no column names: give every column a name.")
    if len(names) == width - 1:
        names.append("")
    if len(names) != width:
        raise ReaderError(
            f"The header has {len(names)} names and most rows have {width} cells: give every column a name."
        )
    return clean_names(names, notes), start + stream.tell()
