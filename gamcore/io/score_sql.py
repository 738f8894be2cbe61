"""An additive model as one SELECT in ANSI SQL: a sum of one CASE per term, NULL first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

from gamcore.data.binning import Bins
from gamcore.data.columns import LONGEST_LEVEL, Kind
from gamcore.data.table import Feature
from gamcore.decide.rules import numbers_of
from gamcore.decide.rules_code import ROWS, as_double, column_of, comment, free_name, name_of, number_of, text_of
from gamcore.io.formula import (
    PREDICTIONS,
    ClassFormula,
    Formula,
    ScoringError,
    TaskFormula,
    formula_of,
    runs,
    stamp,
)

Output = Literal["link", "response"]
MOST_ADDED: Final = 50
"""Most summands in one bracket: databases bound the depth of an expression."""


def to_sql(
    model: Any, table: str, output: Output = "response", kinds: dict[str, Kind] | None = None, title: str = "",
    columns: Iterable[str] = (), computed: Sequence[str] = (), exposure: str | None = None,
    init_score: str | None = None,
) -> str:  # fmt: skip
    """Return a SELECT of all columns of a table and of the model's score.

    output : "link" adds a column `score` (log-odds, or the target's units); "response" also adds `prediction`: the
    chance of the second class, or the target. For K classes there is a column per class, `score_1` to `score_K` and
    `chance_1` to `chance_K`, in the order of the classes, and `prediction` is the likeliest class. kinds : how the
    table stores columns if not as in training, such as {"zip": "number"} for levels stored as numbers. columns :
    further columns of the table; the new columns get other names than these ("score_"). computed : how columns that
    the table may lack are computed, for comments. exposure : the column that a predicted rate is multiplied by.
    init_score : the column of given scores. Missing is NULL. Dates are compared as text, as SQLite stores them, with a
    space or a T between day and time.

    Raises ScoringError for multi-task trees: use `to_python` or `to_json`.
    """
    if output not in ("link", "response"):
        raise ScoringError(f"output is {output!r}: choose 'link' or 'response'.")
    formula = formula_of(model)
    if isinstance(formula, TaskFormula):
        raise ScoringError("Multi-task trees are too many for SQL: use to_python or to_json.")
    taken = {bins.feature.column for bins in formula.bins} | set(columns)
    head = f"-- {comment(title or 'A model of Shapewise')}: missing is NULL\n"
    head += "".join(f"-- compute this column first: {comment(step)}\n" for step in computed)
    if isinstance(formula, ClassFormula):
        return head + of_classes(formula, table, output, kinds or {}, taken=taken)
    named, answered = (name_of(free_name(taken, name)) for name in ("score", "prediction"))
    given = [f"{column_of(init_score)}"] if init_score else []
    linked = _select([(_score(formula, kinds or {}, given), named)], table)
    if output == "link":
        return f"{head}{linked};\n"
    prediction = PREDICTIONS[formula.loss].sql.replace("{score}", named)
    if exposure:
        if "exposure" not in formula.given:
            raise ScoringError("The model was trained without an exposure, so it cannot be multiplied by one.")
        prediction = f"({prediction}) * scored.{name_of(exposure)}"
    return f"{head}SELECT\n  scored.*,\n  {prediction} AS {answered}\nFROM (\n{linked}\n) AS scored;\n"


def of_classes(formula: ClassFormula, table: str, output: Output, kinds: dict[str, Kind], taken: set[str]) -> str:
    """Return the SELECT of a model of several classes: scores, then probabilities less the largest score, then which
    is likeliest."""
    n = range(1, len(formula.classes) + 1)
    head = "".join(f"-- class {k}: {comment(str(name))}\n" for k, name in zip(n, formula.classes, strict=True))
    scores = [name_of(free_name(taken, f"score_{k}")) for k in n]
    chances = [name_of(free_name(taken, f"chance_{k}")) for k in n]
    linked = _select(
        [(_score(one, kinds, []), name) for one, name in zip(formula.formulas, scores, strict=True)], table
    )
    if output == "link":
        return f"{head}{linked};\n"
    largest, total = name_of(free_name(taken, "largest_score")), name_of(free_name(taken, "sum_of_odds"))
    best = " ".join(f"WHEN {name} = {largest} THEN {text_of(str(of))}"
                    for name, of in zip(scores, formula.classes, strict=True))  # fmt: skip
    odds = " + ".join(f"EXP({name} - {largest})" for name in scores)
    each = ",\n  ".join(
        f"EXP({name} - {largest}) / {total} AS {chance}" for name, chance in zip(scores, chances, strict=True)
    )
    with_top = f"SELECT\n  scored.*,\n  {_largest(scores)} AS {largest}\nFROM (\n{linked}\n) AS scored"
    with_sum = f"SELECT\n  topped.*,\n  {odds} AS {total}\nFROM (\n{with_top}\n) AS topped"
    answered = name_of(free_name(taken, "prediction"))
    return f"{head}SELECT\n  summed.*,\n  {each},\n  CASE {best} END AS {answered}\nFROM (\n{with_sum}\n) AS summed;\n"


def _largest(names: Sequence[str]) -> str:
    """Return the largest of some columns, as CASEs: GREATEST is not in every database."""
    cases = []
    for k, name in enumerate(names[:-1]):
        others = " AND ".join(f"{name} >= {other}" for other in names[k + 1 :])
        cases.append(f"WHEN {others} THEN {name}")
    return f"CASE {' '.join(cases)} ELSE {names[-1]} END"


def _select(columns: Sequence[tuple[str, str]], table: str) -> str:
    """Return a SELECT of a table with further columns: expressions and their names."""
    listed = ",\n  ".join(f"{expression} AS {name}" for expression, name in columns)
    return f"SELECT\n  *,\n  {listed}\nFROM {name_of(table)} AS {ROWS}"


def _score(formula: Formula, kinds: dict[str, Kind], given: Sequence[str]) -> str:
    """Return the sum of a formula's parts, and of what is given beside them."""
    parts = [*given, number_of(formula.intercept)]
    for place, scores in formula.terms:
        leaves = [number_of(float(score)) for score in scores]
        parts.append(_branch(formula.bins[place], leaves, kinds))
    for (first, second), scores in formula.pairs:
        inner = [_branch(formula.bins[second], [number_of(float(v)) for v in row], kinds) for row in scores]
        parts.append(_branch(formula.bins[first], inner, kinds))
    return _sum(parts)


def _sum(parts: Sequence[str]) -> str:
    """Return a sum of parts, in brackets of at most `MOST_ADDED`."""
    while len(parts) > MOST_ADDED:
        parts = [
            "(" + "\n  + ".join(parts[k : k + MOST_ADDED]) + ")" for k in range(0, len(parts), MOST_ADDED)
        ]  # fmt: skip
    return "\n  + ".join(parts)


def _branch(bins: Bins, leaves: Sequence[str], kinds: dict[str, Kind]) -> str:
    """Return an expression for the leaf that a row's value selects. leaves : one per code."""
    if len(set(leaves)) == 1:
        return leaves[0]
    feature, column = bins.feature, column_of(bins.feature.column)
    if "\0" in feature.column or any("\0" in level for level in (*bins.codes_of_levels, *feature.missing)):
        raise ScoringError(f"Column {feature.column!r} or one of its levels has a character that SQL cannot write.")
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
            value, cuts = _text(column), [text_of(_shortest(stamp(float(cut)))) for cut in bins.cuts]
        branch = _halves(value, cuts, leaves[1:-1])
        return f"CASE WHEN {_missing(column, value, feature, 'number')} THEN {leaves[0]} ELSE {branch} END"
    if feature.part != "value":
        return _calendar(column, feature.part, leaves)
    stored = kinds.get(feature.column, "boolean" if feature.kind == "boolean" else "category")
    return _levels(bins, column, leaves, stored)


def _missing(column: str, value: str, feature: Feature, stored: Kind) -> str:
    """Return the condition that a cell is missing, or holds a code that means so."""
    codes = _literals(feature.missing, stored)
    return f"{column} IS NULL OR {value} IN ({', '.join(codes)})" if codes else f"{column} IS NULL"


def _text(column: str) -> str:
    """Return a date or timestamp as text that sorts by time, whatever its type in the database."""
    return f"REPLACE(CAST({column} AS VARCHAR(30)), 'T', ' ')"


def _shortest(moment: str) -> str:
    """Return a moment without trailing zeros: the same moment written longer then sorts after it, as it should."""
    if "." in moment:
        return moment.rstrip("0")
    return moment.removesuffix(":00").removesuffix(" 00:00")


def _halves(column: str, cuts: Sequence[str], leaves: Sequence[str]) -> str:
    """Return nested CASEs that bisect the bins, so that a row meets few cuts; equal neighbours are merged."""
    spans = runs(leaves)
    if len(spans) == 1:
        return leaves[0]
    middle = spans[len(spans) // 2][0]
    left, right = _halves(column, cuts[: middle - 1], leaves[:middle]), _halves(column, cuts[middle:], leaves[middle:])
    return f"CASE WHEN {column} < {cuts[middle - 1]} THEN {left} ELSE {right} END"


def _levels(bins: Bins, column: str, leaves: Sequence[str], stored: Kind) -> str:
    """Return a CASE over levels, those with equal scores together, unseen levels last."""
    named = [(level, leaves[code]) for level, code in bins.codes_of_levels.items()]
    by_leaf: dict[str, list[str]] = {}
    for level, leaf in named:
        if leaf != leaves[bins.unseen]:
            by_leaf.setdefault(leaf, []).append(level)
    value = column
    if stored == "category" and any(len(level) == LONGEST_LEVEL for level, _ in named):
        value = f"SUBSTR({column}, 1, {LONGEST_LEVEL})"  # longer levels were cut in training
    cases = [f"WHEN {_missing(column, column, bins.feature, stored)} THEN {leaves[0]}"]
    for leaf, names in by_leaf.items():
        literals = _literals(names, stored)
        if literals:
            cases.append(f"WHEN {value} IN ({', '.join(literals)}) THEN {leaf}")
    return f"CASE {' '.join(cases)} ELSE {leaves[bins.unseen]} END"


def _literals(levels: Sequence[str], stored: Kind) -> list[str]:
    if stored == "boolean":
        return [level.upper() for level in levels if level in ("True", "False")]
    if stored == "number":
        return [number_of(value) for value in numbers_of(levels)]
    return [text_of(level) for level in levels]


def _calendar(column: str, part: str, leaves: Sequence[str]) -> str:
    """Return a CASE over the month or weekday of a date in ISO text.

    The weekday is computed by Zeller's congruence, since databases differ.
    """
    text = _text(column)
    year, month, day = (f"CAST(SUBSTR({text}, {at}, {n}) AS INTEGER)" for at, n in ((1, 4), (6, 2), (9, 2)))
    value = month
    if part == "weekday":
        late = f"CASE WHEN {month} < 3 THEN 1 ELSE 0 END"  # January and February count to the year before
        y, m = f"({year} - {late})", f"({month} + 12 * {late})"
        whole = [_whole(f"13 * ({m} + 1)", 5), _whole(y, 4), _whole(y, 400)]
        value = f"(({day} + {whole[0]} + {y} + {whole[1]} - {_whole(y, 100)} + {whole[2]} + 5) % 7 + 1)"
    branch = _halves(value, [f"{k}" for k in range(2, len(leaves) - 1)], leaves[1:-1])
    return f"CASE WHEN {column} IS NULL THEN {leaves[0]} ELSE {branch} END"


def _whole(value: str, by: int) -> str:
    """Return an integer quotient that is correct even if the database divides into fractions."""
    return f"(({value} - ({value}) % {by}) / {by})"
