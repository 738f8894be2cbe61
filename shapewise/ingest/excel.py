"""Excel workbooks: inspected before they are parsed; only the values of the first sheet are read."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from dataclasses import dataclass
from typing import Final

import pandas as pd
import python_calamine

from gamcore.numbers import count
from shapewise.ingest.common import MAX_COLUMNS, MAX_FIELD, ReaderError, clean_names, in_words
from shapewise.ingest.text import footer_note, footer_rows
from shapewise.ingest.types import type_columns

MAX_SHEET_CELLS: Final = 20_000_000
MAX_WORKBOOK: Final = 2**29
MAX_MEMBERS: Final = 2_000
MAX_PACKED: Final = 200
"""The most a member above 16 MiB may expand, as a multiple of its packed size: sheets of equal numbers reach about
50."""
FREE: Final = 2**24
PART: Final = 2**20
CELL: Final = re.compile(rb' r="([A-Z]{1,3})(\d{1,7})"')
ERROR_CELL: Final = re.compile(rb'<c\s[^>]{0,40}\bt="e"')
EMPTY_FORMULA: Final = re.compile(rb"</f>\s*(?:<v\s*/>|<v></v>|</c>)")


@dataclass
class Seen:
    """What the inspection of the sheets found: the last row and column, cells, merged ranges, formulas without a stored
    value, and error cells."""

    rows: int = 0
    columns: int = 0
    cells: int = 0
    merged: int = 0
    empty: int = 0
    errors: int = 0


def read_sheet(data: bytes, notes: list[str]) -> pd.DataFrame:
    """Return the first sheet of a workbook: values only, no formula is run."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):  # container of old and of encrypted workbooks
        raise ReaderError("The workbook has a password or an old format: save it as .xlsx without a password.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            seen = _look_through(archive)
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        rows = book.get_sheet_by_index(0).to_python(skip_empty_area=True)
    except ReaderError:
        raise
    except Exception as error:  # the parser raises many types on damaged workbooks
        raise ReaderError(f"The workbook cannot be read ({in_words(error)}): save it again as .xlsx.") from error
    _tell(seen, book.sheet_names, notes)
    rows = [row for row in rows if any(cell not in ("", None) for cell in row)]
    if len(rows) < 2:
        raise ReaderError("The first sheet needs a line of column names and at least one row.")
    return _as_frame(_without_titles([list(row) for row in rows], notes), notes)


def _tell(seen: Seen, sheets: list[str], notes: list[str]) -> None:
    if len(sheets) > 1:
        notes.append(f"Read the first of {len(sheets)} sheets, {sheets[0]!r}.")
    if seen.merged:
        notes.append(
            f"The workbook merges cells in {count(seen.merged)} places: only the first cell of each has the value."
        )
    if seen.empty:
        notes.append(
            f"{count(seen.empty)} formulas of the workbook have no stored value and are missing here: "
            "open and save it in a spreadsheet program first."
        )
    if seen.errors:
        notes.append(f"{count(seen.errors)} cells of the workbook hold errors such as #DIV/0! and are missing here.")


def _without_titles(rows: list[list[object]], notes: list[str]) -> list[list[object]]:
    """Return the rows from the column names on: a first row of one cell above a full row of words is a title."""
    width = len(rows[0])
    for k, row in enumerate(rows[:10]):
        filled = [cell for cell in row if cell not in ("", None)]
        if len(filled) == width and width > 1:
            if k and all(isinstance(cell, str) for cell in filled) and k + 1 < len(rows):
                notes.append(f"Skipped {k} line{'s' * (k > 1)} before the column names.")
                return rows[k:]
            break
        if len(filled) > 1:
            break
    return rows


def _as_frame(rows: list[list[object]], notes: list[str]) -> pd.DataFrame:
    names = clean_names([_plain(cell) for cell in rows[0]], notes)
    cells = [[None if cell == "" else cell for cell in row] for row in rows[1:]]
    frame = pd.DataFrame(cells, columns=names).infer_objects()
    for name in names:
        if pd.api.types.is_object_dtype(frame[name].dtype):
            frame[name] = _one_kind(frame[name])
        if pd.api.types.is_string_dtype(frame[name].dtype) and frame[name].str.len().max() > MAX_FIELD:
            raise ReaderError(f"A cell of column {name!r} has more than {count(MAX_FIELD)} characters: shorten it.")
    if below := footer_rows(frame):
        shown = " ".join(_plain(cell) for cell in frame.iloc[-below].dropna()[:3])[:40]
        notes.append(footer_note(below, shown))
        frame = frame.iloc[:-below].infer_objects()
    return type_columns(frame, notes, comma_is_decimal=False)


def _one_kind(cells: pd.Series) -> pd.Series:
    """Return a column of days and times as times; any other mix of types becomes text, as in a CSV."""
    kinds = {type(cell) for cell in cells.dropna()}
    if kinds and kinds <= {dt.date, dt.datetime}:
        return pd.to_datetime(cells)
    if len(kinds) > 1 or kinds & {dt.time, dt.timedelta}:
        return cells.map(_plain, na_action="ignore").astype("string")
    return cells


def _plain(cell: object) -> str:
    """Return a cell of a workbook as text; workbooks store whole numbers as floats."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _look_through(archive: zipfile.ZipFile) -> Seen:
    """Refuse a workbook that is a zip bomb or refers to external content, before the parser unpacks it.

    Every member is unpacked in parts and discarded, since the sizes in the archive's directory can be forged."""
    entries = archive.infolist()
    if len(entries) > MAX_MEMBERS or len({entry.filename for entry in entries}) < len(entries):
        raise ReaderError("The workbook has too many parts, or one twice: save it again as .xlsx.")
    if sum(entry.file_size for entry in entries) > MAX_WORKBOOK:
        raise ReaderError(f"The workbook unpacks to more than {count(MAX_WORKBOOK >> 20)} MiB: save it as CSV.")
    seen = Seen()
    for entry in entries:
        if entry.flag_bits & 1:
            raise ReaderError("The workbook is encrypted: save it without a password.")
        if entry.file_size > FREE + MAX_PACKED * entry.compress_size:
            raise ReaderError(f"A part of the workbook unpacks to {MAX_PACKED} times its size: save it as CSV.")
        _look_at(archive, entry, seen)
    if max(seen.cells, seen.rows * seen.columns) > MAX_SHEET_CELLS or seen.columns > MAX_COLUMNS:
        raise ReaderError(
            f"A sheet of the workbook spans {count(seen.rows)} rows and {count(seen.columns)} columns "
            "with too many cells: save the table itself as CSV."
        )
    return seen


def _look_at(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, seen: Seen) -> None:
    """Inspect one member in parts. Reading stops at its declared size; if that is forged, the checksum fails."""
    sheet = re.fullmatch(r"/?xl/worksheets/[^/]+\.xml", entry.filename, re.IGNORECASE) is not None
    markup, tail = entry.filename.lower().endswith((".xml", ".rels", ".vml")), b""
    with archive.open(entry) as stream:
        while part := stream.read(PART):
            text = tail + part
            if markup:
                _check_markup(text, entry.filename)
            if sheet:
                _look_at_cells(text, len(tail), seen)
            tail = part[-64:]


def _check_markup(text: bytes, name: str) -> None:
    """Refuse document types: spreadsheet programs write none, and entities in them could read files or grow without
    end."""
    plain = text.replace(b"\0", b"")  # of UTF-16
    if b"<!" in plain and re.search(rb"<!\s*(?:DOCTYPE|ENTITY)", plain, re.IGNORECASE):
        shown = name.rsplit("/", 1)[-1][:40]
        raise ReaderError(f"The part {shown!r} of the workbook declares a document type: save it again as .xlsx.")


def _look_at_cells(text: bytes, old: int, seen: Seen) -> None:
    """Note the last row and column in a part of a sheet; its first `old` bytes were seen before."""
    for letters, digits in set(CELL.findall(text)):
        seen.rows = max(seen.rows, int(digits))
        seen.columns = max(seen.columns, sum((c - 64) * 26**k for k, c in enumerate(reversed(letters))))
    seen.cells += sum(text.count(tag, old) for tag in (b"<c ", b"<c>", b"<c/"))
    seen.merged += sum(match.end() > old for match in re.finditer(rb"<mergeCell ", text))
    seen.errors += sum(match.end() > old for match in ERROR_CELL.finditer(text))
    seen.empty += sum(match.end() > old for match in EMPTY_FORMULA.finditer(text))
