"""Plans of tests: their forms, read and stored. A board keeps its own; a table without a board has one, too."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any, Final

import numpy as np

from gamcore.common.numbers import bare, exact, fixed
from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.data.columns import TableError
from gamcore.data.table import Table
from gamcore.decide.arms_plan import EVERYBODY, ExperimentPlan, plan
from gamcore.decide.arrivals import Arrivals
from gamcore.decide.experiment_plan import ExperimentError, Metric
from gamcore.decide.outcomes import Outcome, read_outcome
from gamcore.decide.strategies import Ledger, StrategySet
from shapewise.columns.roles import sounds_like_outcome
from shapewise.decisions.arm_tests import possible_outcomes
from shapewise.store.names import known
from shapewise.store.workspace import Workspace, clean_name, new_id, now

KIND: Final = "plans"
USUAL: Final[dict[str, Any]] = {"metric": "conversion", "role": "primary", "base": 0.1, "lift": 0.1, "deviation": None}
LEVEL: Final = r"^\s*(\d[\d,]*(\.\d*)?|\.\d+)\s*%?\s*$"
"""How a rate (22%) or a mean (1,234.5) is typed."""


@dataclass(frozen=True)
class StoredPlan:
    """The plan of a test of a table's customers, without strategies, as its form was filled in."""

    id: str
    name: str
    table: str
    created: str
    form: dict[str, Any] = field(default_factory=dict)


def keep(workspace: Workspace, table: str, name: str, form: dict[str, Any], identifier: str = "") -> StoredPlan:
    """Store a plan, or what it has become."""
    if identifier:
        return known(StoredPlan, workspace.edit(KIND, identifier, lambda about: about | {"form": form}))
    stored = StoredPlan(new_id(), clean_name(name), table, now(), form)
    workspace.add(KIND, stored.id, asdict(stored), detail=stored.name)
    return stored


def plans(workspace: Workspace, table: str) -> list[StoredPlan]:
    """Return the plans of a table, the newest first."""
    stored = workspace.listed(KIND, lambda about: known(StoredPlan, about))
    return [kept for kept in stored if kept.table == table][::-1]


def form_of(stored: dict[str, Any], metrics: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a stored form with all its fields; `metrics` where it has none. Older ones have the share of the treated
    instead of arms."""
    treated = 100 * stored.get("share", 0.5)
    arms = [{"arm": "control", "share": 100 - treated}, {"arm": "treated", "share": treated}]
    usual = {"a_day": 1000.0, "power": 0.8, "adjustment": "Holm", "looks": False, "arms": arms, "first": "",
             "weekdays_of": "", "weekdays": []}  # fmt: skip
    usual |= {"metrics": metrics or [dict(USUAL)]}
    return usual | {name: value for name, value in stored.items() if name != "share"}


def shares_of(form: dict[str, Any]) -> dict[str, float]:
    """Return the share of each arm of a form, the control first; ExperimentError names an incomplete row."""
    shares: dict[str, float] = {}
    for k, row in enumerate(form_of(form, [])["arms"], 1):
        name, share = str(row.get("arm") or "").strip(), row.get("share")
        if not name or share is None or not math.isfinite(share):
            raise ExperimentError(f"Row {k} of the arms is not complete: it needs a name and a share.")
        if name in shares:
            raise ExperimentError(f"Two arms are called {name!r}: rename one.")
        shares[name] = float(share)
    return shares


def arrivals_of(form: dict[str, Any]) -> Arrivals:
    """Return when the customers of a form come."""
    first = form.get("first")
    return Arrivals(date.fromisoformat(first) if first else None, tuple(form.get("weekdays") or ()))


def metrics_of(form: dict[str, Any], by_strategy: bool = False) -> list[Metric]:
    """Return the metrics of a plan; ExperimentError names an incomplete row. by_strategy : whether the rate of today
    may be left empty, each strategy having its own; it is NaN then."""
    metrics = []
    for k, row in enumerate(form["metrics"], 1):
        name, (base, lift, deviation) = row.get("metric"), map(_known, map(row.get, ("base", "lift", "deviation")))
        if base is None and by_strategy:
            base = math.nan
        if not name or base is None or lift is None:
            raise ExperimentError(
                f"Row {k} of the metrics is not complete: it needs a name, today's rate or mean, and a lift."
            )
        metrics.append(Metric(str(name), base, lift, row.get("role") or "primary", deviation))
    if len({metric.name for metric in metrics}) < len(metrics):
        raise ExperimentError("Two metrics have the same name: rename one.")
    return metrics


def _known(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def called(row: dict[str, Any], names: Names) -> str:
    """Return what a metric of a form is called, by the shown names of the columns that it is made of."""
    return known(Outcome, row["outcome"]).called(names) if row.get("outcome") else names.column(row["metric"])


def made_outcomes(form: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what those metrics of a form are made of that are no columns, by name, as it is stored."""
    return {row["metric"]: row["outcome"] for row in form.get("metrics", []) if row.get("outcome")}


def named(form: dict[str, Any], names: Names) -> dict[str, Any]:
    """Return a form whose metrics have the shown names of their columns."""
    metrics = [row | {"metric": called(row, names)} if row.get("metric") else row for row in form["metrics"]]
    return form | {"metrics": metrics}


def proposed(strategies: StrategySet, table: Table | None = None) -> list[dict[str, Any]]:
    """Return the metrics of a board's strategies as rows of the form, with the rate of today and the lift that all of
    a metric's strategies have. Where rates differ, that of today is left to each strategy; of lifts, the smallest is
    taken. table : of the board, which has the standard deviation of means."""
    rows = []
    for metric in dict.fromkeys(strategy.metric for strategy in strategies.strategies):
        those = [strategy for strategy in strategies.strategies if strategy.metric == metric]
        bases, lifts = {strategy.base for strategy in those}, [strategy.lift[1] for strategy in those]
        base = those[0].base if len(bases) == 1 else None
        is_mean = any(not strategy.is_rate or strategy.base >= 1 for strategy in those)
        deviation = _deviation(table, metric) if table is not None and is_mean else None
        rows.append({**USUAL, "metric": metric, "base": base, "lift": min(lifts), "deviation": deviation})
    return rows


def _deviation(table: Table, metric: str) -> float | None:
    """Return the standard deviation of a metric over all rows of a table; None where it is no mean of a column."""
    try:
        return _known(metric_of(table, Outcome(metric))["deviation"])
    except (ExperimentError, TableError):
        return None


def otherwise(form: dict[str, Any], strategies: StrategySet) -> list[str]:
    """Return the strategies whose own rate of today is not the one that the form has for all."""
    typed = {row.get("metric"): _known(row.get("base")) for row in form["metrics"]}
    rated = [(strategy.name, strategy.base, typed.get(strategy.metric)) for strategy in strategies.strategies]
    return [name for name, own, base in rated if base is not None and not math.isclose(base, own, rel_tol=0.005)]


def planned(
    form: dict[str, Any], strategies: StrategySet, ledger: Ledger, names: Names = AS_THEY_ARE, *,
    only: Collection[str] | None = None, arms: Mapping[str, float] | None = None,
) -> ExperimentPlan:  # fmt: skip
    """Return the plan of a board, given the reach of its strategies. names : of its metrics. only : the strategies that
    take part, by default all. arms : their shares, by default those of the form."""
    form = named(form, names)
    reach = zip(strategies.strategies, ledger.exclusive, strict=True)
    parts = {strategy.name: (strategy, int(n)) for strategy, n in reach if only is None or strategy.name in only}
    a_day = {name: form["a_day"] * n / max(ledger.eligible, 1) for name, (_, n) in parts.items()}
    metrics = metrics_of(form, by_strategy=True)
    left = {metric.name for metric in metrics if math.isnan(metric.base)}
    own = {(name, names.column(strategy.metric)): strategy.base for name, (strategy, _) in parts.items()}
    today = {key: base for key, base in own.items() if key[1] in left}
    return plan(a_day, metrics, arms or shares_of(form), form["power"], looks=form.get("looks", False), today=today,
                arrivals=arrivals_of(form))  # fmt: skip


def planned_for_all(form: dict[str, Any]) -> ExperimentPlan:
    """Return the plan of a test of all customers, without strategies."""
    a_day = {EVERYBODY: form["a_day"]}
    return plan(a_day, metrics_of(form), shares_of(form), form["power"], adjustment=form["adjustment"],
                looks=form.get("looks", False), arrivals=arrivals_of(form))  # fmt: skip


def level_of(text: Any) -> float | None:
    """Return what was typed as a rate (22%) or a mean (1,234.5) as a number; None if it is neither."""
    if not re.match(LEVEL, str(text or "")):
        return None
    digits = str(text).replace(",", "").strip()
    return float(digits.removesuffix("%")) / 100 if digits.endswith("%") else float(digits)


def level_typed(base: float | None, deviation: float | None) -> str:
    """Return a rate, or a mean, which has a standard deviation, as one would type it; "" for none."""
    if base is None or not math.isfinite(base):
        return ""
    if deviation is None and 0 < base < 1:
        return f"{exact(100 * base, 4)}%"
    return exact(base, 4) if abs(base) < 1000 else bare(fixed(base, 2))


def metric_of(table: Table, outcome: Outcome) -> dict[str, Any]:
    """Return an outcome on a table as a row of the form: its rate, or its mean or ratio and the standard deviation of
    a row's part of it (`outcomes.Units`)."""
    units = read_outcome(table, outcome, np.ones(len(table), bool))
    values = units.of(units.known)
    if not values.size:
        raise ExperimentError(f"{outcome.name!r} has no values: choose another column.")
    deviation = None if units.is_rate or values.size < 2 else float(values.std(ddof=1))
    kept = {"outcome": asdict(outcome)} if outcome != Outcome(outcome.column) else {}
    return {**USUAL, "metric": outcome.name, "base": float(values.mean()), "deviation": deviation, **kept}


def likely_metrics(table: Table) -> list[dict[str, Any]]:
    """Return the columns that are called like outcomes as rows of the form, those that cannot be planned with left
    out; the first one decides."""
    rows: list[dict[str, Any]] = []
    for column in filter(sounds_like_outcome, possible_outcomes(table, "")):
        try:
            row = metric_of(table, Outcome(column))
            metrics_of({"metrics": [row]})[0].check()
        except (ExperimentError, TableError):
            continue
        rows.append(row | {"role": "guardrail" if rows else "primary"})
    return rows
