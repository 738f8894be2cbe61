"""Plans of experiments: how many customers an A/B test of strategies needs.

In both arms, a row belongs to the strategy that it would get (`StrategySet.assign`): the treated of a strategy are
compared with the controls who would have got it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import pandas as pd
from scipy.optimize import brentq
from scipy.stats import norm

from gamcore.extras import extra
from gamcore.stats.intervals import (
    ALPHA,
)

MetricRole = Literal["primary", "guardrail", "expected null"]

ROLES: Final[tuple[MetricRole, ...]] = ("primary", "guardrail", "expected null")
MISMATCH: Final = 0.001
"""p of the sample-ratio test below which no result is read (Fabijan et al., KDD 2019)."""

FEWEST: Final = 2


class ExperimentError(ValueError):
    """A plan or a table of outcomes that cannot be used; the message says what to do."""


@dataclass(frozen=True)
class Metric:
    """What an experiment measures; more is better.

    base : today's rate or mean. lift : smallest relative lift worth finding. deviation : standard deviation of single
    values for a mean; None for a rate. role : "primary" decides; a "guardrail" must not fall; an "expected null"
    should not move.
    """

    name: str
    base: float
    lift: float
    role: MetricRole = "primary"
    deviation: float | None = None

    def check(self) -> None:
        """Raise ExperimentError where the metric cannot be planned with."""
        if not (math.isfinite(self.base) and math.isfinite(self.lift) and self.lift > 0):
            raise ExperimentError(f"{self.name!r} needs a base and a lift above 0.")
        if (self.deviation is None and not 0 < self.base * (1 + self.lift) < 1) or self.base <= 0:
            raise ExperimentError(
                f"{self.name!r}: from {self.base:g}, a lift of {self.lift:.0%} leads to "
                f"{self.base * (1 + self.lift):g}, which is no rate between 0 and 1: make either smaller."
            )
        if self.deviation is not None and not self.deviation > 0:
            raise ExperimentError(f"{self.name!r} is a mean and needs a standard deviation above 0.")


def _statistics() -> tuple[Any, Any]:
    """Return statsmodels' normal power analysis and its module on proportions."""
    with extra("experiments"):
        from statsmodels.stats import proportion
        from statsmodels.stats.power import NormalIndPower
    return NormalIndPower(), proportion


def sample_size(
    metric: Metric, alpha: float = ALPHA, power: float = 0.8, control: float = 1.0,
    method: Literal["normal", "arcsine"] = "normal",
) -> float:  # fmt: skip
    """Return the customers that the treated arm needs when control has `control` times as many (two-sided test)."""
    metric.check()
    normal, proportion = _statistics()
    diff = metric.base * metric.lift
    if metric.deviation is not None:
        return float(normal.solve_power(diff / metric.deviation, None, alpha, power, control))
    if method == "arcsine":
        effect = proportion.proportion_effectsize(metric.base + diff, metric.base)
        return float(normal.solve_power(effect, None, alpha, power, control))
    return float(proportion.samplesize_proportions_2indep_onetail(diff, metric.base, power, control, alpha))


def power_of(metric: Metric, treated: float, alpha: float = ALPHA, control: float = 1.0) -> float:
    """Return the power to detect the metric's lift with this many treated customers."""
    normal, proportion = _statistics()
    diff = metric.base * metric.lift
    if metric.deviation is not None:
        return float(normal.power(diff / metric.deviation, treated, alpha, ratio=control))
    power = proportion.power_proportions_2indep(diff, metric.base, treated, control, alpha, return_results=False)
    return float(power)


def smallest_lift(
    metric: Metric, treated: float, alpha: float = ALPHA, power: float = 0.8, control: float = 1.0
) -> float:
    """Return the smallest relative lift that this many treated customers detect with this power; NaN where there is
    none."""
    if treated < FEWEST:
        return math.nan

    def gap(lift: float) -> float:
        return power_of(replace(metric, lift=lift), treated, alpha, control) - power

    low, high = 1e-6, (1.0 / metric.base - 1.0) * (1 - 1e-9)
    if metric.deviation is not None:
        near = (norm.isf(alpha / 2) + norm.isf(1 - power)) * math.sqrt((1 + 1 / control) / treated)
        low, high = (near * metric.deviation / metric.base * factor for factor in (0.5, 3.0))
    if not (high > low and gap(low) < 0 < gap(high)):
        return math.nan
    return float(brentq(gap, low, high))


@dataclass(frozen=True)
class PlanRow:
    """One metric of one strategy: customers per day, alpha, customers needed in each arm, and days."""

    strategy: str
    metric: Metric
    a_day: float
    alpha: float
    treated: int
    control: int
    days: int

    @property
    def feasible(self) -> bool:
        """Whether there is any traffic."""
        return self.a_day > 0


@dataclass(frozen=True)
class ExperimentPlan:
    """An A/B test of strategies that run side by side, on the customers of each.

    share : of customers who are treated. tests : comparisons under Holm's procedure; the plan uses the alpha of its
    first step, alpha / tests.
    """

    rows: tuple[PlanRow, ...]
    share: float
    power: float
    tests: int

    @property
    def days(self) -> int:
        """Days until every primary metric can be read."""
        return max((row.days for row in self.rows if row.metric.role == "primary"), default=0)

    @property
    def weeks(self) -> int:
        """The same in whole weeks, because days of the week differ."""
        return math.ceil(self.days / 7)

    def frame(self) -> pd.DataFrame:
        """Return one row per strategy and metric with what it needs."""
        return pd.DataFrame(
            [
                {"strategy": one.strategy, "metric": one.metric.name, "role": one.metric.role, "today": one.metric.base,
                 "lift": one.metric.lift, "customers per day": round(one.a_day), "treated": one.treated,
                 "control": one.control, "days": one.days if one.feasible else None}
                for one in self.rows
            ]
        )  # fmt: skip

    def found_in(self, days: Sequence[int]) -> pd.DataFrame:
        """Return the smallest lift that each row detects: one column per number of days; NaN where there is
        none."""
        control = (1 - self.share) / self.share
        rows = []
        for row in self.rows:
            treated = [math.floor(row.a_day * day * self.share) for day in days]
            lifts = [smallest_lift(row.metric, n, row.alpha, self.power, control) for n in treated]
            rows.append(
                {"strategy": row.strategy, "metric": row.metric.name, **dict(zip(map(str, days), lifts, strict=True))}
            )
        return pd.DataFrame(rows)


def plan(
    a_day: Mapping[str, float], metrics: Sequence[Metric], share: float = 0.5, power: float = 0.8, alpha: float = ALPHA
) -> ExperimentPlan:
    """Plan a test of strategies; `a_day` is the number of customers per day of each.

    Holm's family is strategies x metrics, without the expected nulls, which check the set-up.
    """
    if not 0 < share < 1:
        raise ExperimentError(f"The treated share is {share:g}: it has to lie between 0 and 1.")
    if not 0 < power < 1 or not 0 < alpha < 1:
        raise ExperimentError("Power and alpha have to lie between 0 and 1.")
    if not a_day or not any(metric.role == "primary" for metric in metrics):
        raise ExperimentError("A plan needs a strategy and a primary metric.")
    reachable = sum(number > 0 for number in a_day.values())
    tests = max(reachable, 1) * sum(metric.role != "expected null" for metric in metrics)
    control = (1 - share) / share
    rows = []
    for strategy, number in a_day.items():
        for metric in metrics:
            own = alpha if metric.role == "expected null" else alpha / tests
            treated = math.ceil(sample_size(metric, own, power, control))
            needed = math.ceil(treated * control)
            days = math.ceil(max(treated / share, needed / (1 - share)) / number) if number > 0 else 0
            rows.append(
                PlanRow(
                    strategy=strategy,
                    metric=metric,
                    a_day=number,
                    alpha=own,
                    treated=treated,
                    control=needed,
                    days=days,
                )
            )
    return ExperimentPlan(tuple(rows), share, power, tests)
