"""Training specifications: plain values that a form creates, a run stores and a worker reads."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import pandas as pd
from pandas.api import types

from gamcore.common.numbers import counted
from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.data.columns import TableError
from gamcore.decide.rules import Levels, Range, Rule
from gamcore.decide.rules_json import from_dict
from gamcore.estimators.presets import PRESETS, TASK_PRESETS
from shapewise.columns.targets_found import MOST_LEVELS
from shapewise.training.goals import GOALS, KINDS, GoalKind


@dataclass(frozen=True)
class Outcome:
    """A task defined by levels of the target: which count as 1, and which as 0."""

    name: str
    positive: list[str]
    negative: list[str]


@dataclass(frozen=True)
class Treatment:
    """The arms of an experiment whose effect on the target is to be learnt.

    arm : the column that tells who got what. level, control : two of its levels. share : of the rows of both, those
    that were to get `level`. percent : whether the target is 0 and 1, so that effects are in points. known_by : the
    model that keeps what is expected of each row; empty before it is trained.
    """

    arm: str
    level: str
    control: str
    share: float = 0.5
    percent: bool = False
    known_by: str = ""


@dataclass(frozen=True)
class Spec:
    """Everything a training needs: the target, the rows and the settings. Plain JSON through `to_dict`.

    goal : the kind of target (`goals`); empty for models from before there were any, see `kind_of_target`.
    positive : levels of the target that count as 1; None unless the goal is "binary".
    negative : levels that count as 0; None means all others.
    classes : levels of the target that are classes; None for all.
    exposure : a column that counts and amounts are divided by; predictions are then rates.
    quantile : the share of rows that a prediction of the goal "quantile" is above.
    conditions : rules that every row must meet; a missing cell meets none.
    kind : "additive", or "tasks" for multi-task trees. The tasks are the levels of column `task`, or the outcomes, or
        the tables in `tables` (name: id), which include the specification's own.
    compare : whether independent and global trees are trained for comparison.
    treatment : of an experiment, if its effect on the target is to be learnt instead of the target.
    keep_counts : whether counts of the rows are kept beside the model, so that rows can be added to it later.
    codes : those that mean missing, by table and column, as the model read them; None before it is trained, when the
        tables' present ones count.
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
    goal: str = ""
    classes: list[str] | None = None
    exposure: str | None = None
    quantile: float = 0.9
    bands: int = 30  # half-sample refits after the training; 0 for none
    codes: dict[str, dict[str, list[str]]] | None = None
    keep_counts: bool = False
    treatment: Treatment | None = None

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Spec:
        """Return the specification that `to_dict` wrote."""
        known = {name: plain[name] for name in (f.name for f in fields(cls)) if name in plain}
        conditions = [_rule(kept) for kept in plain.get("conditions", [])]
        outcomes = [Outcome(**outcome) for outcome in plain.get("outcomes", [])]
        codes = plain.get("codes", {})  # models trained before there were any
        treatment = Treatment(**plain["treatment"]) if plain.get("treatment") else None
        return cls(**{**known, "conditions": conditions, "outcomes": outcomes, "codes": codes, "treatment": treatment})

    def to_dict(self) -> dict[str, Any]:
        """Return the specification as plain JSON."""
        return {**asdict(self), "conditions": [rule.to_dict() for rule in self.conditions]}

    def codes_of(self, table: str) -> dict[str, list[str]] | None:
        """Return the codes that mean missing in one of its tables; None before it is trained."""
        return None if self.codes is None else self.codes.get(table, {})

    def filter_words(self, names: Names = AS_THEY_ARE) -> str:
        """Return the row filter in words; empty if there is none."""
        return " and ".join(rule.words(names) for rule in self.conditions)

    def filter_columns(self) -> list[str]:
        """Return the columns that the row filter uses."""
        return [column for rule in self.conditions for column in rule.columns]

    def parameters(self) -> dict[str, Any]:
        """Return the preset's parameters with the user's changes on top."""
        return {**(TASK_PRESETS if self.kind == "tasks" else PRESETS)[self.preset], **self.changes}

    @property
    def kind_of_target(self) -> GoalKind:
        """The kind of target."""
        known = next((kind for kind in KINDS if kind == self.goal), None)
        return known or ("number" if self.positive is None else "binary")

    @property
    def loss(self) -> str:
        """The name of the loss that a training minimises."""
        kind = self.kind_of_target
        return GOALS[kind].objective or ("softmax" if kind == "classes" else "logistic")

    def objective(self) -> dict[str, Any]:
        """Return the settings of an estimator that follow from the kind of target."""
        kind = self.kind_of_target
        wanted = GOALS[kind].objective
        if wanted in (None, "squared"):
            return {}
        more: dict[str, dict[str, Any]] = {"quantile": {"quantile": self.quantile}, "spend": {"power": "auto"}}
        return {"objective": wanted, **more.get(kind, {})}


def labels_of(series: pd.Series) -> pd.Series:
    """Return a target's cells as names of levels; a missing cell, which turns 1 into 1.0, does not change a name."""
    texts = series.astype("string")
    return texts.str.removesuffix(".0") if types.is_float_dtype(series.dtype) else texts


def labels_as(series: pd.Series, levels: list[str]) -> list[str]:
    """Return levels as `labels_of` names them, also those of models from before: 1.0 for 1."""
    return [level.removesuffix(".0") for level in levels] if types.is_float_dtype(series.dtype) else levels


def target_levels(series: pd.Series) -> list[str]:
    """Return the sorted levels of a target; TableError if there are more than MOST_LEVELS."""
    levels = labels_of(series.dropna()).unique().tolist()
    if len(levels) > MOST_LEVELS:
        raise TableError(
            f"{series.name!r} has {counted(len(levels), 'different value')}: choose a number, or a column with at most "
            f"{MOST_LEVELS} levels."
        )
    try:
        return sorted(levels, key=float)
    except ValueError:
        return sorted(levels)


def _rule(kept: Any) -> Rule:
    """Return a condition of a row filter, also from the format used before conditions were rules."""
    if not isinstance(kept, dict) or "levels" not in kept:
        return from_dict(kept)
    if kept["levels"] is not None:
        return Levels(kept["column"], tuple(kept["levels"]))
    high = kept.get("high") if kept.get("high") is not None else kept.get("below")
    return Range(
        kept["column"], kept.get("low"), high, high_in=kept.get("high") is not None, date=bool(kept.get("date"))
    )
