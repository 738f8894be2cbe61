"""Power of one comparison: customers that a treated arm needs, and the smallest lift that a sample detects.

Rates by the normal approximation with each arm's own variance, means by the noncentral t distribution (statsmodels).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal

from scipy.optimize import brentq
from scipy.special import nctdtr, ndtr, ndtri, stdtrit
from scipy.stats import norm

from gamcore.common.extras import extra
from gamcore.common.numbers import exact, number, percent
from gamcore.decide.results import Result
from gamcore.stats.intervals import ALPHA

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
        if self.base <= 0:
            raise ExperimentError(
                f"{self.name!r} is {exact(self.base)} today, and a lift of nothing is nothing: enter a value above 0."
            )
        if self.deviation is None and self.base >= 1:
            raise ExperimentError(
                f"{self.name!r} is {exact(self.base)} today, which is not a rate between 0 and 1: enter a rate below "
                "100%, or, if it is a mean, its standard deviation."
            )
        if self.deviation is None and self.base * (1 + self.lift) >= 1:
            raise ExperimentError(
                f"{self.name!r}: from {number(self.base)}, a lift of {percent(self.lift, 0)} leads to "
                f"{number(self.base * (1 + self.lift))}, which is not a rate between 0 and 1: enter a smaller lift."
            )
        if self.deviation is not None and not self.deviation > 0:
            raise ExperimentError(f"{self.name!r} is a mean and needs a standard deviation above 0.")

    def results(self) -> dict[str, Result]:
        """Return what it is "today", and the "lift worth finding", both as they were assumed."""
        return {"today": Result(self.base, source="assumed", is_rate=self.deviation is None),
                "lift worth finding": Result(self.lift, source="assumed", scale="relative")}  # fmt: skip

    @property
    def value(self) -> str:
        """Today's value in words."""
        return self.results()["today"].text


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
        return _size_of_mean(metric, alpha, power, control)
    if method == "arcsine":
        effect = proportion.proportion_effectsize(metric.base + diff, metric.base)
        return float(normal.solve_power(effect, None, alpha, power, control))
    return float(proportion.samplesize_proportions_2indep_onetail(diff, metric.base, power, control, alpha))


def _size_of_mean(metric: Metric, alpha: float, power: float, control: float) -> float:
    """Return the treated customers that a mean needs: at least two in the smaller arm."""
    assert metric.deviation is not None
    effect = metric.base * metric.lift / metric.deviation
    near = (norm.isf(alpha / 2) + norm.isf(1 - power)) ** 2 * (1 + 1 / control) / effect**2
    low, high = FEWEST * max(1.0, 1 / control), 2 * near + 100 * max(1.0, 1 / control)

    def gap(n: float) -> float:
        return power_of(metric, n, alpha, control) - power

    return low if not gap(low) < 0 else float(brentq(gap, low, high))


def power_of(metric: Metric, treated: float, alpha: float = ALPHA, control: float = 1.0) -> float:
    """Return the power to detect the metric's lift with this many treated customers."""
    diff = metric.base * metric.lift
    if metric.deviation is not None:
        return _power_of_mean(diff / metric.deviation, treated, alpha, control)
    after = metric.base + diff
    pooled = (after + control * metric.base) / (1 + control)
    null = math.sqrt(pooled * (1 - pooled) * (1 + 1 / control))
    own = math.sqrt(after * (1 - after) + metric.base * (1 - metric.base) / control)
    beyond, apart = -ndtri(alpha / 2) * null / own, diff * math.sqrt(treated) / own
    return float(ndtr(apart - beyond) + ndtr(-apart - beyond))


def _power_of_mean(effect: float, treated: float, alpha: float, control: float) -> float:
    """Return the power of a two-sided t test; effect : difference in standard deviations."""
    free = treated * (1 + control) - 2
    beyond = stdtrit(free, 1 - alpha / 2)
    apart = effect * math.sqrt(treated * control / (1 + control))

    def below(value: float) -> float:
        """Return the chance of a t below a value; SciPy has no number where it is next to nothing, or to one."""
        chance = float(nctdtr(free, apart, value))
        return float(apart < value) if math.isnan(chance) else chance

    return 1 - below(beyond) + below(-beyond)


@lru_cache(4096)  # a page asks for the same plan at every run of its script
def smallest_lift(
    metric: Metric, treated: float, alpha: float = ALPHA, power: float = 0.8, control: float = 1.0
) -> float:
    """Return the smallest relative lift that this many treated customers detect with this power; NaN where there is
    none."""
    if treated < FEWEST or treated * control < FEWEST:
        return math.nan

    def gap(lift: float) -> float:
        return power_of(replace(metric, lift=lift), treated, alpha, control) - power

    spread = math.sqrt(metric.base * (1 - metric.base)) if metric.deviation is None else metric.deviation
    near = (norm.isf(alpha / 2) + norm.isf(1 - power)) * math.sqrt((1 + 1 / control) / treated) * spread / metric.base
    low, high = near / 8, 10 * near
    if metric.deviation is None:
        high = min(high, (1.0 / metric.base - 1.0) * (1 - 1e-9))
    if not (high > low and gap(low) < 0 < gap(high)):
        return math.nan
    return float(brentq(gap, low, high, xtol=1e-9, rtol=1e-7))
