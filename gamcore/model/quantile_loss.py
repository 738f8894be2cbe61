"""The check loss of a quantile tau, r (tau - [r < 0]) for residuals r = y - F (Koenker and Bassett 1978).

It has a kink and no curvature, so it is boosted smoothed over a width h: as (tau - 1/2) r + sqrt(r^2 + h^2) / 2, its
convolution with the density 1 / (2 h (1 + r^2 / h^2)^(3/2)). Any kernel will do (Fernandes, Guerre and Horta 2021; He,
Pan, Tan and Zhou 2023); the slope of this one takes a square root in place of an exponential.

The hessian vanishes far from the quantile, where Newton steps would be wild. In its place is half of
s = 1 / (2 sqrt(r^2 + h^2)): the parabola that touches the loss at r with curvature s is nowhere below it (Hunter and
Lange 2000). So with sums G of slopes and S of s, no step of up to 2 G / S raises the loss of a leaf, however far its
rows are, and steps need no bound: where targets span many times their usual distance, one took thousands of rounds.

h follows the residuals of the rows, and so shrinks as a refit goes on: where the spread varies over the rows, a width
that suits the target is too much for the narrow part (benchmarks/boosting/quantiles.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Floats
from gamcore.kernels import losses as kernels
from gamcore.kernels.losses import Form
from gamcore.model.loss import Loss

WIDTH: Final = 1.5
"""Width of the smoothing, in units of (log n / n)^(2/5) times the median |residual|; half and twice that do as well."""

LEAST_WIDTH: Final = 1e-4
"""Smallest width in boosting, where the first median |residual| is 1: far above the rounding of float32."""

MOST_ROWS: Final = 100_000
"""Rows that the spread of residuals is taken from."""

APART: Final = 0.1
"""Distance of the quantiles whose difference gives the density at a quantile; at most to the half of either tail."""


def width_among(n_rows: float, spread: float) -> float:
    """Return the width of the smoothing for so many rows, whose residuals have this spread."""
    rows = max(n_rows, math.e)
    return WIDTH * math.pow(math.log(rows) / rows, 0.4) * spread


def weighted_quantile(values: Floats, weight: Floats, level: float) -> float:
    """Return the smallest of some values (n,) with at least a share `level` of the weight (n,) up to it."""
    order = np.argsort(values, kind="stable")
    running = np.cumsum(weight[order])
    place = int(np.searchsorted(running, level * running[-1] * (1.0 - 1e-12)))
    return float(values[order[min(place, values.size - 1)]])


@dataclass(frozen=True)
class QuantileLoss(Loss):
    """The check loss of real y; the identity link. The gradient is that of the loss itself, the hessian is 0.

    quantile : 0 < tau < 1, the share of rows whose target is below the prediction.
    """

    name: ClassVar[str] = "quantile"
    kind: ClassVar[str] = "regressor"
    error: ClassVar[str] = "pinball loss"
    is_scaled: ClassVar[bool] = True
    is_balanced: ClassVar[bool] = True
    is_of_mean: ClassVar[bool] = False
    degree: ClassVar[float] = 1.0
    quantile: float = 0.5

    @property
    def is_valid(self) -> bool:
        """Whether the quantile is between 0 and 1."""
        return 0.0 < self.quantile < 1.0

    @property
    def form(self) -> Form:
        return kernels.quantile(self.quantile, 1.0)

    def form_at(self, state: NDArray[np.floating], weight: NDArray[np.floating]) -> Form:
        """Return the form with the width that suits the residuals."""
        width = self.width(state.astype(np.float64), weight.astype(np.float64))
        return kernels.quantile(self.quantile, max(width, LEAST_WIDTH))

    def width(self, residual: Floats, weight: Floats) -> float:
        """Return the width of the smoothing, in units of the residuals (n,); weight : (n,), or empty for 1 each."""
        rows = float(weight.sum()) if weight.size else float(residual.size)
        some = slice(None, None, -(-residual.size // MOST_ROWS) or 1)
        return width_among(rows, self.scale_of(residual[some], weight[some]))

    def scale_of(self, residual: Floats, weight: Floats) -> float:
        """Return the median |residual|, or the mean where most are 0."""
        size, mass = np.abs(residual), weight if weight.size else np.ones(residual.size)
        return weighted_quantile(size, mass, 0.5) or float(np.average(size, weights=mass))

    def response(self, y: Floats, score: Floats, unit: float) -> Floats:
        """Return the residuals."""
        return y - score

    def loss_unit(self, scale: float, unit: float) -> float:
        """Return the unit of scores."""
        return scale

    def base_score(self, y: Floats, w: Floats, offset: Floats | float = 0.0) -> float:
        """Return the quantile."""
        return weighted_quantile(y - offset, w, self.quantile)

    def imbalance(self, y: Floats, score: Floats, w: Floats) -> float:
        """Return the quantile of the residuals: one step ends with the right share of rows below the prediction."""
        return weighted_quantile(y - score, w, self.quantile)

    def link(self, prediction: Floats) -> Floats:
        """Return the prediction."""
        return prediction

    def inverse_link(self, score: Floats) -> Floats:
        """Return the score."""
        return score

    def spread(self, y: Floats, w: Floats | None) -> float:
        """Return sqrt(tau (1 - tau)) over the density at the quantile; the standard deviation where that has no end."""
        weight, tau = np.ones(y.size) if w is None else w, self.quantile
        reach = min(APART, tau, 1.0 - tau) / 2.0
        apart = weighted_quantile(y, weight, tau + reach) - weighted_quantile(y, weight, tau - reach)
        return float(np.sqrt(tau * (1.0 - tau))) * apart / (2.0 * reach) if apart > 0 else float(y.std())

    def loss(self, y: Floats, score: Floats) -> Floats:
        """Return the check loss of each row."""
        return np.asarray((y - score) * (self.quantile - (y < score)))

    def gradient(self, y: Floats, score: Floats) -> Floats:
        """Return the first derivative, that from the left at the kink."""
        return np.asarray((y < score) - self.quantile)

    def hessian(self, y: Floats, score: Floats) -> Floats:
        """Return 0."""
        return np.zeros_like(score)

    def curvature(self, y: Floats, score: Floats) -> Floats:
        """Return the weights of rows in boosting, at the width that suits their residuals."""
        residual = y - score
        return np.asarray(0.25 / np.hypot(residual, self.width(residual, np.empty(0)) or 1.0))

    def curvature_among(self, y: Floats, score: Floats, n_rows: int, spread: float) -> Floats:
        """Return the weights of rows at the width that suits a mean |residual|."""
        return np.asarray(0.25 / np.hypot(y - score, width_among(float(n_rows), spread) or 1.0))
