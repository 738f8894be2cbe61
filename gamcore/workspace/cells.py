"""Types of text columns: a column is numbers, dates or booleans only where its cells say so, and a note says what was
done to them. A text column stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
DOTTED = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)
DECIMAL_COMMA = re.compile(
    r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+(?:[eE][+-]?\d+)?|[+-]?\d{1,3}(?:\.\d{3})+|[+-]?\d+", re.ASCII
)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[, \u00a0\u202f']\d{3})+(?:\.\d*)?|[+-]?\d+(?:\.\d*)?", re.ASCII)
INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
LEADING_ZERO = re.compile(r"[+-]?0\d+")
LONG_INTEGER = re.compile(r"[+-]?\d{19,}")
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
DAY_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
MISSING = {"na", "n/a", "nan", "null", "none", "#n/a", "-", "?", ".", "k.a.", "missing"}
SIGNS = {"%": "percent signs", "$": "dollar signs", "€": "euro signs", "£": "pound signs"}

MOSTLY = 0.95
"""Share of a column's cells that must be numbers for the others to be taken for mistakes."""


def type_columns(frame: pd.DataFrame, notes: list[str], comma_is_decimal: bool, text_too: bool = True) -> pd.DataFrame:
    """Type every text column of a frame; `text_too` False leaves text alone (formats that know their types)."""
    typed = {}
    for name in frame.columns:
        series = frame[name]
        if pd.api.types.is_float_dtype(series.dtype):
            typed[name] = _without_infinity(series, notes)
        elif text_too and (pd.api.types.is_string_dtype(series.dtype) or series.dtype == object):
            typed[name] = type_text(series, notes, comma_is_decimal)
        else:
            typed[name] = series
    return pd.DataFrame(typed, index=frame.index)


def _without_infinity(series: pd.Series, notes: list[str]) -> pd.Series:
    infinite = np.isinf(series.astype(float))
    if not infinite.any():
        return series
    notes.append(f"{series.name}: {int(infinite.sum()):,} infinite values are missing here.")
    return series.mask(infinite)


def type_text(series: pd.Series, notes: list[str], comma_is_decimal: bool = False) -> pd.Series:
    """A text column as what all (or, for numbers, nearly all) of its cells are."""
    if series.dropna().map(lambda cell: not isinstance(cell, str)).any():
        return series
    cells = series.astype("string").str.strip()
    cells = cells.mask(cells == "")
    distinct = pd.Index(cells.dropna().unique())
    said = cells.str.lower().isin(MISSING).fillna(False)
    for attempt in (_as_booleans, _as_dates):
        found = attempt(cells.mask(said), distinct[~distinct.str.lower().isin(MISSING)], notes)
        if found is not None:
            if said.any():
                notes.append(f"{series.name}: {int(said.sum()):,} cells say that they are missing.")
            return found
    numbers = _as_numbers(cells, notes, comma_is_decimal)
    return numbers if numbers is not None else cells.astype("str")


def _as_booleans(cells: pd.Series, distinct: pd.Index, notes: list[str]) -> pd.Series | None:
    lowered = {text.lower() for text in distinct}
    if lowered not in ({"true", "false"}, {"true"}, {"false"}):
        return None
    return cells.str.lower().map({"true": True, "false": False}).astype("boolean")


def _all(distinct: pd.Index, pattern: re.Pattern[str]) -> bool:
    return len(distinct) > 0 and all(pattern.fullmatch(text) for text in distinct)


def _as_dates(cells: pd.Series, distinct: pd.Index, notes: list[str]) -> pd.Series | None:
    """Dates where they can be read in one way only."""
    if len(distinct) == 0 or not (ISO_DATE.fullmatch(distinct[0]) or DAY_DATE.fullmatch(distinct[0])):
        return None
    if _all(distinct, ISO_DATE):
        found = pd.to_datetime(cells, format="ISO8601", utc=True, errors="coerce").dt.tz_localize(None)
        return _dates_or_text(cells, found, "dates", notes)
    parts = [DAY_DATE.fullmatch(text) for text in distinct]
    if not all(parts):
        return None
    first, second = (max(int(part.group(k)) for part in parts if part) for k in (1, 3))
    if (first > 12) == (second > 12):
        notes.append(
            f"{cells.name}: dates such as {distinct[0]!r} can be read in two ways and stay text; use 2026-01-31."
        )
        return None
    order = ("%d", "%m") if first > 12 else ("%m", "%d")
    plain = cells.str.replace(r"[./-]", "-", regex=True)
    found = pd.to_datetime(plain, format="-".join([*order, "%Y"]), errors="coerce")
    return _dates_or_text(cells, found, f"dates with the {'day' if first > 12 else 'month'} first", notes)


def _dates_or_text(cells: pd.Series, found: pd.Series, what: str, notes: list[str]) -> pd.Series | None:
    if (found.isna() & cells.notna()).any():
        notes.append(f"{cells.name}: some dates do not exist, so it stays text.")
        return None
    notes.append(f"{cells.name}: read as {what}.")
    return found


def _as_numbers(cells: pd.Series, notes: list[str], comma_is_decimal: bool) -> pd.Series | None:
    """Numbers where at least 95% of the cells are; the others become missing and are listed."""
    present = cells.notna()
    if not present.any():
        return cells.astype("float64")
    text, signs = _without_signs(cells)
    readers: list[tuple[re.Pattern[str], Callable[[pd.Series], pd.Series], str]] = [
        (NUMBER, lambda t: t, ""),
        (DECIMAL_COMMA, _plain_decimals, "decimal commas"),
        (THOUSANDS, lambda t: t.str.replace("[, \u00a0\u202f']", "", regex=True), "thousands separators"),
    ]
    if not comma_is_decimal:
        readers[1], readers[2] = readers[2], readers[1]
    empty = text.str.lower().isin(MISSING) & present
    counted = present & ~empty
    dotted = text[counted & text.str.contains(".", regex=False).fillna(False)]
    if comma_is_decimal and len(dotted) and dotted.str.fullmatch(DOTTED).all():
        del readers[0]  # 1.200 beside 950 in a file with semicolons: points between thousands
    for pattern, convert, what in readers:
        fits = text.str.fullmatch(pattern).fillna(False).astype(bool) | text.str.fullmatch(INFINITE).fillna(False)
        if counted.any() and (fits & counted).sum() >= MOSTLY * counted.sum():
            if _is_code(text[fits & counted], cells.name, notes):
                return None
            _tell(cells, what, signs, empty, counted & ~fits, notes)
            numbers = pd.to_numeric(convert(text.where(fits)), errors="raise").astype("float64")
            return _integers(_without_infinity(numbers, notes))
    return None


def _plain_decimals(text: pd.Series) -> pd.Series:
    return text.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)


def _without_signs(cells: pd.Series) -> tuple[pd.Series, str]:
    """Cells without one kind of sign around their numbers, and with a plain minus."""
    text = cells.str.replace("\u2212", "-", regex=False)
    numbers = text.str.contains(r"\d", regex=True).fillna(False)
    for sign, name in SIGNS.items():
        signed = (text.str.startswith(sign) | text.str.endswith(sign)).fillna(False)
        # Percentages among plain numbers may be a hundred times too large: that column stays text.
        if signed.any() and (sign != "%" or (signed | ~numbers).all()):
            return text.str.removeprefix(sign).str.removesuffix(sign).str.strip(), name
    return text, ""


def _is_code(numbers: pd.Series, name: object, notes: list[str]) -> bool:
    """Digits that are names: leading zeros or too many digits for a number."""
    for pattern, what in ((LEADING_ZERO, "leading zeros"), (LONG_INTEGER, "very long numbers")):
        if numbers.str.fullmatch(pattern).any():
            notes.append(f"{name}: kept as text because of its {what}; it may be an identifier.")
            return True
    return False


def _tell(cells: pd.Series, what: str, signs: str, empty: pd.Series, odd: pd.Series, notes: list[str]) -> None:
    done = " and ".join(text for text in (what, signs) if text)
    if done:
        notes.append(f"{cells.name}: read as numbers with {done}.")
    for mask, why in ((empty, "say that they are missing"), (odd, "are not numbers and are missing here")):
        if mask.any():
            shown = ", ".join(repr(str(text)[:20]) for text in cells[mask].unique()[:3])
            notes.append(f"{cells.name}: {int(mask.sum()):,} cells ({shown}) {why}.")


def _integers(numbers: pd.Series) -> pd.Series:
    """Whole numbers as integers where nothing is missing or too large."""
    whole = numbers.notna().all() and (numbers == np.floor(numbers)).all() and numbers.abs().max() < 2**53
    return numbers.astype("int64") if whole else numbers
