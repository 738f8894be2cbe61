"""What a formula gives for the rows of a table. The kinds of its parts are checked by evaluating it on no rows.

Each part is computed once, and each column read once; between two parts, `patience` may end it.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Final

import numpy as np
import pandas as pd

from gamcore.data.columns import Kind, TableError, read_dates, read_numbers, read_texts
from gamcore.data.dates import DAY, days_of
from shapewise import patience
from shapewise.columns.formula import Call, Column, Constant, FormulaError, Node, columns_of
from shapewise.columns.functions import FUNCTIONS, OPERATORS, ORDERED, Cells, Function, Texts, Wanted

Kinds = Mapping[str, Kind | None]
"""What each column of a table is; None where it cannot be used."""

CALLED: Final[dict[Kind, str]] = {
    "number": "a number", "boolean": "true or false", "date": "a date", "category": "a text",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Value:
    """Cells with their kind."""

    kind: Kind
    cells: Cells


def kind_of_formula(node: Node, kinds: Kinds) -> Kind:
    """Return what a formula gives; FormulaError where its parts do not fit one another or the columns."""
    empty = pd.DataFrame({name: pd.Series([], dtype="float64") for name in columns_of(node)})
    return _value(node, _Rows(empty, kinds)).kind


def evaluate(node: Node, frame: pd.DataFrame, kinds: Kinds) -> pd.Series:
    """Return a formula's column (n,) for a frame: float64, boolean, datetime64[us] or text, missing where unknown.

    kinds : of the whole table, of which the frame may be a part. Raises FormulaError, and TableError where a cell is
    not of its column's kind.
    """
    value = _value(node, _Rows(frame, kinds))
    return as_series(value.kind, value.cells).set_axis(frame.index)


def as_series(kind: Kind, cells: Cells) -> pd.Series:
    """Return cells as a column of the type in which tables hold their kind."""
    if isinstance(cells, Texts):
        return pd.Series(np.array([*cells.names, None], object)[cells.codes], dtype="str")
    if kind == "number":
        return pd.Series(cells, dtype="float64")
    if kind == "boolean":
        return pd.Series(pd.array(cells == 1, "boolean")).mask(np.isnan(cells))
    whole = pd.Series(np.round(np.nan_to_num(cells) * DAY).astype(np.int64).astype("datetime64[us]"))
    return whole.mask(np.isnan(cells))


def read_cells(series: pd.Series, kind: Kind) -> Cells:
    """Return the cells of a column of a kind; TableError where one is of another."""
    if kind == "category":
        return Texts(*read_texts(series))
    if kind == "date":
        return read_dates(series)
    return read_numbers(series.astype(object) if kind == "boolean" else series)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some rows of a table, with the kinds of its columns, and those that were read already."""

    frame: pd.DataFrame
    kinds: Kinds
    read: dict[str, Value] = field(default_factory=dict)


def _value(node: Node, rows: _Rows) -> Value:
    patience.look()
    if isinstance(node, Column):
        return _column(node, rows)
    if isinstance(node, Constant):
        return _constant(node.value, len(rows.frame))
    values = [_value(part, rows) for part in node.parts]
    if isinstance(node, Call):
        return _called(node, values)
    compared = zip(node.signs, pairwise(node.parts), pairwise(values), strict=True)
    each = [_called(Call(sign, parts, at), [*both]) for (sign, at), parts, both in compared]
    return Value("boolean", reduce(OPERATORS["and"].run, (value.cells for value in each)))


def _called(node: Call, values: list[Value]) -> Value:
    """Return what a function or operator gives for the values of its arguments."""
    function = OPERATORS.get(node.function) or FUNCTIONS.get(node.function)
    if function is None:
        raise FormulaError(f"there is no function {node.function}{_near(node.function, FUNCTIONS)}.", node.at)
    _check_number(node, function)
    wanted = [*function.takes, *[function.more] * len(values)][: len(values)]
    same = _same(node, values, wanted)
    cells = [_fitted(node, k, values[k], same if want == "same" else want) for k, want in enumerate(wanted)]
    if node.function in ORDERED and same == "category":
        raise FormulaError("texts have no order here: compare them with == or one_of.", node.at)
    with np.errstate(all="ignore"):
        result: Cells = function.run(*cells)
    kind = same if function.gives == "same" else function.gives
    assert kind is not None
    return Value(kind, result if isinstance(result, Texts) else np.where(np.isfinite(result), result, np.nan))


def _column(node: Column, rows: _Rows) -> Value:
    if node.name not in rows.kinds:
        near = _near(node.name, rows.kinds)
        raise FormulaError(f"there is no column {node.name}{near}.{'' if near else ' Put text in quotes.'}", node.at)
    kind = rows.kinds[node.name]
    if kind is None:
        raise FormulaError(f"column {node.name} cannot be used: its cells are not all of one type.", node.at)
    if node.name not in rows.read:
        try:
            rows.read[node.name] = Value(kind, read_cells(rows.frame[node.name], kind))
        except TableError as error:
            raise FormulaError(str(error), node.at) from error
    return rows.read[node.name]


MOST_NEAR: Final = 50
LONGEST_NEAR: Final = 60
"""Most names that are compared with an unknown one, those with the most letters in common, and the longest that are:
to compare two texts takes the product of their lengths."""


def _near(name: str, known: Iterable[str]) -> str:
    """Return the nearest known name as a question; empty where none is near."""
    written = name.lower()
    folded = {other.lower(): other for other in known if len(other) <= LONGEST_NEAR}
    if written in folded:
        return f" (did you mean {folded[written]}?)"
    if len(name) > LONGEST_NEAR:
        return ""
    matcher = difflib.SequenceMatcher(None, "", written)

    def alike(lowered: str) -> float:
        matcher.set_seq1(lowered)
        return matcher.quick_ratio()

    near = difflib.get_close_matches(written, heapq.nlargest(MOST_NEAR, folded, key=alike), 1)
    return f" (did you mean {folded[near[0]]}?)" if near else ""


def _constant(value: float | str | bool, n: int) -> Value:
    if isinstance(value, str):
        return Value("category", Texts(np.zeros(n, np.int64), [value]))
    return Value("boolean" if isinstance(value, bool) else "number", np.full(n, float(value)))


def _check_number(node: Call, function: Function) -> None:
    """Check how many arguments a function gets, and those that must be written out."""
    given, most = len(node.parts), None if function.more else len(function.takes)
    if given < function.fewest or (most is not None and given > most):
        needed = f"{function.fewest}" if most == function.fewest else (
            f"at least {function.fewest}" if most is None else f"{function.fewest} or {most}")  # fmt: skip
        raise FormulaError(f"{node.function} takes {needed} values, as in {function.usage}; here are {given}.", node.at)
    if node.function == "round" and given == 2 and not isinstance(node.parts[1], Constant):
        raise FormulaError("the decimals of round must be a number, as in round(a, 2).", node.parts[1].at)


def _same(node: Call, values: list[Value], wanted: list[Wanted | None]) -> Kind | None:
    """Return the one kind of the arguments that must be of one kind: that of the first that is not written as text."""
    parts = [(value, part) for value, part, want in zip(values, node.parts, wanted, strict=True) if want == "same"]
    kinds = [value.kind for value, _ in parts]
    if not kinds or len(set(kinds)) == 1:
        return kinds[0] if kinds else None
    if set(kinds) == {"number", "boolean"}:
        return "number"
    if set(kinds) == {"date", "category"}:
        return "date"
    value, part = next((value, part) for value, part in parts if value.kind != kinds[0])
    hint = ' Put numbers that are levels in quotes, as in "1".' if {"category", "number"} == set(kinds) else ""
    raise FormulaError(f"this is {CALLED[value.kind]}, and what it goes with is {CALLED[kinds[0]]}.{hint}", part.at)


def _fitted(node: Call, k: int, value: Value, wanted: Wanted | None) -> Cells:
    """Return the cells of argument k as the wanted kind; FormulaError where they are of another."""
    part = node.parts[k]
    if wanted == "date" and isinstance(part, Constant) and isinstance(part.value, str):
        try:
            day = days_of(part.value)
        except ValueError as error:
            raise FormulaError(f'{part.value!r} is no date: write it as "2026-01-31".', part.at) from error
        assert isinstance(value.cells, Texts)
        return np.full(value.cells.codes.size, day)
    if wanted in ("any", value.kind) or (wanted == "number" and value.kind == "boolean"):
        return value.cells
    assert wanted is not None
    kind: Kind = wanted  # type: ignore[assignment]
    hint = " Compare it, as in a == 1." if kind == "boolean" else (
        " Give the column another type first." if isinstance(part, Column) else "")  # fmt: skip
    name = node.function if node.function != "negative" else "-"
    raise FormulaError(f"{name} needs {CALLED[kind]} here, and this is {CALLED[value.kind]}.{hint}", part.at)
