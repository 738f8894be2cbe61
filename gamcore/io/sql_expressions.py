"""Parts of a model as ANSI SQL expressions: the value that a row's cell selects, NULL first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from gamcore.common.pauses import pause
from gamcore.data.binning import Bins
from gamcore.data.columns import Kind
from gamcore.data.table import Feature
from gamcore.decide.rules_code import as_double, column_of, literals_of, number_of, text_of
from gamcore.io.formula import PartTable, ScoringError, runs, stamp

MOST_ADDED: Final = 50
"""Most summands in one bracket: databases bound the depth of an expression."""

MOST_BRANCHES: Final = 8
"""Parts of bins among which one CASE chooses: SQLite's parser takes about fifteen CASEs within each other, and a pair
has those of two features."""


def added(parts: Sequence[str]) -> str:
    """Return a sum of parts, in brackets of at most `MOST_ADDED`."""
    while len(parts) > MOST_ADDED:
        parts = [
            "(" + "\n  + ".join(parts[k : k + MOST_ADDED]) + ")" for k in range(0, len(parts), MOST_ADDED)
        ]  # fmt: skip
    return "\n  + ".join(parts)


def looked_up(bins: Sequence[Bins], table: PartTable, kinds: dict[str, Kind]) -> str:
    """Return an expression for a row's score in a table of two or three features. bins : those of all features.

    Of two, a CASE of the first, whose leaves are CASEs of the second. Of three, a CASE of the number of the cell, which
    a subquery has as a column: databases copy an expression to each of its WHENs, and take minutes to plan CASEs
    within CASEs within CASEs.
    """
    if len(table.features) == 2:
        (first, second), (across, along) = (bins[j] for j in table.features), table.parts
        inner = [branch(second, [number_of(float(row[k])) for k in along], kinds) for row in table.scores]
        return branch(first, [inner[k] for k in across], kinds)
    strides = [math.prod(table.scores.shape[axis + 1 :]) for axis in range(table.scores.ndim)]
    place = " + ".join(f"{stride} * {branch(bins[j], [str(k) for k in parts], kinds)}"
                       for stride, j, parts in zip(strides, table.features, table.parts, strict=True))  # fmt: skip
    cells = "\n  ".join(
        f"WHEN {k} THEN {number_of(float(score))}" for k, score in enumerate(table.scores.flat) if score
    )
    looked = f"CASE q.cell\n  {cells} ELSE {number_of(0.0)} END"
    return f"(SELECT {looked} FROM (SELECT {place} AS cell) AS q)" if cells else number_of(0.0)  # noqa: S608 (numbers)


def branch(bins: Bins, leaves: Sequence[str], kinds: dict[str, Kind]) -> str:
    """Return an expression for the leaf that a row's value selects. leaves : one per code."""
    pause()
    if len(set(leaves)) == 1:
        return leaves[0]
    feature, column = bins.feature, column_of(bins.feature.column)
    if "\0" in feature.column or any("\0" in level for level in (*bins.codes_of_levels, *feature.missing)):
        raise ScoringError(
            f"Column {feature.column!r} or one of its levels has a character that SQL cannot write (\\0): use "
            "to_python or to_json."
        )
    if not feature.is_category:
        if not bins.n_values:
            return leaves[0]  # all cells were missing in training, so every cell counts as missing
        stored = kinds.get(feature.column)
        value = column
        if stored == "boolean":
            value = f"CASE WHEN {column} THEN 1 ELSE 0 END"
        elif feature.kind == "number":
            value = as_double(value, bins.cuts)
        cuts = [number_of(float(cut)) for cut in bins.cuts]
        if feature.kind == "date":
            value, cuts = _text(column, feature.zoned), [text_of(_shortest(stamp(float(cut)))) for cut in bins.cuts]
        branch = _by_cuts(value, cuts, leaves[1:-1])
        return f"CASE WHEN {_missing(column, value, feature, 'number')} THEN {leaves[0]} ELSE {branch} END"
    if feature.part != "value":
        return _calendar(column, _text(column, feature.zoned), feature.part, leaves)
    stored = kinds.get(feature.column, "boolean" if feature.kind == "boolean" else "category")
    return _levels(bins, column, leaves, stored)


def _missing(column: str, value: str, feature: Feature, stored: Kind) -> str:
    """Return the condition that a cell is missing, or holds a code that means so."""
    codes = literals_of(feature.missing, stored)
    return f"{column} IS NULL OR {value} IN ({', '.join(codes)})" if codes else f"{column} IS NULL"


def _text(column: str, zoned: bool | None) -> str:
    """Return a date or timestamp as text that sorts by time, whatever its type in the database; in UTC if zoned."""
    column = f"({column} AT TIME ZONE 'UTC')" if zoned else column
    return f"REPLACE(CAST({column} AS VARCHAR(30)), 'T', ' ')"


def _shortest(moment: str) -> str:
    """Return a moment without trailing zeros: the same moment written longer then sorts after it, as it should."""
    if "." in moment:
        return moment.rstrip("0")
    return moment.removesuffix(":00").removesuffix(" 00:00")


def _by_cuts(column: str, cuts: Sequence[str], leaves: Sequence[str]) -> str:
    """Return nested CASEs that divide the bins by `MOST_BRANCHES`, so that a row meets few cuts and parsers few
    levels; equal neighbours are merged."""
    spans = runs(leaves)
    if len(spans) == 1:
        return leaves[0]
    n = min(MOST_BRANCHES, len(spans))
    starts = [*(spans[k * len(spans) // n][0] for k in range(n)), len(leaves)]
    parts = [_by_cuts(column, cuts[low : high - 1], leaves[low:high]) for low, high in pairwise(starts)]
    cases = [
        f"WHEN {column} < {cuts[high - 1]} THEN {part}" for high, part in zip(starts[1:-1], parts[:-1], strict=True)
    ]
    return f"CASE {' '.join(cases)} ELSE {parts[-1]} END"


def _levels(bins: Bins, column: str, leaves: Sequence[str], stored: Kind) -> str:
    """Return a CASE over levels, those with equal scores together, unseen levels last."""
    named = [(level, leaves[code]) for level, code in bins.codes_of_levels.items()]
    by_leaf: dict[str, list[str]] = {}
    for level, leaf in named:
        if leaf != leaves[bins.unseen]:
            by_leaf.setdefault(leaf, []).append(level)
    cases = [f"WHEN {_missing(column, column, bins.feature, stored)} THEN {leaves[0]}"]
    for leaf, names in by_leaf.items():
        literals = literals_of(names, stored)
        if literals:
            cases.append(f"WHEN {column} IN ({', '.join(literals)}) THEN {leaf}")
    return f"CASE {' '.join(cases)} ELSE {leaves[bins.unseen]} END"


def _calendar(column: str, text: str, part: str, leaves: Sequence[str]) -> str:
    """Return a CASE over the month or weekday of a date. text : the date in ISO 8601.

    The weekday is computed by Zeller's congruence, since databases differ.
    """
    year, month, day = (f"CAST(SUBSTR({text}, {at}, {n}) AS INTEGER)" for at, n in ((1, 4), (6, 2), (9, 2)))
    value = month
    if part == "weekday":
        late = f"CASE WHEN {month} < 3 THEN 1 ELSE 0 END"  # January and February count to the year before
        y, m = f"({year} - {late})", f"({month} + 12 * {late})"
        whole = [_whole(f"13 * ({m} + 1)", 5), _whole(y, 4), _whole(y, 400)]
        value = f"(({day} + {whole[0]} + {y} + {whole[1]} - {_whole(y, 100)} + {whole[2]} + 5) % 7 + 1)"
    branch = _by_cuts(value, [f"{k}" for k in range(2, len(leaves) - 1)], leaves[1:-1])
    return f"CASE WHEN {column} IS NULL THEN {leaves[0]} ELSE {branch} END"


def _whole(value: str, by: int) -> str:
    """Return an integer quotient that is correct even if the database divides into fractions."""
    return f"(({value} - ({value}) % {by}) / {by})"
