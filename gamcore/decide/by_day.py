"""A test as it went: the lift of an outcome by day, with intervals that hold on all days together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.numbers import exact
from gamcore.common.types import Floats
from gamcore.data.columns import read_dates, read_numbers
from gamcore.data.dates import as_date
from gamcore.data.table import Table, as_table
from gamcore.decide.arms import FEWEST, ArmsTest, _arms, _effect, compared
from gamcore.decide.clusters import read_assigned
from gamcore.decide.experiment_effects import Effect, whenever
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.outcomes import outcome_of, read_outcome
from gamcore.decide.results import Scale, table_of
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

MOST_LOOKS: Final = 60
"""Days that are looked at: of more, as many at equal distances, the last among them."""


@dataclass(frozen=True)
class ByDay(Explanation):
    """The lift of an outcome after each day. looks : (day, effect), `strategy` being the arm, by day and arm; intervals
    are always-valid, narrowest at `customers`. metric, control : names. dated : whether days are those since
    1970-01-01; else they are as the table numbers them."""

    metric: str
    control: str
    looks: tuple[tuple[float, Effect], ...]
    customers: int
    dated: bool = True

    def day_words(self, day: float) -> str:
        """Return a day in words."""
        return f"{as_date(day):%Y-%m-%d}" if self.dated else f"day {exact(day)}"

    @property
    def arms(self) -> dict[str, list[tuple[float, Effect]]]:
        """The days and effects of each arm."""
        by_arm: dict[str, list[tuple[float, Effect]]] = {}
        for day, effect in self.looks:
            by_arm.setdefault(effect.strategy, []).append((day, effect))
        return by_arm

    def cleared(self, arm: str, scale: Scale = "difference") -> float:
        """Return the first day whose interval excludes 0; NaN where none does."""
        ends = ((day, effect.on(scale).interval) for day, effect in self.arms[arm])
        return next((day for day, (low, high) in ends if low > 0 or high < 0), np.nan)

    def describe(self, detail: str = "", scale: Scale = "difference", **words: Any) -> Plot:
        """Return the lift of each arm by day with its interval, on a scale: a "difference", or "relative"."""
        from gamcore.decide.plots.by_day import lift_by_day

        return lift_by_day(self, detail, scale)

    def frame(self) -> pd.DataFrame:
        """Return what both arms had done after each day, and how they differ: a row per number (`results.table_of`)."""
        return table_of(
            row for day, effect in self.looks
            for row in effect.rows_with_levels(
                effect.strategy, self.control, day=pd.Timestamp(day, unit="D") if self.dated else day
            )
        )  # fmt: skip


def by_day(
    frame: pd.DataFrame | Table, test: ArmsTest, metric: str, day: str, expected: Mapping[str, Floats] | None = None
) -> ByDay:
    """Return each arm's difference to the control after each day; ExperimentError says what cannot be read.

    day : column of dates, or of numbers of days, on which each row came. expected : as of `read_arms`. Intervals are
    narrowest at the planned customers, or at those of the table where the test has no plan.
    """
    table = as_table(frame)
    arm, arms = _arms(table, test)
    kind = table.usable_kind(day) if day in table else None
    if kind not in ("date", "number"):
        raise ExperimentError(f"{day!r} has no dates: choose a column that says when each row came.")
    clusters = None if test.cluster is None else read_assigned(table, test.cluster, arm, arms)
    units = read_outcome(table, test.outcome(metric), arm >= 0)
    past = outcome_of(table, test.before[metric]) if metric in (test.before or {}) else None  # type: ignore[index]
    past = (expected or {}).get(metric, past)
    dates = np.floor((read_dates if kind == "date" else read_numbers)(table.frame[day]))
    known = (arm >= 0) & units.known & np.isfinite(dates)
    days = np.unique(dates[known])
    if days.size < 2:
        raise ExperimentError(f"All rows of {day!r} are of one day: choose a column that says when each row came.")
    planned = test.customers or int(known.sum())
    looks: list[tuple[float, Effect]] = []
    for last in days[np.unique(np.linspace(0, days.size - 1, MOST_LOOKS).round().astype(int))]:
        until = known & (dates <= last)
        control, sides = until & (arm == 0), {name: until & np.isin(arm, k) for name, k in compared(arms, test).items()}
        some = [
            _effect(name, metric, "primary", units, rows=(mine, control), past=past, clusters=clusters)
            for name, mine in sides.items() if min(mine.sum(), control.sum()) >= FEWEST
        ]  # fmt: skip
        looks += [(float(last), effect) for effect in whenever(some, int(until.sum()), planned)]
    return ByDay(metric, test.control, tuple(looks), planned, dated=kind == "date")
