"""Types of text columns. A column becomes numbers, dates or booleans only if its cells allow it, and a note says what
was done; any other column stays text.

A plan is made once, from a whole column or from a sample of its rows. Conversion by a plan goes batch by batch and
tallies what did not fit, so that small and large files are read by the same rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from gamcore.numbers import count
from shapewise.ingest.common import MAX_FIELD, ReaderError

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
DOTTED = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)
DECIMAL_COMMA = re.compile(
    r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d*),\d+(?:[eE][+-]?\d+)?|[+-]?\d{1,3}(?:\.\d{3})+|[+-]?\d+(?:[eE][+-]?\d+)?",
    re.ASCII,
)
THOUSANDS = re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:[, \u00a0\u202f']\d{{3}})+(?:\.\d*)?|{NUMBER.pattern}", re.ASCII)
INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
LEADING_ZERO = re.compile(r"[+-]?0\d+", re.ASCII)
LONG_INTEGER = re.compile(r"[+-]?\d{16,}", re.ASCII)
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?", re.ASCII)
DAY_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})", re.ASCII)
COMPACT_DATE: Final = "%Y%m%d"
MISSING = {
    "na", "n/a", "nan", "null", "none", "#n/a", "-", "?", ".", "k.a.", "missing",
    "#div/0!", "#ref!", "#value!", "#name?", "#num!", "#null!",
}  # fmt: skip
CODE: Final = r"^[+-]?(0\d+|\d{19,})$"
SIGNS = {"%": "percent signs", "$": "dollar signs", "€": "euro signs", "£": "pound signs"}

MOSTLY: Final = 0.95
"""Share of a column's cells that must be numbers before the others are taken for mistakes."""

EXACT: Final = 2**53
"""From here on, float64 cannot represent all whole numbers."""


def _no_change(text: pd.Series) -> pd.Series:
    return text


def _plain_decimals(text: pd.Series) -> pd.Series:
    return text.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)


def _no_thousands(text: pd.Series) -> pd.Series:
    return text.str.replace("[, \u00a0\u202f']", "", regex=True)


WRITINGS: Final[dict[str, tuple[re.Pattern[str], Callable[[pd.Series], pd.Series]]]] = {
    "": (NUMBER, _no_change),
    "decimal commas": (DECIMAL_COMMA, _plain_decimals),
    "thousands separators": (THOUSANDS, _no_thousands),
}
"""Ways to write numbers, keyed by the words of the note."""


@dataclass(frozen=True)
class TypePlan:
    """How the cells of one text column are read."""

    kind: Literal["text", "boolean", "date", "number"] = "text"
    form: str = ""  # of dates: for pandas.to_datetime
    writing: str = ""  # of numbers: a key of WRITINGS
    sign: str = ""  # of numbers: a key of SIGNS
    said: str = ""  # what the note says was done


@dataclass
class Tally:
    """The outcome of a column's cells, summed over its batches."""

    present: int = 0
    missing: int = 0
    odd: int = 0
    infinite: int = 0
    rounded: int = 0
    code: str = ""  # why the digits are an identifier and not a number
    examples: dict[str, list[str]] = field(default_factory=dict)

    def keep(self, why: str, cells: pd.Series) -> None:
        """Remember up to three different cells that became missing."""
        kept = self.examples.setdefault(why, [])
        if len(kept) < 3:
            kept.extend(repr(str(cell)[:20]) for cell in cells.unique()[:3] if repr(str(cell)[:20]) not in kept)
            del kept[3:]


def type_columns(frame: pd.DataFrame, notes: list[str], comma_is_decimal: bool, text_too: bool = True) -> pd.DataFrame:
    """Type every text column of a frame; with `text_too` False, leave text alone (formats that store types)."""
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
    notes.append(infinity_note(series.name, int(infinite.sum())))
    return series.mask(infinite)


def infinity_note(name: object, n: int) -> str:
    """Return the note on infinite values."""
    return f"{name}: {count(n)} infinite values are missing here."


def rounding_note(name: object, n: int) -> str:
    """Return the note on whole numbers that float64 cannot represent exactly."""
    return f"{name}: {count(n)} whole numbers beyond {count(EXACT)} are rounded in models; identifiers should be text."


def type_text(series: pd.Series, notes: list[str], comma_is_decimal: bool = False) -> pd.Series:
    """Return a text column in the type of all (or, for numbers, nearly all) of its cells."""
    if series.dtype == object and series.dropna().map(lambda cell: not isinstance(cell, str)).any():
        return series
    plain = plain_numbers(pa.array(series, pa.large_string(), from_pandas=True))
    dotted = comma_is_decimal and series.str.contains(".", regex=False).any()  # the point may separate thousands
    if plain is not None and not dotted:
        return _integers(pd.Series(plain.to_numpy(zero_copy_only=False), index=series.index, name=series.name))
    cells = trimmed(series)
    plan, tally = plan_column(cells, notes, comma_is_decimal), Tally()
    values = convert(cells, plan, tally)
    tell(series.name, plan, tally, notes)
    return _integers(values) if plan.kind == "number" else values


def plain_numbers(text: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray | None:
    """Return the cells as float64 if all are plain numbers or blank; None if one is not, which requires the slow
    path."""
    trim = pc.utf8_trim_whitespace(text)
    trim = pc.if_else(pc.equal(trim, ""), None, trim)
    try:
        numbers = pc.cast(trim, pa.float64())
    except pa.ArrowInvalid:
        return None
    largest = pc.max(pc.abs(numbers)).as_py()
    fine = largest is None or largest < EXACT  # neither NaN nor infinite
    if not fine or pc.any(pc.is_nan(numbers)).as_py() or pc.any(pc.match_substring_regex(trim, CODE)).as_py():
        return None
    return numbers


def trimmed(series: pd.Series) -> pd.Series:
    """Return the cells stripped of surrounding blanks; blank cells are missing."""
    cells = series.astype("string").str.strip()
    return cells.mask(cells == "")


def plan_column(cells: pd.Series, notes: list[str], comma_is_decimal: bool) -> TypePlan:
    """Return how trimmed cells are best read; a note says why a column that resembles another type stays text."""
    distinct = pd.Index(cells.dropna().unique())
    distinct = distinct[~distinct.str.lower().isin(MISSING)] if len(distinct) else distinct
    if {text.lower() for text in distinct[:9]} <= {"true", "false"} and len(distinct):
        return TypePlan("boolean") if {text.lower() for text in distinct} <= {"true", "false"} else TypePlan()
    if len(distinct) and (ISO_DATE.fullmatch(distinct[0]) or DAY_DATE.fullmatch(distinct[0])):
        return _plan_dates(cells, distinct, notes)
    return _plan_numbers(cells, notes, comma_is_decimal)


def _plan_dates(cells: pd.Series, distinct: pd.Index, notes: list[str]) -> TypePlan:
    """Plan a column of dates if they can be read in one way only."""
    if all(ISO_DATE.fullmatch(text) for text in distinct):
        return _dates_or_text(cells.name, distinct, TypePlan("date", form="ISO8601", said="dates"), notes)
    parts = [match for text in distinct if (match := DAY_DATE.fullmatch(text))]
    if len(parts) < len(distinct):
        return TypePlan()
    first, second = (max(int(part.group(k)) for part in parts) for k in (1, 3))
    if (first > 12) == (second > 12):
        notes.append(
            f"{cells.name}: dates such as {distinct[0]!r} can be read in two ways and stay text; use 2026-01-31."
        )
        return TypePlan()
    form = "%d-%m-%Y" if first > 12 else "%m-%d-%Y"
    said = f"dates with the {'day' if first > 12 else 'month'} first"
    return _dates_or_text(cells.name, distinct, TypePlan("date", form=form, said=said), notes)


def _dates_or_text(name: object, distinct: pd.Index, plan: TypePlan, notes: list[str]) -> TypePlan:
    if _dates(pd.Series(distinct), plan).isna().any():
        notes.append(f"{name}: some dates do not exist, so it stays text.")
        return TypePlan()
    return plan


def _dates(cells: pd.Series, plan: TypePlan) -> pd.Series:
    if plan.form == "ISO8601":
        cells = cells.where(cells.str.fullmatch(ISO_DATE).fillna(False).astype(bool))
        return pd.to_datetime(cells, format="ISO8601", utc=True, errors="coerce").dt.tz_localize(None)
    if plan.form == COMPACT_DATE:
        return pd.to_datetime(cells.where(cells.str.fullmatch(r"\d{8}")), format=plan.form, errors="coerce")
    return pd.to_datetime(cells.str.replace(r"[./-]", "-", regex=True), format=plan.form, errors="coerce")


def _plan_numbers(cells: pd.Series, notes: list[str], comma_is_decimal: bool) -> TypePlan:
    """Plan a column of numbers if at least 95% of the cells are numbers."""
    if not cells.notna().any():
        return TypePlan("number")
    text, sign = _without_signs(cells)
    counted = text[cells.notna() & ~text.str.lower().isin(MISSING)]
    if not len(counted):
        return TypePlan("number")
    writings = ["", "decimal commas", "thousands separators"]
    if not comma_is_decimal:
        writings = ["", "thousands separators", "decimal commas"]
    dotted = counted[counted.str.contains(".", regex=False).fillna(False)]
    if comma_is_decimal and len(dotted) and dotted.str.fullmatch(DOTTED).all():
        del writings[0]  # 1.200 beside 950 in a file with semicolons: points separate thousands
    fitting = {writing: _fits(counted, writing) for writing in writings}
    writing = max(writings, key=lambda one: int(fitting[one].sum()))  # the first of those that read the most cells
    fits, most = fitting[writing], int(fitting[writing].sum())
    if most >= MOSTLY * len(counted):
        why = _code(counted[fits])
        if why:
            notes.append(code_note(cells.name, why))
            return TypePlan()
        said = " and ".join(words for words in (writing, SIGNS.get(sign, "")) if words)
        return TypePlan("number", writing=writing, sign=sign, said=f"numbers with {said}" if said else "")
    if most >= len(counted) / 2 and most:
        row, cell = next((row, cell) for row, cell in counted[~_fits(counted, "")].items())
        notes.append(
            f"{cells.name}: {count(most)} of {count(len(counted))} cells are numbers, too few for a "
            f"column of numbers, so it stays text; {str(cell)[:20]!r} in row {count(int(row) + 1)} is not."
        )
    return TypePlan()


def _fits(text: pd.Series, writing: str) -> pd.Series:
    pattern = WRITINGS[writing][0]
    return (text.str.fullmatch(pattern) | text.str.fullmatch(INFINITE)).fillna(False).astype(bool)


def _without_signs(cells: pd.Series) -> tuple[pd.Series, str]:
    """Return the cells without one kind of sign around their numbers, and with a plain minus; and that sign."""
    text = cells.str.replace("\u2212", "-", regex=False)
    numbers = text.str.contains(r"\d", regex=True).fillna(False)
    for sign in SIGNS:
        signed = (text.str.startswith(sign) | text.str.endswith(sign)).fillna(False)
        # Percentages among plain numbers may be off by a factor of 100: that column stays text.
        if signed.any() and (sign != "%" or (signed | ~numbers).all()):
            return _unsigned(text, sign), sign
    return text, ""


def _unsigned(text: pd.Series, sign: str) -> pd.Series:
    return text.str.removeprefix(sign).str.removesuffix(sign).str.strip() if sign else text


def _code(numbers: pd.Series) -> str:
    """Return why digits are an identifier: leading zeros, or whole numbers that float64 may not tell apart; empty for
    numbers."""
    if numbers.str.fullmatch(LEADING_ZERO).any():
        return "leading zeros"
    long = numbers[numbers.str.fullmatch(LONG_INTEGER).fillna(False).astype(bool)]
    return "very long numbers" if any(len(text) > 17 or abs(int(text)) >= EXACT for text in long) else ""


def code_note(name: object, why: str) -> str:
    """Return the note on digits that are kept as text."""
    return f"{name}: kept as text because of its {why}; it may be an identifier."


def convert(cells: pd.Series, plan: TypePlan, tally: Tally) -> pd.Series:
    """Convert trimmed cells by a plan; those that do not fit become missing and are tallied."""
    tally.present += int(cells.notna().sum())
    if plan.kind == "text":
        return cells.astype("str")
    said = cells.str.lower().isin(MISSING).fillna(False).astype(bool)
    if plan.kind == "number":
        return _convert_numbers(cells, said, plan, tally)
    if plan.kind == "boolean":
        values = cells.str.lower().map({"true": True, "false": False}).astype("boolean")
    else:
        values = _dates(cells.mask(said), plan)
    _count(cells, said, values.isna() & cells.notna() & ~said, tally)
    return values


def _count(cells: pd.Series, said: pd.Series, odd: pd.Series, tally: Tally) -> None:
    tally.missing += int(said.sum())
    tally.odd += int(odd.sum())
    for why, mask in (("missing", said), ("odd", odd)):
        if mask.any():
            tally.keep(why, cells[mask])


def _convert_numbers(cells: pd.Series, said: pd.Series, plan: TypePlan, tally: Tally) -> pd.Series:
    text = _unsigned(cells.str.replace("\u2212", "-", regex=False), plan.sign)
    said = text.str.lower().isin(MISSING).fillna(False).astype(bool) | said
    fits = _fits(text, plan.writing) & ~said
    _count(cells, said, ~fits & ~said & cells.notna(), tally)
    tally.code = tally.code or _code(text[fits])
    numbers = pd.to_numeric(WRITINGS[plan.writing][1](text.where(fits)), errors="raise").astype("float64")
    infinite = np.isinf(numbers)
    tally.infinite += int(infinite.sum())
    large = numbers.abs().between(EXACT, 1e18) & ~text.str.contains("[eE.]", regex=True).fillna(False)
    tally.rounded += int(large.sum())
    return numbers.mask(infinite)


def tell(name: object, plan: TypePlan, tally: Tally, notes: list[str]) -> None:
    """Note what a plan did to a column."""
    if plan.said:
        notes.append(f"{name}: read as {plan.said}.")
    for why, n, words in (
        ("missing", tally.missing, "say that they are missing"),
        ("odd", tally.odd, f"are not {plan.kind}s and are missing here"),
    ):
        if n and plan.kind != "text":
            notes.append(f"{name}: {count(n)} cells ({', '.join(tally.examples[why])}) {words}.")
    if tally.infinite:
        notes.append(infinity_note(name, tally.infinite))
    if tally.rounded:
        notes.append(rounding_note(name, tally.rounded))


def _integers(numbers: pd.Series) -> pd.Series:
    """Return whole numbers as integers if none is missing or too large."""
    values = numbers.to_numpy()
    whole = bool((np.abs(values) < EXACT).all() and (values == np.floor(values)).all())  # both are false for NaN
    return pd.Series(values.astype("int64"), index=numbers.index, name=numbers.name) if whole else numbers


def check_lengths(table: pa.Table | pa.RecordBatch) -> None:
    """Refuse cells of more than 100,000 characters."""
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        longest = pc.max(pc.utf8_length(column)).as_py() or 0
        if longest > MAX_FIELD:
            raise ReaderError(
                f"A cell of column {name!r} has {count(longest)} characters, more than {count(MAX_FIELD)}: "
                "shorten or drop its column."
            )
