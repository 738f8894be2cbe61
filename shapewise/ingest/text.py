"""Text files to columns of text: decoded, laid out, and parsed by pyarrow; cells.py then types the columns."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from shapewise.ingest.common import MAX_FIELD, ReaderError, in_words
from shapewise.ingest.layout import Layout, encoding_of, layout_of
from shapewise.ingest.types import type_columns

MAX_RAGGED_SHARE: Final = 0.01
TOTAL: Final = re.compile(
    r"(?:grand |sub)?totals?|sum|(?:gesamt)?summe|gesamt|insgesamt|total général|totaal|totale|suma|合计|总计|合計",
    re.IGNORECASE,
)


@dataclass
class Ragged:
    """Rows of another width than the header's: how many, and where the first ones are."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def skip(self, row: pa.csv.InvalidRow) -> str:
        self.count += 1
        if len(self.first) < 5:
            self.first.append(f"{row.number or 0} ({row.actual_columns} cells)")
        return "skip"

    def tell(self, rows: int, width: int, notes: list[str]) -> None:
        """Note what was skipped of `rows` read rows, or refuse where it is too much to be a slip."""
        if not self.count:
            return
        where = ", ".join(self.first) + (" ..." if self.count > len(self.first) else "")
        if self.count > max(3, MAX_RAGGED_SHARE * (rows + self.count)):
            raise ReaderError(
                f"{self.count:,} rows do not have {width} cells, the first being {where}: mend and load again."
            )
        notes.append(f"Skipped {self.count:,} rows that do not have {width} cells: rows {where}.")


def _decode(data: bytes, notes: list[str]) -> str:
    encoding = encoding_of(data, notes)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ReaderError(
            f"Byte {error.start:,} does not fit the encoding {encoding}: save the file as UTF-8 and load it again."
        ) from error


def read_text(data: bytes, notes: list[str]) -> pd.DataFrame:
    """Return a delimited text file; ReaderError where it has no one reading."""
    text = _decode(data, notes)
    if "\0" in text:
        notes.append(f"Removed {text.count(chr(0)):,} NUL characters.")
        text = text.replace("\0", "")
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not text.strip():
        raise ReaderError("The file has no text in it: choose another.")
    _check_quotes(text)
    layout = layout_of(text, notes)
    frame = _parse(text[layout.start :], layout, notes)
    return type_columns(frame, notes, layout.comma_is_decimal)


def _check_quotes(text: str) -> None:
    """A quote that is opened and never closed would swallow the rest of the file."""
    if text.count('"') % 2:
        # The last mark of an odd number is the open one, or the one that an open one took for its end.
        raise open_quote(text.count("\n", 0, text.rfind('"')) + 1)


def open_quote(line: int) -> ReaderError:
    """Return the refusal of a file with an odd number of quotation marks, the last of them in a line (1-based)."""
    return ReaderError(f"A quotation mark opened near line {line:,} is never closed: close or remove it.")


def parse_options(layout: Layout, quoted: bool, ragged: Ragged) -> dict[str, object]:
    """Return the options for pyarrow.csv: all cells as text, rows of another width handed to `ragged`."""
    names = layout.names
    return {
        "parse_options": pa.csv.ParseOptions(
            delimiter=layout.delimiter, newlines_in_values=quoted, invalid_row_handler=ragged.skip,
            ignore_empty_lines=len(names) > 1,
        ),
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""],
            quoted_strings_can_be_null=True,
        ),
    }  # fmt: skip


def unreadable(error: Exception) -> ReaderError:
    """Return the refusal of a text that the parser gave up on."""
    if "Empty CSV" in str(error):
        return ReaderError("The file has column names but no rows: choose another.")
    if "straddl" in str(error):  # the parser's word for a row longer than its block
        return ReaderError("A row of the file is longer than 4 MiB: look for a quotation mark that is never closed.")
    return ReaderError(f"The file cannot be read as a table ({in_words(error)}): check its quotes.")


def _parse(body: str, layout: Layout, notes: list[str]) -> pd.DataFrame:
    """Return the cells as text; rows of another width are skipped while they are few, and named."""
    if not body.strip():
        raise ReaderError("The file has column names but no rows: choose another.")
    ragged, names = Ragged(), layout.names
    try:
        table = pa.csv.read_csv(
            io.BytesIO(body.encode()),
            read_options=pa.csv.ReadOptions(column_names=names, use_threads=False, block_size=16 << 20),
            **parse_options(layout, '"' in body, ragged),
        )
    except pa.ArrowInvalid as error:
        raise unreadable(error) from error
    ragged.tell(table.num_rows, len(names), notes)
    check_lengths(table)
    frame = table.to_pandas()
    if is_spare(names) and frame[names[-1]].isna().all():
        frame = frame.drop(columns=drop_spare(names, notes))
    if below := footer_rows(frame):
        shown = " ".join(str(cell) for cell in frame.iloc[-below].dropna()[:3])[:40]
        notes.append(footer_note(below, shown))
        frame = frame.iloc[:-below]
    return frame


def check_lengths(table: pa.Table | pa.RecordBatch) -> None:
    """Refuse a text of more than 100,000 characters."""
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        longest = pa.compute.max(pa.compute.utf8_length(column)).as_py() or 0
        if longest > MAX_FIELD:
            raise ReaderError(
                f"A cell of column {name!r} has {longest:,} characters, more than {MAX_FIELD:,}: "
                "shorten or drop its column."
            )


def is_spare(names: list[str]) -> bool:
    """Return whether the last column has no name of its own, as where every row ends in a separator."""
    return len(names) > 1 and names[-1] == f"column {len(names)}"


def drop_spare(names: list[str], notes: list[str]) -> str:
    """Return the note that the last column goes, in place of the note on its name; and its name here."""
    notes[:] = [note for note in notes if note != f"Column {len(names)} had no name."]
    notes.append("Dropped an empty last column: every row ends in a separator.")
    return names[-1]


def footer_rows(frame: pd.DataFrame) -> int:
    """Return how many of the last rows are blank or a total that spreadsheets write below a table; not all rows are.

    A row is a total where its first cell says so, and no row above has the word: there it is one value of many.
    """
    below = 0
    while frame.shape[1] > 1 and below < min(len(frame) - 1, 1000):
        row = frame.iloc[-below - 1]
        word = row.iloc[0]
        if row.isna().all():
            below += 1
        elif isinstance(word, str) and TOTAL.fullmatch(word.strip().rstrip(":").strip()):
            if (frame.iloc[: -below - 1, 0] == word).any():
                return 0
            below += 1
        else:
            break
    return below


def footer_note(rows: int, shown: str) -> str:
    """Return the note on rows below a table."""
    what = f"that begin with {shown!r}" if shown else "without any cell"
    return f"Left out {rows:,} last row{'s' * (rows > 1)} {what}: below the table."
