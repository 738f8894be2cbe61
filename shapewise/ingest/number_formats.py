"""Numbers of workbooks whose format shows more than their digits: codes with leading zeros, words, percent, units."""

from __future__ import annotations

import operator
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any, Final
from xml.etree import ElementTree
from xml.parsers import expat

from gamcore.common.numbers import fixed

STYLES: Final = "xl/styles.xml"
PART: Final = 2**20
BUILT_IN: Final = {"9": "0%", "10": "0.00%"}
"""Formats that every workbook knows by their number, of those that matter here."""

TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_.|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]'
    r"|\[(?P<when>[<>=]+)(?P<limit>-?[\d.]+)\]|\[[^\]]*\]|(?P<digits>General|E[+-]|[0#?.,%/@])|(?P<end>;)|(?P<sign>.)",
    re.DOTALL | re.IGNORECASE,
)
OF_DATES: Final = frozenset("dmyhsegb")
COMPARED: Final = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
BLANK: Final = " \u00a0\u202f'\u2019"
PLACES: Final = frozenset("0#?")


@dataclass(frozen=True)
class Section:
    """How a format shows some numbers: texts and the places of digits, in order, and which texts are places.

    when, limit : the comparison that these numbers fit; empty where the order of the sections says it."""

    parts: tuple[tuple[str, bool], ...]
    when: str = ""
    limit: float = 0.0

    @cached_property
    def digits(self) -> str:
        """The places of digits, with the marks among them."""
        return "".join(text for text, is_place in self.parts if is_place)

    @cached_property
    def around(self) -> tuple[str, str]:
        """The texts before and behind the digits, without blanks at the ends."""
        places = [k for k, (_, is_place) in enumerate(self.parts) if is_place] or [len(self.parts)]
        before, behind = self.parts[: places[0]], self.parts[places[-1] + 1 :]
        return "".join(text for text, _ in before).lstrip(), "".join(text for text, _ in behind).rstrip()

    @cached_property
    def unit(self) -> str:
        """The letters or signs around digits, as kg or €; empty without, and where they say what is divided by."""
        unit = "".join(self.around).strip(f"{BLANK}-()") if self.digits and self.divisor == 1.0 else ""
        return unit if any(sign.isalpha() or sign == "$" or not sign.isascii() for sign in unit) else ""

    @cached_property
    def is_word(self) -> bool:
        """Whether it shows a word in place of the number."""
        return not self.digits and any(text.isalpha() for text, _ in self.parts)

    @cached_property
    def is_mask(self) -> bool:
        """Whether it shows zeros before short numbers, or signs between digits, as of postal codes and telephones."""
        if not self.digits or not PLACES.issuperset(self.digits):
            return False
        places = [k for k, (_, is_place) in enumerate(self.parts) if is_place]
        between = "".join(text for text, is_place in self.parts[places[0] : places[-1]] if not is_place)
        return len(self.digits[self.digits.find("0") :]) > 1 or bool(between.strip(BLANK))

    @cached_property
    def divisor(self) -> float:
        """What numbers are divided by before they are shown: 1,000 for a comma behind the digits, .01 for percent."""
        commas = re.search(r"[0#?](,+)(?:[.%]|$)", self.digits)
        return 1000.0 ** len(commas[1] if commas else "") / 100.0 ** self.digits.count("%")

    def masked(self, number: float) -> str:
        """Return a whole number with its digits in their places, the first of which takes those that are too many."""
        least = len(self.digits) - self.digits.find("0") if "0" in self.digits else 0
        digits = str(int(number)).zfill(least).rjust(len(self.digits))
        end = len(digits) - len(self.digits) + 1
        filled = iter([digits[:end], *digits[end:]])
        return "".join(next(filled).strip() if is_place else text for text, is_place in self.parts).strip()

    def shown(self, number: float) -> str:
        """Return what is shown of a number, as far as it differs from its digits."""
        if self.is_mask:
            return self.masked(number)
        before, behind = self.around
        if self.is_word:
            return before
        decimals = len(re.sub(r"[^0#?]", "", self.digits.partition(".")[2]))
        return f"{before}{fixed(number / self.divisor, decimals)}{'%' * self.digits.count('%')}{behind}"


@dataclass(frozen=True)
class NumberFormat:
    """A number format of a workbook."""

    sections: tuple[Section, ...]

    @property
    def matters(self) -> bool:
        """Whether it shows more than the digits of some number."""
        return any(part.is_word or part.is_mask or part.unit or part.divisor != 1.0 for part in self.sections)

    def of(self, number: float) -> Section:
        """Return the section for a number."""
        if any(section.when for section in self.sections):
            fitting = (part for part in self.sections if not part.when or COMPARED[part.when](number, part.limit))
            return next(fitting, self.sections[-1])
        place = 1 if number < 0 else 2 if number == 0 else 0
        return self.sections[place] if place < len(self.sections) else self.sections[0]


class FormattedNumber(float):
    """A number of a workbook that is shown with more than its digits."""

    __slots__ = ("section",)
    section: Section

    @classmethod
    def of(cls, number: float, form: NumberFormat) -> FormattedNumber:
        """Return a number with the part of its format that shows it."""
        new = cls(number)
        new.section = form.of(number)
        return new

    @property
    def text(self) -> str | None:
        """What is shown, where that is a word, or a code written in digits; None for amounts."""
        is_code = self.section.is_mask and self >= 0 and self.is_integer()
        return self.section.shown(self) if self.section.is_word or is_code else None

    @property
    def is_altered(self) -> bool:
        """Whether other digits than the number's own are shown, or none."""
        section = self.section
        return section.is_word or section.divisor != 1.0 or (section.is_mask and self.text != plain_number(self))


def plain_number(number: float) -> str:
    """Return a number's own digits; workbooks store whole numbers as floats."""
    return str(int(number)) if float(number).is_integer() else str(float(number))


def parsed(code: str) -> NumberFormat | None:
    """Return a number format; None for one of dates."""
    sections, parts = list[Section](), list[tuple[str, bool]]()
    when, limit = "", 0.0
    for token in TOKEN.finditer(f"{code};"):
        if token["end"]:
            sections.append(Section(tuple(parts), when, limit))
            parts, when, limit = [], "", 0.0
        elif token["when"] in COMPARED:
            when, limit = token["when"], float(token["limit"])
        elif token["sign"] and token["sign"].lower() in OF_DATES:
            return None
        elif token["digits"]:
            parts.append((token["digits"], True))
        else:
            parts.append((token["quoted"] or token["escaped"] or token["currency"] or token["sign"] or "", False))
    return NumberFormat(tuple(sections[:3]))


def formats_of(archive: zipfile.ZipFile) -> dict[str, NumberFormat]:
    """Return the number formats of a workbook that show more than digits, by the style of the cells that have them."""
    try:
        styles = ElementTree.fromstring(archive.read(STYLES))  # noqa: S314 (no document type)
    except KeyError:
        return {}
    codes = BUILT_IN | {
        style.get("numFmtId", ""): style.get("formatCode", "") for style in styles.iterfind("{*}numFmts/{*}numFmt")
    }
    by_number = {number: form for number, code in codes.items() if (form := parsed(code)) is not None and form.matters}
    cells = (style.get("numFmtId", "") for style in styles.iterfind("{*}cellXfs/{*}xf"))
    return {str(style): by_number[number] for style, number in enumerate(cells) if number in by_number}


def give_formats(
    rows: list[list[Any]], start: tuple[int, int], sheet: IO[bytes], formats: dict[str, NumberFormat]
) -> None:
    """Replace numbers of a sheet by those that know their format, where it shows more than digits.

    rows, start : its cells, and the row and column of the first. sheet : its part of the workbook."""
    place = [0, 0]  # rows and cells may leave theirs out

    def see(name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(":")[2]
        if kind == "row":
            place[:] = int(attributes.get("r", place[0] + 1)), 0
        elif kind == "c":
            place[1] = column_number(attributes.get("r", "").rstrip("0123456789")) or place[1] + 1
            row, column = (here - 1 - first for here, first in zip(place, start, strict=True))
            form = formats.get(attributes.get("s", ""))
            if form is not None and 0 <= row < len(rows) and 0 <= column < len(rows[row]):
                cell = rows[row][column]
                if type(cell) in (int, float):
                    rows[row][column] = FormattedNumber.of(cell, form)

    parser = expat.ParserCreate()
    parser.StartElementHandler = see
    with sheet:
        while part := sheet.read(PART):
            parser.Parse(part)


def column_number(letters: str) -> int:
    """Return the place of a column, from 1 on, by its letters: 27 for AA."""
    return sum((ord(letter) - 64) * 26**k for k, letter in enumerate(reversed(letters)))


def codes_shown(name: str, cells: Sequence[Any], notes: list[str]) -> list[Any] | None:
    """Return the cells of a column with words and codes for numbers, where most are shown so; None elsewhere.

    notes : get what is shown of its numbers but their digits."""
    formatted = [cell for cell in cells if isinstance(cell, FormattedNumber)]
    altered = sorted((cell for cell in formatted if cell.is_altered), key=abs)
    if altered:
        plain = sum(type(cell) in (int, float) for cell in cells)
        texts = dict(zip(formatted, (cell.text for cell in formatted), strict=True))
        are_apart = None not in texts.values() and len(set(texts.values())) == len(texts)
        if are_apart and plain <= len(formatted):
            example = altered[0].section.shown(altered[0])
            notes.append(f"{name}: kept as text, as the workbook shows its numbers: {example!r}.")
            return [cell.text if isinstance(cell, FormattedNumber) else cell for cell in cells]
        shown = altered[-1].section.shown(altered[-1])
        notes.append(f"{name}: {plain_number(altered[-1])} here is shown as {shown!r} in the workbook.")
    units = list(dict.fromkeys(cell.section.unit for cell in formatted if cell.section.unit))
    if len(units) > 1:
        both = f"{units[0]!r} and {units[1]!r}"
        notes.append(f"{name}: the workbook shows its numbers with different units, {both}, which are lost here.")
    return None
