"""The functions of formulas, over whole columns: what each takes and gives, and how it is used.

A result is missing where a cell that it needs is missing, and where it is no finite number, as after a division by 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.columns import Kind
from gamcore.data.dates import DAY
from shapewise import patience

PAIRS_PER_LOOK: Final = 1_000
"""Pairs of texts that are compared between two looks at the time: a text may have a megabyte."""

Wanted = Kind | Literal["any", "same"]
"""What an argument may be; those that are "same" share one kind."""


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of levels: codes (n,) into names, -1 where missing."""

    codes: Ints
    names: list[str]


Cells = Floats | Texts
"""Numbers, days since 1970 and truth values (0 and 1) with NaN for missing; or levels."""


@dataclass(frozen=True)
class Function:
    """What a function takes, and gives. more : of any number of further arguments; `least` of all are needed."""

    run: Callable[..., Any]
    takes: tuple[Wanted, ...]
    gives: Kind | Literal["same"]
    usage: str = ""
    help: str = ""
    more: Wanted | None = None
    least: int = -1

    @property
    def fewest(self) -> int:
        """Fewest arguments."""
        return len(self.takes) if self.least < 0 else self.least


def missing(cells: Cells) -> Bools:
    """Return where cells (n,) are missing."""
    return np.asarray(cells.codes < 0 if isinstance(cells, Texts) else np.isnan(cells))


def _truth(holds: Any, *columns: Cells) -> Floats:
    """Return truth values (n,), missing where any of some cells is."""
    return np.where(np.any([missing(cells) for cells in columns], axis=0), np.nan, holds)


def _aligned(*columns: Texts) -> tuple[list[Ints], list[str]]:
    """Return the codes of columns of levels into the names of all, and these; one that comes twice is read once."""
    names: dict[str, int] = {}
    codes: dict[int, Ints] = {}
    for column in columns:
        if id(column) not in codes:
            patience.look()
            places = [names.setdefault(name, len(names)) for name in column.names]
            codes[id(column)] = np.array([*places, -1], np.int64)[column.codes]
    return [codes[id(column)] for column in columns], list(names)


def equal(first: Cells, second: Cells) -> Floats:
    """Return where two columns are equal."""
    if isinstance(first, Texts) and isinstance(second, Texts):
        (left, other), _ = _aligned(first, second)
        return _truth(left == other, first, second)
    return _truth(np.asarray(first == second), first, second)


def _compare(way: Callable[[Any, Any], Any]) -> Callable[[Floats, Floats], Floats]:
    return lambda first, second: _truth(way(first, second), first, second)


def choose(condition: Floats, yes: Cells, no: Cells) -> Cells:
    """Return one column where a condition holds and the other where not; missing where the condition is."""
    if isinstance(yes, Texts) and isinstance(no, Texts):
        (taken, other), names = _aligned(yes, no)
        return Texts(np.where(np.isnan(condition), -1, np.where(condition == 1, taken, other)), names)
    assert not isinstance(yes, Texts)
    assert not isinstance(no, Texts)
    return np.where(np.isnan(condition), np.nan, np.where(condition == 1, yes, no))


def _one_of(cells: Cells, *values: Cells) -> Floats:
    if isinstance(cells, Texts):
        (own, *others), _ = _aligned(cells, *(value for value in values if isinstance(value, Texts)))
        return _truth(reduce(np.logical_or, (own == other for other in others)), cells)
    return _truth(reduce(np.logical_or, (cells == value for value in values)), cells)


def _combine(cells: Texts, new: Texts, *old: Texts) -> Cells:
    return choose(_one_of(cells, *old), new, cells)


def _contains(cells: Texts, part: Texts) -> Floats:
    width = len(part.names) + 1
    place, pairs = pd.factorize((cells.codes + 1) * width + part.codes + 1)
    inside = np.zeros(pairs.size, bool)
    for k, pair in enumerate(pairs.tolist()):
        row, col = divmod(pair, width)
        inside[k] = row > 0 and col > 0 and part.names[col - 1] in cells.names[row - 1]
        if k % PAIRS_PER_LOOK == 0:
            patience.look()
    return _truth(inside[place], cells, part)


def _labels(cells: Cells) -> Texts:
    """Return cells as levels; numbers by their shortest names."""
    if isinstance(cells, Texts):
        return cells
    codes, values = pd.factorize(cells)
    names = [str(int(value)) if value == int(value) else repr(value) for value in values.tolist()]
    return Texts(np.asarray(codes, np.int64), names)


def _cross(*columns: Cells) -> Texts:
    """Return the values of columns together as one level."""
    whole = _labels(columns[0])
    for column in columns[1:]:
        patience.look()
        part = _labels(column)
        width = max(len(part.names), 1)
        codes, pairs = pd.factorize(
            np.where((whole.codes < 0) | (part.codes < 0), -1, whole.codes * width + part.codes)
        )
        known = pairs >= 0
        places = np.append(np.where(known, np.cumsum(known) - 1, -1), -1)
        names = [f"{whole.names[pair // width]} · {part.names[pair % width]}" for pair in pairs[known].tolist()]
        whole = Texts(places[codes], names)
    return whole


def _both(first: Floats, second: Floats) -> Floats:
    """Return where both hold; false where one is false, whatever the other."""
    return np.where((first == 0) | (second == 0), 0.0, first * second)


def _either(first: Floats, second: Floats) -> Floats:
    return 1 - _both(1 - first, 1 - second)


def _power(base: Floats, power: Floats) -> Floats:
    """Return powers; NumPy says that 1 to a missing power is 1."""
    return np.where(np.isnan(base) | np.isnan(power), np.nan, np.power(base, power))


def _stamps(days: Floats) -> Any:
    """Return days since 1970 as datetime64."""
    whole = np.round(np.nan_to_num(days) * DAY).astype(np.int64)
    return np.where(np.isnan(days), np.datetime64("NaT"), whole.astype("datetime64[us]"))


def _part(field: Callable[[Any], Any]) -> Callable[[Floats], Floats]:
    def run(days: Floats) -> Floats:
        return np.where(np.isnan(days), np.nan, field(np.where(np.isnan(days), np.datetime64(0, "us"), _stamps(days))))

    return run


def _year(stamps: Any) -> Any:
    return stamps.astype("datetime64[Y]").astype(np.int64) + 1970


def _month(stamps: Any) -> Any:
    return stamps.astype("datetime64[M]").astype(np.int64) % 12 + 1


def _day(stamps: Any) -> Any:
    return (stamps.astype("datetime64[D]") - stamps.astype("datetime64[M]").astype("datetime64[D]")).astype(int) + 1


def _weekday(stamps: Any) -> Any:
    return (stamps.astype("datetime64[D]").astype(np.int64) + 3) % 7 + 1  # 1970 began on a Thursday


def _hour(stamps: Any) -> Any:
    return stamps.astype("datetime64[h]").astype(np.int64) % 24


def _round(numbers: Floats, digits: Floats | None = None) -> Floats:
    if digits is None or not digits.size:
        return np.round(numbers)
    return np.round(numbers, int(np.clip(digits[0], -15, 15)))


def _extreme(way: Any) -> Callable[..., Floats]:
    return lambda *columns: way.reduce(columns)


_NUMBERS: Final[tuple[Wanted, ...]] = ("number", "number")
_TRUTHS: Final[tuple[Wanted, ...]] = ("boolean", "boolean")

OPERATORS: Final[dict[str, Function]] = {
    "+": Function(np.add, _NUMBERS, "number"),
    "-": Function(np.subtract, _NUMBERS, "number"),
    "*": Function(np.multiply, _NUMBERS, "number"),
    "/": Function(np.divide, _NUMBERS, "number"),
    "**": Function(_power, _NUMBERS, "number"),
    "negative": Function(np.negative, ("number",), "number"),
    "==": Function(equal, ("same", "same"), "boolean"),
    "!=": Function(lambda a, b: 1 - equal(a, b), ("same", "same"), "boolean"),
    "<": Function(_compare(np.less), ("same", "same"), "boolean"),
    "<=": Function(_compare(np.less_equal), ("same", "same"), "boolean"),
    ">": Function(_compare(np.greater), ("same", "same"), "boolean"),
    ">=": Function(_compare(np.greater_equal), ("same", "same"), "boolean"),
    "and": Function(_both, _TRUTHS, "boolean"),
    "or": Function(_either, _TRUTHS, "boolean"),
    "not": Function(lambda a: 1 - a, ("boolean",), "boolean"),
}
ORDERED: Final = ("<", "<=", ">", ">=")

FUNCTIONS: Final[dict[str, Function]] = {
    "ratio": Function(np.divide, _NUMBERS, "number", "ratio(a, b)", "a / b, missing where b is 0"),
    "abs": Function(np.abs, ("number",), "number", "abs(a)", "without its sign"),
    "sqrt": Function(np.sqrt, ("number",), "number", "sqrt(a)", "square root, missing below 0"),
    "log": Function(np.log, ("number",), "number", "log(a)", "natural logarithm, missing at 0 and below"),
    "exp": Function(np.exp, ("number",), "number", "exp(a)", "e to the power of a"),
    "round": Function(_round, _NUMBERS, "number", "round(a, 2)", "rounded, here to 2 decimals", least=1),
    "floor": Function(np.floor, ("number",), "number", "floor(a)", "rounded down"),
    "min": Function(_extreme(np.minimum), _NUMBERS, "number", "min(a, b, …)", "the smallest", more="number"),
    "max": Function(_extreme(np.maximum), _NUMBERS, "number", "max(a, b, …)", "the largest", more="number"),
    "year": Function(_part(_year), ("date",), "number", "year(date)", "such as 2026"),
    "month": Function(_part(_month), ("date",), "number", "month(date)", "1 to 12"),
    "day": Function(_part(_day), ("date",), "number", "day(date)", "day of the month, 1 to 31"),
    "weekday": Function(_part(_weekday), ("date",), "number", "weekday(date)", "1 for Monday to 7 for Sunday"),
    "hour": Function(_part(_hour), ("date",), "number", "hour(date)", "0 to 23"),
    "days_between": Function(
        lambda a, b: b - a, ("date", "date"), "number", "days_between(from, to)",
        'below 0 where the second is earlier; a date may be written, as in "2026-01-31"',
    ),
    "if": Function(
        choose, ("boolean", "same", "same"), "same", 'if(age < 30, "young", "old")', "one value or the other"
    ),
    "case": Function(
        choose, ("boolean", "same", "same"), "same", 'case(a < 1, "low", a < 5, "mid", "high")',
        "the value of the first condition that holds; at the end, that of all others",
    ),
    "one_of": Function(_one_of, ("same", "same"), "boolean", 'one_of(job, "student", "retired")',
                       "whether the cell is one of these", more="same"),
    "combine": Function(_combine, ("category",) * 3, "category", 'combine(device, "phone", "ios", "android")',
                        "ios and android become phone; all others stay", more="category"),
    "cross": Function(_cross, ("any", "any"), "category", "cross(hour, workingday)",
                      "the values together as one level, such as 8 · 1", more="any"),
    "contains": Function(_contains, ("category", "category"), "boolean", 'contains(name, "Mrs.")',
                         "whether the text has this part"),
    "missing": Function(lambda a: missing(a).astype(np.float64), ("any",), "boolean", "missing(a)",
                        "whether the cell is missing"),
    "if_missing": Function(
        lambda a, b: choose(missing(a).astype(np.float64), b, a), ("same", "same"), "same", "if_missing(a, 0)",
        "the second where the first is missing",
    ),
}  # fmt: skip
