"""What two models predict of some rows, and what is observed of them: of tenths of the rows, and of groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gamcore.common.types import Bools, Floats, Ints
from gamcore.explain.seen import Means, Seen
from gamcore.stats.intervals import Interval, student

TENTHS: Final = 10
ROUNDED: Final = 10
"""Decimals of a ratio's logarithm beyond which rows are alike: exposures leave noise in the last ones."""


@dataclass(frozen=True)
class Part:
    """Some rows as two models see them.

    rows : their number. size : their weighted exposure, and amount : their exposure with weights of mean 1, which is
    what money is counted over. checks : what is observed beside what either model expects of that: of models of
    means the mean outcome, the same for both; of quantiles the share of rows below the prediction. predicted : the mean
    of either model's predictions, per unit of exposure. change_interval : of the second prediction less
    the first, over rows or clusters.
    """

    rows: int
    size: float
    amount: float
    checks: tuple[Means, Means]
    predicted: tuple[float, float]
    change_interval: Interval

    @property
    def observed(self) -> float:
        """The mean outcome per unit of exposure; of quantiles the share of rows below the first prediction."""
        return self.checks[0].observed

    @property
    def interval(self) -> Interval:
        """The interval of what is observed."""
        return self.checks[0].interval

    @property
    def change(self) -> float:
        """By how much more the second model predicts than the first."""
        return self.predicted[1] - self.predicted[0]

    @property
    def ratio(self) -> float:
        """The second prediction by the first; NaN unless something above 0 is predicted."""
        return self.predicted[1] / self.predicted[0] if self.predicted[0] > 0 else np.nan

    @property
    def nearer(self) -> int:
        """The model, 0 or 1, of which what is observed is nearer to what is expected."""
        first, second = (abs(means.observed - means.predicted) for means in self.checks)
        return int(second < first)


@dataclass(frozen=True)
class Both:
    """Rows as two models see them: the outcome is the same, what is predicted differs."""

    first: Seen
    second: Seen

    def part(self, here: Bools) -> Part:
        """Return what some of the rows (n,) say."""
        rows, w = self.first, self.first.weight[here]
        checks = rows.means(here), self.second.means(here)
        size = checks[0].size
        each = tuple(float(w @ seen.forecast[here]) / size for seen in (self.first, self.second))
        return Part(
            rows=checks[0].rows, size=size, amount=size / float(rows.weight.mean()), checks=checks,
            predicted=(each[0], each[1]), change_interval=self._interval(here),
        )  # fmt: skip

    def _interval(self, here: Bools) -> Interval:
        change, size = self.per_unit[here], self.first.size[here]
        if self.first.clustered:
            numbers = np.unique(self.first.clusters[here], return_inverse=True)[1]
            total, size = (np.bincount(numbers, values).astype(np.float64) for values in (size * change, size))
            change = total / size
        return student(change, size)

    @property
    def per_unit(self) -> Floats:
        """By how much more (n,) the second model predicts, per unit of exposure."""
        return np.asarray((self.second.forecast - self.first.forecast) / self.first.exposure)

    @property
    def by_ratio(self) -> bool:
        """Whether predictions have ratios: all are above 0."""
        return bool((self.first.forecast > 0).all() and (self.second.forecast > 0).all())

    def tenths(self) -> Ints:
        """Return the tenth (n,) of each row, from 0 on, by the ratio of the second prediction to the first; by their
        difference where there are no ratios. Rows that are alike are in the same, so there may be fewer than ten."""
        apart = np.log(self.second.forecast / self.first.forecast) if self.by_ratio else self.per_unit
        values, places = np.unique(np.round(apart, ROUNDED), return_inverse=True)
        sizes = np.bincount(places, self.first.size, values.size)
        middles = np.cumsum(sizes) - sizes / 2
        tenth = np.minimum((TENTHS * middles / sizes.sum()).astype(np.int64), TENTHS - 1)
        return np.unique(tenth, return_inverse=True)[1][places].astype(np.int64)
