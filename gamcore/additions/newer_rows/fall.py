"""Why a model's metric differs between two samples of rows: who came, or what changed.

The own rows are weighted so that their predictions are distributed as those of the newer rows (post-stratification by
bins of the prediction). What the metric then is differs from that of the own rows by who came alone, since outcomes
given the prediction are as they were; the rest is what changed. For binary outcomes van Klaveren et al. (BMC Medical
Research Methodology 2019) take the same two steps by a model of the outcomes, which here nobody has to believe.

A metric is a mean of what each row adds to it, to first order (`gap`). A bin's weight is a ratio of two shares: rows of
either sample move it, which the delta method adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import stdtr, stdtrit

from gamcore.common.types import Floats, Ints
from gamcore.explain.gap import Difference
from gamcore.explain.seen import Seen
from gamcore.model.loss import Loss
from gamcore.stats.intervals import ALPHA

MOST_BINS: Final = 20
ROWS_OF_A_BIN: Final = 25
"""Own rows per bin of the prediction, at least."""


@dataclass(frozen=True)
class Change(Difference):
    """A difference between two samples, with its 95% interval; p : that there is none. NaN where it is not known."""

    p: float

    @classmethod
    def of(cls, value: float, parts: Sequence[Floats], clusters: Sequence[Ints], least: float = 0.0) -> Change:
        """Return a difference from what rows of samples add to it. clusters : the numbers of rows that belong
        together, also across samples. least : standard error that it has at least."""
        numbers, places = np.unique(np.concatenate(list(clusters)), return_inverse=True)
        sums, n = np.bincount(places, np.concatenate(list(parts))), numbers.size
        error = max(float(np.sqrt(n / (n - 1) * np.square(sums).sum())), least) if n > 1 else np.nan
        if not error > 0:
            return cls(value, np.nan, np.nan, np.nan) if value else cls(0.0, 0.0, 0.0, 1.0)
        reach = float(stdtrit(n - 1, 1 - ALPHA / 2)) * error
        return cls(value, value - reach, value + reach, float(2 * stdtr(n - 1, -abs(value) / error)))


@dataclass(frozen=True)
class Fall:
    """How a metric differs. own, weighted, newer : its values on the own rows, on these weighted as the newer ones, and
    on the newer rows. came and changed add up to whole. beyond : the share of newer rows whose predictions are beyond
    all own ones."""

    own: float
    weighted: float
    newer: float
    came: Change
    changed: Change
    whole: Change
    beyond: float


def fall_of(loss: Loss, own: Seen, newer: Seen) -> Fall:
    """Return how the main metric differs between own rows and newer ones; TableError where it is not known."""
    rates = own.rate, newer.rate
    n_bins = min(max(own.y.size // ROWS_OF_A_BIN, 1), MOST_BINS)
    inner = edges(rates[0], own.size, n_bins)
    bins = [np.searchsorted(inner, rate, side="right") for rate in rates]
    sums = [np.bincount(codes, rows.size, inner.size + 1) for codes, rows in zip(bins, (own, newer), strict=True)]
    ratio = (sums[1] / sums[1].sum()) / (sums[0] / sums[0].sum())
    weighted = replace(own, weight=own.weight * ratio[bins[0]])
    is_used = weighted.weight > 0
    first, other = (rows.measured(loss, np.ones(rows.y.size, bool)) for rows in (own, newer))
    between = weighted.measured(loss, is_used)
    direct = np.zeros(own.y.size)
    direct[is_used] = between.influences
    in_bin = np.bincount(bins[0], direct, inner.size + 1)
    by_own = direct - in_bin[bins[0]] * own.size / sums[0][bins[0]]
    by_newer = in_bin[bins[1]] * newer.size / np.where(sums[1] > 0, sums[1], 1.0)[bins[1]]
    clusters = own.clusters, newer.clusters
    low, high = float(rates[0].min()), float(rates[0].max())
    return Fall(
        first.value, between.value, other.value,
        came=Change.of(between.value - first.value, (by_own - first.influences, by_newer), clusters),
        changed=Change.of(other.value - between.value, (-by_own, other.influences - by_newer), clusters),
        whole=Change.of(other.value - first.value, (-first.influences, other.influences), clusters),
        beyond=float(np.average((rates[1] < low) | (rates[1] > high), weights=newer.size)),
    )  # fmt: skip


def edges(values: Floats, sizes: Floats, n_bins: int) -> Floats:
    """Return the inner edges of at most that many bins of values (n,), of equal sums of sizes; each holds a value."""
    order = np.argsort(values, kind="stable")
    running = np.cumsum(sizes[order])
    places = np.searchsorted(running, running[-1] * np.arange(1, n_bins) / n_bins)
    inner = np.unique(values[order][np.minimum(places, values.size - 1)])
    return np.asarray(inner[inner > values.min()])
