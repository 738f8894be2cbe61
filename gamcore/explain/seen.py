"""Rows that a model has not learned from, with what it predicts of them, its metric over them, and their means."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gamcore.common.types import Bools, Floats, Ints
from gamcore.explain.gap import HeldOut, Measured, measured
from gamcore.model.loss import Loss
from gamcore.stats.intervals import Interval, poisson_rate, skewed_mean, student, wilson
from gamcore.stats.rates import rate, spread
from gamcore.stats.weights import effective_rows


@dataclass(frozen=True)
class Means:
    """What is observed of some rows and what a model predicts.

    rows : their number. size : their weighted exposure. observed, predicted : means per unit of it. interval : of the
    observed mean, 95%.
    """

    rows: int
    size: float
    observed: float
    predicted: float
    interval: Interval


@dataclass(frozen=True)
class Seen:
    """Rows that a model has not learned from, with what it predicts of them.

    y, predicted : (n,) the outcome and its expected value, of the whole exposure of a row; of quantiles, whether it is
    below the prediction, and how often that was asked for. target, forecast : (n,) the same as the model has them.
    weight, exposure : (n,). clusters : (n,) from 0 on; each row's own number where none are given. kind : what the
    outcome is. power : of the mean that its variance goes with.
    """

    y: Floats
    predicted: Floats
    weight: Floats
    exposure: Floats
    clusters: Ints
    clustered: bool
    target: Floats
    forecast: Floats
    kind: str
    power: float

    @property
    def size(self) -> Floats:
        """What means are over: weighted exposure, or rows."""
        return self.weight * self.exposure

    @property
    def rate(self) -> Floats:
        """What is predicted (n,) per unit of exposure, in single precision: exposures leave noise in the last digits,
        which would tell rows apart that are alike."""
        return (self.predicted / self.exposure).astype(np.float32).astype(np.float64)

    @classmethod
    def of(cls, loss: Loss, y: Floats, predicted: Floats, weight: Floats, exposure: Floats, clusters: Ints | None
           ) -> Seen:  # fmt: skip
        """Return the rows."""
        target, forecast = y, predicted
        kind, power = loss.outcome_kind, loss.variance_power
        if not loss.is_of_mean:
            y, predicted = (y <= predicted).astype(np.float64), np.full(y.size, float(getattr(loss, "quantile", 0.5)))
            kind, power = "share", 0.0
        own = np.arange(y.size) if clusters is None else np.unique(clusters, return_inverse=True)[1]
        return cls(
            y, predicted, weight, exposure, own.astype(np.int64), clusters is not None, target, forecast, kind, power
        )

    def take(self, rows: Bools) -> Seen:
        """Return some of the rows."""
        by_row = ("y", "predicted", "weight", "exposure", "target", "forecast")
        parts = {name: getattr(self, name)[rows] for name in by_row}
        return replace(self, **parts, clusters=np.unique(self.clusters[rows], return_inverse=True)[1])

    def means(self, here: Bools) -> Means:
        """Return the means of some of the rows (n,), at least one."""
        w, size = self.weight[here], float(self.size[here].sum())
        observed, predicted = float(w @ self.y[here]) / size, float(w @ self.predicted[here]) / size
        return Means(int(np.count_nonzero(here)), size, observed, predicted, _observed_interval(self, here))

    def measured(self, loss: Loss, here: Bools) -> Measured:
        """Return the main metric over some of the rows (n,), by a loss; TableError where it cannot tell them apart."""
        score = self.forecast[here] if loss.is_binary else loss.link(self.forecast[here])
        rows = HeldOut(self.target[here], self.weight[here], np.log(self.exposure[here]), self.clusters[here])
        return measured(loss, rows, score[:, None])


def _observed_interval(rows: Seen, here: Bools) -> Interval:
    """Return the 95% interval of the mean outcome of some rows (n,), per unit of exposure: of clusters, by their own
    means."""
    y, w, exposure = rows.y[here], rows.weight[here], rows.exposure[here]
    if not rows.clustered:
        if rows.kind == "number":
            return student(y / exposure, w * exposure)
        return rate(y, rows.kind, exposure if rows.kind != "share" else None, w)[1]  # type: ignore[arg-type]
    numbers = np.unique(rows.clusters[here], return_inverse=True)[1]
    totals, sizes = (np.bincount(numbers, amounts).astype(np.float64) for amounts in (w * y, w * exposure))
    mean = float(totals.sum() / sizes.sum())
    match rows.kind:
        case "share":
            usual = float(np.square(w).sum()) * mean * (1 - mean)
            fewer = max(spread(totals, sizes) / usual, 1.0) if usual > 0 else 1.0
            return wilson(mean, effective_rows(w) / fewer if usual > 0 else effective_rows(sizes))
        case "count":
            unit = float((w**2) @ y) / float(w @ y) if y.any() else 1.0
            unit *= max(spread(totals, sizes) / (unit * totals.sum()), 1.0) if y.any() else 1.0
            return poisson_rate(float(totals.sum()) / unit, float(sizes.sum()) / unit)
        case "amount":
            return skewed_mean(totals / sizes, sizes)
        case _:
            return student(totals / sizes, sizes)
