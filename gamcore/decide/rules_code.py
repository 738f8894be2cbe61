"""Rules, and strategies in order, as SQL and as plain Python that select the same rows as `Rule.holds`.

Both follow the types of the table's columns: the level 1 of a number column is written as a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any, Final

import pandas as pd

from gamcore.data.codes import MissingCodes
from gamcore.data.columns import Kind
from gamcore.data.dates import stamp
from gamcore.data.table import Table, as_table
from gamcore.decide.rules import All, AnyOf, Levels, Missing, Not, Range, Rule, RuleError, numbers_of, on_codes

NOT_ELIGIBLE: Final = "(not eligible)"
NOBODY: Final = "(none)"
COLUMN: Final = "strategy"
ROWS: Final = "t"
"""Alias of the table in a SELECT."""


def kinds_of(frame: pd.DataFrame | Table, columns: Sequence[str]) -> dict[str, Kind]:
    """Return the kinds of some columns of a table."""
    table = as_table(frame)
    return {name: table.kind(name) for name in columns}


@dataclass(frozen=True)
class Cascade:
    """Named rules in order behind a gate: an eligible row gets the name of the first rule that matches."""

    title: str
    gate: Rule
    named: tuple[tuple[str, Rule], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it uses, each once."""
        rules = [self.gate, *(rule for _, rule in self.named)]
        return tuple(dict.fromkeys(name for rule in rules for name in rule.columns))

    def on_codes(self, codes: MissingCodes) -> Cascade:
        """Return the cascade for a table whose cells hold codes for missing."""
        if not codes:
            return self
        named = tuple((name, on_codes(rule, codes)) for name, rule in self.named)
        return Cascade(self.title, on_codes(self.gate, codes), named)

    def check(self) -> None:
        """Raise RuleError where a name is duplicate, reserved or not printable, or a text holds a null character."""
        names = [name for name, _ in self.named]
        for name in names:
            if names.count(name) > 1 or not name.strip() or name.startswith("(") or not name.isprintable():
                raise RuleError(f"A strategy cannot be called {name!r}: give each a unique name, without a bracket.")
        parts = [part for rule in (self.gate, *(rule for _, rule in self.named)) for part in rule.parts()]
        levels = [level for part in parts if isinstance(part, Levels) for level in part.levels]
        for text in (*names, *self.columns, *levels):
            if "\0" in text:
                raise RuleError(f"{text!r} has a character that SQL cannot write: rename it.")


# SQL


def to_sql(cascade: Cascade, table: str, kinds: dict[str, Kind], column: str = COLUMN) -> str:
    """Return an ANSI SELECT of all columns of a table, with the strategy of each row as another `column`.

    Missing is NULL. Dates are compared as ISO 8601 text, which databases read as timestamps, and SQLite stores.
    """
    cascade.check()
    lines = [f"-- {comment(cascade.title)}", "SELECT", "  *,", "  CASE"]
    if cascade.gate != All(()):
        lines.append(f"    -- only where {comment(cascade.gate.words())}")
        lines.append(f"    WHEN NOT {sql_of(cascade.gate, kinds)} THEN {text_of(NOT_ELIGIBLE)}")
    for name, rule in cascade.named:
        lines.append(f"    -- {comment(rule.words())}")
        lines.append(f"    WHEN {sql_of(rule, kinds)} THEN {text_of(name)}")
    if not cascade.named and cascade.gate == All(()):
        lines.append(f"    WHEN 1 = 0 THEN {text_of(NOBODY)}")
    lines += [f"    ELSE {text_of(NOBODY)}", f"  END AS {name_of(column)}", f"FROM {name_of(table)} AS {ROWS};", ""]
    return "\n".join(lines)


def sql_of(rule: Rule, kinds: dict[str, Kind]) -> str:
    """Return the rule as an SQL condition that is true or false, never NULL."""
    match rule:
        case All(parts):
            return f"({' AND '.join(sql_of(part, kinds) for part in parts)})" if parts else "(1 = 1)"
        case AnyOf(parts):
            return f"({' OR '.join(sql_of(part, kinds) for part in parts)})" if parts else "(1 = 0)"
        case Not(inner):
            return f"(NOT {sql_of(inner, kinds)})"
        case Missing(column):
            return f"({column_of(column)} IS NULL)"
        case Levels(column, levels):
            literals = literals_of(levels, kinds[column])
            return (
                f"({column_of(column)} IS NOT NULL AND {column_of(column)} IN ({', '.join(literals)}))"
                if literals
                else "(1 = 0)"
            )
        case Range():
            return _sql_range(rule, kinds[rule.column])
    raise TypeError(f"{type(rule).__name__} cannot be expressed in SQL.")


def _sql_range(rule: Range, kind: Kind) -> str:
    column = column_of(rule.column)
    if kind == "boolean":
        column = f"CASE WHEN {column} THEN 1 ELSE 0 END"
    elif kind == "number":
        column = as_double(column, [end for end in (rule.low, rule.high) if end is not None])
    ends = [(rule.low, ">=" if rule.low_in else ">"), (rule.high, "<=" if rule.high_in else "<")]
    bounds = [
        f"{column} {sign} {text_of(stamp(end)) if rule.date else number_of(end)}"
        for end, sign in ends
        if end is not None
    ]
    return f"({column_of(rule.column)} IS NOT NULL AND {' AND '.join(bounds)})"


def literals_of(levels: Sequence[str], kind: Kind) -> list[str]:
    """Return levels as a column of some kind holds them; those that it cannot hold are left out."""
    if kind == "boolean":
        return [level.upper() for level in levels if level in ("True", "False")]
    if kind == "number":
        return [number_of(value) for value in numbers_of(levels)]
    return [text_of(level) for level in levels]


def number_of(value: float) -> str:
    """Return a number as a double-precision literal; without an exponent, a fraction would be a decimal."""
    if value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def text_of(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def name_of(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def column_of(name: str) -> str:
    """Return a column qualified by the table's alias: SQLite reads an unknown bare "name" as a text literal."""
    return f"{ROWS}.{name_of(name)}"


def as_double(value: str, cuts: Iterable[float]) -> str:
    """Return a number as models compare it: some databases compare a BIGINT beyond 2^53 exactly, where models round it
    to a double."""
    return f"CAST({value} AS DOUBLE PRECISION)" if any(abs(cut) >= 2**53 for cut in cuts) else value


def comment(text: str) -> str:
    """Return the text on one line, for a comment."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


# Python

PYTHON: Final = Template('''\
"""$title

assign(row) gives the strategy of a row, a dict by column; None, NaN or an absent key is missing. As a program it reads
rows as JSON, one per line, and writes their strategies: python strategies.py < rows.jsonl
"""

import json
import sys
from datetime import date, datetime, timezone


def _value(row, column):
    value = row.get(column)
    return None if value is None or value != value else value


def _number(row, column):
    value = _value(row, column)
    return float("nan") if value is None else float(value)


def _time(value):
    """Microseconds since 1970-01-01; of missing, NaN, which is in no range."""
    if value is None:
        return float("nan")
    if not isinstance(value, date):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    value = value.astimezone(timezone.utc) if value.tzinfo else value.replace(tzinfo=timezone.utc)
    span = value - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (span.days * 86400 + span.seconds) * 1000000 + span.microseconds


$rules
def assign(row):
    """The strategy of a row."""
$cascade

if __name__ == "__main__":
    for line in sys.stdin:
        print(assign(json.loads(line)))
''')


def to_python(cascade: Cascade, kinds: dict[str, Kind]) -> str:
    """Return a module without dependencies: `assign(row)` returns the strategy of a row; run as a program, it reads
    JSON lines."""
    cascade.check()
    rules, lines = [], []
    for k, (name, rule) in enumerate([(NOT_ELIGIBLE, cascade.gate), *cascade.named]):
        function = f"is_{k}" if k else "is_eligible"
        rules.append(f"def {function}(row):\n    # {comment(rule.words())}\n    return {python_of(rule, kinds)}\n\n")
        lines.append(f"    if {'' if k else 'not '}{function}(row):\n        return {name!a}\n")
    lines.append(f"    return {NOBODY!a}\n")
    title = ascii(cascade.title)[1:-1].replace('"', "'")
    return PYTHON.substitute(title=title, rules="\n".join(rules), cascade="".join(lines))


def python_of(rule: Rule, kinds: dict[str, Kind]) -> str:
    """Return the rule as a Python expression over a dict `row`."""
    match rule:
        case All(parts):
            return f"({' and '.join(python_of(part, kinds) for part in parts)})" if parts else "True"
        case AnyOf(parts):
            return f"({' or '.join(python_of(part, kinds) for part in parts)})" if parts else "False"
        case Not(inner):
            return f"(not {python_of(inner, kinds)})"
        case Missing(column):
            return f"(_value(row, {column!a}) is None)"
        case Levels(column, levels):
            read = "_number" if kinds[column] == "number" else "_value"
            values: list[Any] = numbers_of(levels) if kinds[column] == "number" else list(levels)
            if kinds[column] == "boolean":
                values = [level == "True" for level in levels if level in ("True", "False")]
            return f"({read}(row, {column!a}) in ({''.join(f'{value!a}, ' for value in values)}))"
        case Range(column, low, high, low_in, high_in, is_date):
            value = f"_time(_value(row, {column!a}))" if is_date else f"_number(row, {column!a})"
            ends = [
                None if end is None else f"_time({stamp(end)!r})" if is_date else repr(float(end))
                for end in (low, high)
            ]
            left = f"{ends[0]} {'<=' if low_in else '<'} " if ends[0] else ""
            right = f" {'<=' if high_in else '<'} {ends[1]}" if ends[1] else ""
            return f"({left}{value}{right})"
    raise TypeError(f"{type(rule).__name__} cannot be expressed in Python.")
