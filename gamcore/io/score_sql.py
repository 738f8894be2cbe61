"""An additive model as one SELECT in ANSI SQL: a sum of one CASE per term, NULL first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

from gamcore.data.column_names import free_name
from gamcore.data.columns import Kind
from gamcore.decide.rules_code import ROWS, column_of, comment, name_of, number_of, text_of
from gamcore.io.formula import PREDICTIONS, ClassFormula, Formula, ScoringError, TaskFormula, formula_of
from gamcore.io.reasons_sql import with_reasons
from gamcore.io.sql_expressions import added, branch, looked_up
from gamcore.model.losses import LOSSES
from gamcore.model.output_names import free_names

Output = Literal["link", "response"]

FARTHEST: Final = 690
"""Difference of two scores beyond which one class is certain: the exponential of twenty such ones has a sum."""


def to_sql(
    model: Any, table: str, output: Output = "response", kinds: dict[str, Kind] | None = None, title: str = "",
    columns: Iterable[str] = (), computed: Sequence[str] = (), exposure: str | None = None,
    init_score: str | None = None, key: str = "", unit: str = "",
) -> str:  # fmt: skip
    """Return a SELECT of all columns of a table and of the model's score, with the rows in any order.

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
    prediction = PREDICTIONS[LOSSES[formula.loss].link_name].sql.replace("{score}", formula.linked(named))
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
    """Return the SELECT of a model of several classes: scores, their chances, and which is likeliest.

    A chance is 1 / sum_j exp(score_j - score_k). Databases put the expression of a column wherever a query around it
    names that column, and here each score is named by every chance; so the scores are a common table expression that is
    read twice, which PostgreSQL and SQLite compute once.
    """
    n = len(formula.classes)
    named = list(map(name_of, free_names(taken, formula.names)))
    scores, chances, answered = named[:n], named[n : 2 * n], named[-1]
    linked = _select(
        [(_score(own, kinds, []), name) for own, name in zip(formula.formulas, scores, strict=True)], table
    )
    if output == "link":
        return f"{linked};\n"
    scored, counted = (name_of(free_name([table, ROWS], name)) for name in ("scored", "counted"))
    each = ",\n  ".join(
        f"1 / (1 + {' + '.join(_odds(other, name) for other in scores if other != name)}) AS {chance}"
        for name, chance in zip(scores, chances, strict=True)
    )
    likeliest = _likeliest(scores, [text_of(str(name)) for name in formula.classes])
    again = f"(SELECT COUNT(*) AS n FROM {scored}) AS {counted}"  # noqa: S608 (names of ours)
    answer = f"SELECT\n  {scored}.*,\n  {each},\n  {likeliest} AS {answered}"
    return f"WITH {scored} AS (\n{linked}\n)\n{answer}\nFROM {scored} CROSS JOIN {again};\n"


def _odds(score: str, other: str) -> str:
    """Return the odds of one class against another; they may be beyond any number."""
    return f"EXP(CASE WHEN {score} - {other} > {FARTHEST} THEN {FARTHEST} ELSE {score} - {other} END)"


def _likeliest(scores: Sequence[str], classes: Sequence[str]) -> str:
    """Return the class of the largest score, the first of equal ones, as CASEs: GREATEST is not in every database."""
    cases = []
    for k, score in enumerate(scores[:-1]):
        others = " AND ".join(f"{score} >= {other}" for other in scores[k + 1 :])
        cases.append(f"WHEN {others} THEN {classes[k]}")
    return f"CASE {' '.join(cases)} ELSE {classes[-1]} END"


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
    return added([*parts, *(looked_up(formula.bins, table, kinds) for table in formula.interactions)])
