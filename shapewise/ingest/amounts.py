"""Numbers as people write them: marks between thousands, decimal commas, currencies, percent, and four ways to say
minus."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

BLANKS: Final = " \u00a0\u2007\u2009\u202f"
SPACE: Final = rf"[\s{BLANKS}]*"
APOSTROPHES: Final = "'\u2019"
EXPONENT: Final = r"(?:[eE][+-]?\d+)?"
INFINITE: Final = r"(?i)[+-]?inf(?:inity)?"


@dataclass(frozen=True)
class Writing:
    """How a column marks thousands and decimals. grouped : integer parts with marks; as patterns of RE2."""

    decimal: str
    grouped: str = ""

    @property
    def pattern(self) -> str:
        """What a number without its sign fits in whole."""
        whole = rf"(?:{self.grouped}|\d+)" if self.grouped else r"\d+"
        point = re.escape(self.decimal)
        return rf"^(?:{whole}(?:{point}\d*)?|{point}\d+){EXPONENT}$"


def _grouped(mark: str) -> str:
    alike = (rf"[1-9]\d{{0,2}}(?:{marks}\d{{3}})+" for marks in (re.escape(mark), f"[{BLANKS}]", f"[{APOSTROPHES}]"))
    return "|".join(alike)


WRITINGS: Final[dict[str, Writing]] = {
    "": Writing("."),
    "decimal commas": Writing(",", _grouped(".")),
    "thousands separators": Writing(".", _grouped(",") + r"|[1-9]\d?(?:,\d{2})+,\d{3}"),  # the last in lakhs
}
"""Ways to write numbers, keyed by the words of the note."""

SIGNS: Final = {
    "%": "percent signs", "$": "dollar signs", "€": "euro signs", "£": "pound signs", "¥": "yen signs",
    "₹": "rupee signs", "₽": "rouble signs", "₩": "won signs", "₺": "lira signs", "₪": "shekel signs",
    "￥": "yen signs", "円": "yen signs", "元": "yuan signs", "₫": "dong signs", "₴": "hryvnia signs",
    "₱": "peso signs", "฿": "baht signs", "₦": "naira signs",
    **{code: f"the currency {code}" for code in (
        "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "RUB", "TRY",
        "BRL", "MXN", "AUD", "CAD", "NZD", "ZAR", "SGD", "HKD", "KRW",
        "ILS", "US$", "R$", "C$", "A$", "kr", "zł", "Kč",
        "Fr.", "Rs.", "Ft", "руб.", "kr.", "Rp", "RM", "HK$", "S$", "NT$",
    )},
}  # fmt: skip
"""Percent and currencies, which may stand before or after a number, with the words of the note."""

CURRENCIES: Final = "|".join(re.escape(sign) for sign in sorted(SIGNS, key=len, reverse=True))

LIKE: Final = (
    r"^[^\pL\d]*(?:\pL{1,3}[.$]?)?[^\pL\d]*\d[^\pL]*(?:[eE][-+]?\d+|\pL{1,3}\.?)?[^\pL\d]*$|^(?i)[-+]?inf(?:inity)?$"
)
MINUS: Final = "[-\u2010-\u2015\u2212]"
AFTER: Final = "minus signs after them"
IN_PARENTHESES: Final = "parentheses for minus"
FOR_ZERO: Final = "dashes for 0"


def _framed(sign: str) -> str:
    """Return the pattern of a number with its minus, plus or parentheses, and its currency, in any usual order."""
    mark = rf"{SPACE}(?:{re.escape(sign)})?{SPACE}" if sign else SPACE
    return (
        rf"^{mark}(?P<open>\(?){SPACE}(?P<before>{MINUS}|\+)?{mark}(?P<inner>{MINUS}|\+)?{SPACE}"
        rf"(?P<body>[\d.,].*?){mark}(?P<after>{MINUS}?){mark}(?P<close>\)?){mark}$"
    )


def _without_dashes(cells: pa.Array) -> pa.Array:
    """Return cells without the dash that stands for no decimals, as in 950,- or 1'234.--, which is no minus."""
    return pc.replace_substring_regex(cells, rf"(\d[.,]){MINUS}{{1,2}}([^\d]|$)", r"\1\2")


def is_dash(cells: pa.Array, sign: str) -> pa.Array:
    """Return which trimmed cells are a dash beside the currency, as spreadsheets show 0."""
    mark = re.escape(sign) if sign not in ("", "%") else "[^\\s\\S]"
    return pc.fill_null(pc.match_substring_regex(cells, rf"^(?:{mark}{SPACE}{MINUS}+|{MINUS}+{SPACE}{mark})$"), False)


@dataclass(frozen=True)
class Bodies:
    """Cells split into their signs and their digits. body : with exponents, null where a cell has no such form."""

    body: pa.Array
    negative: pa.Array
    after: pa.Array
    enclosed: pa.Array


def split(cells: pa.Array, sign: str) -> Bodies:
    """Return the digits of trimmed cells, and how their minus is written."""
    cells = pc.if_else(is_dash(cells, sign), "0", _without_dashes(cells))
    parts = pc.extract_regex(cells, _framed(sign))
    open_, before, inner, body, after, close = (
        pc.struct_field(parts, name) for name in ("open", "before", "inner", "body", "after", "close")
    )
    enclosed, behind = pc.not_equal(open_, ""), pc.not_equal(after, "")
    leading = pc.or_(pc.not_equal(before, ""), pc.not_equal(inner, ""))
    signs = [pc.cast(mask, pa.int8()) for mask in (pc.not_equal(before, ""), pc.not_equal(inner, ""), behind, enclosed)]
    once = pc.less_equal(pc.add(pc.add(signs[0], signs[1]), pc.add(signs[2], signs[3])), 1)
    closed = pc.equal(enclosed, pc.not_equal(close, ""))
    plus = pc.or_(pc.equal(before, "+"), pc.equal(inner, "+"))
    negative = pc.or_(pc.or_(pc.and_not(leading, plus), behind), enclosed)
    return Bodies(pc.if_else(pc.and_(once, closed), body, None), negative, behind, enclosed)


def fits(body: pa.Array, writing: str) -> pa.Array:
    """Return which digits are numbers in a writing; false where there are none."""
    return pc.fill_null(pc.match_substring_regex(body, WRITINGS[writing].pattern), False)


def plain(body: pa.Array, writing: str) -> pa.Array:
    """Return fitting digits as a programming language writes them: no marks between thousands, a decimal point."""
    style = WRITINGS[writing]
    for mark in f"{BLANKS}{APOSTROPHES}{'.' if style.decimal == ',' else ','}" if style.grouped else "":
        body = pc.replace_substring(body, mark, "")
    return pc.replace_substring(body, ",", ".") if style.decimal == "," else body


def values(cells: pa.Array, writing: str, sign: str) -> tuple[pa.Array, pa.Array]:
    """Return trimmed cells as float64, null where one is no number in this writing; and their digits, as `plain`."""
    simple = pc.match_substring_regex(cells, _simple(writing, sign))
    if pc.all(simple).as_py():
        digits = plain(pc.replace_substring(cells, sign, "") if sign else cells, writing)
        return pc.cast(digits, pa.float64()), digits
    parts = split(cells, sign)
    digits = plain(pc.if_else(fits(parts.body, writing), parts.body, None), writing)
    numbers = pc.cast(digits, pa.float64())
    numbers = pc.if_else(parts.negative, pc.negate(numbers), numbers)
    infinite = pc.fill_null(pc.match_substring_regex(cells, f"^(?:{INFINITE})$"), False)
    return pc.if_else(infinite, pa.scalar(float("inf")), numbers), digits


def _simple(writing: str, sign: str) -> str:
    """Return the pattern of numbers without blanks, and with no minus but a hyphen before them."""
    body, mark = WRITINGS[writing].pattern.removeprefix("^").removesuffix("$"), re.escape(sign)
    return rf"^-?(?:{mark})?-?{body}(?:{mark})?$" if sign else f"^-?{body}$"


def may_be_numbers(cells: pa.Array) -> pa.Array:
    """Return which cells have digits and at most a short word before or after them."""
    return pc.match_substring_regex(cells, LIKE)


def sign_of(cells: pa.Array) -> str | None:
    """Return the one currency or percent sign of cells that hold digits, empty if none has one; None if they differ.

    Percentages among plain numbers may be off by a factor of 100, and two currencies are not one unit."""
    around = rf"[\s{BLANKS}()\-\x{{2010}}-\x{{2015}}\x{{2212}}]*"
    pattern = rf"^{around}(?P<first>{CURRENCIES}){around}[\d.,]|\d[.,]?{around}(?P<last>{CURRENCIES}){around}$"
    parts = pc.extract_regex(_without_dashes(cells), pattern)
    first, last = pc.struct_field(parts, "first"), pc.struct_field(parts, "last")
    signs = pc.if_else(pc.equal(first, ""), last, first)
    kinds = pc.unique(signs.drop_null()).to_pylist()
    if len(kinds) > 1:
        return None
    with_digits = pc.sum(pc.match_substring_regex(cells, r"\d")).as_py() or 0
    if kinds == ["%"] and len(signs) - signs.null_count < with_digits:
        return None
    return str(kinds[0]) if kinds else ""
