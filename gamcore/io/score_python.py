"""A model as one Python module without dependencies: the model's JSON, and the code that scores a row with it."""

from __future__ import annotations

from string import Template
from typing import Any, Final

from gamcore.explain.reasons import LEAST
from gamcore.io.formula import PREDICTIONS, AnyFormula, ClassFormula, Formula, TaskFormula, formula_of
from gamcore.io.score_json import to_json
from gamcore.model.losses import LOSSES

HEAD: Final = Template('''\
"""$title

predict(row) scores a row, a dict by column; None, NaN or an absent key is missing. As a program it reads rows as JSON,
one per line, and writes their predictions: python model.py < rows.jsonl
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

$body

def predict(row$more):
    """The prediction of a row: $what."""
    $answer
$reasons

if __name__ == "__main__":
    for line in sys.stdin:
        print(repr(predict(json.loads(line)$from_row)))
''')

SUM: Final = '''
def _sum(tables, codes):
    """The score of a row by some tables."""
    total = tables["intercept"]
    for term in tables["terms"]:
        total += term["scores"][codes[term["feature"]]]
    for pair in tables["pairs"]:
        first, second = pair["features"]
        total += pair["scores"][codes[first]][codes[second]]
    return total


def _codes(row):
    """The bins of a row's features."""
    return [_code(_value(row, feature["column"]), feature) for feature in MODEL["features"]]

'''

ADDITIVE: Final = (
    SUM
    + '''
def score(row):
    """The score of a row, on the link scale."""
    return _sum(MODEL, _codes(row))

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
            first, second = MODEL["pairs"][place]["features"]
            part += share * MODEL["pairs"][place]["scores"][codes[first]][codes[second]]
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

'''
)

OF_CLASSES: Final = """given = score(row)
    most = max(given.values())
    odds = {name: math.exp(one - most) for name, one in given.items()}
    return {name: one / sum(odds.values()) for name, one in odds.items()}"""

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
    """The score of a row of a task, on the link scale; any other task, or None, is served by the common trees."""
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


def to_python(model: Any, title: str = "") -> str:
    """Return a module of plain Python (3.11 or newer) that predicts as a fitted model; its docstring says how.

    For several classes, `predict` returns the probability of each by its name. For a model trained with exposures it
    takes one, and with initial scores, too.
    """
    formula = formula_of(model)
    name = ascii(title or "A model of Shapewise.")[1:-1].replace('"', "'").replace("\\\\", "/")
    parts = _parts(formula)
    telling = REASONS if isinstance(formula, Formula) and formula.reasons is not None else "\n"
    return HEAD.substitute(title=name, model=ascii(to_json(formula)), reasons=telling, **parts)


def _parts(formula: AnyFormula) -> dict[str, str]:
    """Return what differs between kinds of models, as code and words."""
    if isinstance(formula, ClassFormula):
        return {"body": SEVERAL, "more": "", "what": "the chance of each class", "answer": OF_CLASSES, "from_row": ""}
    second = ascii(str(formula.classes[1]))[1:-1] if len(formula.classes) > 1 else "1"
    binary = LOSSES[formula.loss].is_binary
    what = f"the chance of {second}".replace('"', "'") if binary else "in the target's units"
    answer = PREDICTIONS[formula.loss].python
    if isinstance(formula, TaskFormula):
        from_row = ', json.loads(line).get("task")'
        answer = answer.replace("{score}", "score(row, task)")
        return {"body": TASKS, "more": ", task=None", "what": what, "answer": answer, "from_row": from_row}
    more = "".join(f", {name}={default}" for name, default in DEFAULTS.items() if name in formula.given)
    if "exposure" in formula.given:
        what += ", a rate times the exposure"
        answer = answer.replace("return ", "return exposure * ")
    score = "score(row) + init_score" if "init_score" in formula.given else "score(row)"
    answer = answer.replace("{score}", formula.linked(score))
    read = "".join(f", {name}=json.loads(line).get({name!r}, {default})"
                   for name, default in DEFAULTS.items() if name in formula.given)  # fmt: skip
    return {"body": ADDITIVE, "more": more, "what": what, "answer": answer, "from_row": read}


DEFAULTS: Final = {"exposure": 1.0, "init_score": 0.0}
"""What a row is given unless somebody says otherwise."""
