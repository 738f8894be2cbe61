"""What every loss answers to: its link, its derivatives, and how its rows are boosted.

Conventions: y, F and w are float64 arrays of shape (n,); `link(prediction) = F`; gradients are with respect to F, so
that boosting descends along `-gradient`. An *offset* is a part of F that is given, such as the log of an exposure. The
compiled half of each loss is in `kernels/losses.py`; no other code distinguishes losses.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Floats
from gamcore.kernels import losses as kernels
from gamcore.kernels.losses import Form
from gamcore.model.scales import Scale, ratio

LinkName = Literal["identity", "log", "logit"]

LEAST_TARGET: Final = 1e-140
"""The largest target has to be above it: squares of smaller ones, and of their differences, are 0."""


@dataclass(frozen=True)
class Boosted(ABC):
    """How the rows of a loss are boosted; defaults are those of most losses."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """Its compiled half."""

    def form_at(self, state: NDArray[np.floating], weight: NDArray[np.floating]) -> Form:
        """Return the compiled half that suits the states of some rows; weight : (n,), or empty for 1 each."""
        return self.form

    @property
    def is_paired(self) -> bool:
        """Whether rows have two channels, such as gradient and hessian; otherwise `constant` is the second."""
        return bool(kernels.is_paired(self.form))

    def scale_of(self, residual: Floats, weight: Floats) -> float:
        """Return the unit of scores in boosting, where the loss is scaled; 0 where residuals have no spread."""
        return float(np.std(residual))

    def unit_of(self, y: Floats, w: Floats) -> float:
        """Return what targets are divided by in boosting, so that sums fit float32 and floors mean the same."""
        return 1.0

    def response(self, y: Floats, score: Floats, unit: float) -> Floats:
        """Return what row states are made from, given the score (n,) or (1,) that curves are added to."""
        return score

    def outcome(self, y: Floats, unit: float) -> Floats:
        """Return the targets (n,) that states and losses of rows need; empty where they need none."""
        return np.empty(0)

    def constant(self, y: Floats, weight: Floats, unit: float) -> Floats:
        """Return what is summed per bin once (n,), empty if 1 for all rows; weight : (n,), or empty likewise."""
        return weight

    def loss_unit(self, scale: float, unit: float) -> float:
        """Return the unit of the loss in boosting, given those of scores and of targets."""
        return 1.0

    def least_node(self, rows: float, hessian: float, events: float) -> float:
        """Return the weight that a node needs to be cut, given floors in rows and in hessians. events : the share of
        rows with a target above 0."""
        return rows

    def ratio_terms(self, y: Floats, offset: Floats) -> tuple[Floats, Floats]:
        """Return the terms (n,), (n,) whose weighted sums have the prediction of the best constant as their ratio."""
        return y, np.ones(y.size)

    def most_step(self, newton: float) -> float:
        """Return the largest value of a leaf, given that of Newton steps."""
        return np.inf


@dataclass(frozen=True)
class Loss(Boosted):
    """A loss with its link.

    kind : of the estimator that minimises it.
    error : name of its mean over rows.
    is_scaled : whether it depends on the target's unit, and so is boosted in units of `scale_of` the target.
    has_log_link : whether the score is the log of the mean, so that an exposure multiplies the prediction.
    is_partial : whether it is of one of several classes, so that a prediction needs the scores of all.
    is_balanced : whether the intercept is set at the end, for what `imbalance` says of the training rows.
    is_of_mean : whether the best constant is the mean.
    has_trees : whether multi-task trees can minimise it.
    is_additive : whether the channel of a row is what is left of its target: sums of it follow from counts of rows.
    newton_drop : how much a Newton leaf reduces it, in units of G^2 / H. Gradient and hessian are derivatives of the
        loss divided by twice that.
    degree : the power of the deviation with which it grows, where that is small.
    outcome_kind : what the target is where observed means are shown: "share" of ones, "count" of events, "amount" of 0
        or more; "number" where it may be below 0.
    units : the unit of an effect on each available scale; empty where that is the target's own.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    error: ClassVar[str]
    is_scaled: ClassVar[bool] = False
    has_log_link: ClassVar[bool] = False
    is_partial: ClassVar[bool] = False
    is_balanced: ClassVar[bool] = False
    is_of_mean: ClassVar[bool] = True
    has_trees: ClassVar[bool] = False
    is_additive: ClassVar[bool] = False
    newton_drop: ClassVar[float] = 0.5
    degree: ClassVar[float] = 2.0
    outcome_kind: ClassVar[Literal["share", "count", "amount", "number"]] = "number"
    units: ClassVar[Mapping[Scale, str]] = MappingProxyType({})

    @property
    def is_binary(self) -> bool:
        """Whether the target is 0 or 1, and a prediction the probability of 1."""
        return self.kind == "classifier"

    @property
    def link_name(self) -> LinkName:
        """The link by name, for models that predict elsewhere."""
        return "logit" if self.is_binary else "log" if self.has_log_link else "identity"

    @property
    def variance_power(self) -> float:
        """Power of the mean that the variance is proportional to; 0 where it is not taken to change with the mean."""
        return 0.0

    @property
    def is_valid(self) -> bool:
        """Whether its parameters are in range."""
        return True

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Scales that effects can be read on."""
        return tuple(self.units) or ("link",)

    @property
    def usual_scale(self) -> Scale:
        """The scale that people read best."""
        return next((scale for scale in ("points", "ratio") if scale in self.scales), "link")

    def unit(self, scale: Scale, target: str) -> str:
        """Return the unit of an effect, in words."""
        return self.units.get(scale, target)

    def effect(self, scores: Floats, scale: Scale, base: float) -> Floats:
        """Convert effects from the link scale to another; base is the score of a row without effects."""
        if scale == "ratio":
            return ratio(scores)
        if scale == "points":
            return np.asarray(100.0 * (self.inverse_link(base + scores) - self.inverse_link(np.array(base))))
        if scale == "units":
            return np.asarray(self.inverse_link(base + scores) - self.inverse_link(np.array(base)))
        return scores

    def score_of(self, effect: float, scale: Scale, base: float) -> float:
        """Return the effect on the link scale of one on another; NaN where there is none."""
        if scale == "ratio":
            return math.log(effect) if effect > 0 else math.nan
        if scale == "link":
            return effect
        wanted = self.inverse_link(np.array(base)) + (effect / 100.0 if scale == "points" else effect)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = float(self.link(wanted)) - base
        reached = float(self.effect(np.array(score), scale, base))  # a link may be cut
        return score if math.isclose(reached, effect, rel_tol=1e-6, abs_tol=1e-6) else math.nan

    def is_bounded(self, y: Floats) -> bool:
        """Return whether the score of the best constant for these targets is finite."""
        return True

    def impossible(self, y: Floats) -> str:
        """Return why these targets cannot be, under this loss, and the way out; empty where they can."""
        return ""

    def refusal(self, y: Floats) -> str:
        """Return why these targets cannot be modelled, and the way out; empty where they can."""
        largest = float(np.abs(y).max(initial=0.0))
        small = "The target has no values beyond 1e-140: multiply it by a constant first."
        return self.impossible(y) or (small if 0 < largest < LEAST_TARGET else "")

    def curvature(self, y: Floats, score: Floats) -> Floats:
        """Return the weight S for which G^2 / S is what a leaf takes off the loss, in units of `newton_drop`."""
        return self.hessian(y, score)

    def curvature_among(self, y: Floats, score: Floats, n_rows: int, spread: float) -> Floats:
        """Return the curvature of rows that are some of `n_rows`, whose mean |response| at their scores is `spread`."""
        return self.curvature(y, score)

    @abstractmethod
    def base_score(self, y: Floats, w: Floats, offset: Floats | float = 0.0) -> float:
        """Return the score of the best constant, beside an offset."""

    def imbalance(self, y: Floats, score: Floats, w: Floats) -> float:
        """Return how far to raise the intercept, to first order, for what the loss promises of the training rows.

        That is the same sum of predictions and targets, or a share of targets below the prediction. Raising it by this,
        again and again, ends there; 0 where the loss promises nothing.
        """
        return 0.0

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
