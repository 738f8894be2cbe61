"""What is trained: plain values that a form gives, a run keeps and a worker reads."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import pandas as pd

from gamcore.data.table import TableError, kind_of
from gamcore.decide.rules import Levels, Range, Rule
from gamcore.decide.rules_json import from_dict
from gamcore.estimators.presets import PRESETS, TASK_PRESETS

MOST_CLASSES = 50


@dataclass(frozen=True)
class Outcome:
    """One of several questions that a table's target answers, as a task: which levels count as 1, and which as 0."""

    name: str
    positive: list[str]
    negative: list[str]


@dataclass(frozen=True)
class Spec:
    """All that a training needs: what to learn from which rows, and how. Plain JSON through `to_dict`.

    positive : levels of the target that count as 1; None for a numeric target.
    negative : levels that count as 0; None means all others.
    conditions : rules that all rows meet, a missing cell none of them.
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
    conditions: list[Rule] = field(default_factory=list)
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
    def from_dict(cls, plain: dict[str, Any]) -> Spec:
        """Return the inverse of `to_dict`."""
        known = {name: plain[name] for name in (f.name for f in fields(cls)) if name in plain}
        conditions = [_rule(kept) for kept in plain.get("conditions", [])]
        outcomes = [Outcome(**outcome) for outcome in plain.get("outcomes", [])]
        return cls(**{**known, "conditions": conditions, "outcomes": outcomes})

    def to_dict(self) -> dict[str, Any]:
        """Return the specification as plain JSON."""
        return {**asdict(self), "conditions": [rule.to_dict() for rule in self.conditions]}

    def filter_words(self) -> str:
        """Return the rows it is about, as a person would say it; empty where these are all."""
        return " and ".join(rule.words() for rule in self.conditions)

    def filter_columns(self) -> list[str]:
        """Return the columns that its row filter asks for."""
        return [column for rule in self.conditions for column in rule.columns]

    def parameters(self) -> dict[str, Any]:
        """Return the preset's parameters with the user's changes on top."""
        return {**(TASK_PRESETS if self.kind == "tasks" else PRESETS)[self.preset], **self.changes}


TargetKind = Literal["regression", "binary"]


def suggest_task(series: pd.Series) -> TargetKind:
    """Return the numbers with many values are a regression target; anything else is a choice between levels."""
    numeric = kind_of(series) == "number" and series.nunique() > 10
    return "regression" if numeric else "binary"


def target_levels(series: pd.Series) -> list[str]:
    """Return the levels of a target with at most 50 of them, in order; a longer list is refused."""
    levels = series.dropna().astype("string").unique().tolist()
    if len(levels) > MOST_CLASSES:
        raise TableError(
            f"{series.name!r} has {len(levels):,} different values: choose a number, or a column with at most "
            f"{MOST_CLASSES} levels."
        )
    try:
        return sorted(levels, key=float)
    except ValueError:
        return sorted(levels)


def _rule(kept: Any) -> Rule:
    """Return a condition of a row filter, also as it was kept before conditions were rules."""
    if not isinstance(kept, dict) or "levels" not in kept:
        return from_dict(kept)
    if kept["levels"] is not None:
        return Levels(kept["column"], tuple(kept["levels"]))
    high = kept.get("high") if kept.get("high") is not None else kept.get("below")
    return Range(
        kept["column"], kept.get("low"), high, high_in=kept.get("high") is not None, date=bool(kept.get("date"))
    )
