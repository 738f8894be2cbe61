"""Tables as CSV and XLSX in which nothing from data is a formula."""

from __future__ import annotations

import io
from typing import Final

import numpy as np
import pandas as pd

from gamcore.plots.palette import clean

RISKY: Final = "=+-@\t\r\n\0\uff1d\uff0b\uff0d\uff20"
"""What a spreadsheet takes for the beginning of a formula; the last four are wide forms of the first."""
MOST_CELL: Final = 32_767
"""Characters that a cell of a workbook holds."""


def safe_csv(table: pd.DataFrame) -> bytes:
    """A table as CSV in which no cell or header is a formula to a spreadsheet."""
    return bytes(_guarded(table).to_csv(index=False).encode("utf-8-sig"))


def _guarded(table: pd.DataFrame) -> pd.DataFrame:
    """Text that a spreadsheet would calculate, behind an apostrophe; numbers are left alone."""
    found = table.rename(columns=_guard)
    for place, kind in enumerate(found.dtypes):
        if kind.kind not in "fiubmM":
            found.isetitem(place, found.iloc[:, place].astype(object).map(_guard))
    return found


def _guard(cell: object) -> object:
    if not isinstance(cell, str) or not cell.strip():
        return cell
    return f"'{cell}" if cell[0] in RISKY or cell.lstrip()[0] in RISKY else cell


def to_xlsx(sheets: dict[str, pd.DataFrame]) -> bytes:
    """Tables as the sheets of a workbook: text stays text, numbers stay numbers; a band of a header, columns as wide as
    what they hold."""
    made = io.BytesIO()
    options = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True, "in_memory": True}
    with pd.ExcelWriter(made, engine="xlsxwriter", engine_kwargs={"options": options}) as writer:
        for name, table in zip(sheet_names(list(sheets)), sheets.values(), strict=True):
            shown = table.map(_cell)
            shown.columns = [str(column)[:255] for column in table.columns]
            shown.to_excel(writer, sheet_name=name, index=False)
            sheet = writer.sheets[name]
            sheet.freeze_panes(1, 0)
            for place, column in enumerate(shown.columns):
                longest = shown.iloc[:200, place].map(lambda cell: len(str(cell)) if cell is not None else 0).max()
                sheet.set_column(place, place, min(max(len(column), int(longest) if len(shown) else 0) + 2, 60))
    return made.getvalue()


def _cell(cell: object) -> object:
    """A value as a workbook can hold it."""
    if isinstance(cell, str):
        return clean(cell)[:MOST_CELL]
    if isinstance(cell, pd.Timestamp) and cell.tzinfo is not None:
        return cell.tz_localize(None)
    if isinstance(cell, float) and not np.isfinite(cell):
        return None if np.isnan(cell) else str(cell)
    return cell


def sheet_names(names: list[str]) -> list[str]:
    """Names as a workbook takes them: 31 characters, none of its signs, each once."""
    found: list[str] = []
    for name in names:
        plain = "".join(" " if c in "[]:*?/\\'" or not c.isprintable() else c for c in name).strip()[:31] or "table"
        unique, k = plain, 1
        while unique.lower() in (other.lower() for other in found):
            k += 1
            unique = f"{plain[: 30 - len(str(k))]} {k}"
        found.append(unique)
    return found
