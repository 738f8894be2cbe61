"""Tables as CSV and XLSX in which no text from data is run as a formula."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, Final, TextIO

import numpy as np
import pandas as pd
import xlsxwriter
from xlsxwriter.exceptions import FileCreateError

from gamcore.viz.palette import clean

FIRST: Final = "=+-@\uff1d\uff0b\uff0d\uff20"
"""Characters that begin a formula in a spreadsheet; the last four are fullwidth forms of the first four."""

RISKY: Final = f"{FIRST}\t\r\n\0"
INNER: Final = re.compile(rf"([\r\n;\t]\s*)(?=[{re.escape(FIRST)}])")
"""The same within a text, where a spreadsheet with other separators would begin a cell."""

MOST_CELL: Final = 32_767
"""Most characters of a workbook's cell."""

MOST_WHOLE: Final = 10**15
FIRST_DAY: Final = pd.Timestamp("1900-01-01")
"""Limits of whole numbers and dates in a workbook; values beyond are written as text."""

MOST_WIDTH, LOOK_ROWS = 60, 200
"""Most characters of a column's width, and the rows from which the width is derived."""

DATE_FORMAT: Final = "yyyy-mm-dd hh:mm:ss"


def safe_csv(table: pd.DataFrame) -> bytes:
    """Return a table as CSV in which a spreadsheet takes no cell or header for a formula."""
    buffer = io.StringIO()
    write_csv([table], buffer)
    return buffer.getvalue().encode("utf-8-sig")


def write_csv(parts: Iterable[pd.DataFrame], file: TextIO) -> None:
    """Write a table that comes in parts as such a CSV, each part before the next is requested."""
    for place, part in enumerate(parts):
        # Lines end in CR LF: Python quotes a cell only for the characters of the line terminator.
        _guarded(part).to_csv(file, index=False, header=place == 0, lineterminator="\r\n")


def _guarded(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with an apostrophe before text that a spreadsheet would evaluate; numbers are left alone."""
    safe = table.rename(columns=_guard)
    for place, kind in enumerate(safe.dtypes):
        if kind.kind not in "fiubmM":
            safe.isetitem(place, safe.iloc[:, place].astype(object).map(_guard))
    return safe


def _guard(cell: object) -> object:
    if not isinstance(cell, str) or not cell.strip():
        return cell
    cell = INNER.sub(r"\1'", cell)
    return f"'{cell}" if cell[0] in RISKY or cell.lstrip()[0] in RISKY else cell


def to_xlsx(sheets: dict[str, pd.DataFrame]) -> bytes:
    """Return a workbook of tables by sheet name."""
    buffer = io.BytesIO()
    write_xlsx({name: [table] for name, table in sheets.items()}, buffer)
    return buffer.getvalue()


def write_xlsx(sheets: Mapping[str, Iterable[pd.DataFrame]], file: str | BinaryIO, folder: str | None = None) -> None:
    """Write tables that come in parts as the sheets of a workbook.

    Text stays text and numbers stay numbers. The header is frozen, and columns are as wide as their content.
    folder : where rows are kept until the workbook is written; None for memory.
    """
    held = {"in_memory": True} if folder is None else {"constant_memory": True, "tmpdir": folder}
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "default_date_format": DATE_FORMAT}
    try:
        with xlsxwriter.Workbook(file, {**held, **plain}) as book:
            bold = book.add_format({"bold": True, "bottom": 1})
            for name, parts in zip(sheet_names(list(sheets)), sheets.values(), strict=True):
                _fill(book.add_worksheet(name), parts, bold)
    except FileCreateError as error:
        raise (error.args[0] if isinstance(error.args[0], OSError) else error) from None


def _fill(sheet: Any, parts: Iterable[pd.DataFrame], bold: Any) -> None:
    sheet.freeze_panes(1, 0)
    row = 0
    for part in parts:
        columns = [_cells(part.iloc[:, place]) for place in range(part.shape[1])]
        if row == 0:
            for place, (name, cells) in enumerate(zip(map(str, part.columns), columns, strict=True)):
                sheet.write_string(0, place, name[:255], bold)
                longest = max(len(str(cell)) for cell in (name, *cells[:LOOK_ROWS]) if cell is not None)
                sheet.set_column(place, place, min(longest + 2, MOST_WIDTH))
        for cells_of in zip(*columns, strict=True):
            row += 1
            sheet.write_row(row, 0, cells_of)


def _cells(series: pd.Series) -> list[Any]:
    """Return a column's values in types that a workbook can hold."""
    values: list[Any] = series.astype(object).where(series.notna(), None).tolist()
    if series.dtype.kind == "b":
        return values
    if series.dtype.kind in "iu":  # numbers in a sheet have 15 digits
        return [cell if cell is None or abs(cell) < MOST_WHOLE else str(cell) for cell in values]
    return [_cell(cell) for cell in values]


def _cell(cell: Any) -> Any:
    """Return a value in a type that a workbook can hold."""
    if isinstance(cell, str):
        return clean(cell)[:MOST_CELL]
    if isinstance(cell, pd.Timestamp):
        moment = cell.tz_localize(None)
        return moment.to_pydatetime(warn=False) if moment >= FIRST_DAY else str(moment)
    if isinstance(cell, float | np.floating):
        return float(cell) if np.isfinite(cell) else None if np.isnan(cell) else str(cell)
    if cell is None or isinstance(cell, bool | int):
        return cell
    return cell.item() if isinstance(cell, np.generic) else str(cell)


def sheet_names(names: list[str]) -> list[str]:
    """Return valid sheet names: at most 31 characters, no reserved characters, each unique."""
    sheets: list[str] = []
    for name in names:
        plain = "".join(" " if c in "[]:*?/\\'" or not c.isprintable() else c for c in name).strip()[:31] or "table"
        unique, k = plain, 1
        while unique.lower() in (other.lower() for other in sheets):
            k += 1
            unique = f"{plain[: 30 - len(str(k))]} {k}"
        sheets.append(unique)
    return sheets
