"""Formulas worked out cell by cell in plain Python: the slow twin of `columns.evaluate`. None is missing."""

from __future__ import annotations

import math
from datetime import date
from itertools import pairwise

from shapewise.columns.formula import Call, Chain, Column, Constant


def _power(a, b):
    if a == 0 and b < 0:
        return None
    if a < 0 and b != int(b):
        return None
    return a**b


COMPARE = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip


def _label(value):
    """What a value is called in a crossing: numbers and truth by their shortest names."""
    if isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) else repr(float(value))


STRICT = COMPARE | {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "**": _power, "negative": lambda a: -a,
    "/": lambda a, b: a / b if b else None, "ratio": lambda a, b: a / b if b else None, "abs": abs,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else None, "log": lambda a: math.log(a) if a > 0 else None,
    "exp": math.exp, "floor": math.floor, "min": min, "max": max, "round": lambda a, d=0: float(round(a * 1.0, int(d))),
    "not": lambda a: not a, "contains": lambda a, b: b in a,
    "cross": lambda *of: " · ".join(map(_label, of)),
    "year": lambda d: d.year, "month": lambda d: d.month, "day": lambda d: d.day, "weekday": lambda d: d.isoweekday(),
    "hour": lambda d: d.hour, "days_between": lambda a, b: (b - a).total_seconds() / 86400,
}  # fmt: skip


def cell(node, row):
    """What a formula gives for one row, a dict."""
    if isinstance(node, Column):
        return row[node.name]
    if isinstance(node, Constant):
        return node.value
    of = [cell(part, row) for part in node.parts]
    if isinstance(node, Chain):
        truths = [None if None in pair else COMPARE[sign](*pair)
                  for (sign, _), pair in zip(node.signs, pairwise(of), strict=True)]  # fmt: skip
        return False if False in truths else None if None in truths else True
    assert isinstance(node, Call)
    match node.function:
        case "and":
            return False if False in of else None if None in of else True
        case "or":
            return True if True in of else None if None in of else False
        case "if":
            return None if of[0] is None else of[1] if of[0] else of[2]
        case "missing":
            return of[0] is None
        case "if_missing":
            return of[1] if of[0] is None else of[0]
        case "one_of":
            return None if of[0] is None else of[0] in [one for one in of[1:] if one is not None]
        case "combine":
            return None if of[0] is None else of[1] if of[0] in [one for one in of[2:] if one is not None] else of[0]
    if None in of:
        return None
    try:
        made = STRICT[node.function](*of)
    except (OverflowError, ValueError, ZeroDivisionError):
        return None
    if isinstance(made, float | int) and not math.isfinite(made):
        return None
    return made


def same(one, other):
    """Whether two cells are the same, numbers up to rounding."""
    if one is None or other is None or isinstance(one, str | date) or isinstance(other, str | date):
        return one == other
    return math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-9)
