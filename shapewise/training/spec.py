"""What is trained: plain values that a form gives, a run keeps and a worker reads."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.data.labels import as_date
from gamcore.data.table import TableError, kind_of, read_dates, read_numbers
from gamcore.estimators.presets import PRESETS, TASK_PRESETS

MOST_CLASSES = 50

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Condition:
    """A condition on a row: one of some levels, or a range (either end may be open); of a date, in days since 1970.

    high : the greatest value; below : what values stay under.
    """

    column: str
    levels: list[str] | None = None
    low: float | None = None
    high: float | None = None
    below: float | None = None
    date: bool = False

    def words(self) -> str:
        """The condition as a person would say it."""
        if self.levels is not None:
            return f"{self.column} is {' or '.join(self.levels)}"
        names = ("from", "until", "before") if self.date else ("at least", "at most", "below")
        ends = zip(names, (self.low, self.high, self.below), strict=True)
        told = [f"{name} {as_date(end).date() if self.date else f'{end:g}'}" for name, end in ends if end is not None]
        return f"{self.column} {' and '.join(told)}"

    def holds(self, frame: pd.DataFrame) -> Bools:
        """Rows (n,) that meet the condition; missing cells do not."""
        if self.column not in frame.columns:
            raise TableError(f"The row filter names {self.column!r}, which is not a column of the table.")
        series = frame[self.column]
        if self.levels is not None:
            return np.asarray(series.astype("string").isin(self.levels).fillna(False), bool)
        values = read_dates(series) if self.date else read_numbers(series)
        inside = np.isfinite(values)
        if self.low is not None:
            inside &= values >= self.low
        if self.high is not None:
            inside &= values <= self.high
        if self.below is not None:
            inside &= values < self.below
        return np.asarray(inside, bool)


@dataclass(frozen=True)
class Outcome:
    """One of several questions that a table's target answers, as a task: which levels count as 1, and which as 0."""

    name: str
    positive: list[str]
    negative: list[str]


@dataclass(frozen=True)
class Spec:
    """All that a training needs: what to learn from which rows, and how. Plain JSON through `asdict`.

    positive : levels of the target that count as 1; None for a numeric target.
    negative : levels that count as 0; None means all others.
    kind : "additive", or "tasks" for multi-task trees; their tasks are the levels of column `task`, or the outcomes, or
        the tables of `tables` (name: id), the specification's own among them.
    compare : whether independent and global trees are trained for comparison.
    """

    table: str
    target: str
    name: str
    features: list[str]
    positive: list[str] | None = None
    negative: list[str] | None = None
    conditions: list[Condition] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    weight: str | None = None
    group: str | None = None
    time: str | None = None
    preset: str = "balanced"
    changes: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    kind: Literal["additive", "tasks"] = "additive"
    task: str | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    tables: dict[str, str] = field(default_factory=dict)
    compare: bool = True
    bands: int = 30  # refits on halves of the rows, after the training; 0 for none

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Spec:
        """The inverse of `asdict`."""
        known = {name: told[name] for name in (f.name for f in fields(cls)) if name in told}
        conditions = [Condition(**c) for c in told.get("conditions", [])]
        outcomes = [Outcome(**o) for o in told.get("outcomes", [])]
        return cls(**{**known, "conditions": conditions, "outcomes": outcomes})

    def parameters(self) -> dict[str, Any]:
        """The preset's parameters with the user's changes on top."""
        return {**(TASK_PRESETS if self.kind == "tasks" else PRESETS)[self.preset], **self.changes}


Task = Literal["regression", "binary"]


def suggest_task(series: pd.Series) -> Task:
    """Numbers with many values are a regression target; anything else is a choice between levels."""
    numeric = kind_of(series) == "number" and series.nunique() > 10
    return "regression" if numeric else "binary"


def target_levels(series: pd.Series) -> list[str]:
    """Levels of a target with at most 50 of them, in order; a longer list is refused."""
    found = series.dropna().astype("string").unique().tolist()
    if len(found) > MOST_CLASSES:
        raise TableError(
            f"{series.name!r} has {len(found):,} different values: choose a number, or a column with at most "
            f"{MOST_CLASSES} levels."
        )
    try:
        return sorted(found, key=float)
    except ValueError:
        return sorted(found)
