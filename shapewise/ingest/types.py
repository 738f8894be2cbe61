"""Types of text columns. A column becomes numbers, dates or booleans only if its cells allow it, and a note says what
was done; any other column stays text.

Plans are made once, from a sample of rows: marks in numbers that can be read in two ways are read as the file's other
columns prove. Conversion by a plan goes batch by batch and tallies what did not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gamcore.common.numbers import are, count, counted
from gamcore.common.types import Bools, Ints
from shapewise.ingest import amounts, dates
from shapewise.ingest.common import MAX_FIELD, ReaderError

COMPACT_DATE: Final = "%Y%m%d"
MISSING: Final = frozenset({
    "na", "n/a", "n.a.", "n. a.", "<na>", "nan", "null", "(null)", "none", "nil", "missing", "unknown", "no data",
    "not available", "k.a.", "k. a.", "keine angabe", "fehlt", "unbekannt", "n.v.t.", "nvt", "s/d", "sin datos",
    "sans objet", "non disponible", "н/д", "нет данных", "不明", "無",
    "-", "--", "---", "–", "—", "−", "?", ":", ".", "..", "...", "…",
    "0000-00-00", "0000-00-00 00:00:00", "00.00.0000", "00/00/0000",
    "#n/a", "#nv", "#n/d", "#div/0!", "#ref!", "#value!", "#wert!", "#valeur!", "#¡valor!", "#name?", "#num!", "#null!",
})  # fmt: skip
MISSING_WORDS: Final = pa.array(sorted(MISSING))
CODE: Final = r"^[+-]?(?:0\d+(?:[eE].*)?|\d{19,})$"
LEADING_ZERO: Final = r"^-?0\d+(?:[eE]|$)"
LONG_INTEGER: Final = r"^-?\d{16,}(?:\.0*)?$"
LIKE_CODE: Final = r"^(?:\d+E\d+|\+\d{8,})$"
SHORTENED: Final = r"^[1-9][.,]\d{1,5}E\+1\d$"

UNIT: Final = r"(?:\s?(?:[°º]?\pL{1,5}|[^\pL\d\s.,:/-])\.?)"
NUMBER: Final = r"^[^\pL\d]{0,3}(?:\pL{1,3}[.$]?)?[^\pL\d]{0,3}\d[\d.,]*(?:\s\d{3})*[\d.,]*"
SIGNED: Final = rf"{NUMBER}\s?[%‰°*†‡\p{{Sc}}]$|^[-+\s]{{0,2}}(?:[\p{{Sc}}\p{{So}}±≈~]|(?:{amounts.CURRENCIES})\s?\d)"
YEAR: Final = r"(?:1[89]|20)\d\d"
MONTH: Final = rf"(?:{'|'.join(dates.NAMES)})\.?"
PERIOD: Final = (
    rf"^(?i)(?:{YEAR}\D{{1,3}}(?:0?[1-9]|1[0-2])|(?:0?[1-9]|1[0-2])[/.-]{YEAR}|{YEAR}[-/ ]?[QWHTK]\d{{1,2}}(?:-\d)?"
    rf"|[QTHS][1-4][-/ ]?{YEAR}|FY ?(?:{YEAR}|\d\d)|{YEAR}[-/–]\d\d"
    rf"|{YEAR}(?:\D{{1,2}}\d{{1,2}}){{2}}\D.*|\d{{1,2}}[-/.]\d{{1,2}}[-/.]{YEAR}\D.*"
    rf"|(?:\d{{1,2}}\D{{1,4}})?{MONTH}\D{{1,4}}(?:{YEAR}|\d\d)|\d{{1,2}}[-/. ]{{1,2}}{MONTH}"
    rf"|\d{{1,2}}\.?\s\pL{{3,}}\.?\s{YEAR})\D{{0,3}}$"
)
CLOCK: Final = r"^(?i)\d{1,4}(?::\d\d){1,2}(?:[.,]\d+)?(?:\s?[ap]\.?m\.?)?$"
AMOUNT: Final = r"\d+(?:[.,]\d+)?"
ISO_SPAN: Final = rf"P(?:(?:{AMOUNT}[YMWD])+(?:T(?:{AMOUNT}[HMS])+)?|T(?:{AMOUNT}[HMS])+)"
SPAN: Final = (
    rf"^(?i)(?:{ISO_SPAN}|(?:\d+(?:[.,]\d+)?\s?(?:ms|[wdhms]|(?:week|day|hour|hr|min|minute|sec|second)s?"
    r"|std|stunden?|tage?|minuten?|sekunden?)\.?[\s,]*)+)$"
)
WITH_UNITS: Final = "numbers with units or signs"
FRACTION: Final = r"^(?:\d+\s)?\d{1,3}/\d{1,3}$"
POWER: Final = r"^[-+]?\d+(?:[.,]\d+)?(?:[dD][-+]\d+|\s?[×x*·]\s?10\^?[-+−]?\d+)$"
RESEMBLING: Final = (
    ("times or spans of time", rf"{CLOCK}|{SPAN}", rf"{CLOCK}|^(?i){ISO_SPAN}$|\d\s?\pL+\.?[\s,]*\d"),
    (WITH_UNITS, rf"{NUMBER}{UNIT}?$", rf"{NUMBER}(?:[.,]\d+|\s){UNIT}$|{SIGNED}"),
    ("dates or periods", PERIOD, PERIOD),
    ("fractions or days without years", FRACTION, FRACTION),
    ("numbers with powers of ten", POWER, POWER),
    ("numbers in the digits of another script", r"^[-+]?[\p{Nd}.,\x{066b}\x{066c}]+$", r"[^\x00-\x7f]"),
)
"""What text may be that is not read: in words, what nearly all cells fit, and what one has to fit."""

LOOKED_AT: Final = 100
"""Different cells of a column of which one has to look like a date."""

MOST_UNLIKE: Final = 20
"""Cells outside the sample that a plan is made anew with."""

MOSTLY: Final = 0.95
"""Share of a column's cells that must be of a type before the others are taken for mistakes."""

EXACT: Final = 2**53
"""From here on, float64 cannot represent all whole numbers."""


@dataclass(frozen=True)
class TypePlan:
    """How the cells of one text column are read."""

    kind: Literal["text", "boolean", "date", "number"] = "text"
    form: str = ""  # of dates: a key of dates.ORDERS, or COMPACT_DATE
    writing: str = ""  # of numbers: a key of amounts.WRITINGS
    sign: str = ""  # of numbers: a key of amounts.SIGNS
    said: str = ""  # what the note says was done


@dataclass
class Tally:
    """The outcome of a column's cells, summed over its batches."""

    present: int = 0
    missing: int = 0
    odd: int = 0
    infinite: int = 0
    code: str = ""  # why the digits are an identifier and not a number
    examples: dict[str, list[str]] = field(default_factory=dict)
    unlike: list[str] = field(default_factory=list)  # some cells as written that the plan does not explain

    def keep(self, cells: pa.Array) -> None:
        """Keep a few different cells that the plan does not explain."""
        if len(self.unlike) < MOST_UNLIKE:
            self.unlike += pc.unique(cells.drop_null()).slice(0, MOST_UNLIKE).to_pylist()

    def count(self, cells: pa.Array, missing: pa.Array, odd: pa.Array) -> None:
        """Add cells that say that they are missing, and those that became missing; remember three different ones."""
        self.missing += _number_of(missing)
        if n := _number_of(odd):
            self.odd += n
            self.keep(cells.filter(odd))
        for why, mask in (("missing", missing), ("odd", odd)):
            kept = self.examples.setdefault(why, [])
            if len(kept) < 3 and pc.any(mask).as_py():
                shown = [repr(cell[:20]) for cell in pc.unique(cells.filter(mask)).slice(0, 3).to_pylist()]
                kept.extend([text for text in dict.fromkeys(shown) if text not in kept][: 3 - len(kept)])


def _number_of(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)


def infinity_note(name: object, n: int) -> str:
    """Return the note on infinite values."""
    return f"{name}: {counted(n, 'infinite value', 'is', 'are')} missing here."


def rounding_note(name: object, n: int) -> str:
    """Return the note on whole numbers that float64 cannot represent exactly."""
    beyond = f"beyond {count(EXACT)} {are(n)} rounded in models"
    return f"{name}: {counted(n, 'whole number')} {beyond}; identifiers should be text."


def code_note(name: object, why: str) -> str:
    """Return the note on digits that are kept as text."""
    return f"{name}: kept as text because of its {why}; it may be an identifier."


def trimmed(cells: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return text without blanks around it; blank cells are missing."""
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    cells = pc.utf8_trim_whitespace(cells)
    return pc.if_else(pc.equal(cells, ""), None, cells)


def says_missing(cells: pa.Array) -> pa.Array:
    """Return which cells are words for a missing value."""
    return pc.and_(pc.is_valid(cells), pc.is_in(pc.utf8_lower(cells), MISSING_WORDS))


def plain_numbers(cells: pa.Array) -> pa.Array | None:
    """Return trimmed cells as float64 if all are plain numbers or blank; None if one is not, which requires a plan."""
    try:
        numbers = pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        return None
    largest = pc.max(pc.abs(numbers)).as_py()
    fine = largest is None or largest < EXACT  # neither NaN nor infinite
    if not fine or pc.any(pc.is_nan(numbers)).as_py() or pc.any(pc.match_substring_regex(cells, CODE)).as_py():
        return None
    return numbers


# --- plans


@dataclass
class Candidate:
    """A column of a sample that may be numbers: its cells with digits to read, and what they prove about its marks."""

    name: str
    cells: pa.Array  # trimmed, with neither blanks nor words for missing
    rows: pa.Array  # their rows in the file
    sign: str | None
    point: int = 0  # cells that only decimal points explain
    comma: int = 0  # cells that only decimal commas explain
    either: str = ""  # a cell that both explain, as different numbers

    @classmethod
    def of(cls, name: str, cells: pa.Array, rows: pa.Array) -> Candidate:
        """Look at trimmed cells. rows : the row of each in the file."""
        counted = pc.and_not(pc.is_valid(cells), says_missing(cells))
        cells, rows = cells.filter(counted), rows.filter(counted)
        likely = 2 * _number_of(amounts.may_be_numbers(cells)) >= len(cells)
        new = cls(name, cells, rows, amounts.sign_of(cells) if likely else None)
        if new.sign is not None and len(cells):
            body = amounts.split(cells, new.sign).body
            as_comma = amounts.fits(body, "decimal commas")
            as_point = pc.or_(amounts.fits(body, ""), amounts.fits(body, "thousands separators"))
            marked = pc.fill_null(pc.match_substring_regex(body, "[.,]"), False)
            new.point, new.comma = (
                _number_of(pc.and_not(as_point, as_comma)),
                _number_of(pc.and_not(as_comma, as_point)),
            )
            both = cells.filter(pc.and_(marked, pc.and_(as_point, as_comma)))
            new.either = both[0].as_py() if len(both) else ""
        return new

    @property
    def proves(self) -> str:
        """The decimal mark that its cells prove; empty if none or both."""
        return "." if self.point and not self.comma else "," if self.comma and not self.point else ""


def plans(columns: dict[str, tuple[pa.Array, pa.Array]], semicolons: bool, own: dict[str, list[str]]) -> list[TypePlan]:
    """Return a plan for each column of a sample; a note says why a column that resembles another type stays text.

    columns : trimmed cells, and their rows in the file. semicolons : whether these separate the file's columns, as they
    do where commas are decimal marks. own : notes, by column."""
    early = {name: _plan_without_marks(name, *cells, notes=own[name]) for name, cells in columns.items()}
    unsure = {name: Candidate.of(name, *columns[name]) for name, plan in early.items() if plan is None}
    plain = (name for name, plan in early.items() if plan == TypePlan("number"))
    proven = {candidate.proves for candidate in unsure.values()} | {_proof(columns[name][0]) for name in plain}
    marks = proven - {""}
    by_file = marks.pop() if len(marks) == 1 else ""
    return [
        _plan_numbers(unsure[name], by_file, semicolons, own[name]) if plan is None else plan
        for name, plan in early.items()
    ]


def _proof(cells: pa.Array) -> str:
    """Return a point if some plain numbers have decimals that cannot be thousands."""
    return (
        "." if pc.any(pc.match_substring_regex(cells, r"^[-+]?(?:0\d*|\d{4,})?\.\d|\.\d{0,2}$|\.\d{4}")).as_py() else ""
    )


def _plan_without_marks(name: str, cells: pa.Array, rows: pa.Array, notes: list[str]) -> TypePlan | None:
    """Plan columns that are no numbers, and numbers without marks or with points that only decimals explain."""
    counted = pc.value_counts(cells.filter(pc.and_not(pc.is_valid(cells), says_missing(cells))))
    distinct, times = counted.field(0), counted.field(1).to_numpy(zero_copy_only=False)
    if not len(distinct):
        return TypePlan("number")
    truths = pc.is_in(pc.utf8_lower(distinct), pa.array(["true", "false"])).to_numpy(zero_copy_only=False)
    if truths.all():
        return TypePlan("boolean")
    if 2 * (true := int(times[truths].sum())) > times.sum():
        what = f"{count(true)} of {count(int(times.sum()))} cells are true or false"
        notes.append(f"{name}: {what}, so it stays text; {_shown(distinct, ~truths)} is neither.")
        return TypePlan()
    if len(distinct) > 1 and _all(pc.match_substring_regex(distinct, SHORTENED)):
        shown = repr(distinct[0].as_py())
        notes.append(f"{name}: {shown} and the like may be identifiers of which a spreadsheet kept the first digits.")
    if len(distinct) > 1 and _all(pc.match_substring_regex(distinct, LIKE_CODE)):
        notes.append(f"{name}: kept as text, as {distinct[0].as_py()!r} and the like may be identifiers.")
        return TypePlan()
    numbers = plain_numbers(cells)
    if numbers is not None:
        dotted = distinct.filter(pc.match_substring(distinct, "."))
        grouped = len(dotted) and _all(pc.match_substring_regex(dotted, r"^[-+]?[1-9]\d{0,2}\.\d{3}$"))
        return None if grouped else TypePlan("number")
    return _plan_dates(name, distinct, times, notes)


def _all(mask: pa.Array) -> bool:
    return bool(pc.all(mask).as_py())


def _plan_dates(name: str, distinct: pa.Array, times: Ints, notes: list[str]) -> TypePlan | None:
    """Plan a column of dates if nearly all can be read, in one way only; None if it has too few.

    times : how often each of the distinct cells occurs."""
    if dates.usual(distinct, "ymd") is not None:
        return TypePlan("date", form="ISO8601", said="dates")
    some = distinct.take(pa.array(np.linspace(0, len(distinct) - 1, min(len(distinct), LOOKED_AT), dtype=np.int64)))
    if not dates.Parts(some).like.any():
        return None
    parts, total = dates.Parts(distinct), int(times.sum())
    like = int(times[parts.like].sum())
    if like < MOSTLY * total:
        if 2 * like < total or like < 2:
            return None
        notes.append(
            f"{name}: {count(like)} of {counted(total, 'cell')} are dates, too few for a column of dates, so it stays "
            f"text; {_shown(distinct, ~parts.like)} is not."
        )
        return TypePlan()
    depends = bool(parts.ordered.any())
    orders = dates.ORDERS if depends else {"ISO8601": "ymd"}
    shares = {form: int(times[~np.isnat(parts.times(order))].sum()) / like for form, order in orders.items()}
    least = 1.0 if max(shares.values()) == 1.0 else MOSTLY
    readable = [form for form, share in shares.items() if share >= least]
    if len(readable) > 1 and parts.have_year_last:
        readable.remove("ISO8601")
    if len(readable) == 1:
        words = {"dmy": " with the day first", "mdy": " with the month first"}.get(dates.ORDERS[readable[0]], "")
        words += f" and years of two digits, up to 20{dates.LATEST_PLAIN}" if parts.short.any() else ""
        words += ", those with a zone in UTC" if parts.zoned[parts.like].any() else ""
        return TypePlan("date", form=readable[0], said=f"dates{words}")
    if readable or min(shares.get(form, 0.0) for form in ("%d-%m-%Y", "%m-%d-%Y")) > 0:
        example = _shown(distinct, parts.ordered)
        notes.append(f"{name}: dates such as {example} can be read in two ways and stay text; use 2026-01-31.")
    else:
        notes.append(f"{name}: some dates do not exist, so it stays text.")
    return TypePlan()


def _shown(cells: pa.Array, mask: Bools) -> str:
    return repr(cells[int(np.argmax(mask))].as_py()[:20])


def _plan_numbers(column: Candidate, by_file: str, semicolons: bool, notes: list[str]) -> TypePlan:
    """Plan a column of numbers if at least 95% of its cells are numbers in the writing that its marks call for."""
    cells, sign = column.cells, column.sign
    if sign is None:
        notes.extend(_unread(column.name, cells))
        return TypePlan()
    parts = amounts.split(cells, sign)
    decimal = column.proves or (by_file if column.either else "") or _likelier(column, parts.body, semicolons)
    writing = _writing(parts.body, decimal, column)
    fit = pc.or_(amounts.fits(parts.body, writing), pc.match_substring_regex(cells, f"^(?:{amounts.INFINITE})$"))
    most = _number_of(fit)
    if most < MOSTLY * len(cells) or not _number_of(amounts.fits(parts.body, writing)):
        if 2 * most >= len(cells) and most:
            odd = int(np.argmin(fit.to_numpy(zero_copy_only=False)))
            notes.append(
                f"{column.name}: {count(most)} of {counted(len(cells), 'cell')} are numbers, too few for a column of "
                f"numbers, so it stays text; {cells[odd].as_py()[:20]!r} in row {count(column.rows[odd].as_py() + 1)} "
                "is not."
            )
        else:
            notes.extend(_unread(column.name, cells))
        return TypePlan()
    body = parts.body.filter(fit)
    if why := code(amounts.plain(body, writing)):
        notes.append(code_note(column.name, why))
        return TypePlan()
    after, enclosed = (pc.and_(fit, pc.fill_null(mask, False)) for mask in (parts.after, parts.enclosed))
    if _number_of(enclosed) == most:  # (1), (2), (3) count things, and are no amounts below 0
        return TypePlan()
    words = [writing, amounts.SIGNS.get(sign, ""), amounts.AFTER * bool(pc.any(after).as_py()),
             amounts.IN_PARENTHESES * bool(pc.any(enclosed).as_py()),
             amounts.FOR_ZERO * bool(pc.any(amounts.is_dash(cells, sign)).as_py())]  # fmt: skip
    note = " and ".join(filter(None, words))
    note = f"numbers with {note}" if note else ""
    if column.either and not column.proves and not by_file:
        note = _either(column.either, writing, sign, note)
    return TypePlan("number", writing=writing, sign=sign, said=note)


def _unread(name: str, cells: pa.Array) -> list[str]:
    """Return the note on cells that look like numbers with units or like dates, and are neither here; or none."""
    for what, most, pattern in RESEMBLING:
        surely = cells.filter(pc.match_substring_regex(cells, pattern))
        if not len(surely) and what == WITH_UNITS:
            units = pc.struct_field(pc.extract_regex(cells, rf"\d(?P<unit>{UNIT})$"), "unit")
            surely = cells if len(pc.unique(units)) == 1 and units.null_count == 0 else surely
        if len(surely) and _number_of(pc.match_substring_regex(cells, most)) >= MOSTLY * len(cells):
            return [f"{name}: {surely[0].as_py()[:25]!r} and the like may be {what}; they stay text."]
    return []


def _writing(body: pa.Array, decimal: str, column: Candidate) -> str:
    """Return the writing with this decimal mark that says no more than needed; without one, the one that fits most."""
    if decimal == "," and (column.comma or column.either):
        return "decimal commas"
    fitting = {
        writing: _number_of(amounts.fits(body, writing)) for writing in ("", "thousands separators", "decimal commas")
    }
    if decimal == ".":
        del fitting["decimal commas"]
    return max(fitting, key=lambda writing: fitting[writing])


def _likelier(column: Candidate, body: pa.Array, semicolons: bool) -> str:
    """Return the likelier decimal mark of a column whose marks all have three digits behind them.

    Where whole numbers below 1,000 have no mark and none above lacks one, the marks separate thousands; where all cells
    have one, points are decimal, as programs write them, and commas are where semicolons separate columns."""
    if not column.either:
        return ""
    mark = "." if "." in column.either else ","
    other = "," if mark == "." else "."
    whole = body.filter(pc.fill_null(pc.match_substring_regex(body, r"^\d+$"), False))
    if len(whole):
        grouped = _all(pc.less_equal(pc.utf8_length(whole), 3))
        return other if grouped else mark
    return "." if mark == "." else "," if semicolons else "."


def _either(cell: str, writing: str, sign: str, note: str) -> str:
    """Return what is said of numbers that could be read in two ways."""
    ways = ("decimal commas", "thousands separators" if "," in cell else "")
    here, there = (
        str(amounts.values(pa.array([cell]), way, sign)[0][0].as_py()).removesuffix(".0")
        for way in (writing, next(way for way in ways if way != writing))
    )
    note = note or "numbers with decimal points"
    return f"{note}, so {cell[:20]!r} is {here} here and not {there}"


def code(digits: pa.Array) -> str:
    """Return why plain digits are an identifier: leading zeros, or whole numbers that float64 may not tell apart; empty
    for numbers."""
    if pc.any(pc.match_substring_regex(digits, LEADING_ZERO)).as_py():
        return "leading zeros"
    long = digits.filter(pc.fill_null(pc.match_substring_regex(digits, LONG_INTEGER), False))
    wholes = ((int(text.partition(".")[0]), "." in text) for text in pc.unique(long).to_pylist())
    is_long = any(abs(whole) >= EXACT and not (is_float and whole == int(float(whole))) for whole, is_float in wholes)
    return "very long numbers" if is_long else ""


# --- conversion


def convert(cells: pa.Array, plan: TypePlan, tally: Tally) -> pa.Array:
    """Convert trimmed cells by a plan; those that do not fit become missing and are tallied."""
    tally.present += len(cells) - cells.null_count
    if plan.kind == "text":
        return cells
    if plan == TypePlan("number") and (numbers := plain_numbers(cells)) is not None:
        return numbers
    missing = says_missing(cells)
    values = CONVERSIONS[plan.kind](pc.if_else(missing, None, cells), plan, tally)
    tally.count(cells, missing, pc.and_not(pc.and_(pc.is_valid(cells), pc.is_null(values)), missing))
    if plan.kind != "number":
        return values
    infinite = pc.fill_null(pc.is_inf(values), False)
    tally.infinite += _number_of(infinite)
    return pc.if_else(infinite, None, values)


def _to_boolean(cells: pa.Array, _plan: TypePlan, _tally: Tally) -> pa.Array:
    place = pc.index_in(pc.utf8_lower(cells), pa.array(["false", "true"]))
    return pc.cast(place, pa.bool_())


def _to_date(cells: pa.Array, plan: TypePlan, _tally: Tally) -> pa.Array:
    order = dates.ORDERS.get(plan.form, "")
    if order and (moments := dates.usual(cells, order)) is not None:
        return moments
    return pa.array(dates.Parts(cells).times(order) if order else dates.compact(cells), pa.timestamp("us"))


def _to_number(cells: pa.Array, plan: TypePlan, tally: Tally) -> pa.Array:
    values, digits = amounts.values(cells, plan.writing, plan.sign)
    tally.code = tally.code or code(digits)
    return values


CONVERSIONS: Final[dict[str, Callable[[pa.Array, TypePlan, Tally], pa.Array]]] = {
    "boolean": _to_boolean, "date": _to_date, "number": _to_number,
}  # fmt: skip


def check_lengths(table: pa.Table | pa.RecordBatch) -> None:
    """Refuse cells of more than 100,000 characters."""
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        if (pc.max(pc.binary_length(column)).as_py() or 0) <= MAX_FIELD:  # bytes, of which a character has one at least
            continue
        longest = pc.max(pc.utf8_length(column)).as_py() or 0
        if longest > MAX_FIELD:
            raise ReaderError(
                f"A cell of column {name!r} has {count(longest)} characters, more than {count(MAX_FIELD)}: "
                "shorten or drop its column."
            )
