"""Plans of experiments: how many customers a test of any number of arms needs, and for how long.

In all arms, a row belongs to the strategy that it would get (`StrategySet.assign`): the treated of a strategy are
compared with the controls who would have got it. Without strategies, all customers are compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from gamcore.common.numbers import count, counted, exact, number, percent
from gamcore.data.labels import set_apart
from gamcore.decide.arms import MOST_ARMS
from gamcore.decide.arrivals import ALIKE, WEEK, Arrivals
from gamcore.decide.experiment_effects import Adjustment
from gamcore.decide.experiment_plan import ExperimentError, Metric, sample_size, smallest_lift
from gamcore.decide.results import Result, table_of
from gamcore.stats.intervals import ALPHA
from gamcore.stats.sequences import anytime_alpha
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

EVEN: Final[Mapping[str, float]] = {"control": 0.5, "treated": 0.5}
EVERYBODY: Final = ""
"""The strategy of a test without strategies."""


def dunnett_alpha(shares: Sequence[float], alpha: float = ALPHA) -> float:
    """Return the error of each single comparison that keeps `alpha` over all arms of a large test (Dunnett 1955).

    shares : of the customers, the control's first, up to a factor.
    """
    control, *treated = shares
    loads = np.array([math.sqrt(share / (share + control)) for share in treated])
    rest = np.sqrt(1 - loads**2)

    def error(critical: float) -> float:
        """Return the probability that any of the comparisons, correlated by their control, is beyond a value."""

        def inside(z: float) -> float:
            each = norm.cdf((critical - loads * z) / rest) - norm.cdf((-critical - loads * z) / rest)
            return float(norm.pdf(z) * each.prod())

        return 1 - float(quad(inside, -9, 9, epsabs=1e-11)[0])

    ends = norm.isf(alpha / 2) - 1e-6, norm.isf(alpha / 2 / len(treated)) + 1e-6
    return 2 * float(norm.sf(brentq(lambda critical: error(critical) - alpha, *ends)))


@dataclass(frozen=True)
class PlanRow:
    """One metric of one arm of one strategy: customers per day, alpha, customers needed in both arms, and days.

    a_day : on average. share, control_share : of all customers, of the arm and of the control. once : days for one
    look, at the end, where the test may be looked at whenever one likes; 0 where it may not. arrivals : when they come.
    """

    strategy: str
    arm: str
    metric: Metric
    a_day: float
    share: float
    control_share: float
    alpha: float
    treated: int
    control: int
    days: int
    once: int = 0
    arrivals: Arrivals = ALIKE

    @property
    def feasible(self) -> bool:
        """Whether there is any traffic."""
        return self.a_day > 0

    def smallest(self, day: int, power: float) -> float:
        """Return the smallest relative lift that is detected after a number of days; NaN where there is none."""
        come, planned = self.arrivals.after(day), self.arrivals.after(self.days)
        treated = math.floor(self.a_day * come * self.share)
        alpha = anytime_alpha(self.alpha, come, planned) if self.once and come else self.alpha
        return smallest_lift(self.metric, treated, alpha, power, self.control_share / self.share)


@dataclass(frozen=True)
class ExperimentPlan(Explanation):
    """A test of arms, perhaps of strategies that run side by side, on the customers of each.

    shares : of the customers by arm, the control first; they add up to 1. tests : comparisons that share the error.
    Under Holm's procedure the plan uses the alpha of its first step, alpha / tests.
    """

    rows: tuple[PlanRow, ...]
    shares: Mapping[str, float]
    power: float
    tests: int
    adjustment: Adjustment = "Holm"
    arrivals: Arrivals = ALIKE

    @property
    def days(self) -> int:
        """Days until every primary metric can be read."""
        return max((row.days for row in self.rows if row.metric.role == "primary"), default=0)

    @property
    def once(self) -> int:
        """The same for one look at the end, where the test may be looked at whenever one likes; else 0."""
        return max((row.once for row in self.rows if row.metric.role == "primary"), default=0)

    @property
    def weeks(self) -> int:
        """The same in whole weeks, because days of the week differ."""
        return math.ceil(self.days / WEEK)

    @property
    def customers(self) -> int:
        """Customers of all arms and strategies until then."""
        return math.ceil(self.come(self.days))

    def come(self, days: int) -> float:
        """Return the customers of all arms and strategies that have come after a number of days."""
        return self.arrivals.after(days) * sum({row.strategy: row.a_day for row in self.rows}.values())

    def dates(self, days: int) -> str:
        """Return the first and the last of a number of days, "2026-12-01 to 2026-12-14"; "" where none is set."""
        last = self.arrivals.last(days)
        return "" if last is None else f"{self.arrivals.first} to {last}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics, the primary ones first."""
        return tuple(
            dict.fromkeys(row.metric.name for row in sorted(self.rows, key=lambda r: r.metric.role != "primary"))
        )

    @property
    def whole(self) -> bool:
        """Whether it is of all customers, without strategies."""
        return all(row.strategy == EVERYBODY for row in self.rows)

    def split(self) -> str:
        """Return the shares of the arms in words."""
        return ", ".join(f"{set_apart(arm)} {exact(100 * share, 3)}%" for arm, share in self.shares.items())

    def _named(self, row: PlanRow) -> dict[str, str]:
        """Return what tells a row from others: its strategy and its arm, where there are several."""
        return ({} if self.whole else {"strategy": row.strategy}) | ({"arm": row.arm} if len(self.shares) > 2 else {})

    def describe(self, metric: str = "", detail: str = "", **words: Any) -> Plot:
        """Return the smallest lift that shows, by days. metric : its name; by default the first primary one."""
        from gamcore.decide.plots.plans import detectable

        return detectable(self, metric, detail, **words)

    def frame(self) -> pd.DataFrame:
        """Return today's rate or mean and the lift worth finding of each strategy, arm and metric, beside what finding
        it takes: a row per number (`results.table_of`)."""
        return table_of(
            {**self._named(row), "metric": row.metric.name, "role": row.metric.role, "number": name, **result.cells(),
             "customers per day": round(row.a_day), "treated": row.treated, "control": row.control,
             "days": row.days if row.feasible else None}
            for row in self.rows for name, result in row.metric.results().items()
        )  # fmt: skip

    def table(self) -> pd.DataFrame:
        """Return the same as texts, to be read."""
        return pd.DataFrame(
            [
                {**self._named(row), "metric": row.metric.name, "role": row.metric.role, "today": row.metric.value,
                 "lift worth finding": f"{exact(100 * row.metric.lift, 3)}%", "customers per day": count(row.a_day),
                 "treated": count(row.treated), "control": count(row.control),
                 "days": count(row.days) if row.feasible else "never"}
                for row in self.rows
            ]
        )  # fmt: skip

    def sentences(self) -> list[str]:
        """Return the length of the test, its arms, and what each primary comparison needs, as sentences."""
        if not self.days:
            return ["No strategy reaches anybody, so there is nothing to test."]
        dates = self.dates(WEEK * self.weeks)
        weeks = f"{weeks_in_words(self.weeks)}{f' ({dates})' if dates else ''}"
        sentences = [f"{weeks} and {count(self.customers)} customers ({self.split()}); {percent(self.power, 0)} power, "
                     f"{self.adjustment} over {counted(self.tests, 'comparison')}. {self.looking()}"]  # fmt: skip
        for row, texts in zip(self.rows, self.table().to_dict("records"), strict=True):
            if row.metric.role == "primary" and row.feasible:
                name = " · ".join([*self._named(row).values(), row.metric.name])
                sentences.append(f"{name}: {texts['today']} today, {texts['lift worth finding']} more after "
                                 f"{counted(row.days, 'day')} with {texts['treated']} treated and {texts['control']} "
                                 "in the control.")  # fmt: skip
        return sentences

    def looking(self) -> str:
        """Return when the test may be read, and what that costs, as a sentence."""
        if not self.once:
            return "Read it once, at the end."
        more = counted(self.days - self.once, "day")
        return (
            f"Look whenever you like, and stop when an interval excludes 0. That costs {more}: read once, at the end, "
            f"it would take {count(self.once)} instead of at most {count(self.days)}."
        )

    def found_in(self, days: Sequence[int], metric: str = "") -> pd.DataFrame:
        """Return the smallest lift that each row detects after some days, of one metric or all: a row per number
        (`results.table_of`); NaN where there is none."""
        return table_of(
            {**self._named(row), "metric": row.metric.name, "role": row.metric.role, "number": "smallest lift",
             "day": day, **Result(row.smallest(day, self.power), source="assumed", scale="relative").cells()}
            for row in self.rows if metric in ("", row.metric.name) for day in days
        )  # fmt: skip

    def by_week(self, metric: str = "") -> pd.DataFrame:
        """Return the smallest lift that each comparison of a metric could detect after 1, 2, 4, ... weeks.

        One row per number of weeks and comparison: the last day (None where no first day is set), the customers of all
        arms until then, the relative lift and the difference; NaN where there is none. metric : its name; by default
        the first primary one."""
        metric = metric or self.metrics[0]
        rows = []
        for weeks in _doubled(self.weeks):
            days = WEEK * weeks
            for name, row in self.comparisons(metric).items():
                lift = row.smallest(days, self.power)
                rows.append({"weeks": weeks, "until": self.arrivals.last(days), "customers": round(self.come(days)),
                             "comparison": name, "metric": metric, "smallest lift": lift,
                             "smallest difference": lift * row.metric.base})  # fmt: skip
        return pd.DataFrame(rows)

    def by_week_table(self, metric: str = "") -> pd.DataFrame:
        """Return the same as texts: one row per number of weeks, one column per comparison."""
        rows: dict[int, dict[str, str]] = {}
        for row in self.by_week(metric).to_dict("records"):
            base = self.comparisons(row["metric"])[row["comparison"]].metric
            after = replace(base, base=base.base + row["smallest difference"]).value
            lift = row["smallest lift"]
            seen = f"+{percent_of_lift(lift)} ({base.value} to {after})" if math.isfinite(lift) else "nothing"
            until = {"until": str(row["until"])} if row["until"] is not None else {}
            rows.setdefault(row["weeks"], {"after": weeks_in_words(row["weeks"]), **until,
                                           "customers": count(row["customers"])})  # fmt: skip
            rows[row["weeks"]][row["comparison"] or "smallest lift that shows"] = seen
        return pd.DataFrame(list(rows.values()))

    def comparisons(self, metric: str) -> dict[str, PlanRow]:
        """Return the rows of a metric with any traffic by what tells them apart; arms of equal size are one."""
        mine = [row for row in self.rows if row.metric.name == metric and row.feasible]
        equal = len({row.share for row in mine}) <= 1
        arms = len(self.shares) > 2
        named: dict[str, PlanRow] = {}
        for row in mine:
            arm = [] if not arms or (equal and not self.whole) else ["each arm" if equal else row.arm]
            named.setdefault(" · ".join([*([] if self.whole else [row.strategy]), *arm]), row)
        return named


def plan(
    a_day: Mapping[str, float], metrics: Sequence[Metric], arms: Mapping[str, float] = EVEN, power: float = 0.8,
    alpha: float = ALPHA, adjustment: Adjustment = "Holm", looks: bool = False,
    today: Mapping[tuple[str, str], float] | None = None, arrivals: Arrivals = ALIKE,
) -> ExperimentPlan:  # fmt: skip
    """Plan a test. looks : whether it may be looked at whenever one likes, with always-valid intervals.

    a_day : customers per day of each strategy; {EVERYBODY: ...} without strategies. arms : the share of each arm up to
    a factor, the control first. adjustment : as in the read-out. Holm's family is strategies x arms x metrics, with the
    expected nulls, which check the set-up, as a family of their own; Dunnett's is the arms of one strategy and metric.
    today : by (strategy, metric), its rate or mean among the customers of the strategy, where that is not its `base`.
    arrivals : from which day on customers come, and on which weekdays how many.
    """
    shares = _shares(arms)
    if not 0 < power < 1 or not 0 < alpha < 1:
        raise ExperimentError("Power and alpha have to lie between 0 and 1.")
    if not a_day or not any(metric.role == "primary" for metric in metrics):
        raise ExperimentError("A plan needs at least one primary metric: set the role of one to primary.")
    (_, control), *treated = shares.items()
    each = max(sum(number > 0 for number in a_day.values()), 1) * len(treated)
    nulls = each * sum(metric.role == "expected null" for metric in metrics)
    tests = each * len(metrics) - nulls
    if adjustment == "Dunnett":
        tests, single = len(treated), dunnett_alpha(list(shares.values()), alpha)
    rows = []
    for strategy, customers in a_day.items():
        for usual in metrics:
            own_base = (today or {}).get((strategy, usual.name))
            metric = usual if own_base is None else replace(usual, base=own_base)
            if customers > 0 and math.isnan(metric.base):
                raise ExperimentError(f"What {metric.name!r} is today for {strategy} is not known: enter it.")
            family = nulls if metric.role == "expected null" else tests
            own = single if adjustment == "Dunnett" else alpha / family
            compared = [_row(strategy, arm, metric, a_day=customers, shares=(share, control), alpha=own, power=power,
                             arrivals=arrivals)
                        for arm, share in treated]  # fmt: skip
            rows += [_looked_at(row, power) for row in compared] if looks else compared
    return ExperimentPlan(tuple(rows), shares, power, tests, adjustment=adjustment, arrivals=arrivals)


def weeks_in_words(weeks: int) -> str:
    """Return a number of weeks."""
    return counted(weeks, "week")


def percent_of_lift(lift: float) -> str:
    """Return a lift in percent with two digits or, from 10%, none behind the point."""
    return f"{number(100 * lift, 2)}%" if lift < 0.1 else percent(lift, 0)


def _doubled(weeks: int) -> list[int]:
    """Return 1, 2, 4, ... weeks, until a plan of so many has ended, and a year at most."""
    return [week for week in (1, 2, 4, 8, 16, 32, 52) if week <= 4 or week / 2 < weeks]


def _shares(arms: Mapping[str, float]) -> dict[str, float]:
    """Return the shares of the arms, which add up to 1."""
    if not 2 <= len(arms) <= MOST_ARMS:
        raise ExperimentError(f"There are {len(arms)} arms; a test has 2 to {MOST_ARMS}, the control first.")
    for arm, share in arms.items():
        if not (math.isfinite(share) and share > 0):
            raise ExperimentError(f"The share of {arm!r} is {exact(share)}: give every arm a share above 0.")
    whole = sum(arms.values())
    return {arm: share / whole for arm, share in arms.items()}


def _looked_at(once: PlanRow, power: float) -> PlanRow:
    """Return what a comparison needs that may be looked at whenever one likes, given what it needs for one look."""
    single = anytime_alpha(once.alpha)
    shares = once.share, once.control_share
    row = _row(once.strategy, once.arm, once.metric, a_day=once.a_day, shares=shares, alpha=single, power=power,
               arrivals=once.arrivals)  # fmt: skip
    return replace(row, alpha=once.alpha, once=once.days)


def _row(
    strategy: str, arm: str, metric: Metric, *, a_day: float, shares: tuple[float, float], alpha: float, power: float,
    arrivals: Arrivals,
) -> PlanRow:  # fmt: skip
    """Return what a metric of an arm needs. shares : of the arm, and of the control."""
    share, control_share = shares
    known = not math.isnan(metric.base)  # else of a strategy that nobody gets
    treated = math.ceil(sample_size(metric, alpha, power, control_share / share)) if known else 0
    control = math.ceil(treated * control_share / share)
    days = arrivals.until(max(treated / share, control / control_share) / a_day) if a_day > 0 else 0
    return PlanRow(
        strategy=strategy, arm=arm, metric=metric, a_day=a_day, share=share, control_share=control_share, alpha=alpha,
        treated=treated, control=control, days=days, arrivals=arrivals,
    )  # fmt: skip
