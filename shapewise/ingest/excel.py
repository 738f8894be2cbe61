"""Excel workbooks: inspected before they are parsed; only the values of one sheet are read."""

from __future__ import annotations

import datetime as dt
import io
import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final
from xml.etree import ElementTree

import pyarrow as pa
import python_calamine

from gamcore.common.numbers import are, count, counted
from shapewise.ingest.common import MAX_COLUMNS, MAX_FIELD, ReaderError, check_columns, in_words
from shapewise.ingest.footer import footer_rows
from shapewise.ingest.header import header_of, is_typed, is_value, named, names_note, skipped_note
from shapewise.ingest.number_formats import codes_shown, column_number, formats_of, give_formats, plain_number
from shapewise.ingest.text import TAIL_ROWS, typed_texts
from shapewise.ingest.types import EXACT, infinity_note, rounding_note
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
TAGS: Final = tuple(begin + end for begin in (b"<c", b":c") for end in (b" ", b">", b"/"))
ERROR: Final = rb'<(?:\w+:)?c\s[^>]{0,40}\bt="e"'
VALUE_OF_ERROR: Final = re.compile(rb"(" + ERROR + rb"(?:[^<]|<(?!/?(?:\w+:)?c\b))*?<(?:\w+:)?v>)[^<]*")
LOST: Final = (
    (
        "place",
        "The sheet merges cells in {n}: each of the merged cells has the value here, other than those of titles.",
        re.compile(rb"<(?:\w+:)?mergeCell "),
    ),
    (
        "formula",
        "{n} of the sheet without a stored value {are} missing here: open and save it in a spreadsheet program first.",
        re.compile(rb"</((?:\w+:)?)f>\s*(?:<\1v\s*/>|<\1v></\1v>|</\1c>)"),
    ),
    (
        "cell",
        "{n} of the sheet with errors such as #DIV/0! {are} missing.",
        re.compile(ERROR),
    ),
    (
        "row",
        "Rows or columns that the sheet hides are read like the others.",
        re.compile(rb'<(?:\w+:)?(?:row|col)\s[^>]*\bhidden="(?:1|true)"'),
    ),
)
"""What is lost of a sheet: what is counted, the note, and the pattern of one."""

Range = tuple[tuple[int, int], tuple[int, int]]
SETTLED: Final = pa.large_string()
"""Text whose cells are not looked through for other types."""


@dataclass
class Seen:
    """What the inspection of a sheet found: its part of the archive, its last row and column, its cells, and how often
    something is lost, by the note on it."""

    part: str
    rows: int = 0
    columns: int = 0
    cells: int = 0
    lost: Counter[str] = field(default_factory=Counter)


def read_sheet(data: bytes, notes: list[str], tell: Tell) -> pa.Table:
    """Return the first visible sheet of a workbook that holds a table: values only, no formula is run.

    tell : is told the progress."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):  # container of old and of encrypted workbooks
        raise ReaderError("The workbook has a password or an old format: save it as .xlsx without a password.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            seen = _look_through(archive, tell)
            book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
            tell(0.4, "Reading the cells")
            name, rows = _first_sheet(book, archive, seen)
            tell(0.8, counted(len(rows), "row"))
    except ReaderError:
        raise
    except Exception as error:  # the parser raises many types on damaged workbooks
        raise ReaderError(
            f"The workbook cannot be read ({in_words(error)}): save it again as .xlsx, or as CSV."
        ) from error
    if len(book.sheet_names) > 1:
        place = book.sheet_names.index(name)
        which = "the first" if place == 0 else f"sheet {place + 1}"
        why = "" if place == 0 else ": those before it are hidden or hold no table"
        notes.append(f"Read {which} of {len(book.sheet_names)} sheets, {name!r}{why}.")
    lost = seen[name].lost if name in seen else Counter[str]()
    for noun, note, _ in LOST:
        if n := lost[note]:
            notes.append(note.format(n=counted(n, noun), are=are(n)))
    return _as_table(_first_table(rows, notes), notes)


def _first_sheet(
    book: python_calamine.CalamineWorkbook, archive: zipfile.ZipFile, seen: dict[str, Seen]
) -> tuple[str, list[list[Any]]]:
    """Return the name and the rows of the first visible sheet with a table; one of one column if no other has more."""
    visible = [
        sheet.name for sheet in book.sheets_metadata
        if sheet.visible == python_calamine.SheetVisibleEnum.Visible
        and sheet.typ == python_calamine.SheetTypeEnum.WorkSheet
    ]  # fmt: skip
    formats = formats_of(archive)
    narrow: tuple[str, list[list[Any]]] | None = None
    for name in visible:
        sheet = _sheet(book, archive, name, seen)
        rows = [[None if cell == "" else cell for cell in row] for row in sheet.to_python(skip_empty_area=True)]
        start = sheet.start or (0, 0)
        if formats and name in seen:
            give_formats(rows, start, archive.open(seen[name].part), formats)
        _fill_merged(rows, start, sheet.merged_cell_ranges or ())
        filled = [number for row in rows if (number := sum(cell is not None for cell in row))]
        if len(filled) > 1:
            if max(filled) > 1:
                return name, rows
            narrow = narrow or (name, rows)
    if narrow is None:
        raise ReaderError("No visible sheet of the workbook has a line of column names and at least one row.")
    return narrow


def _sheet(
    book: python_calamine.CalamineWorkbook, archive: zipfile.ZipFile, name: str, seen: dict[str, Seen]
) -> python_calamine.CalamineSheet:
    """Return a sheet; errors that the parser does not know, such as #SPILL!, are read as those it knows."""
    try:
        return book.get_sheet_by_name(name)
    except python_calamine.CalamineError:
        if name not in seen:
            raise
    with io.BytesIO() as copy:
        with zipfile.ZipFile(copy, "w") as known:
            for entry in archive.namelist():
                content = archive.read(entry)
                is_sheet = entry == seen[name].part
                known.writestr(entry, VALUE_OF_ERROR.sub(rb"\1#N/A", content) if is_sheet else content)
        copy.seek(0)
        return python_calamine.CalamineWorkbook.from_filelike(copy).get_sheet_by_name(name)


def _first_table(rows: list[list[Any]], notes: list[str]) -> list[list[Any]]:
    """Return the filled rows of a sheet, up to a blank row below which another table begins."""
    above: list[list[Any]] = []
    blocks = [list(block) for blank, block in groupby(rows, lambda row: not any(map(_plain, row))) if not blank]
    for k, block in enumerate(blocks):
        if k and _is_another(above[:HEADER_ROWS], block[:HEADER_ROWS]) and len(above) >= len(block):
            names = ", ".join(filter(None, map(_plain, block[0])))
            last = counted(sum(map(len, blocks[k:])), "last row")
            notes.append(f"Left out {last}: below a blank row, another table begins with {names[:40]!r}.")
            width = max(k for row in above for k, cell in enumerate(row, 1) if cell is not None)
            return [row[:width] for row in above]
        above += block
    return above


def _is_another(above: list[list[Any]], below: list[list[Any]]) -> bool:
    """Return whether a row of other names is first in a block below a table: words where this has numbers."""
    rows, others = ([[_plain(cell).strip() for cell in row] for row in block] for block in (above, below))
    head = header_of(rows)
    typed = [k for k, cells in enumerate(zip(*rows[head.end :], strict=True)) if is_typed(cells)]
    names = [others[0][k] for k in typed if others[0][k]]
    has_names = head.end > head.first and len(rows) > 2 and len(others) > 1 and others[0] != rows[head.first]
    return has_names and bool(names) and sum(map(bool, others[0])) > 1 and not any(map(is_value, names))


def _fill_merged(rows: list[list[Any]], start: tuple[int, int], ranges: Iterable[Range]) -> None:
    """Give merged cells their value, except in a line of their own from the first column on, which is a title."""
    down, across = start
    for (top, left), (bottom, right) in ranges:
        merged = slice(left - across, right - across + 1)
        if not 0 <= top - down < len(rows) or merged.start < 0:
            continue
        first = rows[top - down]
        if left < right and not merged.start and not any(cell is not None for cell in first[merged.stop :]):
            continue
        for row in rows[top - down : bottom - down + 1]:
            row[merged] = [first[merged.start]] * len(row[merged])


def _parts_of_sheets(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the last name of the part of the archive that holds each sheet, by the sheet's name."""
    try:
        links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))  # noqa: S314 (no document type)
        sheets = ElementTree.fromstring(archive.read("xl/workbook.xml"))  # noqa: S314
    except KeyError:
        return {}
    targets = {link.get("Id"): str(link.get("Target")).rsplit("/", 1)[-1] for link in links}
    return {
        str(sheet.get("name")): targets.get(place, "")
        for sheet in sheets.iterfind("{*}sheets/{*}sheet")
        for attribute, place in sheet.items() if attribute.endswith("}id")
    }  # fmt: skip


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
    if (codes := codes_shown(name, cells, notes)) is not None:
        return pa.array([None if cell is None else _plain(cell) for cell in codes], SETTLED)
    kinds = {float if isinstance(cell, float) else type(cell) for cell in cells} - {type(None)}
    if kinds <= {int, float}:
        numbers = [None if cell is None or math.isinf(cell) else float(cell) for cell in cells]
        if infinite := numbers.count(None) - cells.count(None):
            notes.append(infinity_note(name, infinite))
        if rounded := sum(number is not None and abs(number) >= EXACT for number in numbers):
            notes.append(rounding_note(name, rounded))
        return pa.array(numbers, pa.float64())
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
    """Return what is seen of each sheet, by its name. A workbook that is a zip bomb or refers to external content is
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
        seen = _look_at(archive, entry)
        if max(seen.cells, seen.rows * seen.columns) > MAX_SHEET_CELLS or seen.columns > MAX_COLUMNS:
            raise ReaderError(
                f"A sheet of the workbook spans {counted(seen.rows, 'row')} and {counted(seen.columns, 'column')} "
                "with too many cells: save the table itself as CSV."
            )
        if SHEET.fullmatch(entry.filename):
            sheets[entry.filename.rsplit("/", 1)[-1]] = seen
    return {name: sheets[part] for name, part in _parts_of_sheets(archive).items() if part in sheets}


def _look_at(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Seen:
    """Inspect one member in parts. Reading stops at its declared size; if that is forged, the checksum fails."""
    sheet = SHEET.fullmatch(entry.filename) is not None
    markup, tail = entry.filename.lower().endswith((".xml", ".rels", ".vml")), b""
    seen = Seen(entry.filename)
    with archive.open(entry) as stream:
        while part := stream.read(PART):
            text = tail + part
            if markup:
                _check_markup(text, entry.filename)
            if sheet:
                _look_at_cells(text, len(tail), seen)
            tail = part[-64:]
    return seen


def _check_markup(text: bytes, name: str) -> None:
    """Refuse document types: spreadsheet programs write none, and entities in them could read files or grow without
    end."""
    plain = text.replace(b"\0", b"")  # of UTF-16
    if b"<!" in plain and re.search(rb"<!\s*(?:DOCTYPE|ENTITY)", plain, re.IGNORECASE):
        shown = name.rsplit("/", 1)[-1][:40]
        raise ReaderError(f"The part {shown!r} of the workbook declares a document type: save it again as .xlsx.")


def _look_at_cells(text: bytes, old: int, seen: Seen) -> None:
    """Note what is in a part of a sheet; its first `old` bytes were seen before."""
    for letters, digits in set(CELL.findall(text)):
        seen.rows, seen.columns = max(seen.rows, int(digits)), max(seen.columns, column_number(letters.decode()))
    seen.cells += sum(text.count(tag, old) for tag in TAGS)
    for _, note, pattern in LOST:
        seen.lost[note] += sum(match.end() > old for match in pattern.finditer(text))
