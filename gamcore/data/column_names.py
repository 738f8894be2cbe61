"""What people call a column and its levels, the unit of its numbers, how they are written, and codes for missing.

Names are for reading only: tables, models, rules, SQL and Python keep the column's own name.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal, get_args

from gamcore.common.numbers import bare, count, fixed, in_full, number, read
from gamcore.data.columns import TableError

NumberForm = Literal["automatic", "whole number", "two decimals", "percent", "money", "year"]
FORMS: Final[tuple[NumberForm, ...]] = get_args(NumberForm)
SYMBOLS: Final = ("€", "$", "£", "¥", "₹", "CHF")
"""Units of money that stand before the number; others stand behind it."""

CLOSE: Final = ("%", "‰", "°")
"""Units that follow their number without a space, each number of a range."""

PAIR: Final = " × "
"""Joins the names of the two features of a pair."""

PARTS: Final = (" (month)", " (weekday)")
"""Endings of features made from a date column: its month, then its weekday."""

MOST_LETTERS: Final = 120


def free_name(taken: Iterable[str], wanted: str) -> str:
    """Return a name like the wanted one that none has, whatever its case."""
    names, name = {other.lower() for other in taken}, wanted
    while name.lower() in names:
        name += "_"
    return name


def parts_of_date(column: str, columns: Iterable[str]) -> tuple[str, str]:
    """Return the names of the features that are a date's month and its weekday. columns : all of the table, none of
    which has such a name."""
    month, weekday = (free_name(columns, column + part) for part in PARTS)
    return month, weekday


def term_name(features: Iterable[str], taken: Iterable[str]) -> str:
    """Return the name of a term of several features. taken : the names of all features, and of other such terms."""
    return free_name(taken, PAIR.join(features))


def members(term: str, known: Container[str]) -> tuple[str, ...]:
    """Return the features of a term by its name: itself, or several. known : names of features, which may hold the sign
    of pairs themselves."""
    return _members(term, known) or tuple(term.split(PAIR))


def _members(term: str, known: Container[str]) -> tuple[str, ...]:
    """Return the known features that a name joins; none where it joins others."""
    if term in known or PAIR not in term:
        return (term,) if term in known else ()
    signs = [k for k in range(len(term)) if term.startswith(PAIR, k) and term[:k] in known]
    rests = ((term[:k], *_members(term[k + len(PAIR) :], known)) for k in signs)
    return next((features for features in rests if len(features) > 1), ())


@dataclass(frozen=True)
class Measure:
    """Unit and form of a column's numbers."""

    unit: str = ""
    form: NumberForm = "automatic"

    def number(self, value: float, automatic: str) -> str:
        """Return a number without its unit. automatic : the number as it is written where no form was chosen."""
        match self.form:
            case "whole number":
                return count(value)
            case "two decimals":
                return fixed(value, 2)
            case "percent":
                return bare(number(100 * value))
            case "money":
                return fixed(value, 0 if value.is_integer() or abs(value) >= 1000 else 2)
            case "year":
                return automatic.replace(",", "")
        return automatic

    def of_years(self, are_years: bool) -> Measure:
        """Return how numbers are written that are years or not: years as such, unless another form was chosen."""
        return replace(self, form="year") if are_years and self.form == "automatic" else self

    def in_full(self, value: float) -> str:
        """Return a number in its form where it reads back as itself, else with all its digits; without its unit."""
        if self.form == "percent":
            return in_full(value, 100)
        whole = in_full(value)
        written = [self.number(float(value), whole), *([fixed(value, 2)] if self.form == "money" else [])]
        return next((text for text in written if read(text) == value), whole)

    def dress(self, text: str) -> str:
        """Return a number, or a range of numbers, with its unit."""
        unit = self.shown_unit
        if not unit:
            return text
        ends = text.split(" to ")
        if self.form == "money" and unit in SYMBOLS:
            space = " " if unit.isalpha() else ""
            return " to ".join(_signed(f"{unit}{space}", end) for end in ends)
        return " to ".join(f"{end}{unit}" for end in ends) if unit in CLOSE else f"{text} {unit}"

    def say(self, value: float, automatic: str) -> str:
        """Return a number with its unit."""
        return self.dress(self.number(float(value), automatic))

    def gap(self, value: float, automatic: str) -> str:
        """Return a difference with its sign and unit."""
        text = self.say(value, automatic)
        return f"+{text}" if value > 0 and not text.startswith("+") else text

    @property
    def shown_unit(self) -> str:
        """The unit that is written; percentages need no other."""
        return "%" if self.form == "percent" else self.unit

    @property
    def as_stored(self) -> str:
        """The unit of numbers as tables hold them; empty where none was given."""
        return "" if self.form == "percent" else self.unit


def _signed(before: str, number: str) -> str:
    return f"{number[0]}{before}{number[1:]}" if number[:1] in ("-", "+") else f"{before}{number}"


PLAIN: Final = Measure()


@dataclass(frozen=True)
class ColumnNames:
    """How one column is shown. name : empty for the column's own. levels : shown names of its levels, by their own.
    missing : codes that mean a missing cell (`codes.code_of`). up, down : what is told as a reason where it raised a
    score, and where it lowered it; empty for the usual words. sensitive : whether it must not be a reason; None where
    nobody has said so."""

    name: str = ""
    unit: str = ""
    form: NumberForm = "automatic"
    levels: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    up: str = ""
    down: str = ""
    sensitive: bool | None = None

    @property
    def measure(self) -> Measure:
        """Unit and form of its numbers."""
        return Measure(self.unit, self.form)


@dataclass(frozen=True)
class Names:
    """How the columns of a table are shown; a column that is not named here keeps its own name."""

    columns: Mapping[str, ColumnNames] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Mapping[str, Any]]) -> Names:
        """Return the names that `to_dict` wrote; fields of a newer version are ignored."""
        columns = {}
        for column, kept in plain.items():
            form = kept.get("form", "automatic")
            columns[column] = ColumnNames(
                str(kept.get("name", "")), str(kept.get("unit", "")), form if form in FORMS else "automatic",
                dict(kept.get("levels", {})), tuple(kept.get("missing", ())), up=str(kept.get("up", "")),
                down=str(kept.get("down", "")), sensitive=kept.get("sensitive"),
            )  # fmt: skip
        return cls(columns)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the names as plain JSON, without columns that have none."""
        named = {column: names for column, names in self.columns.items() if names != ColumnNames()}
        return {column: _plain(names) for column, names in named.items()}

    def __bool__(self) -> bool:
        return any(names != ColumnNames() for names in self.columns.values())

    def of(self, column: str) -> ColumnNames:
        """Return how a column is shown."""
        return self.columns.get(column, NO_NAMES)

    def or_those_of(self, others: Names) -> Names:
        """Return these names, and those of another table for columns that have none here."""
        return Names({**others.columns, **{name: names for name, names in self.columns.items() if names != NO_NAMES}})

    def column(self, name: str) -> str:
        """Return what a column is called, or the month or weekday of a date column."""
        for part in PARTS:
            if name.endswith(part) and name not in self.columns:
                return self.column(name.removesuffix(part)) + part
        return self.of(name).name or name

    def own(self, shown: str) -> str:
        """Return the own name of the column that is shown so; the name itself where none is."""
        return next((name for name in self.columns if self.column(name) == shown), shown)

    def term(self, name: str) -> str:
        """Return what a feature or a pair of features is called."""
        return PAIR.join(map(self.column, members(name, self.columns)))

    def level(self, column: str, level: str) -> str:
        """Return what a level is called."""
        return self.of(column).levels.get(level, level)

    def codes(self) -> dict[str, tuple[str, ...]]:
        """Return the codes that mean missing, by column."""
        return {column: names.missing for column, names in self.columns.items() if names.missing}

    def check(self, columns: Iterable[str]) -> None:
        """Raise TableError where two of a table's columns, or two levels of one, would be shown alike."""
        shown: dict[str, str] = {}
        everything = list(columns)
        for column in everything:
            name = self.column(column)
            if len(name) > MOST_LETTERS:
                raise TableError(f"The name of column {column!r} has over {MOST_LETTERS} letters: shorten it.")
            if name in shown:
                raise TableError(f"Columns {shown[name]!r} and {column!r} would both be shown as {name!r}: rename one.")
            if name != column and name in everything:
                raise TableError(f"Column {column!r} would be shown as {name!r}, which is another column: rename it.")
            shown[name] = column
            self._check_levels(column)

    def _check_levels(self, column: str) -> None:
        levels = self.of(column).levels
        for level, name in levels.items():
            twin = next((other for other, same in levels.items() if same == name and other != level), None)
            twin = twin or (name if name != level and name in levels and levels[name] == name else None)
            if twin is not None:
                raise TableError(
                    f"Levels {level!r} and {twin!r} of {column!r} would both be shown as {name!r}: rename one."
                )


def _plain(names: ColumnNames) -> dict[str, Any]:
    """Return the names of a column as plain JSON, without what is told of it where nothing is."""
    kept = asdict(names) | {"missing": list(names.missing)}
    unsaid = [name for name in ("up", "down", "sensitive") if kept[name] in ("", None)]
    return {name: value for name, value in kept.items() if name not in unsaid}


NO_NAMES: Final = ColumnNames()
AS_THEY_ARE: Final = Names()
