"""A model as one Python module without dependencies: the model's JSON, and the code that scores a row with it."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from textwrap import wrap
from typing import Any, Final

from gamcore.explain.reasons import LEAST
from gamcore.io.formula import PREDICTIONS, AnyFormula, ClassFormula, Formula, TaskFormula, formula_of
from gamcore.io.score_json import to_json
from gamcore.model.losses import LOSSES
from gamcore.model.output_names import score_unit

HEAD: Final = Template('''\
"""$title

columns(row) returns the numbers of a row, a dict by column, under their names in scored files and SQL:
$named.
None, NaN or an absent key is missing. As a program it reads rows as JSON, one per line, and writes these numbers
likewise: python model.py < rows.jsonl
"""

import json
import math
import sys
from bisect import bisect_right
from datetime import date, datetime, timezone

MODEL = json.loads($model)
DAY = 86400 * 1000000


def _value(row, column):
    value = row.get(column)
    return None if value is None or value != value else value


def _number(value, column):
    """A cell of a number column; what the model refuses is refused here, too."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{column!r} is {value!r}, which is not a finite number; use None for missing.")
    return number


def _moment(value, feature):
    """A date or time, or its ISO 8601 text: in UTC where it has a zone, as all or none did in training."""
    if not isinstance(value, date):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if bool(value.tzinfo) != feature.get("zoned", False):
        trained = "none" if value.tzinfo else "one"
        raise ValueError(f"{feature['column']!r} is {value}: give it a time zone, or none, as in training: {trained}.")
    return value.astimezone(timezone.utc) if value.tzinfo else value.replace(tzinfo=timezone.utc)


def _level(value):
    """The level name of a cell."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _is_code(value, feature):
    """Whether a cell holds a code that means missing."""
    if feature["kind"] == "number":
        return _number(value, feature["column"]) in map(float, feature["missing"])
    return _level(value) in feature["missing"]


def _code(value, feature):
    """The bin of a value: 0 missing, 1 to K, K + 1 never seen in training."""
    unseen = feature["bins"] + 1
    if value is None or feature["missing"] and _is_code(value, feature):
        return 0
    if feature["kind"] == "number":
        return bisect_right(feature["cuts"], _number(value, feature["column"])) + 1 if feature["bins"] else 0
    if feature["part"] != "value":
        moment = _moment(value, feature)
        return moment.month if feature["part"] == "month" else moment.weekday() + 1
    if feature["kind"] == "date":
        span = _moment(value, feature) - datetime(1970, 1, 1, tzinfo=timezone.utc)
        days = float((span.days * 86400 + span.seconds) * 1000000 + span.microseconds) / DAY
        return bisect_right(feature["cuts"], days) + 1 if feature["bins"] else 0
    if feature["kind"] == "boolean" and not isinstance(value, str):
        return 1 if value == 0 else 2 if value == 1 else unseen
    return feature["codes"].get(_level(value), unseen)


for _feature in MODEL["features"]:
    _feature.setdefault("missing", [])
    _feature["codes"] = {level: k + 1 for k, level in enumerate(_feature["levels"])}
    _feature["codes"].update(dict.fromkeys(_feature["rare"], _feature["bins"]))
    for _first, _others in _feature.get("merged", {}).items():
        _feature["codes"].update(dict.fromkeys(_others, _feature["codes"][_first]))


$functions


if __name__ == "__main__":
    for line in sys.stdin:
        row = json.loads(line)
        print(json.dumps(columns(row$from_row)))
''')

COLUMNS: Final = Template('''
def columns(row$taken):
    """The numbers of a row under their names in scored files and SQL."""
    return dict(zip(MODEL["names"], [$numbers]))
''')

PREDICT: Final = Template('''
def $name(row$more):
    """$what"""
    $answer
''')

EXPECTED: Final = Template('''
def expected(row, exposure$more):
    """The total of a row: its rate times the exposure; None where that is missing."""
    return None if exposure is None or exposure != exposure else rate(row$passed) * exposure
''')

SUM: Final = '''
def _sum(tables, codes):
    """The score of a row by some tables."""
    total = tables["intercept"]
    for term in tables["terms"]:
        total += term["scores"][codes[term["feature"]]]
    for pair in tables["pairs"]:
        total += _pair(pair, codes)
    for triple in tables.get("triples", []):
        total += _triple(triple, codes)
    return total


def _pair(pair, codes):
    """The score of a row's cell of two features."""
    first, second = pair["features"]
    return pair["scores"][codes[first]][codes[second]]


def _triple(triple, codes):
    """The score of a row's cell of three features."""
    score = triple["scores"]
    for feature, parts in zip(triple["features"], triple["parts"]):
        score = score[parts[codes[feature]]]
    return score


def _codes(row):
    """The bins of a row's features."""
    return [_code(_value(row, feature["column"]), feature) for feature in MODEL["features"]]

'''

ADDITIVE: Final = (
    SUM
    + '''
def score(row$more):
    """The score of a row$unit."""
    return _sum(MODEL, _codes(row))$added

'''
)

REASONS: Final = f'''
LEAST = {LEAST}


def reasons(row):
    """Why a row is decided on as it is: (whether it is at or above the line, the reasons, the features for review)."""
    told, codes, total = MODEL["reasons"], _codes(row), score(row)
    above, pushes = total >= told["line"], []
    for k, one in enumerate(told["each"]):
        part = 0.0
        for term in (MODEL["terms"][place] for place in one["terms"]):
            part += term["scores"][codes[term["feature"]]]
        for place, share in one["pairs"]:
            part += share * _pair(MODEL["pairs"][place], codes)
        for place, share in one.get("triples", []):
            part += share * _triple(MODEL["triples"][place], codes)
        push = part - one["above"] if above else one["below"] - part
        if push > 0:
            pushes.append((-push, k))
    pushes.sort()
    pushes = [one for one in pushes if -one[0] >= LEAST * -pushes[0][0]]
    said = [told["each"][k]["up" if above else "down"] for _, k in pushes if not told["each"][k]["sensitive"]]
    hidden = [k for _, k in pushes[: told["most"]] if told["each"][k]["sensitive"]]
    return above, said[: told["most"]], [told["each"][k]["name"] for k in sorted(hidden)]

'''

SEVERAL: Final = (
    SUM
    + '''
def score(row):
    """The score of a row by class."""
    codes = _codes(row)
    return {name: _sum(tables, codes) for name, tables in zip(MODEL["classes"], MODEL["scores"])}


def chances(row):
    """The chance of each class."""
    given = score(row)
    most = max(given.values())
    odds = {name: math.exp(one - most) for name, one in given.items()}
    return {name: one / sum(odds.values()) for name, one in odds.items()}


def predict(row):
    """The likeliest class of a row."""
    given = score(row)
    return max(given, key=given.get)

'''
)

TASKS: Final = '''
TREES = MODEL["trees"]
TREES["left"] = [int(text, 16) if text else 0 for text in TREES["left"]]
PLACES = {str(label): place for place, label in enumerate(MODEL["tasks"])}


def _codes(row, place):
    """Bins of a row's features, and of its task; what a task lacks has a bin of its own."""
    codes = []
    for j, feature in enumerate(MODEL["features"]):
        column, absent = feature["column"], feature["bins"] + 2
        there = column in row
        if not (MODEL["owned"][place][j] if place is not None else there):
            codes.append(absent)
            continue
        code = _code(_value(row, column if there else MODEL["aliases"].get(column, column)), feature)
        optional = not all(owned[j] for owned in MODEL["owned"])
        codes.append(absent if code == 0 and place is None and optional else code)
    codes.append(max(MODEL["task_codes"]) + 1 if place is None else MODEL["task_codes"][place])
    return codes


def _tree(k, codes):
    """The value of the leaf of tree k that a row falls into."""
    node = TREES["ends"][k]
    while TREES["feature"][node] >= 0:
        goes_left = TREES["left"][node] >> (255 - codes[TREES["feature"][node]]) & 1
        node = TREES["child"][node] + 1 - goes_left
    return TREES["value"][node]


def score(row, task=None):
    """The score of a row of a task$unit; any other task, or None, is served by the common trees."""
    place = 0 if task is None and len(PLACES) == 1 else PLACES.get(str(task))
    codes, found = _codes(row, place), 0.0
    for refit in MODEL["refits"]:
        first = refit["first_tree"]
        listed = list(range(first, first + refit["keeps"][-1 if place is None else place]))
        if place is not None:
            listed += range(refit["own_trees"][place], refit["own_trees"][place + 1])
        found += refit["base"] + sum(_tree(k, codes) for k in listed)
    return found / len(MODEL["refits"])

'''


def to_python(model: Any, title: str = "", unit: str = "") -> str:
    """Return a module of plain Python (3.11 or newer) that predicts as a fitted model; its docstring says how.

    `columns` returns the numbers of a row under their names in scored files and SQL, and so does the module as a
    program. `predict` returns the prediction; of a model with an exposure there are `rate` and `expected`, which takes
    one. For several classes, `predict` returns the likeliest, and `chances` the chance of each. Of a model with initial
    scores, all take one. unit : that of the target, for names.
    """
    formula = formula_of(model, unit)
    name = _safe(title or "A model of Shapewise.")
    named = "\n".join(wrap(", ".join(map(_safe, formula.names)), 120))
    parts = _parts(formula)
    telling = REASONS if isinstance(formula, Formula) and formula.reasons is not None else ""
    functions = (parts.body, *parts.answers, COLUMNS.substitute(taken=parts.taken, numbers=parts.numbers), telling)
    return HEAD.substitute(
        title=name, named=named, model=ascii(to_json(formula)), from_row=parts.from_row,
        functions="\n\n\n".join(code.strip("\n") for code in functions if code),
    )  # fmt: skip


def _safe(text: str) -> str:
    """Return a text that may stand in a docstring."""
    return ascii(text)[1:-1].replace('"', "'").replace("\\\\", "/")


@dataclass(frozen=True)
class _Parts:
    """What differs between kinds of models, as code. body : the score. answers : functions of what it stands for.
    taken : what `columns` takes beside a row. numbers : what it returns. from_row : what a program gives it of a
    row."""

    body: str
    numbers: str
    answers: tuple[str, ...] = ()
    taken: str = ""
    from_row: str = ""


def _parts(formula: AnyFormula) -> _Parts:
    """Return what differs between kinds of models."""
    if isinstance(formula, ClassFormula):
        return _Parts(SEVERAL, "*score(row).values(), *chances(row).values(), str(predict(row))")
    answer = PREDICTIONS[LOSSES[formula.loss].link_name].python
    if isinstance(formula, TaskFormula):
        body = Template(TASKS).substitute(unit=_of_unit(score_unit(LOSSES[formula.loss], formula.unit)))
        predict = PREDICT.substitute(name="predict", more=", task=None", what=_what(formula),
                                     answer=answer.replace("{score}", "score(row, task)"))  # fmt: skip
        return _Parts(body, "score(row, task), predict(row, task)", (predict,), ", task=None", ', row.get("task")')
    starts, is_rate = "init_score" in formula.given, "exposure" in formula.given
    more, passed = (", init_score=0.0", ", init_score") if starts else ("", "")
    body = Template(ADDITIVE).substitute(
        more=more, added=" + init_score" if starts else "", unit=_of_unit(formula.score_unit)
    )
    name = "rate" if is_rate else "predict"
    predict = PREDICT.substitute(name=name, more=more, what=_what(formula),
                                 answer=answer.replace("{score}", formula.linked(f"score(row{passed})")))  # fmt: skip
    numbers = f"score(row{passed}), {name}(row{passed})"
    from_row = ', init_score=row.get("init_score", 0.0)' if starts else ""
    if not is_rate:
        return _Parts(body, numbers, (predict,), more, from_row)
    expected = EXPECTED.substitute(more=more, passed=passed)
    return _Parts(body, f"{numbers}, expected(row, exposure{passed})", (predict, expected), f", exposure=None{more}",
                  f', exposure=row.get("exposure"){from_row}')  # fmt: skip


def _of_unit(unit: str) -> str:
    """Return the unit of a score, as words of a docstring."""
    return f" ({_safe(unit)})" if unit else ""


def _what(formula: Formula | TaskFormula) -> str:
    """Return what a prediction is, in words of a docstring."""
    if LOSSES[formula.loss].is_binary:
        second = formula.classes[1] if len(formula.classes) > 1 else 1
        return f"The prediction of a row: the chance of {_safe(str(second))}."
    if isinstance(formula, Formula) and "exposure" in formula.given:
        return "The rate of a row: the target per unit of exposure."
    return "The prediction of a row, in the target's units."
