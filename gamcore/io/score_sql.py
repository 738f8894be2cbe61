"""An additive model as one SELECT in ANSI SQL: a sum of one CASE per term, NULL first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from gamcore.data.column_names import free_name
from gamcore.data.columns import Kind
from gamcore.decide.rules_code import ROWS, column_of, comment, name_of, number_of, text_of
from gamcore.io.formula import PREDICTIONS, ClassFormula, Formula, ScoringError, TaskFormula, formula_of
from gamcore.io.reasons_sql import with_reasons
from gamcore.io.sql_expressions import added, branch
from gamcore.model.output_names import free_names

Output = Literal["link", "response"]


def to_sql(
    model: Any, table: str, output: Output = "response", kinds: dict[str, Kind] | None = None, title: str = "",
    columns: Iterable[str] = (), computed: Sequence[str] = (), exposure: str | None = None,
    init_score: str | None = None, key: str = "", unit: str = "",
) -> str:  # fmt: skip
    """Return a SELECT of all columns of a table and of the model's score.

    output : "link" adds a column "score (UNIT)", such as "score (log-odds)"; "response" also adds "prediction": the
    chance of the second class, or the target. A model with an exposure has "rate" in its place, the target per unit of
    it, and with `exposure`, the column of exposures, also "expected": rate x exposure. For K classes there is a "score
    of CLASS (UNIT)" and a "chance of CLASS" each, and "prediction" is the likeliest class (`model.output_names`).
    kinds : how the table stores columns if not as in training, such as {"zip": "number"} for levels stored as numbers.
    columns : further columns of the table; the new columns get other names than these ("prediction_"). computed : how
    columns that the table may lack are computed, for comments. init_score : the column of given scores. key : of a
    model that tells reasons (`io.reasons`), a column that is filled and different in every row; there are "reason 1"
    and on, and "review", then. unit : that of the target, for names. Missing is NULL. Dates are compared as text, as
    SQLite stores them, with a space or a T between day and time.

    Raises ScoringError for multi-task trees: use `to_python` or `to_json`.
    """
    if output not in ("link", "response"):
        raise ScoringError(f"output is {output!r}: choose 'link' or 'response'.")
    formula = formula_of(model, unit)
    if isinstance(formula, TaskFormula):
        raise ScoringError("Multi-task trees are too many for SQL: use to_python or to_json.")
    taken = {bins.feature.column for bins in formula.bins} | set(columns)
    taken |= {name for name in (key, exposure, init_score) if name}
    head = f"-- {comment(title or 'A model of Shapewise')}: missing is NULL\n"
    head += "".join(f"-- compute this column first: {comment(step)}\n" for step in computed)
    if isinstance(formula, ClassFormula):
        return head + of_classes(formula, table, output, kinds or {}, taken=taken)
    named, answered, *totalled = map(name_of, free_names(taken, formula.names))
    given = [f"{column_of(init_score)}"] if init_score else []
    linked = _select([(_score(formula, kinds or {}, given), named)], table)
    if output == "link":
        return f"{head}{linked};\n"
    prediction = PREDICTIONS[formula.loss].sql.replace("{score}", formula.linked(named))
    answers = f"{prediction} AS {answered}"
    if exposure:
        if not totalled:
            raise ScoringError("The model was trained without an exposure, so it cannot be multiplied by one.")
        answers += f",\n  ({prediction}) * scored.{name_of(exposure)} AS {totalled[0]}"
    answer = f"SELECT\n  scored.*,\n  {answers}\nFROM (\n{linked}\n) AS scored"
    if formula.reasons is None:
        return f"{head}{answer};\n"
    if not key:
        raise ScoringError("Reasons in SQL need a key: name a column that is filled and different in every row.")
    return f"{head}{with_reasons(formula, answer, named, key=key, kinds=kinds or {}, taken=taken, table=table)};\n"


def of_classes(formula: ClassFormula, table: str, output: Output, kinds: dict[str, Kind], taken: set[str]) -> str:
    """Return the SELECT of a model of several classes: scores, then probabilities less the largest score, then which
    is likeliest."""
    n = len(formula.classes)
    named = list(map(name_of, free_names(taken, formula.names)))
    scores, chances, answered = named[:n], named[n : 2 * n], named[-1]
    linked = _select(
        [(_score(one, kinds, []), name) for one, name in zip(formula.formulas, scores, strict=True)], table
    )
    if output == "link":
        return f"{linked};\n"
    largest, total = name_of(free_name(taken, "largest_score")), name_of(free_name(taken, "sum_of_odds"))
    best = " ".join(f"WHEN {name} = {largest} THEN {text_of(str(of))}"
                    for name, of in zip(scores, formula.classes, strict=True))  # fmt: skip
    odds = " + ".join(f"EXP({name} - {largest})" for name in scores)
    each = ",\n  ".join(
        f"EXP({name} - {largest}) / {total} AS {chance}" for name, chance in zip(scores, chances, strict=True)
    )
    with_top = f"SELECT\n  scored.*,\n  {_largest(scores)} AS {largest}\nFROM (\n{linked}\n) AS scored"
    with_sum = f"SELECT\n  topped.*,\n  {odds} AS {total}\nFROM (\n{with_top}\n) AS topped"
    return f"SELECT\n  summed.*,\n  {each},\n  CASE {best} END AS {answered}\nFROM (\n{with_sum}\n) AS summed;\n"


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
        parts.append(branch(formula.bins[place], leaves, kinds))
    for (first, second), scores in formula.pairs:
        inner = [branch(formula.bins[second], [number_of(float(v)) for v in row], kinds) for row in scores]
        parts.append(branch(formula.bins[first], inner, kinds))
    return added(parts)
