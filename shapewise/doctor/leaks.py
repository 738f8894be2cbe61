"""Columns that may be known only after the outcome, each with the reason: the target in disguise, a step on the way to
it, something filled in later, a part of a sum that it is; or, as a doubt, one that says nearly all of it.

Suspects are looked for in a sample of rows, and what is said of them is counted in all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr

from gamcore.common.numbers import count, counted, exact, fixed, percent
from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.columns import Kind, TableError, read_dates, read_numbers, read_texts
from gamcore.data.labels import levels_in_words, listed, set_apart
from gamcore.data.table import Table, as_table
from shapewise.doctor.copies import MOST_CLASSES, rows_on_borders

SAMPLE_ROWS: Final = 20_000
LEAK_AUC: Final = 0.999
LEAK_CORRELATION: Final = 0.999
MOST_LEVELS: Final = 50
FEWEST_ROWS: Final = 50

STRONG_AUC: Final = 0.97
STRONG_RANKS: Final = 0.95
"""Strength of one column alone from which it is doubted: few things known before an outcome say so much of it."""

OFTEN_EQUAL: Final = 0.5
FEWEST_DISTINCT: Final = 10
"""Share of rows in which an amount equals another from which it is the same one, and least values of both."""

FEWEST_EXPECTED: Final = 20
MOST_EXCEPTIONS: Final = 0.005
"""A side of a column decides the outcome if at least 20 rows should have the other by chance, and under 0.5% of these
do."""

AFTER: Final = "may be known only after the outcome"
MOST_NAMED: Final = 3
NOTABLE: Final = 0.5
"""Most of a table that either the side not decided or the outcome may cover: else it says little."""

FEWEST_ZEROS: Final = 0.1
"""Least share of rows with its most frequent value for which a number is also an event: that it is another."""

MOST_SUMMED: Final = 100
EXACTLY: Final = 1e-9
"""Most columns for which a sum is looked for, and its largest error per standard deviation of the target."""

ABOUT: Final = 0.01
NEARLY_ALL: Final = 0.98
"""How near a product of two columns comes to the target, as a share of it, and in which share of the rows at least."""

MOST_ROWS_MULTIPLIED: Final = 500
"""Rows in which products are looked for first."""

LeakKind = Literal["reveals", "decides", "equals", "classes", "sum", "product", "strong"]


@dataclass(frozen=True)
class Leak:
    """Why a column may be known only after the outcome, as data.

    strength : AUC or correlation. side, value : the part of the column that decides, and its value. said : what the
    target then is (`is` or `is not`), of `levels`. rows, exceptions : of that side, in the whole table. sure : whether
    the column starts left out.
    """

    kind: LeakKind
    column: str
    target: str
    strength: float = math.nan
    measure: str = ""
    side: str = ""
    value: str = ""
    then: Literal["is", "is not"] = "is"
    levels: tuple[str, ...] = ()
    usual: str = ""
    rows: int = 0
    exceptions: int = 0
    others: tuple[str, ...] = field(default=())

    @property
    def sure(self) -> bool:
        """Whether the column starts left out; else it is only doubted."""
        return self.kind not in ("product", "strong")

    def words(self) -> str:
        """Return the reason as it is read."""
        match self.kind:
            case "reveals":
                return f"reveals the target on its own ({self._strength()})"
            case "strong":
                return (
                    f"says almost all of the target on its own ({self._strength()}): check that it is known before it"
                )
            case "equals":
                where = f" where that is not {self.usual}" if self.usual else ""
                equal = f"{count(self.rows - self.exceptions)} of {counted(self.rows, 'row')}{where}"
                return f"{AFTER}: it equals {self.target} in {equal}"
            case "classes":
                return f"reveals the target on its own: {self.others[0]} is {self.others[1]} cut into classes"
            case "sum":
                summed = listed([*self.others[:4], *["more"] * (len(self.others) > 4)])
                return f"{AFTER}: {self.target} is exactly a sum of {summed}"
            case "product":
                where = f"within {percent(ABOUT, 0)} in {count(self.rows - self.exceptions)} of {count(self.rows)} rows"
                return f"{AFTER}: {self.target} is {self.others[0]} {self.side} {self.others[1]}, {where}"
        side = self.side if self.side in ("filled", "missing") else f"{'not ' * (self.side == 'is not')}{self.value}"
        return f"{AFTER}: where it is {side}, {self.target} is {self._then()}"

    def _strength(self) -> str:
        return f"{self.measure} {fixed(self.strength, 3 if self.measure == 'AUC' else 4)}"

    def _then(self) -> str:
        named = levels_in_words(self.levels, "or")
        rows = f"of {counted(self.rows, 'row')}"
        if self.then == "is":
            return f"{named} in all but {count(self.exceptions)} {rows}" if self.exceptions else f"always {named}"
        return f"{named} in only {count(self.exceptions)} {rows}" if self.exceptions else f"never {named}"


@dataclass(frozen=True)
class Outcome:
    """A target (n,), NaN where unknown, and the event in it: for numbers, that it is not the usual value.

    said : what the target is where there is no event, and where there is one, as `Leak.then` and `Leak.levels`.
    """

    name: str
    y: Floats
    binary: bool
    event: Floats | None
    said: tuple[tuple[Literal["is", "is not"], tuple[str, ...]], ...] = ()
    usual: str = ""


def leaks(data: pd.DataFrame | Table, target: str, positive: list[str] | None, features: list[str]) -> dict[str, Leak]:
    """Return the features that may be known only after the outcome, with the reason.

    positive : levels of the target that count as 1; None for a number.
    """
    table = as_table(data)
    part = Table(table.frame.sample(min(len(table), SAMPLE_ROWS), random_state=0))
    kinds = {name: kind for name in features if name != target and (kind := _readable_kind(table, name))}
    outcome, whole = (_outcome(frame.frame[target], positive) for frame in (part, table))
    reasons: dict[str, Leak] = {}
    for name, kind in kinds.items():
        leak = _leak(part, name, kind, outcome)
        if leak is not None and len(part) < len(table):
            leak = _leak(table, name, kind, whole)  # what is said holds for all rows
        if leak is not None:
            reasons[name] = leak
    if positive is None:
        numbers = [
            name for name, kind in kinds.items() if kind == "number" and not (name in reasons and reasons[name].sure)
        ]
        reasons |= _summed(part.frame[numbers], outcome) or _multiplied(part, table, numbers, target)
    return {name: reasons[name] for name in features if name in reasons}


def _readable_kind(table: Table, name: str) -> Kind | None:
    """Return the kind of a column all of whose cells can be read; None for others, which no model can have either."""
    kind = table.usable_kind(name)
    try:
        cells = None if kind is None else _numbers_of(table.frame[name], kind)
    except TableError:
        return None
    return None if cells is None else kind


def _numbers_of(series: pd.Series, kind: Kind) -> Floats | Ints:
    """Return the cells (n,) of a column: numbers, days, or codes of levels."""
    if kind == "number":
        return read_numbers(series)
    return read_dates(series) if kind == "date" else read_texts(series)[0]


def _leak(table: Table, name: str, kind: Kind, outcome: Outcome) -> Leak | None:
    """Return why a column may be known only later, the surest reason first."""
    series = table.frame[name]
    strength = _strength(series, kind, outcome)
    if strength is not None and strength.kind == "reveals":
        return strength
    return (_equals(series, kind, outcome) or _decides(series, kind, outcome) or
            _classes(series, table.frame[outcome.name], kind, table.kind(outcome.name)) or strength)  # fmt: skip


def _outcome(goal: pd.Series, positive: list[str] | None) -> Outcome:
    name = str(goal.name)
    if positive is not None:
        texts = goal.astype("string")
        y = texts.isin(positive).fillna(False).to_numpy(np.float64)
        y[goal.isna().to_numpy()] = np.nan
        others = [str(level) for level in texts.dropna().unique() if level not in positive]
        yes = tuple(positive) if len(positive) <= MOST_NAMED else ("positive",)
        no: tuple[Literal["is", "is not"], tuple[str, ...]] = (
            ("is", (others[0],)) if len(others) == 1 else ("is not", yes)
        )
        return Outcome(name, y, binary=True, event=y, said=(no, ("is", yes)))
    y = read_numbers(goal)
    values, counts = np.unique(y[np.isfinite(y)], return_counts=True)
    if not counts.size or counts.max() < FEWEST_ZEROS * counts.sum() or counts.size < 2:
        return Outcome(name, y, binary=False, event=None)
    usual = float(values[counts.argmax()])
    event = np.where(np.isnan(y), np.nan, y != usual)
    shown = (exact(usual),)
    return Outcome(name, y, binary=False, event=event, said=(("is", shown), ("is not", shown)), usual=shown[0])


def _numbers(series: pd.Series, kind: Kind, outcome: Outcome) -> Floats | None:
    """Return a column (n,) as numbers: levels as the share of the event at each; None where that says nothing."""
    if kind in ("number", "date"):
        return read_numbers(series) if kind == "number" else read_dates(series)
    codes, names = read_texts(series)
    known = np.isfinite(outcome.y)
    if len(names) > MOST_LEVELS or not outcome.binary:
        return None
    sums = np.bincount(codes[known] + 1, outcome.y[known], minlength=len(names) + 1)
    means: Floats = (sums / np.maximum(np.bincount(codes[known] + 1, minlength=len(names) + 1), 1))[codes + 1]
    return means


def auc_of(y: Floats, x: Floats) -> float:
    """Return the AUC of numbers (n,) for outcomes (n,) of 0 and 1, both there: the share of pairs that are in order.

    It is that of `sklearn.metrics.roc_auc_score`, whose checks of a column take longer than all else that is asked.
    """
    ones, ranks = float(y.sum()), rankdata(x)
    return float((ranks @ y - ones * (ones + 1) / 2) / (ones * (y.size - ones)))


def _strength(series: pd.Series, kind: Kind, outcome: Outcome) -> Leak | None:
    """Return that a column says all of the target on its own, or almost all."""
    x, y = _numbers(series, kind, outcome), outcome.y
    if x is None:
        return None
    known = np.isfinite(y) & np.isfinite(x)
    if known.sum() < FEWEST_ROWS or np.ptp(y[known]) == 0 or np.ptp(x[known]) == 0:
        return None
    leak = Leak("reveals", str(series.name), outcome.name)
    if outcome.binary:
        auc = auc_of(y[known], x[known])
        strength = float(max(auc, 1 - auc))
        enough = min(y[known].sum(), (1 - y[known]).sum()) >= FEWEST_EXPECTED
        if strength > LEAK_AUC:
            return replace(leak, strength=strength, measure="AUC")
        return (
            replace(leak, kind="strong", strength=strength, measure="AUC") if strength > STRONG_AUC and enough else None
        )
    strength = abs(float(np.corrcoef(x[known], y[known])[0, 1]))
    if strength > LEAK_CORRELATION:
        return replace(leak, strength=strength, measure="correlation")
    varied = known & (outcome.event == 1) if outcome.event is not None else known
    if varied.sum() < FEWEST_ROWS or np.ptp(x[varied]) == 0 or np.ptp(y[varied]) == 0:
        return None
    ranks = abs(float(spearmanr(x[varied], y[varied]).statistic))
    if ranks > LEAK_CORRELATION and outcome.event is None:  # its logarithm, or another form of it
        return replace(leak, strength=ranks, measure="rank correlation")
    where = f" where {outcome.name} is not {outcome.usual}" if outcome.usual else ""
    measure = f"rank correlation{where}"
    return replace(leak, kind="strong", strength=ranks, measure=measure) if ranks > STRONG_RANKS else None


def _equals(series: pd.Series, kind: Kind, outcome: Outcome) -> Leak | None:
    """Return that an amount equals the target in most rows, of those where that is not its usual value."""
    if kind != "number" or outcome.binary:
        return None
    x, y = read_numbers(series), outcome.y
    known = np.isfinite(x) & np.isfinite(y)
    known = known & (outcome.event == 1) if outcome.event is not None else known
    equal = known & (x == y)
    if (
        known.sum() < FEWEST_ROWS
        or equal.sum() < OFTEN_EQUAL * known.sum()
        or np.unique(y[equal]).size < FEWEST_DISTINCT
    ):
        return None
    rows = int(known.sum())
    return Leak("equals", str(series.name), outcome.name, usual=outcome.usual, rows=rows,
                exceptions=rows - int(equal.sum()))  # fmt: skip


def _classes(series: pd.Series, goal: pd.Series, kind: Kind, kind_of_goal: Kind) -> Leak | None:
    """Return that a column is the target cut into classes, or the target is that of it."""
    for finer, coarser, of_finer in ((series, goal, kind), (goal, series, kind_of_goal)):
        if of_finer not in ("number", "date"):
            continue
        values = read_numbers(finer) if of_finer == "number" else read_dates(finer)
        codes, levels = pd.factorize(coarser, use_na_sentinel=True)
        if 2 <= len(levels) <= MOST_CLASSES and rows_on_borders(np.asarray(codes), values, len(levels)) is not None:
            return Leak("classes", str(series.name), str(goal.name), others=(str(coarser.name), str(finer.name)))
    return None


def _sides(series: pd.Series, kind: Kind) -> Iterator[tuple[Bools, Bools, tuple[str, str], tuple[str, str]]]:
    """Yield the natural parts of a column in two: where it is one thing, where it is the other, and what these are."""
    filled = series.notna().to_numpy()
    yield filled, ~filled, ("filled", ""), ("missing", "")
    if kind == "date":
        return
    if kind == "number":
        numbers = read_numbers(series)
        values = np.unique(numbers[filled])
        if values.size == 2:
            yield numbers == values[1], numbers == values[0], ("is", exact(values[1])), ("is", exact(values[0]))
        elif values.size > 2 and (numbers == 0).sum() == _most(numbers[filled]):  # 0 is no value like others
            yield filled & (numbers != 0), numbers == 0, ("is not", "0"), ("is", "0")
        return
    codes, names = read_texts(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    if len(names) < 2:
        return
    usual = int(counts.argmax())
    others = ("is", set_apart(names[1 - usual])) if len(names) == 2 else ("is not", set_apart(names[usual]))
    yield filled & (codes != usual), codes == usual, others, ("is", set_apart(names[usual]))


def _most(numbers: Floats) -> int:
    """Return how often the most frequent number occurs."""
    return int(np.unique(numbers, return_counts=True)[1].max())


def _decides(series: pd.Series, kind: Kind, outcome: Outcome) -> Leak | None:
    """Return that one side of a column always goes with the same outcome, as what is filled in later does."""
    if outcome.event is None:
        return None
    known = np.isfinite(outcome.event)
    for first, other, inside, outside in _sides(series, kind):
        for side, rest, (relation, value) in ((first, other, inside), (other, first, outside)):
            for event in (1, 0):
                holds = outcome.event[known] == event
                if _always(holds, side[known], rest[known]):
                    then, levels = outcome.said[event]
                    wrong = int((~holds)[side[known]].sum())
                    return Leak("decides", str(series.name), outcome.name, side=relation, value=value, then=then,
                                levels=levels, rows=int(side[known].sum()), exceptions=wrong)  # fmt: skip
    return None


def _always(event: Bools, side: Bools, rest: Bools) -> bool:
    """Return whether an event always holds on one side of a column, which by chance it would not."""
    n = max(int((side | rest).sum()), 1)
    share = float(event[side | rest].mean()) if (side | rest).any() else 1.0
    expected = float(side.sum() * (1 - share))
    if expected < FEWEST_EXPECTED or min(share, rest.sum() / n) > NOTABLE:
        return False
    return bool((~event)[side].sum() <= MOST_EXCEPTIONS * expected)


def _summed(numbers: pd.DataFrame, outcome: Outcome) -> dict[str, Leak]:
    """Return the columns of which the target is a sum, with weights, in every row."""
    names = list(numbers.columns)[:MOST_SUMMED]
    if not names:
        return {}
    columns = np.array([read_numbers(numbers[name]) for name in names]).reshape(len(names), -1)
    known = np.isfinite(outcome.y) & np.isfinite(columns).all(axis=0)
    spread = float(np.std(outcome.y[known])) if known.any() else 0.0
    if known.sum() < max(FEWEST_ROWS, 5 * len(names)) or spread == 0:
        return {}
    center, scale = columns[:, known].mean(axis=1), columns[:, known].std(axis=1)
    varied = scale > 0
    X = ((columns[varied][:, known].T) - center[varied]) / scale[varied]
    y = (outcome.y[known] - outcome.y[known].mean()) / spread
    weights, *_ = np.linalg.lstsq(X, y, rcond=None)
    if np.abs(X @ weights - y).max() > EXACTLY * 1e3:
        return {}
    kept = [name for name, weight in zip(np.array(names)[varied], weights, strict=True) if abs(weight) > 1e-6]
    parts = tuple(map(str, kept))
    return {name: Leak("sum", name, outcome.name, others=parts) for name in parts}


def _multiplied(part: Table, table: Table, names: list[str], target: str) -> dict[str, Leak]:
    """Return two columns whose product, or one over the other, is the target, as a total is a price times a quantity.

    part : the rows to look at first. names : of numbers.
    """
    names = names[:MOST_SUMMED]
    some = part.take(np.arange(len(part)) < MOST_ROWS_MULTIPLIED)
    y, X = read_numbers(some.frame[target]), np.array([read_numbers(some.frame[name]) for name in names])
    for k, name in enumerate(names):
        for side, expected in (("times", y / np.where(X[k] == 0, np.nan, X[k])), ("over", y * X[k])):
            near = np.abs(X - expected) <= ABOUT * np.abs(expected)
            known = np.isfinite(X) & np.isfinite(expected) & (expected != 0)
            enough = (known.sum(axis=1) >= FEWEST_ROWS) & ((near & known).sum(axis=1) >= NEARLY_ALL * known.sum(axis=1))
            for other in np.flatnonzero(enough):
                pair = (names[int(other)], name)
                if int(other) != k and (leak := _product(table, target, pair, side)) is not None:
                    return {column: replace(leak, column=column) for column in pair}
    return {}


def _product(table: Table, target: str, pair: tuple[str, str], side: str) -> Leak | None:
    """Return that the target is one of two columns times, or over, the other, in nearly all rows; None where it is not,
    or where one of them alone says as much."""
    y, first, second = (read_numbers(table.frame[name]) for name in (target, *pair))
    known = np.isfinite(y) & np.isfinite(first) & np.isfinite(second) & (y != 0) & (second != 0)
    y, first, second = y[known], first[known], second[known]
    rows = y.size
    near = np.abs((first * second if side == "times" else first / second) - y) <= ABOUT * np.abs(y)
    one_is_enough = any(
        float(pd.Series(y / factor).round(6).value_counts().iloc[0]) > OFTEN_EQUAL * rows
        for factor in (first, second) if rows and (factor != 0).all()
    )  # fmt: skip
    if rows < FEWEST_ROWS or near.sum() < NEARLY_ALL * rows or one_is_enough:
        return None
    return Leak("product", pair[0], target, side=side, others=pair, rows=rows, exceptions=rows - int(near.sum()))
