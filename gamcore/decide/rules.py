"""Rules over the columns of a table: AND, OR and NOT of ranges, levels and missing cells.

A rule is true or false for every row, never unknown. A missing cell is in no range and has no level, so NOT of a range
includes missing cells. Exports (`rules_code`) follow the same semantics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.numbers import in_full
from gamcore.common.types import Bools
from gamcore.data.codes import MissingCodes, code_of
from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.data.columns import BOOLEANS, TableError, read_numbers
from gamcore.data.cuts import cut_in_words
from gamcore.data.dates import DAY, stamp
from gamcore.data.labels import levels_in_words
from gamcore.data.table import Feature, Table, as_table, read_feature

MOST_NAMED: Final = 6


class RuleError(ValueError):
    """A rule that cannot be read; the message names the place."""


@dataclass(frozen=True)
class Rule:
    """A condition that is true or false for each row of a table."""

    def holds(self, frame: pd.DataFrame | Table) -> Bools:
        """Return a mask (n,) of the rows that match; TableError where a column is missing or of another kind."""
        raise NotImplementedError

    def words(self, names: Names = AS_THEY_ARE) -> str:
        """Return the rule as a person would say it. names : of its columns and levels."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain JSON; `from_dict` is the inverse."""
        raise NotImplementedError

    def parts(self) -> Iterator[Range | Levels | Missing]:
        """Yield its conditions on single columns, from left to right."""
        raise NotImplementedError

    def rounded(self, digits: int = 2) -> Rule:
        """Return the rule with numbers rounded to `digits` significant digits, and dates to days."""
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it uses, each once."""
        return tuple(dict.fromkeys(part.column for part in self.parts()))


def _with(frame: pd.DataFrame | Table, name: str) -> Table:
    """Return the table of a frame; TableError where it lacks a column."""
    table = as_table(frame)
    if name not in table:
        raise TableError(f"The table has no column {name!r}, which a rule uses: choose another table or rule.")
    return table


@dataclass(frozen=True)
class Range(Rule):
    """Values of a column between two ends, either of which may be open.

    low, high : ends; for dates, in days since 1970-01-01. low_in, high_in : whether the end itself is included; the
    defaults are those of a bin, which includes its lower cut.
    """

    column: str
    low: float | None = None
    high: float | None = None
    low_in: bool = True
    high_in: bool = False
    date: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):  # NumPy numbers have another repr
            end = getattr(self, name)
            object.__setattr__(self, name, None if end is None else float(end))
        ends = [end for end in (self.low, self.high) if end is not None]
        if not ends or not all(math.isfinite(end) for end in ends):
            raise RuleError(f"The range of {self.column!r} needs an end that is a number.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise RuleError(
                f"The range of {self.column!r} begins at {in_full(self.low)} and ends before it, at "
                f"{in_full(self.high)}."
            )
        object.__setattr__(self, "low_in", self.low_in or self.low is None)  # an open end has one spelling only
        object.__setattr__(self, "high_in", self.high_in and self.high is not None)

    def holds(self, frame: pd.DataFrame | Table) -> Bools:
        table = _with(frame, self.column)
        values = read_feature(table, Feature(self.column, self.column, "date" if self.date else "number", zoned=None))
        ends = [self.low, self.high]
        if self.date:  # in whole microseconds: rounding errors of days must not decide
            values = np.round(values.astype(np.float64) * DAY)
            ends = [None if end is None else float(round(end * DAY)) for end in ends]
        low, high = ends
        inside = ~np.isnan(values)
        if low is not None:
            inside &= values >= low if self.low_in else values > low
        if high is not None:
            inside &= values <= high if self.high_in else values < high
        return np.asarray(inside, bool)

    def words(self, names: Names = AS_THEY_ARE) -> str:
        ends = []
        if self.low is not None and self.low == self.high and self.low_in and self.high_in:
            code = "" if self.date else code_of(str(self.low), self.column, "number")
            called = names.of(self.column).levels.get(code)
            return f"{names.column(self.column)} is {called or self._say(self.low, names)}"
        if self.low is not None:
            since = ("from", "after") if self.date else ("at least", "above")
            ends.append(f"{since[not self.low_in]} {self._say(self.low, names)}")
        if self.high is not None:
            until = ("until", "before") if self.date else ("at most", "below")
            ends.append(f"{until[not self.high_in]} {self._say(self.high, names)}")
        return f"{names.column(self.column)} {' and '.join(ends)}"

    def _say(self, end: float, names: Names) -> str:
        return cut_in_words(end, names.of(self.column).measure, self.date, self.column)

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"column": self.column}
        for name, end in (
            (("above", "at_least")[self.low_in], self.low),
            (("below", "at_most")[self.high_in], self.high),
        ):
            if end is not None:
                plain[name] = stamp(end) if self.date else end
        return plain

    def parts(self) -> Iterator[Range | Levels | Missing]:
        yield self

    def rounded(self, digits: int = 2) -> Rule:
        low, high = (None if end is None else _nice(end, digits, self.date) for end in (self.low, self.high))
        if low is not None and high is not None and low >= high:
            return self  # rounding would empty the range
        return replace(self, low=low, high=high)


def _nice(value: float, digits: int, date: bool) -> float:
    """Return a number rounded to `digits` significant digits; a date, to a day."""
    if date:
        return float(round(value))
    return float(f"{value:.{digits - 1}e}")


def numbers_of(levels: Sequence[str]) -> list[float]:
    """Return the numbers that the levels of a number column stand for; False and True are 0 and 1."""
    if set(levels) <= set(BOOLEANS):
        return [float(level == "True") for level in levels]
    values = []
    for level in levels:
        try:
            value = float(level)
        except ValueError:
            continue
        if math.isfinite(value) and level == (str(int(value)) if value.is_integer() else str(value)):
            values.append(value)  # no cell has a name written otherwise
    return values


@dataclass(frozen=True)
class Levels(Rule):
    """Cells of a column that have one of some levels, by name."""

    column: str
    levels: tuple[str, ...]

    def holds(self, frame: pd.DataFrame | Table) -> Bools:
        table = _with(frame, self.column)
        kind = table.kind(self.column)
        if kind == "date":
            raise TableError(f"Column {self.column!r} holds dates: a rule can use a range of them, not for levels.")
        if kind == "number":
            return np.isin(read_numbers(table.frame[self.column]), numbers_of(self.levels))
        levels = BOOLEANS if kind == "boolean" else self.levels
        codes = read_feature(table, Feature(self.column, self.column, kind, levels=levels))
        return np.isin(codes, [levels.index(level) for level in self.levels if level in levels])

    def words(self, names: Names = AS_THEY_ARE) -> str:
        levels = [names.level(self.column, level) for level in self.levels]
        return f"{names.column(self.column)} is {levels_in_words(levels, 'or', MOST_NAMED) if levels else 'nothing'}"

    def to_dict(self) -> dict[str, Any]:
        return {"column": self.column, "is": list(self.levels)}

    def parts(self) -> Iterator[Range | Levels | Missing]:
        yield self


@dataclass(frozen=True)
class Missing(Rule):
    """Cells of a column that are missing."""

    column: str

    def holds(self, frame: pd.DataFrame | Table) -> Bools:
        return np.asarray(_with(frame, self.column).frame[self.column].isna(), bool)

    def words(self, names: Names = AS_THEY_ARE) -> str:
        return f"{names.column(self.column)} is missing"

    def to_dict(self) -> dict[str, Any]:
        return {"column": self.column, "missing": True}

    def parts(self) -> Iterator[Range | Levels | Missing]:
        yield self


@dataclass(frozen=True)
class _Joined(Rule):
    """Several rules as one."""

    rules: tuple[Rule, ...]

    def parts(self) -> Iterator[Range | Levels | Missing]:
        for rule in self.rules:
            yield from rule.parts()

    def rounded(self, digits: int = 2) -> Rule:
        return replace(self, rules=tuple(rule.rounded(digits) for rule in self.rules))

    def _join(self, word: str, names: Names) -> str:
        words = [
            f"({rule.words(names)})" if isinstance(rule, _Joined) and len(rule.rules) > 1 else rule.words(names)
            for rule in self.rules
        ]
        return f" {word} ".join(words)


class All(_Joined):
    """AND: rows that match all of some rules; without rules, every row."""

    def holds(self, frame: pd.DataFrame | Table) -> Bools:
        table = as_table(frame)
        inside = np.ones(len(table), bool)
        for rule in self.rules:
            inside &= rule.holds(table)
        return inside

    def words(self, names: Names = AS_THEY_ARE) -> str:
        return self._join("and", names) or "every row"

    def to_dict(self) -> dict[str, Any]:
        return {"all": [rule.to_dict() for rule in self.rules]}


class AnyOf(_Joined):
    """OR: rows that match at least one of some rules; without rules, no row."""

    def holds(self, frame: pd.DataFrame | Table) -> Bools:
        table = as_table(frame)
        inside = np.zeros(len(table), bool)
        for rule in self.rules:
            inside |= rule.holds(table)
        return inside

    def words(self, names: Names = AS_THEY_ARE) -> str:
        return self._join("or", names) or "no row"

    def to_dict(self) -> dict[str, Any]:
        return {"any": [rule.to_dict() for rule in self.rules]}


@dataclass(frozen=True)
class Not(Rule):
    """NOT: rows that do not match a rule, including those with missing cells."""

    rule: Rule

    def holds(self, frame: pd.DataFrame | Table) -> Bools:
        return ~self.rule.holds(frame)

    def words(self, names: Names = AS_THEY_ARE) -> str:
        inner = self.rule.words(names)
        if isinstance(self.rule, Levels | Missing):
            name = names.column(self.rule.column)
            return inner.replace(f"{name} is ", f"{name} is not ", 1)
        return f"not ({inner})"

    def to_dict(self) -> dict[str, Any]:
        return {"not": self.rule.to_dict()}

    def parts(self) -> Iterator[Range | Levels | Missing]:
        yield from self.rule.parts()

    def rounded(self, digits: int = 2) -> Rule:
        return Not(self.rule.rounded(digits))


EVERYBODY: Final = All(())

MOST_MOVED: Final = 0.01
"""Share of the rows that rounding may add or drop."""


def rounded(rule: Rule, frame: pd.DataFrame | Table) -> Rule:
    """Return a rule with the fewest digits that change at most 1% of a table's rows; dates become days."""
    table = as_table(frame)
    wanted = rule.holds(table)
    for digits in range(1, 8):
        candidate = rule.rounded(digits)
        if (candidate.holds(table) != wanted).mean() <= MOST_MOVED:
            return candidate
    return rule


def on_codes(rule: Rule, codes: MissingCodes) -> Rule:
    """Return a rule that selects from a table whose cells hold codes for missing what the rule selects where they are
    missing."""
    match rule:
        case All(parts):
            return All(tuple(on_codes(part, codes) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(on_codes(part, codes) for part in parts))
        case Not(inner):
            return Not(on_codes(inner, codes))
        case Missing(column) if codes.get(column):
            return AnyOf((rule, Levels(column, tuple(codes[column]))))
        case Levels(column, levels) if codes.get(column):
            return Levels(column, tuple(level for level in levels if level not in codes[column]))
        case Range(column) if codes.get(column):
            return All((rule, Not(Levels(column, tuple(codes[column])))))
    return rule


def both(rules: Iterable[Rule]) -> Rule:
    """Join rules by AND; a single one is returned as it is."""
    parts = tuple(rules)
    return parts[0] if len(parts) == 1 else All(parts)


def either(rules: Iterable[Rule]) -> Rule:
    """Join rules by OR; a single one is returned as it is."""
    parts = tuple(rules)
    return parts[0] if len(parts) == 1 else AnyOf(parts)
