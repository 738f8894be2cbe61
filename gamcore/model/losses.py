"""All losses that boosting minimises, by name; what they answer to is in `loss.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, Literal

import numpy as np
from scipy.special import expit, log_expit, logit

from gamcore.common.types import Floats
from gamcore.kernels import losses as kernels
from gamcore.kernels.losses import Form
from gamcore.model.loss import Loss
from gamcore.model.power_losses import GammaLoss, PoissonLoss, TweedieLoss
from gamcore.model.quantile_loss import QuantileLoss
from gamcore.model.scales import Scale

__all__ = ["LOSSES", "Loss", "default_loss", "objectives"]

LARGEST_LOGIT: Final = 30.0

MOST_NEWTON: Final = 60
"""Newton steps for a base score beside an offset: five are usual."""


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """(y - F)^2 for real y; the identity link. Gradient and hessian are those of half of it, as is customary."""

    name: ClassVar[str] = "squared"
    kind: ClassVar[str] = "regressor"
    error: ClassVar[str] = "squared error"
    is_scaled: ClassVar[bool] = True
    has_trees: ClassVar[bool] = True
    is_additive: ClassVar[bool] = True
    newton_drop: ClassVar[float] = 1.0

    @property
    def form(self) -> Form:
        return kernels.SQUARED

    def response(self, y: Floats, score: Floats, unit: float) -> Floats:
        """Return the residuals."""
        return y - score

    def loss_unit(self, scale: float, unit: float) -> float:
        """Return the square of the unit of scores."""
        return scale**2

    def base_score(self, y: Floats, w: Floats, offset: Floats | float = 0.0) -> float:
        """Return the mean."""
        return float(np.average(y - offset, weights=w))

    def link(self, prediction: Floats) -> Floats:
        """Return the prediction."""
        return prediction

    def inverse_link(self, score: Floats) -> Floats:
        """Return the score."""
        return score

    def spread(self, y: Floats, w: Floats | None) -> float:
        """Return the standard deviation."""
        return float(y.std())

    def loss(self, y: Floats, score: Floats) -> Floats:
        """Return the squared error of each row."""
        return np.square(y - score)

    def gradient(self, y: Floats, score: Floats) -> Floats:
        """Return the first derivative of half the loss."""
        return score - y

    def hessian(self, y: Floats, score: Floats) -> Floats:
        """Return the second derivative of half the loss."""
        return np.ones_like(score)


@dataclass(frozen=True)
class LogisticLoss(Loss):
    """Negative log likelihood of y in {0, 1} under P(y = 1) = 1 / (1 + exp(-F)); the logit link."""

    name: ClassVar[str] = "logistic"
    kind: ClassVar[str] = "classifier"
    error: ClassVar[str] = "log-loss"
    outcome_kind: ClassVar[Literal["share", "count", "amount", "number"]] = "share"
    has_trees: ClassVar[bool] = True
    units: ClassVar[Mapping[Scale, str]] = MappingProxyType(
        {"link": "log-odds", "ratio": "odds ratio", "points": "percentage points at the base rate"}
    )

    def is_bounded(self, y: Floats) -> bool:
        """Return whether both classes occur."""
        return bool(np.ptp(y) > 0)

    @property
    def form(self) -> Form:
        return kernels.LOGISTIC

    def least_node(self, rows: float, hessian: float, events: float) -> float:
        """Return the floor in hessians: those of rare classes are small."""
        return hessian

    def most_step(self, newton: float) -> float:
        """Return that of Newton steps."""
        return newton

    def base_score(self, y: Floats, w: Floats, offset: Floats | float = 0.0) -> float:
        """Return the log-odds of the weighted share of ones, clipped to +-30; beside an offset, by Newton's method."""
        share = float(np.average(y, weights=w))
        base = float(np.clip(logit(share), -LARGEST_LOGIT, LARGEST_LOGIT))
        if np.ndim(offset) == 0 or abs(base) == LARGEST_LOGIT:
            return base - float(np.mean(offset))
        base -= float(np.average(offset, weights=w))
        for _ in range(MOST_NEWTON):
            step = self.imbalance(y, base + np.asarray(offset), w)
            base += step
            if abs(step) < 1e-12:
                break
        return float(np.clip(base, -LARGEST_LOGIT, LARGEST_LOGIT))

    def imbalance(self, y: Floats, score: Floats, w: Floats) -> float:
        """Return a Newton step towards equal sums of probabilities and ones, of at most 1."""
        bend = float(np.sum(w * self.hessian(y, score)))
        return float(np.clip(-np.sum(w * self.gradient(y, score)) / bend, -1.0, 1.0)) if bend > 0 else 0.0

    def link(self, prediction: Floats) -> Floats:
        """Return the log-odds."""
        return np.asarray(logit(np.clip(prediction, 1e-12, 1 - 1e-12)))

    def inverse_link(self, score: Floats) -> Floats:
        """Return the probability of 1."""
        return np.asarray(expit(score), np.float64)

    def spread(self, y: Floats, w: Floats | None) -> float:
        """Return 1 / sqrt(p (1 - p)), by the delta method."""
        chance = float(np.average(y, weights=w))
        return float(1 / np.sqrt(chance * (1 - chance)))

    def loss(self, y: Floats, score: Floats) -> Floats:
        """Return -log P(y), computed without forming 1 - P."""
        return np.asarray(-log_expit(np.where(y > 0.5, score, -score)), np.float64)

    def gradient(self, y: Floats, score: Floats) -> Floats:
        """Return p - y."""
        return np.asarray(expit(score) - y, np.float64)

    def hessian(self, y: Floats, score: Floats) -> Floats:
        """Return p (1 - p), each factor computed directly to avoid cancellation."""
        return np.asarray(expit(score) * expit(-score), np.float64)


@dataclass(frozen=True)
class ClassLoss(LogisticLoss):
    """Log loss of one of several classes, boosted against the others in turn; see `classes.py`.

    A score read alone is a log-odds against the average class: probabilities need the scores of all classes.
    """

    name: ClassVar[str] = "softmax"
    is_partial: ClassVar[bool] = True
    has_trees: ClassVar[bool] = False
    units: ClassVar[Mapping[Scale, str]] = MappingProxyType(
        {"link": "log-odds beside the average class", "ratio": "odds beside the average class"}
    )


LOSSES: Final[dict[str, Loss]] = {
    loss.name: loss
    for loss in (
        SquaredLoss(),
        LogisticLoss(),
        PoissonLoss(),
        GammaLoss(),
        TweedieLoss(),
        QuantileLoss(),
        ClassLoss(),
    )
}
"""One of each; those with parameters have their defaults."""


def default_loss(is_binary: bool) -> Loss:
    """Return the default loss of a target."""
    return LOSSES["logistic" if is_binary else "squared"]


def objectives(kind: str, *, of_trees: bool = False) -> tuple[str, ...]:
    """Return the names of the losses that an estimator of a kind can minimise; of_trees : in trees of several tasks."""
    return tuple(loss.name for loss in LOSSES.values() if loss.kind == kind and (loss.has_trees or not of_trees))
