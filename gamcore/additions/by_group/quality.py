"""The main metric of a model over groups of rows, beside that over all of them."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import stdtr, stdtrit

from gamcore.additions.by_group.calibration import Quality
from gamcore.additions.by_group.judged import FEWEST
from gamcore.data.columns import TableError
from gamcore.explain.gap import Measured
from gamcore.explain.seen import Seen
from gamcore.model.loss import Loss
from gamcore.stats.intervals import ALPHA
from gamcore.types import Bools, Floats

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
        apart = -self.whole.influences
        apart[here] += mine.influences
        error, _ = self._spread(apart, np.ones(here.size, bool))
        gap = mine.value - self.whole.value
        p = float(2 * stdtr(n - 1, -abs(gap / error))) if error > 0 and not here.all() else np.nan
        return Quality(mine.value, (mine.value - reach, mine.value + reach), p)

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
