"""Losses: what boosting minimises, and the link between a score F and a prediction.

Conventions: y, F and w are float64 arrays of shape (n,); `link(prediction) = F`; gradients are with respect to F, so
that boosting descends along `-gradient` (algorithms.md section 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

from gamcore.kernels.layout import LOGISTIC, SQUARED

Array = NDArray[np.float64]

LARGEST_LOGIT = 30.0


class Loss(Protocol):
    """A loss with its link."""

    @property
    def name(self) -> str: ...
    @property
    def code(self) -> int: ...
    def base_score(self, y: Array, w: Array) -> float: ...
    def inverse_link(self, score: Array) -> Array: ...
    def loss(self, y: Array, score: Array) -> Array: ...
    def gradient(self, y: Array, score: Array) -> Array: ...
    def hessian(self, y: Array, score: Array) -> Array: ...


@dataclass(frozen=True)
class SquaredLoss:
    """(y - F)^2 for real y; the identity link. Gradient and hessian are those of half of it, as is customary."""

    name: str = "squared"
    code: int = SQUARED

    def base_score(self, y: Array, w: Array) -> float:
        """Score of the best constant."""
        return float(np.average(y, weights=w))

    def inverse_link(self, score: Array) -> Array:
        """Prediction of a score."""
        return score

    def loss(self, y: Array, score: Array) -> Array:
        """Loss of each row."""
        return np.square(y - score)

    def gradient(self, y: Array, score: Array) -> Array:
        """First derivative of half the loss."""
        return score - y

    def hessian(self, y: Array, score: Array) -> Array:
        """Second derivative of half the loss."""
        return np.ones_like(score)


@dataclass(frozen=True)
class LogisticLoss:
    """Negative log likelihood of y in {0, 1} under P(y = 1) = 1 / (1 + exp(-F)); the logit link."""

    name: str = "logistic"
    code: int = LOGISTIC

    def base_score(self, y: Array, w: Array) -> float:
        """Log-odds of the weighted share of ones, within +-30 where only one class is there."""
        share = float(np.average(y, weights=w))
        return float(np.clip(logit(share), -LARGEST_LOGIT, LARGEST_LOGIT))

    def inverse_link(self, score: Array) -> Array:
        """Probability of 1."""
        return np.asarray(expit(score), np.float64)

    def loss(self, y: Array, score: Array) -> Array:
        """-log P(y), computed without forming 1 - P."""
        return np.asarray(-log_expit(np.where(y > 0.5, score, -score)), np.float64)

    def gradient(self, y: Array, score: Array) -> Array:
        """p - y."""
        return np.asarray(expit(score) - y, np.float64)

    def hessian(self, y: Array, score: Array) -> Array:
        """p (1 - p), from both sides so that neither factor cancels."""
        return np.asarray(expit(score) * expit(-score), np.float64)


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (SquaredLoss(), LogisticLoss())}
