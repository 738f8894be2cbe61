"""Losses with a log link whose variance grows as a power of the mean: Poisson (1), Gamma (2) and Tweedie (between).

With mu = exp(F), a = y mu^(1-p) and b = mu^(2-p), half the deviance has gradient b - a and hessian
(p - 1) a + (2 - p) b (Jorgensen 1987, on exponential dispersion models).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, Literal

import numpy as np
from scipy.special import xlogy

from gamcore.common.types import Floats
from gamcore.data.rows import rows_in_words
from gamcore.kernels import losses as kernels
from gamcore.kernels.losses import Form
from gamcore.model.loss import Loss
from gamcore.model.scales import Scale

LARGEST_STEP: Final = 2.0
"""Largest leaf: the exact step of a leaf without events is infinite."""

LEAST_MEAN: Final = float(np.finfo(np.float64).tiny)
"""Smallest mean whose logarithm is taken: that of 0 is infinite."""


@dataclass(frozen=True)
class PowerLoss(Loss):
    """Deviance of a target whose variance is proportional to mean^power; the log link.

    Gradient and hessian are those of half of it, as is customary.
    """

    kind: ClassVar[str] = "regressor"
    outcome_kind: ClassVar[Literal["share", "count", "amount", "number"]] = "amount"
    has_log_link: ClassVar[bool] = True
    has_trees: ClassVar[bool] = True
    is_balanced: ClassVar[bool] = True
    newton_drop: ClassVar[float] = 1.0
    units: ClassVar[Mapping[Scale, str]] = MappingProxyType(
        {"link": "log of the mean", "ratio": "factor of the mean", "units": "added at the mean"}
    )

    @property
    @abstractmethod
    def variance_power(self) -> float:
        """The power p of the mean that the variance is proportional to."""

    def ratio_terms(self, y: Floats, offset: Floats) -> tuple[Floats, Floats]:
        """Return a and b at the offset."""
        return self._parts(y, offset)

    def _parts(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        """Return a = y mu^(1-p) and b = mu^(2-p) of each row."""
        p = self.variance_power
        return y * np.exp((1.0 - p) * score), np.asarray(np.exp((2.0 - p) * score), np.float64)

    def impossible(self, y: Floats) -> str:
        """Return a sentence if an amount is negative."""
        bad = np.flatnonzero(y < 0)
        if bad.size:
            return (
                f"The target is negative in {rows_in_words(bad)}, and objective={self.name!r} needs targets of 0 or "
                "more: correct or drop these rows, or choose objective='squared'."
            )
        return ""

    def refusal(self, y: Floats) -> str:
        """Return a sentence if an amount is negative, or all are 0 or too small."""
        nothing = "The target is 0 in every row, so there is no mean to model: add rows."
        return super().refusal(y) or ("" if np.any(y > 0) else nothing)

    def is_bounded(self, y: Floats) -> bool:
        """Return whether there is an event, so that the mean is above 0."""
        return bool(np.any(y > 0))

    def response(self, y: Floats, score: Floats, unit: float) -> Floats:
        """Return the score of the mean in units."""
        return np.asarray(score - np.log(unit), np.float64)

    def outcome(self, y: Floats, unit: float) -> Floats:
        """Return the targets in units."""
        return y / unit

    def loss_unit(self, scale: float, unit: float) -> float:
        """Return unit^(2 - p): the deviance of targets in units is that much smaller."""
        return float(unit ** (2.0 - self.variance_power))

    def most_step(self, newton: float) -> float:
        """Return the largest factor's logarithm."""
        return min(newton, LARGEST_STEP)

    def base_score(self, y: Floats, w: Floats, offset: Floats | float = 0.0) -> float:
        """Return log(sum(w a) / sum(w b)), a and b at the offset."""
        a, b = self._parts(y, np.broadcast_to(np.asarray(offset, np.float64), y.shape))
        return float(np.log(max(float(np.sum(w * a)), LEAST_MEAN)) - np.log(np.sum(w * b)))

    def imbalance(self, y: Floats, score: Floats, w: Floats) -> float:
        """Return the log of the ratio of the sums: one step ends at equal sums."""
        return float(np.log(np.sum(w * y)) - np.log(np.sum(w * np.exp(score)))) if np.any(y > 0) else 0.0

    def link(self, prediction: Floats) -> Floats:
        """Return the log of the mean."""
        return np.asarray(np.log(np.maximum(prediction, LEAST_MEAN)))

    def inverse_link(self, score: Floats) -> Floats:
        """Return the mean."""
        return np.asarray(np.exp(np.minimum(score, 700.0)), np.float64)

    def spread(self, y: Floats, w: Floats | None) -> float:
        """Return the coefficient of variation, by the delta method."""
        return float(y.std() / max(np.average(y, weights=w), LEAST_MEAN))

    def loss(self, y: Floats, score: Floats) -> Floats:
        """Return the deviance of each row."""
        p = self.variance_power
        a, b = self._parts(y, score)
        constant = y ** (2.0 - p) / ((p - 1.0) * (2.0 - p))
        return np.asarray(2.0 * (a / (p - 1.0) + b / (2.0 - p) - constant))

    def gradient(self, y: Floats, score: Floats) -> Floats:
        """Return the first derivative of half the loss."""
        a, b = self._parts(y, score)
        return b - a

    def hessian(self, y: Floats, score: Floats) -> Floats:
        """Return the second derivative of half the loss."""
        a, b = self._parts(y, score)
        return (self.variance_power - 1.0) * a + (2.0 - self.variance_power) * b

    def curvature(self, y: Floats, score: Floats) -> Floats:
        """Return b + (a - b) p / 3; see `kernels/losses.py`."""
        a, b = self._parts(y, score)
        return b + (a - b) * (self.variance_power / 3.0)


@dataclass(frozen=True)
class PoissonLoss(PowerLoss):
    """Poisson deviance of counts (or any amounts) y >= 0, in floors of expected events."""

    name: ClassVar[str] = "poisson"
    error: ClassVar[str] = "Poisson deviance"
    outcome_kind: ClassVar[Literal["share", "count", "amount", "number"]] = "count"

    @property
    def variance_power(self) -> float:
        return 1.0

    @property
    def form(self) -> Form:
        return kernels.POISSON

    def unit_of(self, y: Floats, w: Floats) -> float:
        """Return the mean where it is above 1: then rows are scarcer than events, and floors count them instead."""
        return max(1.0, float(np.average(y, weights=w)))

    def constant(self, y: Floats, weight: Floats, unit: float) -> Floats:
        """Return the outcomes."""
        return y / unit * weight if weight.size else y / unit

    def loss(self, y: Floats, score: Floats) -> Floats:
        """Return the deviance of each row."""
        mean = np.exp(score)
        return np.asarray(2.0 * (xlogy(y, y) - y * score - y + mean))


@dataclass(frozen=True)
class GammaLoss(PowerLoss):
    """Gamma deviance of amounts y > 0."""

    name: ClassVar[str] = "gamma"
    error: ClassVar[str] = "Gamma deviance"

    @property
    def variance_power(self) -> float:
        return 2.0

    @property
    def form(self) -> Form:
        return kernels.GAMMA

    def impossible(self, y: Floats) -> str:
        """Return a sentence if an amount is not above 0."""
        bad = np.flatnonzero(y <= 0)
        if not bad.size:
            return ""
        return (
            f"The target is 0 or negative in {rows_in_words(bad)}, and objective='gamma' needs amounts above 0: leave "
            "these rows out and model their share by itself, or choose objective='tweedie', which takes zeros."
        )

    def response(self, y: Floats, score: Floats, unit: float) -> Floats:
        """Return the score less the log of the target."""
        return np.asarray(score - np.log(y))

    def outcome(self, y: Floats, unit: float) -> Floats:
        """Return nothing: the ratio of the target to its mean is all that is needed."""
        return np.empty(0)

    def loss(self, y: Floats, score: Floats) -> Floats:
        """Return the deviance of each row."""
        ratio = np.log(y) - score
        return np.asarray(2.0 * (np.expm1(ratio) - ratio))


@dataclass(frozen=True)
class TweedieLoss(PowerLoss):
    """Tweedie deviance of amounts with many zeros, y >= 0: sums of a Poisson number of Gamma amounts.

    power : 1 < p < 2, nearer to 1 if zeros are due to few events of like size.
    """

    name: ClassVar[str] = "tweedie"
    error: ClassVar[str] = "Tweedie deviance"
    power: float = 1.5

    @property
    def is_valid(self) -> bool:
        """Whether the power is between those of Poisson and Gamma."""
        return 1.0 < self.power < 2.0

    @property
    def variance_power(self) -> float:
        return self.power

    @property
    def form(self) -> Form:
        return kernels.tweedie(self.power)

    def unit_of(self, y: Floats, w: Floats) -> float:
        """Return the mean, so that a row weighs about 1 whatever the currency."""
        return float(np.average(y, weights=w)) or 1.0

    def least_node(self, rows: float, hessian: float, events: float) -> float:
        """Return the floor in rows with an amount above 0."""
        return rows / max(events, LEAST_MEAN)
