"""Tests of arms without an effect, of every kind of outcome, design and way of looking, and whether one is found. For
tests and `benchmarks.false_positives`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.types import Floats
from gamcore.decide.arms import ArmsTest, Segments, between_arms, by_segment, read_arms
from gamcore.decide.by_day import by_day
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.experiment_plan import MetricRole
from gamcore.decide.outcomes import Outcome
from gamcore.stats.intervals import ALPHA
from shapewise.decisions.arm_tests import expected_of
from tests.support.by_strategy import read_strategies

OUTCOMES: Final = {
    one.name: one for one in (Outcome("spend", per="visits"), Outcome("spend", cap=0.98),
                              Outcome("spend", per="visits", cap=0.98))
}  # fmt: skip
METRICS: Final[dict[str, MetricRole]] = dict.fromkeys(["bought", "spend", *OUTCOMES], "primary")
"""A rate, a mean of amounts, a ratio, a capped mean and a capped ratio."""
ANY: Final = "any outcome"
ARMS: Final = ("old", "new", "newer")
"""The control first."""
KNOWN: Final = ("visits_before", "region")


@dataclass(frozen=True)
class Design:
    """How customers were assigned, and how their test is read. shares : of the arms, up to a factor, the control's
    first. changes : fields of its `ArmsTest`."""

    shares: tuple[float, ...] = (1.0, 1.0)
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def test(self) -> ArmsTest:
        """How the test is read, once at its end."""
        shares = dict(zip(ARMS, self.shares, strict=False))
        return replace(ArmsTest("arm", "old", METRICS, shares, outcomes=OUTCOMES), **self.changes)

    def rows(self, rng: np.random.Generator, customers: int) -> pd.DataFrame:
        """Return the rows of a test on it: customers of households, who visit more or less often and spend unevenly.

        Customers of a household are alike, and come together, in a week. Whole households are assigned where the test
        is by them. What they did before tells what they do, and no arm moves them.
        """
        household = np.repeat(np.arange(customers), rng.integers(1, 5, customers))[:customers]
        alike = rng.normal(size=household.max() + 1)
        drawn = rng.choice(len(self.shares), alike.size if self.test.cluster else customers,
                           p=np.array(self.shares) / sum(self.shares))  # fmt: skip
        lively = 0.6 * alike[household] + 0.8 * rng.normal(size=customers)
        visits = rng.poisson(np.exp(0.7 + 0.5 * lively))
        bought = (rng.random(customers) < 1 - 0.85**visits).astype(int)
        spend = bought * np.exp(3 + 0.4 * lively + 0.9 * rng.normal(size=customers))
        arm = drawn[household] if self.test.cluster else drawn
        return pd.DataFrame({
            "arm": np.array(ARMS)[arm], "household": household, "visits": visits, "bought": bought, "spend": spend,
            "visits_before": rng.poisson(np.exp(0.7 + 0.5 * lively)), "region": rng.choice(["n", "s", "w"], customers),
            "day": np.arange(customers) * 7 // customers,
        })  # fmt: skip


BOTH: Final = {"pooled": ("new", "newer")}
DESIGNS: Final = {
    "two arms": Design(),
    "two arms, 85 and 15%": Design((85.0, 15.0)),
    "three arms": Design((1.0, 1.0, 1.0)),
    "three arms, 2 to 1 to 1, two of them together, too": Design((2.0, 1.0, 1.0), BOTH),
    "the same, by Dunnett": Design((2.0, 1.0, 1.0), BOTH | {"adjustment": "Dunnett"}),
    "a value from before": Design(changes={"before": dict.fromkeys(METRICS, "visits_before")}),
    "a model of what was known before": Design(changes={"known_before": KNOWN}),
    "households": Design(changes={"cluster": "household"}),
    "households, three arms, two together, a value from before": Design(
        (1.0, 1.0, 1.0), BOTH | {"cluster": "household", "before": dict.fromkeys(METRICS, "visits_before")}
    ),
}


@dataclass(frozen=True)
class NullTest:
    """A test without an effect, and what each way of looking at it finds: by outcome, whether an effect is there after
    the adjustment over the arms; and by `ANY` whether there is one on any of them, after that over all."""

    design: Design
    rows: pd.DataFrame

    @property
    def is_repeated(self) -> bool:
        """Whether all but the look at the end is the same as of another design: Dunnett's adjustment is for that."""
        return self.design.test.adjustment == "Dunnett"

    @cached_property
    def expected(self) -> dict[str, Floats] | None:
        """What a model of what was known before expects of each row, where the test has one."""
        return expected_of(self.rows, self.design.test, n_jobs=1)

    def once(self) -> dict[str, bool]:
        """Return what is found at the end."""
        effects = read_arms(self.rows, self.design.test, self.expected).effects
        return _by_outcome(effects) | {ANY: _any(effects)}

    def on_any_day(self) -> dict[str, bool]:
        """Return what is found on any of seven days, by intervals that hold at every look."""
        if self.is_repeated:
            return {}
        test = replace(self.design.test, customers=len(self.rows))
        looks = [(metric, day, effect.p) for metric in METRICS
                 for day, effect in by_day(self.rows, test, metric, "day", self.expected).looks]  # fmt: skip
        days = pd.DataFrame(looks, columns=["metric", "day", "p"])
        alone = days.groupby(["metric", "day"])["p"].agg(_any_of).groupby("metric").any()
        return {**alone, ANY: days.groupby("day")["p"].agg(_any_of).any()}

    def in_any_segment(self) -> dict[str, bool]:
        """Return for whom it is found: in any of three segments."""
        return {metric: _any(one.effects) for metric, one in self._segments.items()}

    def between_segments(self) -> dict[str, bool]:
        """Return whether segments are found to differ in the difference, for any arm after Holm's adjustment."""
        return {metric: _any_of(one.p.values()) for metric, one in self._segments.items()}

    def between_segments_relatively(self) -> dict[str, bool]:
        """Return whether segments are found to differ in the relative change, likewise."""
        return {metric: _any_of(one.p_relative.values()) for metric, one in self._segments.items()}

    def by_strategy(self) -> dict[str, bool]:
        """Return what is found among the customers of any of three strategies, as the read-out of a board has it."""
        test, rows = self.design.test, self.rows
        if test.cluster or test.pooled or test.known_before or self.is_repeated:
            return {}
        _, place = np.unique(rows["region"], return_inverse=True)
        arm, treated = rows["arm"].map(ARMS.index).to_numpy(), ARMS[1 : len(self.design.shares)]
        made = read_strategies(rows, arm, place, list("nsw"), METRICS, shares=self.design.shares, arms=treated,
                               before=test.before, outcomes=OUTCOMES)  # fmt: skip
        return _by_outcome(made.effects) | {ANY: _any(made.effects)}

    def beside_each_other(self) -> dict[str, bool]:
        """Return what is found between the treated arms."""
        if len(self.design.shares) < 3 or self.is_repeated:
            return {}
        effects = [one for _, one in between_arms(self.rows, self.design.test, self.expected)]
        return _by_outcome(effects) | {ANY: _any(effects)}

    @cached_property
    def _segments(self) -> dict[str, Segments]:
        metrics = [] if self.is_repeated else METRICS
        return {metric: by_segment(self.rows, self.design.test, metric, "region") for metric in metrics}


WAYS: Final[dict[str, Callable[[NullTest], dict[str, bool]]]] = {
    "at the end": NullTest.once,
    "on any of seven days": NullTest.on_any_day,
    "in any of three segments": NullTest.in_any_segment,
    "segments that differ": NullTest.between_segments,
    "relatively": NullTest.between_segments_relatively,
    "in any of three strategies": NullTest.by_strategy,
    "one arm beside another": NullTest.beside_each_other,
}


def _any(effects: Iterable[Effect]) -> bool:
    return any(one.p_adjusted < ALPHA for one in effects)


def _any_of(p: Iterable[float]) -> bool:
    """Return whether Holm's adjustment leaves any below 5%: it does where the least does."""
    known = [one for one in p if np.isfinite(one)]
    return bool(known) and min(known) * len(known) < ALPHA


def _by_outcome(effects: Iterable[Effect]) -> dict[str, bool]:
    """Return whether an effect is found on each outcome by itself."""
    some = {metric: [one for one in effects if one.metric == metric] for metric in METRICS}
    return {metric: _any(own) if own[0].adjusted_by == "Dunnett" else _any_of(one.p for one in own)
            for metric, own in some.items()}  # fmt: skip
