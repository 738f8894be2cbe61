"""What is said of a group in which a model is wrong, as data: sentences are made of it, and rows can refute it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gamcore.additions.by_group.judged import Group
from gamcore.common.numbers import decimals_of, fixed, number, percent
from gamcore.data.labels import cut
from gamcore.stats.intervals import Interval

CLOSE: Final = 1e-6
LONGEST_NAME: Final = 40


@dataclass(frozen=True)
class GroupClaim:
    """That a model is wrong in a group of a column: "" for all rows. n_rows : of all groups together."""

    column: str
    name: str
    group: Group
    n_rows: int
    is_share: bool

    def words(self) -> str:
        """Return the claim as a part of a sentence."""
        group = self.group
        where = f"{cut(self.column, LONGEST_NAME)} is {cut(self.name, LONGEST_NAME)}: " if self.column else ""
        observed, predicted, low, high = self._alike(group.observed, group.predicted, *group.interval)
        share = f", {percent(group.rows / self.n_rows, 0)} of rows" if self.column else ""
        between = f" ({low} to {high})" if math.isfinite(group.interval[1] - group.interval[0]) else ""
        return f"{where}{observed}{between} observed, {predicted} predicted{share}"

    def _alike(self, *values: float) -> list[str]:
        """Return means that stand together with as many decimals as tell observed and predicted apart."""
        apart = abs(self.group.difference) * (100 if self.is_share else 1)
        least = -math.floor(math.log10(apart)) if apart > 0 else 0
        if self.is_share:
            return [percent(value, max(1, least)) for value in values]
        decimals = max(decimals_of([self.group.observed, self.group.predicted]), least)
        return [number(value) if not math.isfinite(value) else fixed(value, decimals) for value in values]

    def holds(self, rows: Iterable[tuple[str, float, float, float]]) -> bool:
        """Return whether rows bear the claim out: its number of rows, and what is observed and predicted of them.

        rows : of each the name of its group, the outcome, what is predicted, both of its whole exposure, and the
        exposure, all three times the row's weight.
        """
        n, seen, expected, size = 0, 0.0, 0.0, 0.0
        for name, outcome, predicted, exposure in rows:
            if name == self.name or not self.column:
                n, seen, expected, size = n + 1, seen + outcome, expected + predicted, size + exposure
        if n != self.group.rows or not size > 0:
            return False
        pairs = ((seen / size, self.group.observed), (expected / size, self.group.predicted))
        low, high = self.group.interval
        return all(math.isclose(mine, other, rel_tol=CLOSE, abs_tol=1e-12) for mine, other in pairs) and (
            not math.isfinite(high - low) or low - CLOSE <= seen / size <= high + CLOSE
        )


@dataclass(frozen=True)
class MetricClaim:
    """That the metric of a model over a group of a column is clearly another than over all rows. metric : "AUC", or
    "explained", the share of the loss. value : over the group, with its 95% interval; whole : over all rows."""

    column: str
    name: str
    metric: str
    value: float
    interval: Interval
    whole: float

    def words(self) -> str:
        """Return the claim as a part of a sentence."""
        where = f"where {cut(self.column, LONGEST_NAME)} is {cut(self.name, LONGEST_NAME)}"
        value, low, high = (metric_value(self.metric, end) for end in (self.value, *self.interval))
        return f"clearly {'higher' if self.value > self.whole else 'lower'} {where}: {value} ({low} to {high})"

    def holds(self, value: float, whole: float) -> bool:
        """Return whether the metric over the group and over all rows, measured in another way, bears the claim out."""
        alike = math.isclose(value, self.value, abs_tol=CLOSE) and math.isclose(whole, self.whole, abs_tol=CLOSE)
        return alike and self.interval[0] <= value <= self.interval[1] and (value > whole) == (self.value > self.whole)


def metric_in_words(metric: str, value: float) -> str:
    """Return the metric over all rows, as a sentence begins with it."""
    return f"The AUC is {fixed(value, 3)}" if metric == "AUC" else f"{percent(value)} is explained"


def metric_value(metric: str, value: float) -> str:
    """Return a metric with as many decimals as it is told with."""
    return fixed(value, 3) if metric == "AUC" else percent(value)
