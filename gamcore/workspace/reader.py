"""Files to tables. What was changed on the way in is said in a note; what cannot be read is refused in one sentence.

Text files are decoded, sniffed and read as text by pyarrow, then each column is typed as a whole (cells.py). Nothing
is trusted before its size is known: compressed files are bounded while they are unpacked, Parquet by its footer.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import python_calamine
from charset_normalizer import from_bytes

from gamcore.workspace.cells import type_columns

MAX_UNPACKED = 2**30
MAX_TABLE = 4 * 2**30
MAX_CELLS = 500_000_000
MAX_SHEET_CELLS = 20_000_000
BATCH_ROWS = 4096
MAX_COLUMNS = 10_000
MAX_FIELD = 100_000
SAMPLE_LINES = 200
MAX_RAGGED_SHARE = 0.01
# Commas last: where two fit alike, the comma may be a decimal mark or part of a sentence.
DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
SUFFIXES = (*TEXT_SUFFIXES, ".parquet", ".feather", ".arrow", ".xlsx")


class ReaderError(ValueError):
    """A file that cannot be read; the message names the place and the way out."""


@dataclass
class Loaded:
    """A table as read, and what was changed on the way in."""

    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)


def read_file(name: str, data: bytes) -> Loaded:
    """Read a file by its name's ending; `.gz` of the text formats too."""
    if not data:
        raise ReaderError("The file is empty (0 bytes): choose another.")
    path = PurePath(name.lower())
    notes: list[str] = []
    if path.suffix == ".gz":
        data = _unzip(data)
        path = PurePath(path.stem)
        if path.suffix not in TEXT_SUFFIXES:
            raise ReaderError("Only .csv.gz, .tsv.gz and .txt.gz are read compressed: unpack the file first.")
    if path.suffix in TEXT_SUFFIXES:
        frame = _read_text(data, notes)
    elif path.suffix == ".xlsx":
        frame = _read_sheet(data, notes)
    elif path.suffix in (".parquet", ".feather", ".arrow"):
        frame = _read_arrow(data, path.suffix, notes)
    else:
        raise ReaderError(f"Files ending in {path.suffix or 'nothing'} are not read: use {', '.join(SUFFIXES)}.")
    if frame.shape[0] == 0:
        raise ReaderError("The file has column names but no rows: choose another.")
    if frame.shape[1] > MAX_COLUMNS:
        raise ReaderError(f"The file has {frame.shape[1]:,} columns, more than {MAX_COLUMNS:,}: drop some first.")
    return Loaded(frame, notes)


def _unzip(data: bytes) -> bytes:
    """Unpack gzip, and stop as soon as it is too much."""
    try:
        with gzip.open(io.BytesIO(data)) as file:
            unpacked = file.read(MAX_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ReaderError(f"The compressed file is damaged ({error}): compress or download it again.") from error
    if len(unpacked) > MAX_UNPACKED:
        raise ReaderError(f"The file unpacks to more than {MAX_UNPACKED >> 20:,} MiB: load it as Parquet instead.")
    return unpacked


# Text


def _decode(data: bytes, notes: list[str]) -> str:
    """Bytes as text: by byte-order mark, as UTF-8, or by the likeliest encoding, which a note names."""
    for mark, encoding in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(mark):
            notes.append(f"Decoded from {encoding.removesuffix('-sig').upper()} with a byte-order mark.")
            return _try_decode(data, encoding)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        best = from_bytes(
            data[:200_000], cp_isolation=["cp1252", "latin_1", "cp1250", "shift_jis", "gb18030", "cp1251"]
        )
        found = best.best()
        if found is None:
            raise ReaderError("The file is not text in a known encoding: save it as UTF-8 and load it again.") from None
        # Close relatives read most files alike; the one that most programs write is the better guess.
        encoding = "cp1252" if "cp1252" in found.could_be_from_charset else found.encoding
        notes.append(f"Decoded from {encoding}: check a few accented names; if they look odd, save it as UTF-8.")
        return _try_decode(data, encoding)


def _try_decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ReaderError(
            f"Byte {error.start:,} does not fit the encoding {encoding}: save the file as UTF-8 and load it again."
        ) from error


def _read_text(data: bytes, notes: list[str]) -> pd.DataFrame:
    text = _decode(data, notes)
    if "\0" in text:
        notes.append(f"Removed {text.count(chr(0)):,} NUL characters.")
        text = text.replace("\0", "")
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not text.strip():
        raise ReaderError("The file has no text in it: choose another.")
    _check_quotes(text)
    delimiter, width, first = _sniff(text)
    if delimiter != ",":
        notes.append(f"Columns are separated by {DELIMITERS[delimiter]}.")
    if first:
        notes.append(f"Skipped {first} line{'s' * (first > 1)} before the column names.")
        text = text.split("\n", first)[first]
    names, body = _header(text, delimiter, width, notes)
    frame = _parse(body, names, delimiter, notes)
    return type_columns(frame, notes, comma_is_decimal=delimiter == ";")


def _check_quotes(text: str) -> None:
    """A quote that is opened and never closed would swallow the rest of the file."""
    if text.count('"') % 2 == 0:
        return
    inside, line, opened = False, 1, 1
    for char in text:
        if char == '"':
            inside = not inside
            opened = line
        line += char == "\n"
    raise ReaderError(f"A quotation mark opened near line {opened:,} is never closed: close or remove it.")


def _sniff(text: str) -> tuple[str, int, int]:
    """Delimiter, number of columns, and lines before the header.

    The delimiter is the one under which most lines agree on a width above one; the header is the first line of that
    width, or of one less where every row ends in a spare delimiter.
    """
    lines = text[: 2_000 * SAMPLE_LINES].split("\n")[:SAMPLE_LINES]
    best = (0.0, "", 1, 0)
    for delimiter in DELIMITERS:
        widths = _widths(lines, delimiter)
        if not widths:
            continue
        width, times = Counter(cells for _, cells, _ in widths).most_common(1)[0]
        score = times / len(widths)
        if width > 1 and score > best[0] + 1e-9:
            best = (score, delimiter, width, _header_line(widths, width))
    if not best[1]:
        return ",", 1, 0
    return best[1], best[2], best[3]


def _header_line(widths: list[tuple[int, int, bool]], width: int) -> int:
    """The line of the column names: the first as wide as most, or one cell less where every row ends in a spare
    separator. A narrower line right before rows of data could be a title or names with one missing: refused."""
    spare = all(empty for _, cells, empty in widths if cells == width)
    first = next(k for k, (_, cells, _) in enumerate(widths) if cells in ((width, width - 1) if spare else (width,)))
    if first > 0 and widths[first - 1][1] == width - 1 and width > 2:
        raise ReaderError(
            f"Line {widths[first - 1][0] + 1} has {width - 1} cells and the rows below have {width}: "
            "give every column a name, or remove the line if it is a title."
        )
    return widths[first][0]


def _widths(lines: list[str], delimiter: str) -> list[tuple[int, int, bool]]:
    """First line and number of cells of every row that is not blank, and whether its last cell is empty."""
    found: list[tuple[int, int, bool]] = []
    start = 0
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        for row in rows:
            if row:
                found.append((start, len(row), row[-1] == ""))
            start = rows.line_num
    except csv.Error as error:
        raise ReaderError(
            f"Line {start + 1:,} cannot be read ({error}): a cell may be too long, or a quote open."
        ) from error
    return found


def _header(text: str, delimiter: str, width: int, notes: list[str]) -> tuple[list[str], str]:
    """Column names, made whole and distinct, and the rest of the text."""
    stream = io.StringIO(text)
    try:
        names = next(csv.reader(stream, delimiter=delimiter))
    except csv.Error as error:
        raise ReaderError(f"The line of column names cannot be read ({error}): check its quotes.") from error
    body = stream.read()
    if len(names) == width - 1:
        names.append("")
    if len(names) != width:
        raise ReaderError(
            f"The header has {len(names)} names and most rows have {width} cells: give every column a name."
        )
    return clean_names(names, notes), body


def clean_names(names: list[str], notes: list[str]) -> list[str]:
    """Names without control characters, none empty, all distinct; changes are noted."""
    cleaned, seen = [], set(names)
    taken: set[str] = set()
    for place, raw in enumerate(names, 1):
        name = " ".join("".join(c if c.isprintable() else " " for c in str(raw)).split())
        if not name:
            name = f"column {place}"
        if len(name) > 80:
            name = name[:79] + "…"
        if name in taken:
            number = 2
            while f"{name} ({number})" in taken or f"{name} ({number})" in seen:
                number += 1
            name = f"{name} ({number})"
        if name != raw:
            notes.append(f"Column {place} is named {name!r} here." if raw.strip() else f"Column {place} had no name.")
        taken.add(name)
        cleaned.append(name)
    return cleaned


def _parse(body: str, names: list[str], delimiter: str, notes: list[str]) -> pd.DataFrame:
    """Cells as text; rows of another width are skipped while they are few, and named."""
    ragged: list[tuple[int, int]] = []

    def skip(row: pa.csv.InvalidRow) -> str:
        ragged.append((row.number or 0, row.actual_columns))
        return "skip"

    if not body.strip():
        raise ReaderError("The file has column names but no rows: choose another.")
    try:
        table = pa.csv.read_csv(
            io.BytesIO(body.encode()),
            read_options=pa.csv.ReadOptions(column_names=names, use_threads=False, block_size=16 << 20),
            parse_options=pa.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values='"' in body, invalid_row_handler=skip,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""],
                quoted_strings_can_be_null=True,
            ),
        )  # fmt: skip
    except pa.ArrowInvalid as error:
        raise ReaderError(f"The file cannot be read as a table ({str(error)[:120]}): check its quotes.") from error
    if ragged:
        where = ", ".join(f"{row} ({cells} cells)" for row, cells in ragged[:5]) + (" ..." if len(ragged) > 5 else "")
        if len(ragged) > max(3, MAX_RAGGED_SHARE * (table.num_rows + len(ragged))):
            raise ReaderError(
                f"{len(ragged):,} rows do not have {len(names)} cells, the first being {where}: mend and load again."
            )
        notes.append(f"Skipped {len(ragged)} rows that do not have {len(names)} cells: rows {where}.")
    frame = table.to_pandas()
    longest = max((int(frame[name].str.len().fillna(0).max()) for name in names), default=0)
    if longest > MAX_FIELD:
        raise ReaderError(f"A cell has {longest:,} characters, more than {MAX_FIELD:,}: shorten or drop its column.")
    spare = names[-1]
    if spare == f"column {len(names)}" and len(names) > 1 and frame[spare].isna().all():
        notes[:] = [note for note in notes if note != f"Column {len(names)} had no name."]
        notes.append("Dropped an empty last column: every row ends in a separator.")
        frame = frame.drop(columns=spare)
    return frame


# Other formats


def _read_arrow(data: bytes, suffix: str, notes: list[str]) -> pd.DataFrame:
    try:
        if suffix == ".parquet":
            file = pa.parquet.ParquetFile(io.BytesIO(data))
            # The footer's byte counts can be made up or run-length encoded; rows times columns cannot lie.
            _check_cells(file.metadata.num_rows * max(file.metadata.num_columns, 1))
            table = _gather(file.iter_batches(BATCH_ROWS), file.schema_arrow)
        else:
            stream = pa.ipc.open_file(io.BytesIO(data))
            table = _gather((stream.get_batch(k) for k in range(stream.num_record_batches)), stream.schema)
        table.validate(full=True)  # offsets and text as they should be: nothing below looks again
        frame = _flat(table, notes).to_pandas(ignore_metadata=True)
    except ReaderError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        raise ReaderError(
            f"The file is not a readable {suffix[1:]} file ({str(error)[:120]}): write it again."
        ) from error
    return type_columns(frame, notes, comma_is_decimal=False, text_too=False)


def _check_cells(cells: int) -> None:
    if cells > MAX_CELLS:
        raise ReaderError(f"The file holds {cells:,} cells, more than {MAX_CELLS:,}: keep fewer rows or columns.")


def _gather(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Batches as one table, given up as soon as they are too much: a small file may unpack to a huge one."""
    kept, cells, size = [], 0, 0
    for batch in batches:
        cells += batch.num_rows * max(batch.num_columns, 1)
        size += batch.nbytes
        _check_cells(cells)
        if size > MAX_TABLE:
            raise ReaderError(f"The file unpacks to more than {MAX_TABLE >> 30} GiB: keep fewer rows or columns.")
        kept.append(batch)
    return pa.Table.from_batches(kept, schema)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether a column holds one number, text, date or truth value a cell."""
    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        or pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
    )  # fmt: skip


def _flat(table: pa.Table, notes: list[str]) -> pa.Table:
    """The columns of a table that hold plain values, under clean names."""
    nested = [column.name for column in table.schema if not _is_plain(column.type)]
    if nested:
        notes.append(f"Left out columns that do not hold one plain value a cell: {', '.join(nested[:5])}.")
        table = table.drop_columns(nested)
    names = clean_names(table.column_names, notes)
    if not names:
        raise ReaderError("No column of the file holds plain values: flatten its nested columns first.")
    return table.rename_columns(names)


def _read_sheet(data: bytes, notes: list[str]) -> pd.DataFrame:
    """The first sheet of a workbook: values only, no formula is run."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_UNPACKED:
                raise ReaderError(f"The workbook unpacks to more than {MAX_UNPACKED >> 20:,} MiB: save it as CSV.")
            _check_sheets(archive)
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        rows = book.get_sheet_by_index(0).to_python(skip_empty_area=True)
    except ReaderError:
        raise
    except Exception as error:  # the parser raises many types on damaged workbooks
        raise ReaderError(f"The workbook cannot be read ({str(error)[:120]}): save it again as .xlsx.") from error
    if len(book.sheet_names) > 1:
        notes.append(f"Read the first of {len(book.sheet_names)} sheets, {book.sheet_names[0]!r}.")
    rows = [row for row in rows if any(cell not in ("", None) for cell in row)]
    if len(rows) < 2:
        raise ReaderError("The first sheet needs a line of column names and at least one row.")
    names = clean_names([_plain(cell) for cell in rows[0]], notes)
    cells = [[None if cell == "" else cell for cell in row] for row in rows[1:]]
    frame = pd.DataFrame(cells, columns=names).infer_objects()
    for name in names:  # cells of several kinds in one column are text, like in a CSV
        if pd.api.types.is_object_dtype(frame[name].dtype):
            kinds = {type(cell) for cell in frame[name].dropna()}
            if len(kinds) > 1:
                frame[name] = frame[name].map(_plain, na_action="ignore").astype("string")
    return type_columns(frame, notes, comma_is_decimal=False)


def _plain(cell: object) -> str:
    """A cell of a workbook as text; it keeps whole numbers as floats."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _check_sheets(archive: zipfile.ZipFile) -> None:
    """Refuse a sheet whose cells span too wide a rectangle: the parser would make room for all of it."""
    for entry in archive.infolist():
        if not re.fullmatch(r"xl/worksheets/[^/]+\.xml", entry.filename):
            continue
        rows = columns = 0
        tail = b""
        with archive.open(entry) as stream:
            while part := stream.read(2**20):
                for letters, digits in re.findall(rb'\br="([A-Z]{1,3})(\d{1,7})"', tail + part):
                    rows = max(rows, int(digits))
                    columns = max(columns, sum((c - 64) * 26**k for k, c in enumerate(reversed(letters))))
                tail = part[-32:]
        if rows * columns > MAX_SHEET_CELLS:
            raise ReaderError(
                f"A sheet of the workbook spans {rows:,} rows and {columns:,} columns: save the table itself as CSV."
            )
