"""The main metric of a model over groups of rows, beside that over all of them."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import stdtr, stdtrit

from gamcore.additions.by_group.calibration import Quality
from gamcore.additions.by_group.judged import FEWEST
from gamcore.common.types import Bools, Floats
from gamcore.data.columns import TableError
from gamcore.explain.gap import Measured
from gamcore.explain.seen import Seen
from gamcore.model.loss import Loss
from gamcore.stats.intervals import ALPHA

UNKNOWN: Final = Quality(np.nan, (np.nan, np.nan), np.nan)


class Metric:
    """The main metric: the AUC of a class against the others, else the share of the loss that is explained."""

    def __init__(self, loss: Loss, rows: Seen) -> None:
        self.loss, self.rows = loss, rows
        self.name = "AUC" if loss.is_binary else "explained"
        self.whole = self._measured(np.ones(rows.y.size, bool))

    def of(self, here: Bools) -> Quality:
        """Return the metric over some rows (n,), compared with that over all; NaN where it is not known."""
        mine = self._measured(here)
        if mine is None or self.whole is None:
            return UNKNOWN
        spread, n = self._spread(mine.influences, here)
        if n < FEWEST:
            return Quality(mine.value, (np.nan, np.nan), np.nan)
        reach = float(stdtrit(n - 1, 1 - ALPHA / 2)) * spread
        if self._kinds(here).min() < FEWEST:
            return Quality(mine.value, (mine.value - reach, mine.value + reach), np.nan)
        apart = -self.whole.influences
        apart[here] += mine.influences
        error = max(self._spread(apart, np.ones(here.size, bool))[0], self._usual(here))
        gap = mine.value - self.whole.value
        p = float(2 * stdtr(n - 1, -abs(gap / error))) if error > 0 and not here.all() else np.nan
        return Quality(mine.value, (mine.value - reach, mine.value + reach), p)

    def _kinds(self, here: Bools) -> Floats:
        """Return how many of some rows have either of two outcomes; of numbers, how many there are."""
        if not self.loss.is_binary:
            return np.array([np.count_nonzero(here)], np.float64)
        happened = np.count_nonzero(self.rows.target[here])
        return np.array([happened, np.count_nonzero(here) - happened], np.float64)

    def _usual(self, here: Bools) -> float:
        """Return the standard error of the difference from all rows, if those of a group differ as all rows do.

        A metric of few rows that is far from all others by chance often has a small spread of its own, too.
        """
        assert self.whole is not None
        everything = np.ones(here.size, bool)
        spread, _ = self._spread(self.whole.influences, everything)
        share = float((self._kinds(here) / self._kinds(everything)).min())
        return spread * float(np.sqrt(max(1 / share - 1, 0.0)))

    def _measured(self, here: Bools) -> Measured | None:
        if not np.ptp(self.rows.target[here]) > 0:
            return None
        try:
            return self.rows.measured(self.loss, here)
        except TableError:  # nothing to tell apart
            return None

    def _spread(self, influences: Floats, here: Bools) -> tuple[float, int]:
        """Return the standard error of a metric, given what each of some rows adds to it, and their clusters."""
        numbers = np.unique(self.rows.clusters[here], return_inverse=True)[1]
        sums = np.bincount(numbers, influences)
        n = sums.size
        return (float(np.sqrt(n / (n - 1) * np.square(sums).sum())) if n > 1 else np.nan), n
