"""Effects of an experiment: single comparisons of treated and control, and all of them together.

Only effects computed here are called a *measured lift*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit
from scipy.stats import norm

from gamcore.common.numbers import p_value
from gamcore.common.types import Floats
from gamcore.data.column_names import PLAIN, Measure
from gamcore.decide.experiment_plan import FEWEST, Metric, MetricRole, smallest_lift
from gamcore.decide.results import Result, Scale
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
    ratio_within,
)
from gamcore.stats.sequences import anytime_interval, anytime_p

Adjustment = Literal["Holm", "Dunnett"]


@dataclass(frozen=True)
class Arm:
    """A metric in one arm of one strategy: customers, mean or rate with its own 95% interval, and the single values
    where known."""

    n: int
    mean: float
    values: Floats | None = None
    interval: Interval = UNKNOWN


@dataclass(frozen=True)
class Effect:
    """A measured lift: treated against control, among those who would get the same strategy.

    difference, ratio : with 95% intervals of this comparison alone; that of the difference holds for all arms at once
    where Dunnett's method adjusted it. p : z test for rates, Welch's for means. p_adjusted : by Holm over all
    strategies x metrics, with expected nulls as a family of their own, or by Dunnett over the arms of the metric;
    adjusted_by : which of the two it was. planned : relative lift that
    the plan calls worth finding, or NaN; for guardrails and expected nulls, the largest move allowed. reduced : share
    of the variance removed by the adjustment for pre-experiment values. smallest : relative lift detected with 80%
    power by this many customers, at the alpha of Holm's first step. arm : which treated arm; "" where there is one.
    is_rate : whether the metric is a share of something, shown in percent. measure : unit and form of others.
    """

    strategy: str
    metric: str
    role: MetricRole
    treated: Arm
    control: Arm
    difference: float = math.nan
    difference_interval: Interval = UNKNOWN
    ratio: float = math.nan
    ratio_interval: Interval = UNKNOWN
    p: float = math.nan
    p_adjusted: float = math.nan
    adjusted_by: Adjustment = "Holm"
    planned: float = math.nan
    reduced: float = 0.0
    smallest: float = math.nan
    arm: str = ""
    is_rate: bool = False
    measure: Measure = PLAIN

    @property
    def what(self) -> str:
        """The metric, and the arm where there are several."""
        return f"{self.arm} · {self.metric}" if self.arm else self.metric

    @property
    def n(self) -> int:
        """Customers of both arms."""
        return self.treated.n + self.control.n

    @property
    def gap(self) -> Result:
        """The measured difference to the control."""
        return Result(self.difference, self.difference_interval, "measured", "difference", self.n,
                      is_rate=self.is_rate, measure=self.measure)  # fmt: skip

    @property
    def change(self) -> Result:
        """The measured change, relative to the control."""
        return Result(self.lift, self.lift_interval, "measured", "relative", self.n)

    def levels(self) -> dict[str, Result]:
        """Return the rate or mean of both arms, "control" and "treated"."""
        sides = {"control": self.control, "treated": self.treated}
        return {name: Result(side.mean, side.interval, n=side.n, is_rate=self.is_rate, measure=self.measure)
                for name, side in sides.items()}  # fmt: skip

    def cells_of_level(self) -> dict[str, float]:
        """Return how the arm differs, as cells beside what it did: for who reads one row per arm."""
        cells: dict[str, float] = {}
        for name, change in (("difference", self.gap), ("lift", self.change)):
            low, high = change.interval
            cells |= {name: change.value, f"{name}, lower": low, f"{name}, upper": high}
        return cells

    def rows_of_file(self, arm: str, control: str, **known: Any) -> list[dict[str, Any]]:
        """Return what a file has of the comparison (`results.table_of`): the difference, and the relative change. arm,
        control : what is compared. known : what else tells it from others."""
        tested = {"role": self.role, "p": self.p, "p, adjusted": self.p_adjusted, "adjusted by": self.adjusted_by,
                  "planned": self.planned, "variance explained by the earlier value": self.reduced}  # fmt: skip
        return [{**known, "arm": arm, "against": control, **result.cells(), **tested}
                for result in (self.gap, self.change)]  # fmt: skip

    def rows_with_levels(self, arm: str, control: str, **known: Any) -> list[dict[str, Any]]:
        """Return the same, after what each of both arms did."""
        names = {"control": control, "treated": arm}
        return [
            *({**known, "arm": names[side], "against": "", **result.cells()} for side, result in self.levels().items()),
            *self.rows_of_file(arm, control, **known),
        ]

    def on(self, scale: Scale) -> Result:
        """Return what was measured on a scale: a "difference", or "relative"."""
        return self.change if scale == "relative" else self.gap

    @property
    def clearest(self) -> Result:
        """The relative change where it is known; else the difference."""
        return self.change if self.change.is_known and self.change.has_interval else self.gap

    @property
    def lift(self) -> float:
        """Relative lift."""
        return self.ratio - 1

    @property
    def lift_interval(self) -> Interval:
        """95% interval of the relative lift."""
        return self.ratio_interval[0] - 1, self.ratio_interval[1] - 1

    @property
    def is_significant(self) -> bool:
        """Whether the effect is significant after the adjustment."""
        return bool(self.p_adjusted < ALPHA)

    @property
    def p_words(self) -> str:
        """The adjusted p, and what adjusted it."""
        return f"{p_value(self.p_adjusted)} after {self.adjusted_by}"


def intervals_in_words(effects: Iterable[Effect], scale: Scale, customers: float = 0) -> str:
    """Return what the intervals of effects on a scale are. customers : planned, if the test may be looked at before."""
    if customers:
        return "95% intervals that hold at every look"
    at_once = scale == "difference" and any(effect.adjusted_by == "Dunnett" for effect in effects)
    return "95% intervals that hold for all arms at once" if at_once else "95% intervals"


def effect_of_rates(
    strategy: str, metric: str, role: MetricRole, treated: Arm, control: Arm, planned: float = math.nan
) -> Effect:
    """Return the effect on a rate."""
    unknown = Effect(strategy=strategy, metric=metric, role=role, treated=treated, control=control, is_rate=True)
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
    strategy: str, metric: str, role: MetricRole, arms: tuple[Floats, Floats],
    before: tuple[Floats, Floats] | None = None, planned: float = math.nan,
) -> Effect:  # fmt: skip
    """Return the effect on a mean (Welch), treated first. Pre-experiment values, where given, adjust it as in CUPED
    (Deng et al., WSDM 2013), with one slope for both arms; a missing one counts as the average."""
    reduced, (treated, control) = 0.0, arms
    unknown = Effect(
        strategy=strategy, metric=metric, role=role,
        treated=Arm(treated.size, _mean(treated), treated), control=Arm(control.size, _mean(control), control),
    )  # fmt: skip
    if min(treated.size, control.size) < FEWEST:
        return unknown
    if before is not None:
        treated, control, reduced = less_expected(arms, before)
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


def anytime(effect: Effect, planned: float) -> Effect:
    """Return an effect with intervals and p that hold at every look; see `stats.sequences`.

    planned : customers of both arms of this comparison after which the test was planned to end.
    """
    n = effect.treated.n + effect.control.n
    if not math.isfinite(effect.p):
        return effect
    low, high = effect.ratio_interval
    if effect.ratio > 0 and low > 0:
        logs = math.log(low), math.log(high)
        low, high = ratio_within(*anytime_interval(math.log(effect.ratio), logs, n, planned))
    return replace(
        effect,
        difference_interval=anytime_interval(effect.difference, effect.difference_interval, n, planned),
        ratio_interval=(low, high),
        p=anytime_p(float(norm.isf(effect.p / 2)), n, planned),
    )


def whenever(effects: Sequence[Effect], rows: int, customers: float) -> list[Effect]:
    """Return effects that hold at every look of a test of `customers` in all, of which `rows` are in; as they are if
    that is 0. Each comparison was planned with its part of the customers."""
    if not customers:
        return list(effects)
    parts = [(effect.treated.n + effect.control.n) / max(rows, 1) for effect in effects]
    return [anytime(effect, customers * part) if part else effect for effect, part in zip(effects, parts, strict=True)]


def _ratio(mean: float, other: float) -> float:
    """Return the ratio of two means; NaN unless they are positive (the first may be 0)."""
    return mean / other if mean >= 0 and other > 0 else math.nan


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else math.nan


def less_expected(arms: tuple[Floats, Floats], before: tuple[Floats, Floats]) -> tuple[Floats, Floats, float]:
    """Return both arms less what their earlier values predict, and the share of the variance that this removes."""
    known = np.concatenate(before)
    mean = float(np.nanmean(known)) if np.isfinite(known).any() else 0.0
    moved = [np.nan_to_num(values - mean, nan=0.0) for values in before]
    centred = [values - values.mean() for values in arms]
    within = [values - values.mean() for values in moved]
    square = sum(float(np.square(values).sum()) for values in within)
    if not square > 0:
        return *arms, 0.0
    slope = sum(float(np.sum(x * y)) for x, y in zip(within, centred, strict=True)) / square
    total = sum(float(np.square(values).sum()) for values in centred)
    reduced = slope**2 * square / total if total > 0 else 0.0
    return arms[0] - slope * moved[0], arms[1] - slope * moved[1], reduced


def _spread(effect: Effect) -> float | None:
    """Return the standard deviation of a metric's single values; None for a rate."""
    values = effect.control.values
    if values is None:
        return None
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def _widened(effect: Effect, spread: float | None) -> float:
    """Return how wide the interval of a difference is, of customers by themselves that spread as the control does as 1:
    clusters, a treated arm that spreads more, and leave to look at any time widen it; an adjustment narrows it. NaN
    where there is none. spread : of the control; None for a rate."""
    (treated, n), (control, m) = ((side.mean, side.n) for side in (effect.treated, effect.control))
    if spread is None:
        low, high = newcombe(treated, n, control, m)
    else:
        high = float(stdtrit(n + m - 2, 1 - ALPHA / 2)) * spread * math.sqrt(1 / n + 1 / m)
        low = -high
    return (effect.difference_interval[1] - effect.difference_interval[0]) / (high - low)


def concluded(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """Return effects with Holm's adjustment and the smallest lift that each comparison could detect: that of as many
    customers by themselves as would have its interval."""
    adjusted: dict[int, float] = {}
    sizes = {}
    for nulls in (False, True):  # one family of tests for the metrics, one for the checks of the set-up
        family = [k for k, e in enumerate(effects) if (e.role == "expected null") == nulls and math.isfinite(e.p)]
        sizes[nulls] = max(len(family), 1)
        if family:
            by_holm = adjusted_by_holm(np.array([effects[k].p for k in family]))
            adjusted |= dict(zip(family, by_holm.tolist(), strict=True))
    done = []
    for k, effect in enumerate(effects):
        control = effect.control.n / effect.treated.n if effect.treated.n else math.nan
        alpha = ALPHA / sizes[effect.role == "expected null"]
        spread = _spread(effect)
        smallest = math.nan
        varies = effect.control.mean < 1 if spread is None else spread > 0
        if effect.control.mean > 0 and varies and math.isfinite(effect.p) and (wider := _widened(effect, spread)) > 0:
            metric = Metric(effect.metric, effect.control.mean, 0.1, effect.role, spread)
            smallest = smallest_lift(metric, effect.treated.n / wider**2, alpha, 0.8, control)
        done.append(replace(effect, p_adjusted=adjusted.get(k, math.nan), smallest=smallest))
    return tuple(done)
