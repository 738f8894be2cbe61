"""Losses that boosting minimises, and the links between a score F and a prediction.

Conventions: y, F and w are float64 arrays of shape (n,); `link(prediction) = F`; gradients are with respect to F, so
that boosting descends along `-gradient`. The compiled half of each loss is in `kernels/losses.py`; no other code
distinguishes losses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

import numpy as np
from scipy.special import expit, log_expit, logit

from gamcore.kernels import losses as kernels
from gamcore.model.scales import Scale, ratio
from gamcore.types import Floats

LARGEST_LOGIT: Final = 30.0


@dataclass(frozen=True)
class Loss(ABC):
    """A loss with its link.

    code : of its compiled half.
    kind : of the estimator that minimises it.
    error : name of its mean over rows.
    is_scaled : whether it depends on the target's unit, and so is boosted in units of the target's standard deviation.
    newton_drop : how much a Newton leaf reduces it, in units of G^2 / H.
    units : the unit of an effect on each available scale; empty where that is the target's own.
    """

    name: ClassVar[str]
    code: ClassVar[int]
    kind: ClassVar[str]
    error: ClassVar[str]
    is_scaled: ClassVar[bool] = False
    newton_drop: ClassVar[float] = 0.5
    units: ClassVar[Mapping[Scale, str]] = MappingProxyType({})

    @property
    def is_binary(self) -> bool:
        """Whether the target is 0 or 1, and a prediction the probability of 1."""
        return self.kind == "classifier"

    @property
    def has_hessian(self) -> bool:
        """Whether hessians change from round to round; otherwise row weights replace them."""
        return bool(kernels.has_hessian(self.code))

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Scales that effects can be read on."""
        return tuple(self.units) or ("link",)

    def unit(self, scale: Scale, target: str) -> str:
        """Return the unit of an effect, in words."""
        return self.units.get(scale, target)

    def effect(self, scores: Floats, scale: Scale, base: float) -> Floats:
        """Convert effects from the link scale to another; base is the score of a row without effects."""
        if scale == "ratio":
            return ratio(scores)
        if scale == "points":
            return np.asarray(100.0 * (self.inverse_link(base + scores) - self.inverse_link(np.array(base))))
        return scores

    def is_bounded(self, y: Floats) -> bool:
        """Return whether the score of the best constant for these targets is finite."""
        return True

    @abstractmethod
    def base_score(self, y: Floats, w: Floats) -> float:
        """Return the score of the best constant."""

    @abstractmethod
    def link(self, prediction: Floats) -> Floats:
        """Return the score of a prediction."""

    @abstractmethod
    def inverse_link(self, score: Floats) -> Floats:
        """Return the prediction of a score."""

    @abstractmethod
    def spread(self, y: Floats, w: Floats | None) -> float:
        """Return the standard error of the score of a constant, for a single row."""

    @abstractmethod
    def loss(self, y: Floats, score: Floats) -> Floats:
        """Return the loss of each row."""

    @abstractmethod
    def gradient(self, y: Floats, score: Floats) -> Floats:
        """Return the first derivative."""

    @abstractmethod
    def hessian(self, y: Floats, score: Floats) -> Floats:
        """Return the second derivative."""


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """(y - F)^2 for real y; the identity link. Gradient and hessian are those of half of it, as is customary."""

    name: ClassVar[str] = "squared"
    code: ClassVar[int] = kernels.SQUARED
    kind: ClassVar[str] = "regressor"
    error: ClassVar[str] = "squared error"
    is_scaled: ClassVar[bool] = True
    newton_drop: ClassVar[float] = 1.0

    def base_score(self, y: Floats, w: Floats) -> float:
        """Return the mean."""
        return float(np.average(y, weights=w))

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
    code: ClassVar[int] = kernels.LOGISTIC
    kind: ClassVar[str] = "classifier"
    error: ClassVar[str] = "log-loss"
    units: ClassVar[Mapping[Scale, str]] = MappingProxyType(
        {"link": "log-odds", "ratio": "odds ratio", "points": "percentage points at the base rate"}
    )

    def is_bounded(self, y: Floats) -> bool:
        """Return whether both classes occur."""
        return bool(np.ptp(y) > 0)

    def base_score(self, y: Floats, w: Floats) -> float:
        """Return the log-odds of the weighted share of ones, clipped to +-30."""
        share = float(np.average(y, weights=w))
        return float(np.clip(logit(share), -LARGEST_LOGIT, LARGEST_LOGIT))

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


LOSSES: Final[dict[str, Loss]] = {loss.name: loss for loss in (SquaredLoss(), LogisticLoss())}


def default_loss(is_binary: bool) -> Loss:
    """Return the default loss of a target."""
    return LOSSES["logistic" if is_binary else "squared"]
