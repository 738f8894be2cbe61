"""Text files to columns of text: decoded, laid out, and parsed by pyarrow; types.py then types the columns."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from gamcore.numbers import count
from shapewise.ingest.common import ReaderError, in_words
from shapewise.ingest.layout import Layout, encoding_of, layout_of
from shapewise.ingest.types import check_lengths, type_columns

MAX_RAGGED_SHARE: Final = 0.01
TOTAL: Final = re.compile(
    r"(?:grand |sub)?totals?|sum|(?:gesamt)?summe|gesamt|insgesamt|total général|totaal|totale|suma|合计|总计|合計",
    re.IGNORECASE,
)


@dataclass
class Ragged:
    """Rows whose width differs from the header's: how many, and where the first ones are."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def skip(self, row: pa.csv.InvalidRow) -> str:
        self.count += 1
        if len(self.first) < 5:
            self.first.append(f"{row.number or 0} ({row.actual_columns} cells)")
        return "skip"

    def tell(self, rows: int, width: int, notes: list[str]) -> None:
        """Note how many of the `rows` read were skipped, or refuse the file if they are too many."""
        if not self.count:
            return
        where = ", ".join(self.first) + (" ..." if self.count > len(self.first) else "")
        if self.count > max(3, MAX_RAGGED_SHARE * (rows + self.count)):
            raise ReaderError(
                f"{count(self.count)} rows do not have {width} cells, the first being {where}: "
                "correct them and load the file again."
            )
        notes.append(f"Skipped {count(self.count)} rows that do not have {width} cells: rows {where}.")


def _decode(data: bytes, notes: list[str]) -> str:
    encoding = encoding_of(data, notes)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ReaderError(
            f"Byte {count(error.start)} does not fit the encoding {encoding}: save the file as UTF-8 and load it again."
        ) from error


def read_text(data: bytes, notes: list[str]) -> pd.DataFrame:
    """Return a delimited text file; ReaderError if it cannot be read unambiguously."""
    text = _decode(data, notes)
    if "\0" in text:
        notes.append(f"Removed {count(text.count(chr(0)))} NUL characters.")
        text = text.replace("\0", "")
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not text.strip():
        raise ReaderError("The file has no text in it: choose another.")
    _check_quotes(text)
    layout = layout_of(text, notes)
    frame = _parse(text[layout.start :], layout, notes)
    return type_columns(frame, notes, layout.comma_is_decimal)


def _check_quotes(text: str) -> None:
    """Check for an open quote: one that is never closed would swallow the rest of the file."""
    if text.count('"') % 2:
        # If the number of marks is odd, the last is the open one, or the one that was taken for its end.
        raise open_quote(text.count("\n", 0, text.rfind('"')) + 1)


def open_quote(line: int) -> ReaderError:
    """Return the error for a file with an odd number of quotation marks, the last of them in this line (1-based)."""
    return ReaderError(f"A quotation mark opened near line {count(line)} is never closed: close or remove it.")


def parse_options(layout: Layout, quoted: bool, ragged: Ragged) -> dict[str, object]:
    """Return the options for pyarrow.csv: all cells as text, rows of another width passed to `ragged`."""
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
    """Return the error for a text that the parser could not read."""
    if "Empty CSV" in str(error):
        return ReaderError("The file has column names but no rows: choose another.")
    if "straddl" in str(error):  # the parser's message for a row longer than its block
        return ReaderError("A row of the file is longer than 4 MiB: look for a quotation mark that is never closed.")
    return ReaderError(f"The file cannot be read as a table ({in_words(error)}): check its quotes.")


def _parse(body: str, layout: Layout, notes: list[str]) -> pd.DataFrame:
    """Return the cells as text; a few rows of another width are skipped and listed."""
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


def is_spare(names: list[str]) -> bool:
    """Return whether the last column has no name, as when every row ends in a separator."""
    return len(names) > 1 and names[-1] == f"column {len(names)}"


def drop_spare(names: list[str], notes: list[str]) -> str:
    """Replace the note on the last column's name by a note that the column was dropped; return its name."""
    notes[:] = [note for note in notes if note != f"Column {len(names)} had no name."]
    notes.append("Dropped an empty last column: every row ends in a separator.")
    return names[-1]


def footer_rows(frame: pd.DataFrame) -> int:
    """Return how many of the last rows are blank or totals that spreadsheets write below a table; never all rows.

    A row is a total if its first cell says so and no row above has that word, as it would then be an ordinary value."""
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
    """Return the note on the rows below a table."""
    what = f"that begin with {shown!r}" if shown else "without any cell"
    return f"Left out {count(rows)} last row{'s' * (rows > 1)} {what}: below the table."
