"""Whether what the doctor says of a column is so: every cell is looked at, by no code of the doctor's."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd

from gamcore.data.columns import TableError, kind_of, level_name, read_dates, read_numbers, read_texts
from gamcore.data.dates import stamp
from shapewise.doctor.findings import Finding
from shapewise.doctor.leaks import Leak


def cells_of(series):
    """The cells of a column: numbers, days since 1970 or names of levels, None for missing."""
    kind = kind_of(series)
    if kind in ("number", "date"):
        values = read_numbers(series) if kind == "number" else read_dates(series)
        return [None if math.isnan(value) else value for value in values.tolist()]
    codes, names = read_texts(series)
    return [None if code < 0 else names[code] for code in codes.tolist()]


def holds(finding: Finding, frame: pd.DataFrame) -> bool:
    """Whether the rows bear out what is said of a column."""
    series = frame[finding.column]
    if finding.kind == "unusable":
        return is_unusable(series)
    if finding.kind in ("later", "task"):
        return True  # said of a name, and of how other columns are filled
    cells = cells_of(series)
    present = [cell for cell in cells if cell is not None]
    if finding.kind == "copy":
        return is_copy(finding, cells, cells_of(frame[finding.of]))
    if finding.kind == "cut":
        return is_cut(cells, cells_of(frame[finding.of]), finding.distinct, finding.rows)
    counts = {
        "empty": lambda: not present and len(cells) > 0,
        "constant": lambda: len(set(present)) == 1 and (len(present), len(cells)) == (finding.rows, finding.n),
        "sparse": lambda: (len(present), len(cells)) == (finding.rows, finding.n) and 2 * len(present) < len(cells),
        "id": lambda: (len(set(present)), len(present)) == (finding.distinct, finding.n),
        "group": lambda: (len(set(present)), len(present)) == (finding.distinct, finding.n) != (len(present),) * 2,
        "levels": lambda: len(set(present)) == finding.distinct and all(float(cell).is_integer() for cell in present),
        "yes or no": lambda: set(present) == {0.0, 1.0},
        "days": lambda: all(is_day(cell) for cell in present),
        "large": lambda: max(abs(cell) for cell in present) > 2**53,
        "pooled": lambda: len(set(present)) == finding.distinct,
        "missing code": lambda: are_codes(finding, present),
        "open end": lambda: is_open_end(finding, [stamp(math.floor(cell))[:10] for cell in present]),
    }  # fmt: skip
    return counts[finding.kind]()


def is_unusable(series):
    try:
        len(set(cells_of(series)))
    except (TableError, TypeError):
        return True
    return False


def is_day(cell):
    try:
        pd.Timestamp(year=int(cell) // 10000, month=int(cell) // 100 % 100, day=int(cell) % 100)
    except ValueError:
        return False
    return float(cell).is_integer()


def are_codes(finding, present):
    """Whether codes are in as many rows as is said, and beyond all others where that is said."""
    coded = [cell for cell in present if level_name(cell) in finding.values]
    others = [cell for cell in present if level_name(cell) not in finding.values]
    if len(coded) != finding.rows or {level_name(cell) for cell in coded} != set(finding.values):
        return False
    if not finding.nearest:
        return True
    if "lowest" in finding.words():
        return max(coded) < min(others) == float(finding.nearest)
    return "highest" in finding.words() and min(coded) > max(others) == float(finding.nearest)


def is_open_end(finding, days):
    others = [day for day in days if day != finding.values[0]]
    return days.count(finding.values[0]) == finding.rows and finding.nearest in (min(others), max(others))


def is_copy(finding, cells, others):
    both = list(zip(cells, others, strict=True))
    if finding.relabelled:
        return len(set(both)) == len(set(cells)) == len(set(others))
    return len(both) == finding.n and sum(a == b for a, b in both) == finding.rows


def is_cut(classes, numbers, distinct, on_borders=None):
    """Whether each class is one range of a number, in all rows that have both but `on_borders` on a border of two."""
    known = [(a, b) for a, b in zip(classes, numbers, strict=True) if a is not None and b is not None]
    of_value = {value: {a for a, b in known if b == value} for value in {b for _, b in known}}
    borders = [value for value, both in of_value.items() if len(both) > 1]
    spans = sorted(
        (min(b for a, b in known if a == one), max(b for a, b in known if a == one)) for one in {a for a, _ in known}
    )
    in_order = all(high <= low for (_, high), (low, _) in itertools.pairwise(spans))
    shared = sum(b in borders for _, b in known)
    return len(spans) == distinct and in_order and on_borders in (None, shared)


def leak_holds(leak: Leak, frame: pd.DataFrame, positive: list[str] | None) -> bool:
    """Whether the rows bear out the reason why a column may be known only later."""
    x, y = cells_of(frame[leak.column]), cells_of(frame[leak.target])
    both = [(a, b) for a, b in zip(x, y, strict=True) if b is not None]
    if leak.kind == "decides":
        side = {
            "filled": lambda a: a is not None, "missing": lambda a: a is None,
            "is": lambda a: a is not None and same(a, leak.value),
            "is not": lambda a: a is not None and not same(a, leak.value),
        }[leak.side]  # fmt: skip
        there = [b for a, b in both if side(a)]
        hit = [any(same(b, level) for level in leak.levels) for b in there]
        wrong = sum(not one for one in hit) if leak.then == "is" else sum(hit)
        words = leak.words()
        return (len(there), wrong) == (leak.rows, leak.exceptions) and ("always" in words or "never" in words) == (
            not wrong
        )
    if leak.kind == "equals":
        there = [(a, b) for a, b in both if a is not None and not (leak.usual and same(b, leak.usual))]
        return (len(there), sum(a != b for a, b in there)) == (leak.rows, leak.exceptions)
    if leak.kind == "classes":
        coarser, finer = leak.others
        classes = cells_of(frame[coarser])
        return is_cut(classes, cells_of(frame[finer]), len({one for one in classes if one is not None}))
    if leak.kind == "product":
        one, other = (cells_of(frame[name]) for name in leak.others)
        there = [
            (a, b, c) for a, b, c in zip(one, other, y, strict=True) if None not in (a, b, c) and c != 0 and b != 0
        ]
        near = sum(abs((a * b if leak.side == "times" else a / b) - c) <= 0.01 * abs(c) for a, b, c in there)
        return (len(there), len(there) - near) == (leak.rows, leak.exceptions)
    if leak.kind == "sum":
        return is_sum(leak, frame)
    return math.isclose(leak.strength, strength(leak, both, positive), abs_tol=1e-9)


def same(cell, text):
    return (level_name(cell) if isinstance(cell, float) else str(cell)) == text.replace(",", "") or str(cell) == text


def is_sum(leak, frame):
    X = frame[list(leak.others)].astype(float)
    known = X.notna().all(axis=1) & frame[leak.target].notna()
    X, y = np.c_[np.ones(known.sum()), X[known]], frame.loc[known, leak.target].astype(float)
    return float(np.abs(X @ np.linalg.lstsq(X, y, rcond=None)[0] - y).max()) < 1e-6 * float(y.std())


def strength(leak, both, positive):
    """AUC by all pairs, or a correlation of values or of ranks, of numbers; for texts, missing is a level."""
    is_text = any(isinstance(a, str) for a, _ in both)
    known = [("" if a is None else a, b) for a, b in both if is_text or a is not None]
    if leak.measure.startswith("rank") and " not " in leak.measure:
        known = [(a, b) for a, b in known if not same(b, leak.measure.split(" not ")[1])]
    x, y = pd.Series([a for a, _ in known]), pd.Series([b for _, b in known])
    if leak.measure != "AUC":
        ranks = leak.measure.startswith("rank")
        return abs(float(np.corrcoef(x.rank() if ranks else x, y.rank() if ranks else y)[0, 1]))
    hit = pd.Series([any(same(one, level) for level in positive) for one in y])
    if x.dtype == object or str(x.dtype).startswith("str"):
        x = x.map(hit.groupby(x).mean())
    ones, zeros = x[hit].to_numpy(), x[~hit].to_numpy()
    auc = float(((ones[:, None] > zeros) + 0.5 * (ones[:, None] == zeros)).mean())
    return max(auc, 1 - auc)
