"""A test of any number of arms, read from its rows: each arm against the control, overall, by strategy and by segment.

Holm (1979) adjusts over all arms and metrics. Dunnett (1955) adjusts over the arms of each metric, which share one
control; it assumes that all arms spread alike. Arms that are pooled are read together as one more arm: their rows as
they are, so that larger arms count for more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2, chisquare, norm

from gamcore.common.types import Floats, Ints
from gamcore.data.columns import read_present_texts
from gamcore.data.labels import levels_in_words
from gamcore.data.table import Table, as_table
from gamcore.decide.clusters import by_clusters, interval_of_level, read_assigned
from gamcore.decide.experiment_effects import (
    Adjustment,
    Effect,
    concluded,
    intervals_in_words,
    less_expected,
    whenever,
)
from gamcore.decide.experiment_plan import MISMATCH, ExperimentError, MetricRole
from gamcore.decide.fairness import groups_of
from gamcore.decide.outcomes import Outcome, Units, outcome_of, read_outcome, read_outcomes
from gamcore.decide.results import Result, Scale, table_of
from gamcore.stats.intervals import UNKNOWN, Interval
from gamcore.stats.many_to_one import ManyToOne
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

MOST_ARMS: Final = 12
FEWEST: Final = 2
"""Rows of an arm in a segment from which a difference is computed."""


@dataclass(frozen=True)
class ArmsTest:
    """How a test was set up. arm : its column. control : a level of it. treated : the levels that are held against the
    control, in this order; () for all others. shares : the planned share of every arm by
    level, up to a factor, also of arms that nobody got; None for equal ones. metrics : outcomes and their roles, each a
    column, or what `outcomes` says that it is made of.
    before : by metric, the column with its pre-experiment values. customers : of all arms at the planned end, if
    the test may be looked at before; 0 for one look, at the end. cluster : column of what was assigned to an arm as
    a whole, such as a store or a household. known_before : columns known before the test, of which a model may
    expect outcomes (`expected` of `read_arms`). pooled : treated arms that are read together, too; () for none.
    accepted : by metric, the relative fall of a guardrail, or move of an expected null, below which nobody minds it;
    without one, such a metric is settled only where it moved."""

    arm: str
    control: str
    metrics: Mapping[str, MetricRole]
    shares: Mapping[str, float] | None = None
    before: Mapping[str, str] | None = None
    adjustment: Adjustment = "Holm"
    customers: int = 0
    cluster: str | None = None
    known_before: tuple[str, ...] = ()
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    pooled: tuple[str, ...] = ()
    accepted: Mapping[str, float] = field(default_factory=dict)
    treated: tuple[str, ...] = ()

    @property
    def pool(self) -> str:
        """What the pooled arms are called; "" where there are none."""
        return levels_in_words(self.pooled, "or") if self.pooled else ""

    def __post_init__(self) -> None:
        """Take a control that is a number or a truth, and shares by such levels, by the names that levels have."""
        object.__setattr__(self, "control", _level_of(self.control))
        if self.shares is not None:
            object.__setattr__(self, "shares", {_level_of(level): share for level, share in self.shares.items()})
        for name in ("pooled", "treated"):
            object.__setattr__(self, name, tuple(map(_level_of, getattr(self, name))))
        for metric, share in self.accepted.items():
            if not 0 < share < 1:
                raise ExperimentError(f"The accepted move of {metric!r} is {share!r}: give a share between 0 and 1.")

    def outcome(self, metric: str) -> Outcome:
        """Return what an outcome is made of."""
        return self.outcomes.get(metric) or Outcome(metric)

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns that its outcomes are made of."""
        return tuple(dict.fromkeys(column for metric in self.metrics for column in self.outcome(metric).columns))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is read from."""
        others = (*(self.before or {}).values(), *([self.cluster] if self.cluster else []), *self.known_before)
        return tuple(dict.fromkeys((self.arm, *self.measured, *others)))


@dataclass(frozen=True)
class ArmSizes:
    """Customers of each arm (clusters where these were assigned), those planned of as many, and p of a chi-squared test
    that they agree."""

    counts: dict[str, int]
    planned: dict[str, float]
    p: float

    @property
    def alarm(self) -> bool:
        """Whether customers were assigned in another way than planned."""
        return self.p < MISMATCH


@dataclass(frozen=True)
class ByStrategy:
    """Which strategy of a board each row would get, whatever its arm: each is compared within its own customers.

    place : (n,) index of the strategy in `names`; negative for none. planned : by strategy and metric, the relative
    lift that the plan calls worth finding; for guardrails and expected nulls, the largest move allowed."""

    place: NDArray[np.int64]
    names: Sequence[str]
    planned: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadOut(Explanation):
    """What a test measured. arms : the control first. sizes : of the arms among "all" rows, then among those with each
    metric. effects : one per arm and metric, `strategy` being the arm, or what the pooled arms are called. Where it was
    read by strategy, one per strategy, metric and arm, and by_strategy has the sizes of the arms in each. left_out :
    rows without an arm. notes : a sentence on each strategy that could not be read."""

    test: ArmsTest
    arms: tuple[str, ...]
    sizes: dict[str, ArmSizes]
    effects: tuple[Effect, ...]
    by_strategy: dict[str, ArmSizes] = field(default_factory=dict)
    left_out: int = 0
    notes: tuple[str, ...] = ()

    @property
    def wrong_sizes(self) -> dict[str, ArmSizes]:
        """The sizes of arms that are not as planned, by where that is, in words; "" for all rows."""
        rows = {"" if name == "all" else f" among rows with {name}": size for name, size in self.sizes.items()}
        parts = {f" in {name}": size for name, size in self.by_strategy.items()}
        return {where: size for where, size in (rows | parts).items() if size.alarm}

    @property
    def stopped(self) -> bool:
        """Whether a sample-ratio mismatch forbids a verdict."""
        return bool(self.wrong_sizes)

    @property
    def compared(self) -> tuple[str, ...]:
        """What was held against the control: the strategies, or the arms."""
        return tuple(dict.fromkeys(effect.strategy for effect in self.effects))

    @property
    def lines(self) -> tuple[str, ...]:
        """The arms, the control first, and the pooled ones last."""
        return (*self.arms, self.test.pool) if self.test.pool else self.arms

    @property
    def adjusted_by(self) -> str:
        """What adjusted its p values, in words."""
        used: dict[Adjustment, dict[str, None]] = {}
        for effect in self.effects:
            used.setdefault(effect.adjusted_by, {})[effect.metric] = None
        if len(used) < 2:
            return "".join(used)
        return ", ".join(f"{method} on {', '.join(metrics)}" for method, metrics in used.items())

    def intervals(self, scale: Scale) -> str:
        """Return what the intervals of its effects on a scale are, in words."""
        return intervals_in_words(self.effects, scale, self.test.customers)

    def size(self, arm: str, metric: str) -> int:
        """Return the customers of an arm, or of the pooled ones, with a metric; clusters where these were assigned."""
        counts = self.sizes[metric].counts
        return sum(counts[own] for own in self.test.pooled) if arm == self.test.pool else counts[arm]

    def level(self, arm: str, metric: str) -> Result:
        """Return the rate or mean of an arm, or of the pooled ones, with its 95% interval, by clusters where these were
        assigned. Not of a read-out by strategy, where each has levels of its own."""
        side = "control" if arm == self.test.control else "treated"
        effect = next(e for e in self.effects if e.metric == metric and (side == "control" or e.strategy == arm))
        return replace(effect.levels()[side], n=self.size(arm, metric))

    def describe(self, detail: str = "", scale: Scale = "relative", **words: Any) -> Plot:
        """Return the measured lifts with their intervals: "relative", or each a "difference" (of one metric)."""
        from gamcore.decide.plots.strategies import lifts

        treated = "each arm" if len(self.arms) > 2 or not self.by_strategy else self.arms[1]
        return lifts(self, detail or f"{treated} against {self.test.control}, {self.intervals(scale)}", scale, **words)

    def frame(self, metric: str = "", between: Sequence[tuple[str, Effect]] = ()) -> pd.DataFrame:
        """Return what each arm did, the control first and the pooled arms last, and how it differs from the control: a
        row per number (`results.table_of`); the row of what an arm did also says how it differs. By strategy, what both
        arms of each comparison did, and how they differ. metric : one of several; all by default. between : how the
        treated arms differ from each other (`between_arms`), which comes last."""
        metrics = [metric] if metric else list(dict.fromkeys(effect.metric for effect in self.effects))
        if self.by_strategy:
            return table_of(
                row for effect in self.effects if effect.metric in metrics
                for row in effect.rows_with_levels(effect.arm or self.arms[1], self.test.control,
                                                   strategy=effect.strategy, metric=effect.metric)
            )  # fmt: skip
        own = (row for metric in metrics for arm in self.lines for row in self._rows(arm, metric))
        others = (row for other, effect in between if effect.metric in metrics
                  for row in effect.rows_of_file(effect.strategy, other, metric=effect.metric))  # fmt: skip
        return table_of(chain(own, others))

    def _rows(self, arm: str, metric: str) -> Iterator[dict[str, Any]]:
        effects = [effect for effect in self.effects if (effect.strategy, effect.metric) == (arm, metric)]
        beside = {name: cell for effect in effects for name, cell in effect.cells_of_level().items()}
        yield {"metric": metric, "arm": arm, "against": "", **self.level(arm, metric).cells(), **beside}
        for effect in effects:
            yield from effect.rows_of_file(arm, self.test.control, metric=metric)


def read_arms(
    frame: pd.DataFrame | Table, test: ArmsTest, expected: Mapping[str, Floats] | None = None,
    by: ByStrategy | None = None,
) -> ReadOut:  # fmt: skip
    """Read a test from its rows; those without an arm are left out. ExperimentError says what cannot be read.

    expected : by metric, what a model of columns known before the test expects of each row (n,), by parts that did not
    see it (`estimators.effect.expected_outcomes`); it narrows intervals as a value from before does. by : the
    strategies that are compared, each among those who would get it; others are left out. Dunnett's adjustment is for
    customers by themselves that are looked at once, by their outcomes alone: else Holm's takes its place.
    """
    if test.customers or test.cluster or test.before or expected or by is not None:
        test = replace(test, adjustment="Holm")
    table = as_table(frame)
    arm, arms = _arms(table, test)
    clusters = None if test.cluster is None else read_assigned(table, test.cluster, arm, arms)
    inside = arm >= 0 if by is None else (arm >= 0) & (by.place >= 0)
    parts = {} if by is None else {name: inside & (by.place == k) for k, name in enumerate(by.names)}
    if not inside.any():
        raise ExperimentError("No row would get a strategy: check the columns that the rules use.")
    units = read_outcomes(table, {metric: test.outcome(metric) for metric in test.metrics}, inside)
    past = {metric: outcome_of(table, column) for metric, column in (test.before or {}).items()} | dict(expected or {})

    def sizes(rows: NDArray[np.bool_]) -> ArmSizes:
        counts = np.bincount(_assigned(arm, rows, clusters), minlength=len(arms))
        return sizes_of(dict(zip(arms, counts.tolist(), strict=True)), test.shares)

    effects = []
    for strategy, part in (parts or {"": inside}).items():
        for metric, role in test.metrics.items():
            known = part & units[metric].known
            for name, places in compared(arms, test).items():
                sides = known & np.isin(arm, places), known & (arm == 0)
                effect = _effect(strategy or name, metric, role, units[metric], rows=sides, past=past.get(metric),
                                 clusters=clusters)  # fmt: skip
                planned = math.nan if role == "primary" else test.accepted.get(metric, math.nan)
                planned = by.planned.get((strategy, metric), planned) if by is not None else planned
                own = name if by is not None and len(arms) > 2 else ""
                effects.append(replace(effect, planned=planned, arm=own))
    done = concluded(whenever(effects, int(inside.sum()), test.customers))
    if test.adjustment == "Dunnett":
        rows = {metric: [inside & units[metric].known & (arm == k) for k in range(len(arms))] for metric in units}
        values = {metric: [units[metric].of(part) for part in parts] for metric, parts in rows.items()}
        done = tuple(_by_dunnett(done, values, list(compared(arms, test).values())))
    whole = {"all": sizes(inside)} | {metric: sizes(inside & units[metric].known) for metric in test.metrics}
    by_strategy = {name: sizes(rows) for name, rows in parts.items()}
    return ReadOut(test, arms, sizes=whole, effects=done, by_strategy=by_strategy, left_out=int((arm < 0).sum()))


def between_arms(
    frame: pd.DataFrame | Table, test: ArmsTest, expected: Mapping[str, Floats] | None = None
) -> list[tuple[str, Effect]]:
    """Return how the arms that are not the control differ from each other: each with the arm that it is compared with.

    Holm's adjustment is over these comparisons alone, as a second question to the test. expected : as of `read_arms`.
    """
    table = as_table(frame)
    _, (_, *treated) = _arms(table, test)
    pairs: list[tuple[str, Effect]] = []
    for k, other in enumerate(treated[:-1]):
        read_out = read_arms(table, replace(test, control=other, adjustment="Holm", pooled=(), treated=()), expected)
        pairs += [(other, effect) for effect in read_out.effects if effect.strategy in treated[k + 1 :]]
    done = concluded([effect for _, effect in pairs])
    return [(other, effect) for (other, _), effect in zip(pairs, done, strict=True)]


def compared(arms: tuple[str, ...], test: ArmsTest) -> dict[str, list[int]]:
    """Return the places in `arms` of what is compared with the control, by name: each treated arm, and last the pooled
    ones. ExperimentError where these are not several treated arms."""
    those = {name: [k] for k, name in enumerate(arms) if k}
    if not test.pooled:
        return those
    strange = [name for name in test.pooled if name not in those]
    if strange or len(set(test.pooled)) < 2 or test.pool in those:
        which = f"{strange[0]!r} is no treated arm" if strange else "Fewer than two arms are pooled"
        raise ExperimentError(f"{which}: choose again which arms are read together.")
    return those | {test.pool: [arms.index(name) for name in test.pooled]}


def _level_of(value: Any) -> str:
    """Return the name of a level, as columns of its type have it."""
    names = [value] if isinstance(value, str) else read_present_texts(pd.Series([value]))[1]
    return names[0] if names else str(value)


def _arms(table: Table, test: ArmsTest) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the place of each row's arm (n,), -1 for none, and the arms, the control first: those that occur, and
    those that were planned, of which nobody may be."""
    if test.arm not in table:
        raise ExperimentError(f"The table has no column {test.arm!r}: choose another arm column.")
    if test.arm in test.measured:
        raise ExperimentError(f"{test.arm!r} is the arm, so it cannot be an outcome, too: choose another.")
    codes, present = read_present_texts(table.frame[test.arm])
    if test.control not in present:
        raise ExperimentError(f"No row of {test.arm!r} is {test.control!r}: choose another control.")
    names = {*present, *(test.shares or ())}
    if lacking := set(test.treated) - names:
        raise ExperimentError(f"No row of {test.arm!r} is {min(lacking)!r}: choose another arm.")
    arms = (test.control, *(test.treated or sorted(names - {test.control})))
    if not 2 <= len(arms) <= MOST_ARMS:
        raise ExperimentError(f"{test.arm!r} has {len(arms)} values; a test has 2 to {MOST_ARMS} arms.")
    place = np.array([*(arms.index(name) if name in arms else -1 for name in present), -1])
    return place[codes], arms


def _assigned(arm: NDArray[np.int64], inside: NDArray[np.bool_], clusters: Ints | None) -> NDArray[np.int64]:
    """Return the arms of some rows, or of their clusters if these were assigned."""
    if clusters is None:
        return arm[inside]
    return arm[inside][np.unique(clusters[inside], return_index=True)[1]]


def sizes_of(counts: dict[str, int], shares: Mapping[str, float] | None) -> ArmSizes:
    """Return the sizes of the arms, given their customers, and whether they are as planned."""
    wanted = np.array([1.0 if shares is None else shares.get(name, 0.0) for name in counts])
    if not (wanted > 0).all():
        raise ExperimentError("A planned share is missing or not above 0: give every arm one.")
    planned = wanted / wanted.sum() * sum(counts.values())
    p = float(chisquare(list(counts.values()), planned).pvalue) if any(counts.values()) else math.nan
    return ArmSizes(counts, dict(zip(counts, planned.tolist(), strict=True)), p)


def _effect(
    arm: str, metric: str, role: MetricRole, units: Units, *, rows: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    past: Floats | None, clusters: Ints | None = None,
) -> Effect:  # fmt: skip
    """Return the effect of an arm on a metric. rows : known ones of the arm, and those of the control."""
    effect = units.effect(arm, metric, role, rows=rows, past=past)
    if clusters is None:
        return effect
    sides = units.of(rows[0]), units.of(rows[1])
    treated, control = (
        replace(side, interval=interval_of_level(values, clusters[part], units.is_rate) if values.size else UNKNOWN)
        for side, values, part in zip((effect.treated, effect.control), sides, rows, strict=True)
    )
    effect = replace(effect, treated=treated, control=control)
    if past is not None and min(part.size for part in sides) >= FEWEST:
        sides = less_expected(sides, (past[rows[0]], past[rows[1]]))[:2]
    return by_clusters(effect, sides, (clusters[rows[0]], clusters[rows[1]]))


def _by_dunnett(
    effects: Sequence[Effect], values: Mapping[str, list[Floats]], groups: Sequence[Sequence[int]]
) -> list[Effect]:
    """Return the effects with p values and intervals of the difference adjusted over the comparisons of each metric.

    values : by metric, those of each arm, the control first. groups : places of the arms of each comparison."""
    done = list(effects)
    for metric, (control, *treated) in values.items():
        sizes = np.array([part.size for part in treated])
        if min(control.size, *sizes) < FEWEST or not any(np.ptp(part) > 0 for part in (control, *treated)):
            continue
        shares = np.array([[n * (k in group) for k, n in enumerate(sizes, 1)] for group in groups], np.float64)
        among = ManyToOne(shares / shares.sum(axis=1, keepdims=True), sizes, control.size)
        within = sum(float(np.square(part - part.mean()).sum()) for part in (control, *treated))
        errors = math.sqrt(within / among.freedom) * among.errors
        mine = [k for k, effect in enumerate(effects) if effect.metric == metric]
        gaps, critical = [effects[k].difference for k in mine], among.critical()
        for k, gap, error in zip(mine, gaps, errors.tolist(), strict=True):
            ends = gap - critical * error, gap + critical * error
            done[k] = replace(effects[k], p_adjusted=among.chance_of_any(abs(gap) / error), adjusted_by="Dunnett",
                              difference_interval=ends)  # fmt: skip
    return done


@dataclass(frozen=True)
class Segments(Explanation):
    """The lift of one metric by segment. effects : one per segment and arm; `strategy` is the segment, `metric` the
    arm; `p_adjusted` is over all of them, by Holm. p, p_relative : by arm, whether the differences of the segments,
    or their ratios, differ more than chance makes them (Cochran's Q): segments of unlike rates may do one and not the
    other. control : the arm that the others are held against."""

    column: str
    metric: str
    effects: tuple[Effect, ...]
    p: dict[str, float]
    p_relative: dict[str, float] = field(default_factory=dict)
    control: str = "control"

    def p_on(self, scale: Scale) -> dict[str, float]:
        """Return by arm whether segments differ on a scale: a "difference", or "relative"."""
        return self.p_relative if scale == "relative" else self.p

    def describe(self, detail: str = "", scale: Scale = "relative", **words: Any) -> Plot:
        """Return the lift of each segment and arm as a heat table, on a scale: a "difference", or "relative"."""
        from gamcore.decide.plots.heat import heat

        return heat(self, detail, scale)

    def frame(self) -> pd.DataFrame:
        """Return what each arm and the control did in each segment, and how they differ: a row per number
        (`results.table_of`)."""
        return table_of(
            row for effect in self.effects
            for row in effect.rows_with_levels(effect.metric, self.control, segment=effect.strategy)
        )  # fmt: skip


def by_segment(frame: pd.DataFrame | Table, test: ArmsTest, metric: str, column: str) -> Segments:
    """Return each arm's difference to the control in each segment by a column: a level, or a quarter of the rows."""
    table = as_table(frame)
    if column in (test.arm, *test.measured):
        raise ExperimentError(f"{column!r} is the arm or an outcome: choose a column known before the test.")
    labels = groups_of(table, column)
    order = list(labels.cat.categories)
    return by_group(table, test, metric, labels=labels.to_numpy(object), named=column, order=order)


def by_group(
    table: Table, test: ArmsTest, metric: str, *, labels: NDArray[np.object_], named: str, order: Sequence[str]
) -> Segments:
    """Return each arm's difference to the control in each group. labels : (n,) of the rows; named : what groups them;
    order : of the groups."""
    arm, arms = _arms(table, test)
    clusters = None if test.cluster is None else read_assigned(table, test.cluster, arm, arms)
    units = read_outcome(table, test.outcome(metric), arm >= 0)
    effects = []
    for label in order:
        inside = (labels == label) & units.known
        for name, places in compared(arms, test).items():
            sides = inside & np.isin(arm, places), inside & (arm == 0)
            if min(side.sum() for side in sides) >= FEWEST:
                effect = _effect(name, metric, "primary", units, rows=sides, past=None, clusters=clusters)
                effects.append(replace(effect, strategy=str(label), metric=name))
    by_arm = {name: [effect for effect in effects if effect.metric == name] for name in compared(arms, test)}
    gaps = {name: _heterogeneity([(e.difference, e.difference_interval) for e in own]) for name, own in by_arm.items()}
    with np.errstate(divide="ignore", invalid="ignore"):  # a ratio of 0 has no logarithm, and does not count
        logs = {name: _heterogeneity([(float(np.log(e.ratio)), (float(np.log(e.ratio_interval[0])),
                                                                float(np.log(e.ratio_interval[1])))) for e in own])
                for name, own in by_arm.items()}  # fmt: skip
    effects = whenever(effects, int((arm >= 0).sum()), test.customers)
    return Segments(named, metric, concluded(effects), gaps, p_relative=logs, control=test.control)


def _heterogeneity(measured: Sequence[tuple[float, Interval]]) -> float:
    """Return p of Cochran's Q: values that would be equal in all segments, with errors read off their intervals."""
    ends = np.array([interval for _, interval in measured]).reshape(-1, 2)
    error = (ends[:, 1] - ends[:, 0]) / (2 * norm.ppf(0.975))
    values = np.array([value for value, _ in measured])
    usable = np.isfinite(error) & (error > 0) & np.isfinite(values)
    if usable.sum() < 2:
        return math.nan
    gap, weight = values[usable], 1 / np.square(error[usable])
    q = float((weight * np.square(gap - np.average(gap, weights=weight))).sum())
    return float(chi2.sf(q, usable.sum() - 1))
