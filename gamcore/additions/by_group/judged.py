"""Whether the outcomes of a group of rows are what a model predicts of them.

The sum of outcomes less predictions is compared with its standard error where the model is right. That is what the
variance of the loss says of these rows, with the dispersion that all rows have (Pearson's), times how much more the
rows of the group, or their clusters, are dispersed about what they are off by alike: by the same factor where the
variance goes with the mean, else by the same amount. Neither alone is safe: the first where groups differ in spread,
the second where a few rows happen to be alike, such as none of thirty with a claim. The skewness of
the sum is taken out by the cube root of Wilson and Hilferty (1931) for a gamma distribution (Pearson's type III), and
whole outcomes have a correction for continuity; what is left is compared with Student's t.

Where the rows that the model learned from are known, so is how far it may be off in a group by chance: at most as far
as the mean of those rows is. That error is added, since chance in training would be called an error of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import stdtr

from gamcore.common.types import Bools, Floats
from gamcore.explain.seen import Means, Seen
from gamcore.stats.weights import effective_rows

FEWEST: Final = 10.0
"""Effective rows, or clusters, from which a group is tested."""

LEAST_SKEW: Final = 1e-8


@dataclass(frozen=True)
class Moments:
    """Of what each row (n,) adds to outcomes less predictions where the model is right.

    variance, third : its second and third central moments. events : by which its variance is divided for the step by
    which whole outcomes differ; 0 where outcomes are not whole.
    """

    variance: Floats
    third: Floats
    events: Floats

    @classmethod
    def of(cls, rows: Seen) -> Moments:
        mean, gap, w = rows.predicted, rows.y - rows.predicted, rows.weight
        if rows.kind == "share":
            own = mean * (1 - mean)
            return cls(w**2 * own, w**3 * own * (1 - 2 * mean), w * own)
        unit = np.maximum(mean / rows.exposure, 0.0) ** rows.power * rows.exposure
        known = unit > 0
        dispersion = float(np.average(gap[known] ** 2 / unit[known], weights=w[known])) if known.any() else 0.0
        if rows.kind == "count":
            dispersion = max(dispersion, 1.0)
            return cls(w**2 * dispersion * unit, w**3 * dispersion**2 * unit, w * unit)
        variance = dispersion * unit
        spread = np.sqrt(variance, out=np.ones(gap.size), where=variance > 0)
        skew = float(np.average((gap / spread)[known] ** 3, weights=w[known])) if known.any() else 0.0
        return cls(w**2 * variance, w**3 * skew * spread**3, np.zeros(gap.size))


@dataclass(frozen=True)
class Group(Means):
    """What is observed in a group and what a model predicts. p : that the model is right; NaN where too few rows can
    say."""

    p: float

    @property
    def difference(self) -> float:
        """Observed less predicted."""
        return self.observed - self.predicted

    @property
    def ratio(self) -> float:
        """Observed by predicted; NaN unless something above 0 is predicted."""
        return self.observed / self.predicted if self.predicted > 0 else np.nan


def judged(rows: Seen, moments: Moments, here: Bools, learned: float) -> Group:
    """Return what a group of rows (n,) says. learned : the size of its rows that the model learned from; 0 where these
    are not known. So many rows leave an error of their own in what is predicted."""
    w, predicted, size, means = rows.weight[here], rows.predicted[here], rows.size[here], rows.means(here)
    sums: Floats = w * (rows.y[here] - predicted)
    sizes: Floats = size
    alike: Floats = (
        w * predicted if rows.power > 0 and means.predicted > 0 else size
    )  # what a group that is off alike is off by
    if rows.clustered:
        numbers = np.unique(rows.clusters[here], return_inverse=True)[1]
        sums, sizes, alike = (np.bincount(numbers, values).astype(np.float64) for values in (sums, size, alike))
    n, gap = effective_rows(sizes), float(sums.sum())
    about = np.square(sums - alike * (gap / alike.sum()))
    by_rows = n / max(n - 1, 1e-9) * float(about.sum()) if n > 1 else 0.0
    by_loss = float(moments.variance[here].sum())
    about_mean = by_loss * _scale(rows, means.observed, means.predicted)
    variance = by_loss * max(by_rows / about_mean, 1.0) if about_mean > 0 else max(by_loss, by_rows)
    variance *= 1 + (means.size / learned if learned > 0 else 0.0)
    p = np.nan
    if n >= FEWEST and variance > 0:
        events = float(moments.events[here].sum())
        step = by_loss / events if events > 0 else 0.0
        gap = float(np.sign(gap)) * max(abs(gap) - step / 2, 0.0)
        skew = float(moments.third[here].sum()) / by_loss**1.5 if by_loss > 0 else 0.0
        # of a gap within half an outcome, the skewness of hardly any expected ones would make an error
        p = float(2 * stdtr(n - 1, -abs(_normal(gap / np.sqrt(variance), skew)))) if gap else 1.0
    return Group(**vars(means), p=p)


def _scale(rows: Seen, observed: float, expected: float) -> float:
    """Return by what the variance at the expected mean is multiplied at the observed one."""
    if rows.kind == "share":
        return observed * (1 - observed) / (expected * (1 - expected)) if 0 < expected < 1 else 0.0
    return max(observed / expected, 0.0) ** rows.power if expected > 0 else float(rows.power == 0)


def _normal(z: float, skew: float) -> float:
    """Return the normal score of a standardised sum of that skewness."""
    if abs(skew) < LEAST_SKEW:
        return z
    return float(6 / skew * (np.cbrt(skew * z / 2 + 1) - 1) + skew / 6)
