"""Tests that have run, of any number of arms: what a table's columns mean, and how a test is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.data.columns import read_present_texts
from gamcore.data.table import Table, as_table
from gamcore.decide.arms import MOST_ARMS, Adjustment, ArmsReadOut, ArmsTest, Segments, by_group, read_arms
from gamcore.decide.experiment_plan import MetricRole
from gamcore.decide.experiment_readout import outcome_of
from gamcore.decide.strategies import StrategySet
from gamcore.estimators.effect import expected_outcomes
from gamcore.types import Floats
from shapewise.decisions.plan_and_outcome import readable
from shapewise.store.names import known
from shapewise.store.workspace import Workspace, clean_name, new_id, now

KIND: Final = "tests"
ARM_NAMES: Final = (
    "arm", "variant", "version", "treatment", "treated", "treat", "group", "segment", "bucket", "cell", "campaign",
    "test", "experiment",
)  # fmt: skip
CONTROL_WORDS: Final = {
    "control", "ctrl", "holdout", "hold", "base", "baseline", "old", "none", "no", "off", "before", "a", "0", "false",
    "placebo", "untreated",
}  # fmt: skip
OUTCOME_WORDS: Final = {
    "visit", "visits", "visited", "conversion", "converted", "convert", "click", "clicks", "clicked", "spend", "spent",
    "revenue", "sales", "purchase", "purchased", "bought", "order", "orders", "churn", "churned", "retention",
    "retained", "renewed", "open", "opened", "response", "responded", "outcome", "y", "signup", "subscribed", "return",
    "returned", "reactivated", "upgraded",
}  # fmt: skip
BEFORE_WORDS: Final = {"before", "past", "prior", "previous", "pre", "earlier", "historic", "history"}
"""What a column is called that was known before a test, whatever else it is called."""


@dataclass(frozen=True)
class StoredTest:
    """A test as it is stored: its table, how it was set up, and its planned shares ({} for equal ones). money : what
    one more of its first outcome is worth (`amount`), and the `currency`."""

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

    def test(self) -> ArmsTest:
        """Return how it was set up."""
        return ArmsTest(self.arm, self.control, self.metrics, shares=self.shares or None, before=self.before or None,
                        adjustment=self.adjustment, customers=self.customers, cluster=self.cluster,
                        known_before=tuple(self.known_before))  # fmt: skip


def keep(workspace: Workspace, table: str, name: str, test: ArmsTest, identifier: str = "") -> StoredTest:
    """Store a test, or what it has become."""
    setup: dict[str, Any] = {
        "arm": test.arm, "control": test.control, "metrics": dict(test.metrics), "shares": dict(test.shares or {}),
        "before": dict(test.before or {}), "adjustment": test.adjustment, "customers": test.customers,
        "cluster": test.cluster, "known_before": list(test.known_before),
    }  # fmt: skip
    if identifier:
        return known(StoredTest, workspace.edit(KIND, identifier, lambda about: about | setup))
    made = StoredTest(new_id(), clean_name(name), table, now(), **setup)
    workspace.add(KIND, made.id, asdict(made), detail=made.name)
    return made


def to_text(test: ArmsTest) -> str:
    """Return how a test was set up as JSON text, a key of what is kept of it."""
    return json.dumps(asdict(test))


def from_text(text: str) -> ArmsTest:
    """Return the test that `to_text` wrote."""
    kept = json.loads(text)
    return ArmsTest(**kept | {"known_before": tuple(kept["known_before"])})


def tests(workspace: Workspace, tables: set[str]) -> list[StoredTest]:
    """Return the tests of some tables, the newest first."""
    stored = workspace.listed(KIND, lambda about: known(StoredTest, about))
    return [test for test in stored if test.table in tables][::-1]


def read_test(test: ArmsTest, rows_of: Callable[[Sequence[str]], pd.DataFrame], n_jobs: int = 1) -> ArmsReadOut:
    """Read a test, with what a model of its columns known before expects. rows_of : returns all rows of columns."""
    others = [*(test.before or {}).values(), *([test.cluster] if test.cluster else []), *test.known_before]
    frame = rows_of([test.arm, *test.metrics, *others])
    return read_arms(frame, test, _expected(frame, test, n_jobs) if test.known_before else None)


def _expected(frame: pd.DataFrame, test: ArmsTest, n_jobs: int) -> dict[str, Floats]:
    """Return what is expected of each row (n,) by metric; 0 where the outcome is not known, which is not read."""
    table, expected = as_table(frame), {}
    for metric in test.metrics:
        values = outcome_of(table, metric)
        known = np.isfinite(values)
        expected[metric] = np.zeros(values.size)
        if known.any():
            rows, groups = frame.loc[known], frame.loc[known, test.cluster] if test.cluster else None
            expected[metric][known] = expected_outcomes(
                rows[list(test.known_before)], values[known], groups=groups, random_state=0, n_jobs=n_jobs
            )
    return expected


NO_STRATEGY: Final = "no strategy"


def by_strategy(rows: pd.DataFrame, test: ArmsTest, metric: str, made: StrategySet) -> tuple[Segments, tuple[str, ...]]:
    """Return each arm's lift among the customers of each strategy, and a sentence on each strategy whose rule asks for
    a column that is not there. Customers outside the gate belong to no strategy."""
    left, notes = readable(made, rows.columns)
    names = [one.name for one in left.strategies]
    place = left.assign(rows)
    labels = np.array([*names, NO_STRATEGY], object)[np.where(place < 0, len(names), place)]
    order = [name for name in (*names, NO_STRATEGY) if (labels == name).any()]
    return by_group(as_table(rows), test, metric, labels=labels, named=made.name, order=order), notes


def set_money(workspace: Workspace, identifier: str, money: dict[str, Any]) -> None:
    """Store what one more outcome of a test is worth."""
    workspace.edit(KIND, identifier, lambda about: about | {"money": money})


def words_of(name: str) -> set[str]:
    """Return the words of a column's name, in lower case."""
    return set(re.findall(r"[a-z]+|[0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()))


def possible_arms(table: Table) -> dict[str, list[str]]:
    """Return the columns that may tell arms apart, with their levels; those that sound like it come first."""
    levels: dict[str, list[str]] = {}
    for name in table.names:
        if table.usable_kind(name) in ("category", "boolean", "number"):
            distinct = table.frame[name].nunique(dropna=True)
            if 2 <= distinct <= MOST_ARMS:
                levels[name] = read_present_texts(table.frame[name])[1]
    order = {word: k for k, word in enumerate(ARM_NAMES)}

    def rank(name: str) -> int:
        return min((order[word] for word in words_of(name) if word in order), default=len(order))

    return dict(sorted(levels.items(), key=lambda item: rank(item[0])))


def likely_arm(table: Table) -> str | None:
    """Return the column that most likely is the arm: by its name, or by a level that is called like a control. Never
    an outcome; None where nothing sounds like an arm."""
    arms = {name: levels for name, levels in possible_arms(table).items() if not words_of(name) & OUTCOME_WORDS}
    named = [name for name in arms if words_of(name) & set(ARM_NAMES)]
    with_control = [name for name, levels in arms.items() if table.kind(name) == "category" and likely_control(levels)]
    both = [name for name in named if name in with_control]
    return next(iter([*both, *named, *with_control]), None)


def likely_control(levels: list[str]) -> str | None:
    """Return the level that is called like a control; None where none or several are."""
    called = [level for level in levels if words_of(level) & CONTROL_WORDS]
    return called[0] if len(called) == 1 else None


def possible_outcomes(table: Table, arm: str) -> list[str]:
    """Return the columns that may be outcomes."""
    return [name for name in table.names if name != arm and table.usable_kind(name) in ("number", "boolean")]


def likely_outcomes(table: Table, arm: str) -> list[str]:
    """Return the columns that are called like outcomes."""
    return [name for name in possible_outcomes(table, arm) if sounds_like_outcome(name)]


def sounds_like_outcome(name: str) -> bool:
    """Return whether a column is called like an outcome, and not like one from before a test."""
    return bool(words_of(name) & OUTCOME_WORDS) and not words_of(name) & BEFORE_WORDS
