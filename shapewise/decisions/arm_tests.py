"""Tests that have run, of any number of arms: what a table's columns mean, and how a test is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.types import Floats
from gamcore.data.columns import read_present_texts
from gamcore.data.table import Table, as_table
from gamcore.decide.arms import (
    MOST_ARMS,
    ArmsTest,
    ReadOut,
    Segments,
    between_arms,
    by_group,
    read_arms,
)
from gamcore.decide.by_day import ByDay, by_day
from gamcore.decide.experiment_effects import Adjustment, Effect
from gamcore.decide.experiment_plan import MetricRole
from gamcore.decide.outcomes import read_outcomes
from gamcore.decide.strategies import StrategySet
from gamcore.estimators.effect import expected_outcomes
from shapewise.columns.roles import Roles, sounds_like_outcome
from shapewise.decisions.earlier import undone, with_change
from shapewise.decisions.plan_and_outcome import made_of, readable
from shapewise.store.names import known
from shapewise.store.workspace import Workspace, clean_name, new_id, now

KIND: Final = "tests"


@dataclass(frozen=True)
class StoredTest:
    """A test as it is stored: its table, how it was set up, and its planned shares ({} for equal ones). money : of
    older versions, which kept it with the test; see `decisions.money`. earlier : how it was set up before each of the
    last changes (`set_up`); see `decisions.earlier`."""

    id: str
    name: str
    table: str
    created: str
    arm: str
    control: str
    metrics: dict[str, MetricRole] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    adjustment: Adjustment = "Holm"
    customers: int = 0
    cluster: str | None = None
    known_before: list[str] = field(default_factory=list)
    money: dict[str, Any] = field(default_factory=dict)
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)
    pooled: list[str] = field(default_factory=list)
    accepted: dict[str, float] = field(default_factory=dict)
    treated: list[str] = field(default_factory=list)
    earlier: list[dict[str, Any]] = field(default_factory=list)

    def test(self) -> ArmsTest:
        """Return how it was set up."""
        return _set_up({name: getattr(self, name) for name in SET_UP})


SET_UP: Final = tuple(part.name for part in fields(ArmsTest))
"""What is stored of how a test was set up."""


def keep(workspace: Workspace, table: str, name: str, test: ArmsTest, identifier: str = "") -> StoredTest:
    """Store a test, or what it has become."""
    setup: dict[str, Any] = json.loads(to_text(test)) | {
        "shares": dict(test.shares or {}),
        "before": dict(test.before or {}),
    }

    def changed(about: dict[str, Any]) -> dict[str, Any]:
        whole = asdict(known(StoredTest, about))  # with what older versions did not store
        was = {name: whole[name] for name in setup}
        if was == setup:
            return about
        return about | setup | {"earlier": with_change(about.get("earlier", []), {"set_up": was})}

    if identifier:
        return known(StoredTest, workspace.edit(KIND, identifier, changed))
    stored = StoredTest(new_id(), clean_name(name), table, now(), **setup)
    workspace.add(KIND, stored.id, asdict(stored), detail=stored.name)
    return stored


def undo(workspace: Workspace, identifier: str, changed: str = "") -> StoredTest:
    """Undo the latest change of how a test was set up, whoever made it; StoreError if there is none.

    changed : when the change was made that is meant; StoreError if another came after it."""

    def back(about: dict[str, Any]) -> dict[str, Any]:
        others, last = undone(about.get("earlier", []), changed)
        return {**about, **last["set_up"], "earlier": others}

    return known(StoredTest, workspace.edit(KIND, identifier, back))


def test(workspace: Workspace, identifier: str) -> StoredTest:
    """Return a stored test; StoreError if it is gone."""
    return known(StoredTest, workspace.thing(KIND, identifier).about)


def to_text(test: ArmsTest) -> str:
    """Return how a test was set up as JSON text, a key of what is kept of it."""
    return json.dumps(asdict(test))


def from_text(text: str) -> ArmsTest:
    """Return the test that `to_text` wrote."""
    return _set_up(json.loads(text))


def _set_up(kept: dict[str, Any]) -> ArmsTest:
    lists = {name: tuple(kept[name]) for name in ("known_before", "pooled", "treated")}
    usual = {name: kept[name] or None for name in ("shares", "before")}
    return ArmsTest(**kept | lists | usual | {"outcomes": made_of(kept["outcomes"])})


def tests(workspace: Workspace, tables: set[str]) -> list[StoredTest]:
    """Return the tests of some tables, the newest first."""
    stored = workspace.listed(KIND, lambda about: known(StoredTest, about))
    return [test for test in stored if test.table in tables][::-1]


def read_test(test: ArmsTest, rows_of: Callable[[Sequence[str]], pd.DataFrame], n_jobs: int = 1) -> ReadOut:
    """Read a test, with what a model of its columns known before expects. rows_of : returns all rows of columns."""
    frame = rows_of(test.columns)
    return read_arms(frame, test, expected_of(frame, test, n_jobs))


def compare_arms(
    test: ArmsTest, rows_of: Callable[[Sequence[str]], pd.DataFrame], n_jobs: int = 1
) -> list[tuple[str, Effect]]:
    """Return how the treated arms of a test differ from each other, likewise (`between_arms`)."""
    frame = rows_of(test.columns)
    return between_arms(frame, test, expected_of(frame, test, n_jobs))


def read_by_day(
    test: ArmsTest, metric: str, day: str, rows_of: Callable[[Sequence[str]], pd.DataFrame], n_jobs: int = 1
) -> ByDay:
    """Return how an outcome of a test went, by a column of dates, likewise (`gamcore.decide.by_day`)."""
    frame = rows_of([*dict.fromkeys((*test.columns, day))])
    return by_day(frame, test, metric, day, expected_of(frame, test, n_jobs))


def expected_of(frame: pd.DataFrame, test: ArmsTest, n_jobs: int = 1) -> dict[str, Floats] | None:
    """Return what a model of the columns known before a test expects of each row (n,), by metric; None where it names
    none. 0 where the outcome is not known, which is not read."""
    if not test.known_before:
        return None
    table, expected = as_table(frame), {}
    every = np.ones(len(frame), bool)
    units = read_outcomes(table, {metric: test.outcome(metric) for metric in test.metrics}, every)
    for metric, unit in units.items():
        known = unit.known
        expected[metric] = np.zeros(known.size)
        if known.any():
            rows, groups = frame.loc[known], frame.loc[known, test.cluster] if test.cluster else None
            expected[metric][known] = expected_outcomes(
                rows[list(test.known_before)], unit.of(known), groups=groups, random_state=0, n_jobs=n_jobs
            )
    return expected


NO_STRATEGY: Final = "no strategy"


def by_strategy(
    rows: pd.DataFrame, test: ArmsTest, metric: str, strategies: StrategySet
) -> tuple[Segments, tuple[str, ...]]:
    """Return each arm's lift among the customers of each strategy, and a sentence on each strategy whose rule asks for
    a column that is not there. Customers outside the gate belong to no strategy."""
    left, notes = readable(strategies, rows.columns)
    names = [strategy.name for strategy in left.strategies]
    place = left.assign(rows)
    labels = np.array([*names, NO_STRATEGY], object)[np.where(place < 0, len(names), place)]
    order = [name for name in (*names, NO_STRATEGY) if (labels == name).any()]
    return by_group(as_table(rows), test, metric, labels=labels, named=strategies.name, order=order), notes


def possible_arms(table: Table, likely: Sequence[str] = ()) -> dict[str, list[str]]:
    """Return the columns that may tell arms apart, with their levels. likely : those that come first."""
    levels: dict[str, list[str]] = {}
    for name in dict.fromkeys([*likely, *table.names]):
        if name in table and table.usable_kind(name) in ("category", "boolean", "number"):
            distinct = table.frame[name].nunique(dropna=True)
            if 2 <= distinct <= MOST_ARMS:
                levels[name] = read_present_texts(table.frame[name])[1]
    return levels


def possible_outcomes(table: Table, arm: str) -> list[str]:
    """Return the columns that may be outcomes."""
    return [name for name in table.names if name != arm and table.usable_kind(name) in ("number", "boolean")]


def likely_outcomes(table: Table, roles: Roles, arm: str) -> list[str]:
    """Return the columns that have the role of an outcome; or are called like one, where none has it."""
    possible = possible_outcomes(table, arm)
    marked = [name for name in possible if roles.by_column.get(name) == "outcome"]
    return [name for name in possible if name in marked or (
        sounds_like_outcome(name) and (not marked or roles.by_column.get(name) == "target"))]  # fmt: skip
