"""Reasons for decisions in ANSI SQL: a row per row and reason, ranked by a window, and joined to the scored rows."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template
from typing import Final

from gamcore.data.column_names import free_name
from gamcore.data.columns import Kind
from gamcore.decide.rules_code import ROWS, name_of, number_of, text_of
from gamcore.explain.reasons import LEAST, Reason, Reasons
from gamcore.io.formula import Formula, ScoringError
from gamcore.io.sql_expressions import added, branch, looked_up
from gamcore.model.output_names import reason

TABLES: Final = ("scored", "looked", "parts", "ranked", "chosen")
COLUMNS: Final = ("reason", "push", "place", "apart", "hidden", "largest")

PART: Final = Template("""\
  SELECT t.$key, $number AS $reason,
  CASE WHEN $above THEN $up
  ELSE $down END AS $push
  FROM $looked AS t""")

QUERY: Final = Template("""\
WITH $scored AS (
$rows
),
$looked AS (
  SELECT t.*$joint
  FROM $scored AS t
),
$parts AS (
$each
),
$ranked AS (
  SELECT $key, $reason, $secret AS $hidden, $push, MAX($push) OVER (PARTITION BY $key) AS $largest,
  ROW_NUMBER() OVER (PARTITION BY $key ORDER BY $push DESC, $reason) AS $place,
  ROW_NUMBER() OVER (PARTITION BY $key, $secret ORDER BY $push DESC, $reason) AS $apart
  FROM $parts WHERE $push > 0
),
$chosen AS (
  SELECT $key,
  $numbers
  FROM $ranked WHERE $push >= $least * $largest GROUP BY $key
)
SELECT
  t.*,
  $told,
  $review AS $reviewed
FROM $scored AS t LEFT JOIN $chosen AS c ON c.$key = t.$key""")
"""The rows that are scored; these with what interactions add, which several reasons share; the push of each reason; the
pushes above 0 in order, those of sensitive features apart; per row the numbers of its reasons that are large enough,
and of sensitive features among the first."""

NOTHING: Final = Template("""\
SELECT
  t.*,
  $columns
FROM (
$rows
) AS t""")
NULL: Final = "CAST(NULL AS VARCHAR(1))"

assert ROWS == "t"


def with_reasons(
    formula: Formula, scored: str, score: str, *, key: str, kinds: dict[str, Kind], taken: set[str], table: str
) -> str:  # fmt: skip
    """Return the query of scored rows with "reason 1" and on, and "review".

    scored : the query of the rows with the column `score`. key : a column that is filled, and different in every row.
    table : the name of the table.
    """
    reasons = formula.reasons
    assert reasons is not None
    if not reasons.each:
        return _nothing(reasons, scored, taken)
    for cause in reasons.each:
        if "\0" in f"{cause.name}{cause.up}{cause.down}":
            raise ScoringError(f"The reason {cause.name!r} has a character that SQL cannot write: change its text.")
    names = {name: name_of(free_name({*taken, key}, name)) for name in COLUMNS} | {"key": name_of(key)}
    names |= {name: name_of(free_name([table, "t", "c"], name)) for name in TABLES}
    joint = [name_of(free_name({*taken, key}, f"joint {k}")) for k in range(len(formula.interactions))]
    added_to = [f",\n  {looked_up(formula.bins, table, kinds)} AS {name}"
                for table, name in zip(formula.interactions, joint, strict=True)]  # fmt: skip
    above = f"t.{score} >= {number_of(reasons.line)}"
    parts = [PART.substitute(names, number=number, above=above, up=_push(formula, cause, True, kinds, joint),
                             down=_push(formula, cause, False, kinds, joint))
             for number, cause in enumerate(reasons.each, 1)]  # fmt: skip
    secret = [number for number, cause in enumerate(reasons.each, 1) if cause.sensitive]
    texts = [f"CASE WHEN {above} THEN {_texts(reasons, k, True)}\n  ELSE {_texts(reasons, k, False)} END"
            f" AS {name_of(free_name(taken, reason(k)))}" for k in range(1, reasons.most + 1)]  # fmt: skip
    return QUERY.substitute(
        names, joint="".join(added_to), least=number_of(LEAST), rows=scored, each="\n  UNION ALL\n".join(parts),
        secret=_is_secret(secret, names["reason"]),
        numbers=",\n  ".join(_numbers(reasons, secret, names)), told=",\n  ".join(texts),
        review=_review(reasons, secret), reviewed=name_of(free_name(taken, "review")),
    )  # fmt: skip


def _nothing(reasons: Reasons, scored: str, taken: set[str]) -> str:
    """Return the query where no feature moves the score, so that nothing is a reason."""
    names = [*map(reason, range(1, reasons.most + 1)), "review"]
    columns = ",\n  ".join(f"{NULL} AS {name_of(free_name(taken, name))}" for name in names)
    return NOTHING.substitute(columns=columns, rows=scored)


def _is_secret(secret: Sequence[int], reason: str) -> str:
    """Return 1 for the numbers of sensitive features, and 0 for others."""
    return f"CASE WHEN {reason} IN ({', '.join(map(str, secret))}) THEN 1 ELSE 0 END" if secret else "0"


def _numbers(reasons: Reasons, secret: Sequence[int], names: dict[str, str]) -> list[str]:
    """Return the columns of a row's reasons by number, and of sensitive features among the first."""
    reason, hidden, apart, place = (names[name] for name in ("reason", "hidden", "apart", "place"))
    chosen = [f"MAX(CASE WHEN {hidden} = 0 AND {apart} = {k} THEN {reason} END) AS chosen_{k}"
              for k in range(1, reasons.most + 1)]  # fmt: skip
    return chosen + [f"MAX(CASE WHEN {reason} = {k} AND {place} <= {reasons.most} THEN 1 END) AS secret_{k}"
                     for k in secret]  # fmt: skip


def _push(formula: Formula, cause: Reason, above: bool, kinds: dict[str, Kind], joint: Sequence[str]) -> str:
    """Return by how much a reason pushed a row: its parts less those of the base, or the other way round. joint : the
    columns of interactions."""
    sign, base = (1.0, cause.above) if above else (-1.0, cause.below)
    parts: list[str] = []
    for k in cause.terms:
        place, scores = formula.terms[k]
        parts.append(branch(formula.bins[place], [number_of(float(value)) for value in sign * scores], kinds))
    parts += [f"{number_of(sign * share)} * t.{joint[k]}" for k, share in cause.joint]
    return f"({added([*parts, number_of(-sign * base)])})"


def _texts(reasons: Reasons, k: int, above: bool) -> str:
    """Return the text of a row's k-th reason."""
    cases = " ".join(
        f"WHEN {number} THEN {text_of(reasons.text(number - 1, above))}" for number in range(1, len(reasons.each) + 1)
    )
    return f"CASE c.chosen_{k} {cases} END"


def _review(reasons: Reasons, secret: Sequence[int]) -> str:
    """Return the names of sensitive features, joined by a comma."""
    if not secret:
        return NULL
    joined = " || ".join(
        f"CASE WHEN c.secret_{k} = 1 THEN {text_of(f', {reasons.each[k - 1].name}')} ELSE '' END" for k in secret
    )
    return f"NULLIF(SUBSTR({joined}, 3), '')"
