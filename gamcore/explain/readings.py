"""A curve as it is read: one value per run of bins that has rows enough, with the band of the whole curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import stdtrit

from gamcore.common.types import Bools, Floats, Ints
from gamcore.explain.curves import Curve
from gamcore.stats.bands import deviation, simultaneous

CHANCE: Final = 0.001
"""Share of curves without a direction, or an effect, that may be told to have one."""
STRAIGHT: Final = 0.5
"""Least correlation with rank of a refit that goes one way on the whole."""


@dataclass(frozen=True)
class Reading:
    """The runs of a curve (see `Curve.runs`), from left to right; levels in order of effect.

    runs : bins of each. rows, scores, lower, upper : (m,) training rows, mean effect over them, and the simultaneous
    band, on the curve's scale; means of ratios are geometric. refits : (R, m) means of the refits behind the band.
    """

    curve: Curve
    runs: tuple[Ints, ...]
    rows: Floats
    scores: Floats
    lower: Floats
    upper: Floats
    refits: Floats

    @property
    def clear(self) -> Bools:
        """Which runs (m,) differ from the average: a curve is centred, so one that did nothing would be there; as would
        a run of all rows, but for errors of rounding, and on scales on which effects do not add up."""
        curve = self.curve
        some = self.rows < curve.counts.sum() + curve.missing[3] + curve.unseen[3]
        return np.asarray(some & ((self.lower > curve.zero) | (self.upper < curve.zero)))

    @property
    def heights(self) -> Floats:
        """Effects (m,) on a scale on which they add up: logs of ratios."""
        return np.log(self.scores) if self.curve.scale == "ratio" else self.scores

    def bins(self, start: int, end: int) -> Ints:
        """Return the bins of runs `start` to `end` (inclusive), with thin ones between."""
        first, last = int(self.runs[start].min()), int(self.runs[end].max())
        return np.arange(first, last + 1)


def direction(read: Reading) -> int:
    """Return 1 if a line rises on the whole, -1 if it falls, 0 where its refits do not agree on it.

    They agree where the correlation of effect and rank over the rows is as far from 0 as its spread over the refits
    allows by chance once in a thousand times, and is `STRAIGHT` in every one; as is that of the curve itself within its
    runs, since two runs are always straight. How steep a curve is cancels: where a few
    rows leave that open, as where they separate two classes, the band of its heights may be wide, and every refit rise.
    Refits that were spread out, since they know too little (`boosting.bands.halves.with_doubt`), swing about the curve,
    whose direction they all have then, but none of them much of it.
    """
    n_refits = len(read.refits)
    if n_refits < 2 or len(read.runs) < 2:
        return 0
    ranks = np.cumsum(read.rows) - read.rows / 2
    together = np.array([_correlation(ranks, line, read.rows) for line in (read.heights, *read.refits)])
    far = float(stdtrit(n_refits - 1, 1 - CHANCE / 2) * deviation(together[1:]))
    way = int(np.sign(together[0]))
    is_so = abs(together[0]) > far and (way * together[1:]).min() >= STRAIGHT
    return way if is_so and way * _within_runs(read) >= STRAIGHT else 0


def _within_runs(read: Reading) -> float:
    """Return the correlation of effect and rank over the rows of all bins of the runs of a line."""
    curve, inside = read.curve, np.sort(np.concatenate(read.runs))
    heights = np.log(curve.scores[inside]) if curve.scale == "ratio" else curve.scores[inside]
    rows = curve.counts[inside]
    return _correlation(np.cumsum(rows) - rows / 2, heights, rows)


def _correlation(ranks: Floats, heights: Floats, rows: Floats) -> float:
    apart, moved = (values - np.average(values, weights=rows) for values in (ranks, heights))
    size = float(np.sqrt((rows * apart**2).sum() * (rows * moved**2).sum()))
    return float((rows * apart * moved).sum()) / size if size > 0 else 0.0


def reading(curve: Curve) -> Reading:
    """Return a curve with a simultaneous band, as it is read.

    The band of a mean over some bins is as much narrower than the mean of their bands as the spread of its refits is,
    and as all means together need: they are fewer than the bins.
    """
    runs = curve.runs
    logs = curve.scale == "ratio"
    lines = np.stack([curve.scores, *curve.whole])
    lines = np.log(lines) if logs else lines
    middle, low, high = (np.array([_mean(line, curve, run) for run in runs]) for line in lines)
    has_refits = len(curve.refits) > 1
    refits = (
        np.stack([_mean(curve.refits, curve, run) for run in runs], axis=1)
        if has_refits and runs
        else np.empty((len(curve.refits), len(runs)))
    )
    if has_refits and runs:
        apart = np.array([_mean(deviation(curve.refits[:, run]), curve, run, within=True) for run in runs])
        narrow = np.where(apart > 0, np.minimum(deviation(refits) / np.where(apart > 0, apart, 1.0), 1.0), 1.0)
        several = np.array([run.size > 1 for run in runs])
        if several.any() and curve.reach > 0:
            narrow *= min(simultaneous(refits, np.ones(len(runs), bool)) / curve.reach, 1.0)
        low = np.where(several, middle - narrow * (middle - low), low)
        high = np.where(several, middle + narrow * (high - middle), high)
    rows = np.array([float(curve.counts[run].sum()) for run in runs])
    back = np.exp if logs else np.asarray
    return Reading(curve, runs, rows, scores=back(middle), lower=back(low), upper=back(high), refits=refits)


def _mean(values: Floats, curve: Curve, run: Ints, within: bool = False) -> Floats:
    """Return the mean over the rows of a run of values (..., K), or (within) of those of the run alone."""
    own = values if within else values[..., run]
    weight = curve.counts[run]
    if run.size == 1:
        return np.asarray(own[..., 0])
    return np.asarray(np.average(own, axis=-1, weights=weight if weight.sum() > 0 else None))
