"""Whether the outcomes of a group of rows are what a model predicts of them.

The sum of outcomes less predictions is compared with its standard error where the model is right. That is what the
variance of the loss says of these rows, with the dispersion that all rows have (Pearson's), times how much more the
rows of the group, or their clusters, are dispersed about their own mean. Neither alone is safe: the first where groups
differ in spread, the second where a few rows happen to be alike, such as none of thirty with a claim. The skewness of
the sum is taken out by the cube root of Wilson and Hilferty (1931) for a gamma distribution (Pearson's type III), and
whole outcomes have a correction for continuity; what is left is compared with Student's t.

Where the rows that the model learned from are known, so is how far it may be off in a group by chance: at most as far
as the mean of those rows is. That error is added, since chance in training would be called an error of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import stdtr

from gamcore.model.loss import Loss
from gamcore.stats.intervals import Interval, poisson_rate, skewed_mean, student, wilson
from gamcore.stats.rates import rate
from gamcore.stats.weights import effective_rows
from gamcore.types import Bools, Floats, Ints

FEWEST: Final = 10.0
"""Effective rows, or clusters, from which a group is tested."""

LEAST_SKEW: Final = 1e-8


@dataclass(frozen=True)
class Seen:
    """Rows that a model has not learned from, with what it predicts of them.

    y, predicted : (n,) the outcome and its expected value, of the whole exposure of a row; of quantiles, whether it is
    below the prediction, and how often that was asked for. target, said : (n,) the same as the model has them. weight,
    exposure : (n,). clusters : (n,) from 0 on; each row's own number where none are given. kind : what the outcome is.
    power : of the mean that its variance goes with.
    """

    y: Floats
    predicted: Floats
    weight: Floats
    exposure: Floats
    clusters: Ints
    clustered: bool
    target: Floats
    said: Floats
    kind: str
    power: float

    @property
    def size(self) -> Floats:
        """What means are over: weighted exposure, or rows."""
        return self.weight * self.exposure

    @classmethod
    def of(cls, loss: Loss, y: Floats, predicted: Floats, weight: Floats, exposure: Floats, clusters: Ints | None
           ) -> Seen:  # fmt: skip
        """Return the rows."""
        target, said = y, predicted
        kind, power = loss.outcome_kind, loss.variance_power
        if not loss.is_of_mean:
            y, predicted = (y <= predicted).astype(np.float64), np.full(y.size, float(getattr(loss, "quantile", 0.5)))
            kind, power = "share", 0.0
        own = np.arange(y.size) if clusters is None else np.unique(clusters, return_inverse=True)[1]
        return cls(
            y, predicted, weight, exposure, own.astype(np.int64), clusters is not None, target, said, kind, power
        )

    def take(self, rows: Bools) -> Seen:
        """Return some of the rows."""
        made = {name: getattr(self, name)[rows] for name in ("y", "predicted", "weight", "exposure", "target", "said")}
        return replace(self, **made, clusters=np.unique(self.clusters[rows], return_inverse=True)[1])


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
class Group:
    """What is observed in a group and what a model predicts.

    rows : their number. size : their weighted exposure. observed, predicted : means per unit of it. interval : of the
    observed mean, 95%. p : that the model is right; NaN where too few rows can say.
    """

    rows: int
    size: float
    observed: float
    predicted: float
    interval: Interval
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
    y, predicted, size = rows.y[here], rows.predicted[here], rows.size[here]
    w, whole = rows.weight[here], float(size.sum())
    observed, expected = float(w @ y) / whole, float(w @ predicted) / whole
    sums: Floats = w * (y - predicted)
    sizes: Floats = size
    if rows.clustered:
        numbers = np.unique(rows.clusters[here], return_inverse=True)[1]
        sums, sizes = (np.bincount(numbers, of).astype(np.float64) for of in (sums, size))
    n, gap = effective_rows(sizes), float(sums.sum())
    by_rows = n / max(n - 1, 1e-9) * float(np.square(sums - sizes * gap / whole).sum()) if n > 1 else 0.0
    by_loss = float(moments.variance[here].sum())
    about_mean = by_loss * _scale(rows, observed, expected)
    variance = by_loss * max(by_rows / about_mean, 1.0) if about_mean > 0 else max(by_loss, by_rows)
    variance *= 1 + (whole / learned if learned > 0 else 0.0)
    p = np.nan
    if n >= FEWEST and variance > 0:
        events = float(moments.events[here].sum())
        step = by_loss / events if events > 0 else 0.0
        gap = float(np.sign(gap)) * max(abs(gap) - step / 2, 0.0)
        skew = float(moments.third[here].sum()) / by_loss**1.5 if by_loss > 0 else 0.0
        p = float(2 * stdtr(n - 1, -abs(_normal(gap / np.sqrt(variance), skew))))
    return Group(
        rows=int(np.count_nonzero(here)), size=whole, observed=observed, predicted=expected,
        interval=_interval(rows, here, sizes), p=p,
    )  # fmt: skip


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


def _interval(rows: Seen, here: Bools, sizes: Floats) -> Interval:
    """Return the 95% interval of the observed mean: of clusters, by their own means."""
    y, w, exposure = rows.y[here], rows.weight[here], rows.exposure[here]
    if not rows.clustered:
        if rows.kind == "number":
            return student(y / exposure, w * exposure)
        return rate(y, rows.kind, exposure if rows.kind != "share" else None, w)[1]  # type: ignore[arg-type]
    numbers = np.unique(rows.clusters[here], return_inverse=True)[1]
    totals = np.bincount(numbers, w * y)
    n, mean = effective_rows(sizes), float(totals.sum() / sizes.sum())
    spread = n / max(n - 1, 1e-9) * float(np.square(totals - sizes * mean).sum())
    match rows.kind:
        case "share":
            usual = float(np.square(w).sum()) * mean * (1 - mean)
            return wilson(mean, effective_rows(w) / max(spread / usual, 1.0) if usual > 0 else n)
        case "count":
            unit = float((w**2) @ y) / float(w @ y) if y.any() else 1.0
            unit *= max(spread / (unit * totals.sum()), 1.0) if y.any() else 1.0
            return poisson_rate(float(totals.sum()) / unit, float(sizes.sum()) / unit)
        case "amount":
            return skewed_mean(totals / sizes, sizes)
        case _:
            return student(totals / sizes, sizes)
