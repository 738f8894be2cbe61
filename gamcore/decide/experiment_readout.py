"""Experiments: how many customers an A/B test of strategies needs, and what it measured.

A row is of the strategy that it would get (`StrategySet.assign`), in both arms: the treated of a strategy are held
against the controls who would have got it. Only what comes from here is called a *measured lift*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chisquare, norm

from gamcore.data.table import TableError, kind_of, read_numbers
from gamcore.extras import extra
from gamcore.stats.intervals import (
    ALPHA,
    UNKNOWN,
    Interval,
    adjusted_by_holm,
    difference_of_means,
    newcombe,
    p_of_means,
    p_of_rates,
    ratio_of_means,
    ratio_of_rates,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Role = Literal["primary", "guardrail", "expected null"]

ROLES: Final[tuple[Role, ...]] = ("primary", "guardrail", "expected null")
MISMATCH: Final = 0.001
"""p of the sample ratio below which nothing else is read (Fabijan et al., KDD 2019)."""

FEWEST: Final = 2


class ExperimentError(ValueError):
    """A plan or a table of outcomes that cannot be used; the message says what to do."""


@dataclass(frozen=True)
class Metric:
    """What an experiment measures; more is better.

    base : rate today, or mean. lift : smallest relative lift worth finding. deviation : of single values, where it is a
    mean; None for a rate. role : "primary" decides; a "guardrail" must not fall; an "expected null" should not move.
    """

    name: str
    base: float
    lift: float
    role: Role = "primary"
    deviation: float | None = None

    def check(self) -> None:
        """ExperimentError where it cannot be planned with."""
        if not (math.isfinite(self.base) and math.isfinite(self.lift) and self.lift > 0):
            raise ExperimentError(f"{self.name!r} needs a base and a lift above 0.")
        if (self.deviation is None and not 0 < self.base * (1 + self.lift) < 1) or self.base <= 0:
            raise ExperimentError(
                f"{self.name!r}: from {self.base:g}, a lift of {self.lift:.0%} leads to "
                f"{self.base * (1 + self.lift):g}, which is no rate between 0 and 1: make either smaller."
            )
        if self.deviation is not None and not self.deviation > 0:
            raise ExperimentError(f"{self.name!r} is a mean and needs a standard deviation above 0.")


# Plan


def _statistics() -> tuple[Any, Any]:
    """Power by the normal distribution, and what statsmodels has on proportions."""
    with extra("experiments"):
        from statsmodels.stats import proportion
        from statsmodels.stats.power import NormalIndPower
    return NormalIndPower(), proportion


def sample_size(
    metric: Metric, alpha: float = ALPHA, power: float = 0.8, control: float = 1.0,
    method: Literal["normal", "arcsine"] = "normal",
) -> float:  # fmt: skip
    """Customers the treated arm needs, where the other has `control` times as many; two-sided."""
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
    """Chance to find the metric's lift with so many treated customers."""
    normal, proportion = _statistics()
    diff = metric.base * metric.lift
    if metric.deviation is not None:
        return float(normal.power(diff / metric.deviation, treated, alpha, ratio=control))
    power = proportion.power_proportions_2indep(diff, metric.base, treated, control, alpha, return_results=False)
    return float(power)


def smallest_lift(
    metric: Metric, treated: float, alpha: float = ALPHA, power: float = 0.8, control: float = 1.0
) -> float:
    """The smallest relative lift that so many treated customers find with this power; NaN where none is found."""
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
    """One metric of one strategy: customers a day, alpha, what each arm needs, days, and the chance to find it."""

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
class Plan:
    """An A/B test of strategies that run side by side, on the customers of each.

    share : of customers who are treated; tests : comparisons that Holm's procedure guards, of which the first, and so
    the plan, has alpha / tests. days : of the slowest, primary metrics only; weeks : whole ones.
    """

    rows: tuple[PlanRow, ...]
    share: float
    power: float
    tests: int

    @property
    def days(self) -> int:
        """Until every primary metric can be read."""
        return max((row.days for row in self.rows if row.metric.role == "primary"), default=0)

    @property
    def weeks(self) -> int:
        """Whole weeks, because days of the week differ."""
        return math.ceil(self.days / 7)

    def frame(self) -> pd.DataFrame:
        """One row a metric of a strategy: what it needs."""
        return pd.DataFrame(
            [
                {"strategy": one.strategy, "metric": one.metric.name, "role": one.metric.role, "today": one.metric.base,
                 "lift": one.metric.lift, "customers a day": round(one.a_day), "treated": one.treated,
                 "control": one.control, "days": one.days if one.feasible else None}
                for one in self.rows
            ]
        )  # fmt: skip

    def found_in(self, days: Sequence[int]) -> pd.DataFrame:
        """The smallest lift that each row finds after so many days; a column a number of days, NaN where none."""
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
) -> Plan:
    """Plan a test of strategies with so many customers a day each.

    Holm's family is strategies x metrics, without expected nulls, which are checks of the set-up and nobody's hope.
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
    return Plan(tuple(rows), share, power, tests)


# Read-out


@dataclass(frozen=True)
class SampleRatio:
    """Whether the arms have the sizes they should: customers in each, and p of a chi-squared test."""

    where: str
    treated: int
    control: int
    p: float

    @property
    def alarm(self) -> bool:
        """Whether something dealt customers into arms in another way than planned."""
        return self.p < MISMATCH


def sample_ratio(treated: int, control: int, share: float = 0.5, where: str = "all") -> SampleRatio:
    """The sample-ratio test of two arms, of which the first should have this share."""
    total = treated + control
    p = chisquare([treated, control], [total * share, total * (1 - share)]).pvalue if total else math.nan
    return SampleRatio(where, treated, control, float(p))


@dataclass(frozen=True)
class Arm:
    """A metric in one arm of one strategy: customers, mean or rate, and single values where they are known."""

    n: int
    mean: float
    values: Floats | None = None


@dataclass(frozen=True)
class Effect:
    """A measured lift: treated against control, among those who would get the same strategy.

    difference, ratio : with 95% intervals of this comparison alone. p : by z of rates, Welch of means; holm : adjusted
    over all strategies x metrics that are not expected nulls, and over those that are. planned : relative lift that the
    plan calls worth finding, or NaN: hoped for, or, of the other roles, what a move may not be larger than.
    reduced : share of the variance that the adjustment by a value from before took away. smallest : relative lift that
    so many customers find four times in five, at the alpha of Holm's first step.
    """

    strategy: str
    metric: str
    role: Role
    treated: Arm
    control: Arm
    difference: float = math.nan
    difference_interval: Interval = UNKNOWN
    ratio: float = math.nan
    ratio_interval: Interval = UNKNOWN
    p: float = math.nan
    holm: float = math.nan
    planned: float = math.nan
    reduced: float = 0.0
    smallest: float = math.nan

    @property
    def lift(self) -> float:
        """Relative."""
        return self.ratio - 1

    @property
    def lift_interval(self) -> Interval:
        """Relative."""
        return self.ratio_interval[0] - 1, self.ratio_interval[1] - 1

    @property
    def found(self) -> bool:
        """Whether there is an effect, after Holm."""
        return bool(self.holm < ALPHA)


@dataclass(frozen=True)
class ReadOut:
    """What an experiment measured. `ratios`: the sample-ratio test of all, then of each strategy."""

    ratios: tuple[SampleRatio, ...]
    effects: tuple[Effect, ...]

    @property
    def stopped(self) -> bool:
        """Whether arms of the wrong sizes forbid a verdict."""
        return any(ratio.alarm for ratio in self.ratios)

    def frame(self) -> pd.DataFrame:
        """One row an effect."""
        return pd.DataFrame([_told(effect) for effect in self.effects])


def _told(effect: Effect) -> dict[str, Any]:
    return {
        "strategy": effect.strategy, "metric": effect.metric, "role": effect.role,
        "treated": effect.treated.n, "control": effect.control.n,
        "treated mean": effect.treated.mean, "control mean": effect.control.mean,
        "difference": effect.difference, "difference, lower": effect.difference_interval[0],
        "difference, upper": effect.difference_interval[1], "lift": effect.lift, "lift, lower": effect.lift_interval[0],
        "lift, upper": effect.lift_interval[1], "p": effect.p, "p, Holm": effect.holm, "planned": effect.planned,
        "variance taken by the value from before": effect.reduced,
    }  # fmt: skip


def effect_of_rates(
    strategy: str, metric: str, role: Role, treated: Arm, control: Arm, planned: float = math.nan
) -> Effect:
    """The effect on a rate."""
    unknown = Effect(strategy=strategy, metric=metric, role=role, treated=treated, control=control)
    if min(treated.n, control.n) < 1:
        return unknown
    return replace(
        unknown,
        difference=treated.mean - control.mean,
        difference_interval=newcombe(treated.mean, treated.n, control.mean, control.n),
        ratio=_ratio(treated.mean, control.mean),
        ratio_interval=ratio_of_rates(treated.mean, treated.n, control.mean, control.n),
        p=p_of_rates(treated.mean, treated.n, control.mean, control.n),
        planned=planned,
    )


def effect_of_means(
    strategy: str, metric: str, role: Role, arms: tuple[Floats, Floats], before: tuple[Floats, Floats] | None = None,
    planned: float = math.nan,
) -> Effect:  # fmt: skip
    """The effect on a mean (Welch), treated first; with values from before, adjusted by them as CUPED is
    (Deng et al., WSDM 2013), with one slope for both arms. Who has none from before counts as average there."""
    reduced, (treated, control) = 0.0, arms
    unknown = Effect(
        strategy=strategy, metric=metric, role=role,
        treated=Arm(treated.size, _mean(treated), treated), control=Arm(control.size, _mean(control), control),
    )  # fmt: skip
    if min(treated.size, control.size) < FEWEST:
        return unknown
    if before is not None:
        treated, control, reduced = _adjusted(arms, before)
    return replace(
        unknown,
        difference=_mean(treated) - _mean(control),
        difference_interval=difference_of_means(treated, control),
        ratio=_ratio(_mean(treated), _mean(control)),
        ratio_interval=ratio_of_means(treated, control),
        p=p_of_means(treated, control),
        planned=planned,
        reduced=reduced,
    )


def _ratio(mean: float, other: float) -> float:
    """Of two means above 0; of others it says nothing."""
    return mean / other if mean >= 0 and other > 0 else math.nan


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else math.nan


def _adjusted(arms: tuple[Floats, Floats], before: tuple[Floats, Floats]) -> tuple[Floats, Floats, float]:
    """Both arms less what their values from before foretell, and the share of the variance that went with it."""
    known = np.concatenate(before)
    mean = float(np.nanmean(known)) if np.isfinite(known).any() else 0.0
    moved = [np.nan_to_num(values - mean, nan=0.0) for values in before]
    centred = [values - values.mean() for values in arms]
    within = [values - values.mean() for values in moved]
    square = sum(float(np.square(values).sum()) for values in within)
    if not square > 0:
        return *arms, 0.0
    slope = sum(float(x @ y) for x, y in zip(within, centred, strict=True)) / square
    total = sum(float(np.square(values).sum()) for values in centred)
    reduced = slope**2 * square / total if total > 0 else 0.0
    return arms[0] - slope * moved[0], arms[1] - slope * moved[1], reduced


def _spread(effect: Effect) -> float | None:
    """Standard deviation of a metric's single values, less what an adjustment took away; None of a rate."""
    values = effect.control.values
    if values is None:
        return None
    return float(values.std(ddof=1)) * math.sqrt(1 - effect.reduced) if values.size > 1 else 0.0


def concluded(effects: Sequence[Effect], ratios: Sequence[SampleRatio]) -> ReadOut:
    """A read-out with Holm's adjustment, and the smallest lift that each comparison could have found."""
    holm: dict[int, float] = {}
    sizes = {}
    for nulls in (False, True):  # what is hoped for, and the checks of the set-up: a family each
        family = [k for k, e in enumerate(effects) if (e.role == "expected null") == nulls and math.isfinite(e.p)]
        sizes[nulls] = max(len(family), 1)
        if family:
            adjusted = adjusted_by_holm(np.array([effects[k].p for k in family]))
            holm |= dict(zip(family, adjusted.tolist(), strict=True))
    done = []
    for k, effect in enumerate(effects):
        control = effect.control.n / effect.treated.n if effect.treated.n else math.nan
        alpha = ALPHA / sizes[effect.role == "expected null"]
        spread = _spread(effect)
        smallest = math.nan
        if effect.control.mean > 0 and (effect.control.mean < 1 if spread is None else spread > 0):
            metric = Metric(effect.metric, effect.control.mean, 0.1, effect.role, spread)
            smallest = smallest_lift(metric, effect.treated.n, alpha, 0.8, control)
        done.append(replace(effect, holm=holm.get(k, math.nan), smallest=smallest))
    return ReadOut(tuple(ratios), tuple(done))


def read_rows(
    frame: pd.DataFrame, treated: Bools, assigned: NDArray[np.int64], names: Sequence[str],
    metrics: Mapping[str, Role], share: float = 0.5, planned: Mapping[tuple[str, str], float] | None = None,
    before: Mapping[str, str] | None = None,
) -> ReadOut:  # fmt: skip
    """Read an experiment from its rows.

    treated : (n,) the arm. assigned : (n,) the strategy that each row would get, by place among `names`; below 0 none.
    metrics : columns and their roles; 0 and 1 (or truth) is a rate, other numbers a mean. planned : lifts that were
    hoped for, by (strategy, metric). before : column with the same from before the experiment, by metric.
    """
    inside = assigned >= 0
    if not inside.any():
        raise ExperimentError("No row would get a strategy: check the columns that the rules look at.")
    ratios = [sample_ratio(int((treated & inside).sum()), int((~treated & inside).sum()), share)]
    columns = {name: _outcome(frame, name) for name in {*metrics, *(before or {}).values()}}
    for metric in metrics:  # who has an outcome at all may depend on the arm
        known = inside & np.isfinite(columns[metric])
        if known.sum() < inside.sum():
            ratios.append(
                sample_ratio(int((known & treated).sum()), int((known & ~treated).sum()), share, f"with {metric}")
            )
    effects = []
    for place, strategy in enumerate(names):
        arms = assigned == place
        ratios.append(sample_ratio(int((arms & treated).sum()), int((arms & ~treated).sum()), share, strategy))
        for metric, role in metrics.items():
            known = arms & np.isfinite(columns[metric])
            rows = known & treated, known & ~treated
            values = columns[metric][rows[0]], columns[metric][rows[1]]
            hoped = (planned or {}).get((strategy, metric), math.nan)
            earlier = (before or {}).get(metric)
            if earlier is None and np.isin(columns[metric][inside & np.isfinite(columns[metric])], (0.0, 1.0)).all():
                treated_arm, control_arm = (Arm(part.size, _mean(part)) for part in values)
                effects.append(
                    effect_of_rates(strategy, metric, role, treated=treated_arm, control=control_arm, planned=hoped)
                )
            else:
                past = None if earlier is None else (columns[earlier][rows[0]], columns[earlier][rows[1]])
                effects.append(effect_of_means(strategy, metric, role=role, arms=values, before=past, planned=hoped))
    return concluded(effects, ratios)


def _outcome(frame: pd.DataFrame, name: str) -> Floats:
    if name not in frame.columns:
        raise ExperimentError(f"The table of outcomes has no column {name!r}: choose another metric.")
    if kind_of(frame[name]) not in ("number", "boolean"):
        raise ExperimentError(f"Column {name!r} is not a number: a metric is 0 and 1, truth, or a number.")
    try:
        return read_numbers(frame[name])
    except TableError as error:
        raise ExperimentError(str(error)) from error


COUNTS: Final = ("strategy", "metric", "treated", "treated successes", "control", "control successes")


def read_counts(
    counts: pd.DataFrame, roles: Mapping[str, Role], share: float = 0.5,
    planned: Mapping[tuple[str, str], float] | None = None, names: Sequence[str] | None = None,
) -> ReadOut:  # fmt: skip
    """Read an experiment from counts, with the columns of `COUNTS`, a row a metric of a strategy; `names`: the
    strategies that there are, where they are known."""
    lacking = [name for name in COUNTS if name not in counts.columns]
    if lacking:
        raise ExperimentError(f"The counts lack {', '.join(lacking)}: the columns are {', '.join(COUNTS)}.")
    effects: list[Effect] = []
    sizes: dict[str, tuple[int, int]] = {}
    for row, cells in enumerate(counts[list(COUNTS)].itertuples(index=False), 1):
        strategy, metric, n, x, m, y = cells
        numbers = [n, x, m, y]
        if any(not math.isfinite(v) or v < 0 or v != int(v) for v in numbers) or x > n or y > m:
            raise ExperimentError(
                f"Row {row} of the counts: successes have to be whole numbers from 0 to the customers."
            )
        treated, control = Arm(int(n), x / n if n else math.nan), Arm(int(m), y / m if m else math.nan)
        if (str(strategy), str(metric)) in {(effect.strategy, effect.metric) for effect in effects}:
            raise ExperimentError(f"Row {row} of the counts: {metric!r} of {strategy!r} is there twice, leave one out.")
        if names is not None and strategy not in names:
            raise ExperimentError(f"Row {row} of the counts: there is no strategy {strategy!r} on the board.")
        hoped = (planned or {}).get((strategy, metric), math.nan)
        role = roles.get(metric, "primary")
        effects.append(
            effect_of_rates(str(strategy), str(metric), role, treated=treated, control=control, planned=hoped)
        )
        size = sizes.setdefault(str(strategy), (int(n), int(m)))
        sizes[str(strategy)] = max(size[0], int(n)), max(size[1], int(m))
    if not effects:
        raise ExperimentError("There are no counts yet: fill in at least one row.")
    whole = sample_ratio(sum(n for n, _ in sizes.values()), sum(m for _, m in sizes.values()), share)
    return concluded(effects, [whole, *(sample_ratio(n, m, share, name) for name, (n, m) in sizes.items())])
