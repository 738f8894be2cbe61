"""Excel workbooks: inspected before they are parsed; only the values of one sheet are read."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final
from xml.etree import ElementTree

import pyarrow as pa
import python_calamine

from gamcore.numbers import count
from shapewise.ingest.common import MAX_COLUMNS, MAX_FIELD, ReaderError, are, check_columns, counted, in_words
from shapewise.ingest.header import header_of, is_typed, is_value, named, names_note, skipped_note
from shapewise.ingest.number_formats import codes_shown, formats_of, give_formats, plain_number
from shapewise.ingest.text import TAIL_ROWS, footer_rows, typed_texts
from shapewise.ingest.types import EXACT, rounding_note
from shapewise.ingest.writer import Tell

MAX_SHEET_CELLS: Final = 20_000_000
MAX_WORKBOOK: Final = 2**29
MAX_MEMBERS: Final = 2_000
MAX_PACKED: Final = 200
"""The most a member above 16 MiB may expand, as a multiple of its packed size: sheets of equal numbers reach about
50."""
FREE: Final = 2**24
HEADER_ROWS: Final = 200
PART: Final = 2**20
SHEET: Final = re.compile(r"/?xl/worksheets/[^/]+\.xml", re.IGNORECASE)
CELL: Final = re.compile(rb' r="([A-Z]{1,3})(\d{1,7})"')
ERROR_CELL: Final = re.compile(rb'<(?:\w+:)?c\s[^>]{0,40}\bt="e"')
HIDDEN: Final = re.compile(rb'<(?:\w+:)?(?:row|col)\s[^>]*\bhidden="(?:1|true)"')
EMPTY_FORMULA: Final = re.compile(rb"</((?:\w+:)?)f>\s*(?:<\1v\s*/>|<\1v></\1v>|</\1c>)")
MERGED: Final = re.compile(rb"<(?:\w+:)?mergeCell ")
TAGS: Final = tuple(begin + end for begin in (b"<c", b":c") for end in (b" ", b">", b"/"))

SETTLED: Final = pa.large_string()
"""Text whose cells are not looked through for other types."""


@dataclass
class Seen:
    """What the inspection of a sheet found: the last row and column, cells, merged ranges, formulas without a stored
    value, error cells, and whether rows or columns are hidden."""

    rows: int = 0
    columns: int = 0
    cells: int = 0
    merged: int = 0
    empty: int = 0
    errors: int = 0
    hidden: bool = False

    def tell(self, notes: list[str]) -> None:
        """Note what is lost of the sheet."""
        if self.merged:
            notes.append(
                f"The sheet merges cells in {counted(self.merged, 'place')}: each of the merged cells has the value "
                "here, other than those of titles."
            )
        if self.empty:
            notes.append(
                f"{counted(self.empty, 'formula')} of the sheet without a stored value {are(self.empty)} missing here: "
                "open and save it in a spreadsheet program first."
            )
        if self.errors:
            notes.append(
                f"{counted(self.errors, 'cell')} of the sheet with errors such as #DIV/0! {are(self.errors)} missing."
            )
        if self.hidden:
            notes.append("Rows or columns that the sheet hides are read like the others.")


def read_sheet(data: bytes, notes: list[str], tell: Tell) -> pa.Table:
    """Return the first visible sheet of a workbook that holds a table: values only, no formula is run.

    tell : is told the progress."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):  # container of old and of encrypted workbooks
        raise ReaderError("The workbook has a password or an old format: save it as .xlsx without a password.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            seen, parts = _look_through(archive, tell), _parts_of_sheets(archive)
            book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
            tell(0.4, "Reading the cells")
            name, rows = _first_sheet(book, Formats(archive, parts))
            tell(0.8, f"{count(len(rows))} rows")
    except ReaderError:
        raise
    except Exception as error:  # the parser raises many types on damaged workbooks
        raise ReaderError(f"The workbook cannot be read ({in_words(error)}): save it again as .xlsx.") from error
    if len(book.sheet_names) > 1:
        place = book.sheet_names.index(name)
        which = "the first" if place == 0 else f"sheet {place + 1}"
        why = "" if place == 0 else ": those before it are hidden or hold no table"
        notes.append(f"Read {which} of {len(book.sheet_names)} sheets, {name!r}{why}.")
    seen.get(parts.get(name, ""), Seen()).tell(notes)
    return _as_table(_first_table(rows, notes), notes)


class Formats:
    """The number formats of a workbook's cells. parts : of each sheet, see `_parts_of_sheets`."""

    def __init__(self, archive: zipfile.ZipFile, parts: dict[str, str]) -> None:
        self._archive, self._formats = archive, formats_of(archive)
        entries = {entry.rsplit("/", 1)[-1]: entry for entry in archive.namelist() if SHEET.fullmatch(entry)}
        self._entries = {name: entries[part] for name, part in parts.items() if part in entries}

    def give(self, name: str, rows: list[list[Any]], start: tuple[int, int]) -> None:
        """Give the numbers of a sheet their formats. start : the row and column of the first cell."""
        if self._formats and name in self._entries:
            give_formats(rows, start, self._archive.open(self._entries[name]), self._formats)


def _first_sheet(book: python_calamine.CalamineWorkbook, formats: Formats) -> tuple[str, list[list[Any]]]:
    """Return the name and the rows of the first visible sheet with a table; one of one column if no other has more."""
    visible = [
        sheet.name for sheet in book.sheets_metadata
        if sheet.visible == python_calamine.SheetVisibleEnum.Visible
        and sheet.typ == python_calamine.SheetTypeEnum.WorkSheet
    ]  # fmt: skip
    narrow: tuple[str, list[list[Any]]] | None = None
    for name in visible:
        rows = _cells(book.get_sheet_by_name(name), formats)
        filled = [number for row in rows if (number := sum(cell not in ("", None) for cell in row))]
        if len(filled) > 1:
            if max(filled) > 1:
                return name, rows
            narrow = narrow or (name, rows)
    if narrow is None:
        raise ReaderError("No visible sheet of the workbook has a line of column names and at least one row.")
    return narrow


def _first_table(rows: list[list[Any]], notes: list[str]) -> list[list[Any]]:
    """Return the filled rows of a sheet, up to a blank row below which another table begins."""
    above: list[list[Any]] = []
    blocks = [list(block) for blank, block in groupby(rows, _is_blank) if not blank]
    for k, block in enumerate(blocks):
        if k and _is_another(above[:HEADER_ROWS], block[:HEADER_ROWS]) and len(above) >= len(block):
            names = ", ".join(filter(None, map(_plain, block[0])))
            last = counted(sum(map(len, blocks[k:])), "last row")
            notes.append(f"Left out {last}: below a blank row, another table begins with {names[:40]!r}.")
            width = max(k for row in above for k, cell in enumerate(row, 1) if cell not in ("", None))
            return [row[:width] for row in above]
        above += block
    return above


def _is_blank(row: list[Any]) -> bool:
    return all(cell in ("", None) for cell in row)


def _is_another(above: list[list[Any]], below: list[list[Any]]) -> bool:
    """Return whether a row of other names is first in a block below a table: words where this has numbers."""
    rows, others = ([[_plain(cell).strip() for cell in row] for row in block] for block in (above, below))
    head = header_of(rows)
    typed = [k for k, cells in enumerate(zip(*rows[head.end :], strict=True)) if is_typed(cells)]
    names = [others[0][k] for k in typed if others[0][k]]
    has_names = head.end > head.first and len(rows) > 2 and len(others) > 1 and others[0] != rows[head.first]
    return has_names and bool(names) and sum(map(bool, others[0])) > 1 and not any(map(is_value, names))


def _cells(sheet: python_calamine.CalamineSheet, formats: Formats) -> list[list[Any]]:
    """Return the cells of a sheet. Merged cells all have the value, except in a line of their own, which is a title."""
    rows = [list(row) for row in sheet.to_python(skip_empty_area=True)]
    down, across = sheet.start or (0, 0)
    formats.give(sheet.name, rows, (down, across))
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        merged = slice(left - across, right - across + 1)
        if not 0 <= top - down < len(rows) or merged.start < 0:
            continue
        first = rows[top - down]
        if left < right and not any(cell not in ("", None) for cell in first[: merged.start] + first[merged.stop :]):
            continue
        for row in rows[top - down : bottom - down + 1]:
            row[merged] = [first[merged.start]] * len(row[merged])
    return rows


def _parts_of_sheets(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the part of the archive that holds each sheet, by the sheet's name."""
    try:
        links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))  # noqa: S314 (no document type)
        sheets = ElementTree.fromstring(archive.read("xl/workbook.xml"))  # noqa: S314
    except KeyError:
        return {}
    targets = {link.get("Id"): str(link.get("Target")).rsplit("/", 1)[-1] for link in links}
    places = {str(sheet.get("name")): _relation(sheet.items()) for sheet in sheets.iterfind("{*}sheets/{*}sheet")}
    return {name: targets.get(place, "") for name, place in places.items()}


def _relation(attributes: Iterable[tuple[str, str]]) -> str:
    """Return what an element points to, in whichever of the two forms of workbooks."""
    return next((text for name, text in attributes if name.endswith("}id")), "")


def _as_table(rows: list[list[Any]], notes: list[str]) -> pa.Table:
    check_columns(len(rows[0]))
    head = header_of([[_plain(cell) for cell in row] for row in rows[:HEADER_ROWS]])
    cells = rows[head.end :]
    if head.first:
        notes.append(skipped_note(head.first, head))
    names = named(head, notes)
    if not cells:
        raise ReaderError("The sheet needs a line of column names and at least one row.")
    tail = [[_plain(cell) for cell in row] for row in cells[-TAIL_ROWS:]]
    above = {_plain(row[0]) for row in cells[: -len(tail)]}
    cells = cells[: len(cells) - footer_rows(tail, len(cells), above, notes)]
    if head.joined == 1 and head.end > head.first and len(names) > 1:
        written = [_plain(cell) for cell in rows[head.first]]
        kept = [row for row in cells if _plain(row[0]) != written[0] or list(map(_plain, row)) != written]
        if 0 < len(kept) < len(cells):
            notes.append(names_note(len(cells) - len(kept)))
            cells = kept
    by_name = {name: [row[k] for row in cells] for k, name in enumerate(names)}
    table = typed_texts(pa.table({name: _column(name, cells, notes) for name, cells in by_name.items()}), notes)
    for name, cells in by_name.items():
        _tell_of_texts(name, cells, table.column(name), notes)
    return table


def _tell_of_texts(name: str, cells: list[Any], read: pa.ChunkedArray, notes: list[str]) -> None:
    """Note texts with a point or comma that are read as numbers, among numbers: the program did not take them for
    some."""
    if pa.types.is_floating(read.type) or pa.types.is_integer(read.type):
        texts = [k for k, cell in enumerate(cells) if isinstance(cell, str) and re.search(r"\d[.,]\d", cell)]
        if texts and any(isinstance(cell, int | float) for cell in cells):
            value = read[texts[0]].as_py()
            number = "missing" if value is None else plain_number(value)
            notes.append(
                f"{name}: {counted(len(texts), 'cell', 'is', 'are')} text in the workbook; {cells[texts[0]][:20]!r} is "
                f"{number} here."
            )


def _column(name: str, cells: list[Any], notes: list[str]) -> pa.Array:
    """Return cells of one kind, or days and times, in their type; any other mix of kinds becomes text, as in a CSV."""
    cells = [None if cell == "" else cell for cell in cells]
    if (codes := codes_shown(name, cells, notes)) is not None:
        return pa.array([None if cell is None else _plain(cell) for cell in codes], SETTLED)
    kinds = {float if isinstance(cell, float) else type(cell) for cell in cells} - {type(None)}
    if kinds <= {int, float}:
        if rounded := sum(cell is not None and abs(cell) >= EXACT for cell in cells):
            notes.append(rounding_note(name, rounded))
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds <= {dt.date, dt.datetime}:
        return pa.array([None if cell is None else _moment(cell) for cell in cells], pa.timestamp("us"))
    texts = [None if cell is None else _plain(cell) for cell in cells]
    if any(len(text) > MAX_FIELD for text in texts if text is not None):
        raise ReaderError(f"A cell of column {name!r} has more than {count(MAX_FIELD)} characters: shorten it.")
    return pa.array(texts, pa.string())


def _moment(cell: dt.date) -> dt.datetime:
    return cell if isinstance(cell, dt.datetime) else dt.datetime(cell.year, cell.month, cell.day)


def _plain(cell: object) -> str:
    """Return a cell of a workbook as text; workbooks store whole numbers as floats."""
    if cell is None:
        return ""
    if isinstance(cell, dt.timedelta):  # of more than a day, too
        minutes, seconds = divmod(round(cell.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return plain_number(cell) if isinstance(cell, float) else str(cell)


def _look_through(archive: zipfile.ZipFile, tell: Tell) -> dict[str, Seen]:
    """Return what is seen of each sheet, by its part. A workbook that is a zip bomb or refers to external content is
    refused before the parser unpacks it.

    Every member is unpacked in parts and discarded, since the sizes in the archive's directory can be forged."""
    entries = archive.infolist()
    if len(entries) > MAX_MEMBERS or len({entry.filename for entry in entries}) < len(entries):
        raise ReaderError("The workbook has too many parts, or one twice: save it again as .xlsx.")
    if sum(entry.file_size for entry in entries) > MAX_WORKBOOK:
        raise ReaderError(f"The workbook unpacks to more than {count(MAX_WORKBOOK >> 20)} MiB: save it as CSV.")
    sheets: dict[str, Seen] = {}
    for done, entry in enumerate(entries):
        tell(0.4 * done / len(entries), "Looking through the workbook")
        if entry.flag_bits & 1:
            raise ReaderError("The workbook is encrypted: save it without a password.")
        if entry.file_size > FREE + MAX_PACKED * entry.compress_size:
            raise ReaderError(f"A part of the workbook unpacks to {MAX_PACKED} times its size: save it as CSV.")
        _look_at(archive, entry, sheets.setdefault(entry.filename.rsplit("/", 1)[-1], Seen()))
    for seen in sheets.values():
        if max(seen.cells, seen.rows * seen.columns) <= MAX_SHEET_CELLS and seen.columns <= MAX_COLUMNS:
            continue
        raise ReaderError(
            f"A sheet of the workbook spans {count(seen.rows)} rows and {count(seen.columns)} columns "
            "with too many cells: save the table itself as CSV."
        )
    return sheets


def _look_at(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, seen: Seen) -> None:
    """Inspect one member in parts. Reading stops at its declared size; if that is forged, the checksum fails."""
    sheet = SHEET.fullmatch(entry.filename) is not None
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
    seen.cells += sum(text.count(tag, old) for tag in TAGS)
    seen.merged += sum(match.end() > old for match in MERGED.finditer(text))
    seen.errors += sum(match.end() > old for match in ERROR_CELL.finditer(text))
    seen.hidden = seen.hidden or HIDDEN.search(text) is not None
    seen.empty += sum(match.end() > old for match in EMPTY_FORMULA.finditer(text))
