"""Text files to columns of text: decoded, sniffed, and parsed by pyarrow; cells.py then types the columns."""

from __future__ import annotations

import csv
import io
from collections import Counter

import pandas as pd
import pyarrow as pa
import pyarrow.csv
from charset_normalizer import from_bytes

from gamcore.workspace.cells import type_columns
from gamcore.workspace.reading import ReaderError, clean_names

MAX_FIELD = 100_000
SAMPLE_LINES = 200
MAX_RAGGED_SHARE = 0.01
# Commas last: where two fit alike, the comma may be a decimal mark or part of a sentence.
DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


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


def read_text(data: bytes, notes: list[str]) -> pd.DataFrame:
    """A delimited text file; ReaderError where it has no one reading."""
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
