"""The intercept for which predictions and targets of the training rows have the same sum; of a quantile, for which
the share of rows below the prediction is the one that was asked for.

A mean of refits, each stopped early on its own rows, comes close to that and misses it. So the intercept is set at the
end; no curve changes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.rows.sums import Part, Rows, offset_of, weighed
from gamcore.common.types import Floats
from gamcore.model.additive import AdditiveModel
from gamcore.model.losses import Loss

CLOSE: Final = 1e-13
"""A step of the intercept that is no more than rounding, in units of 1 and of the largest score."""

MOST_STEPS: Final = 20


def balanced(model: AdditiveModel, rows: Rows) -> AdditiveModel:
    """Return a model of a balanced loss with the intercept that balances it on the training rows."""
    if model.loss.is_of_mean:
        targets, means = rows.sum(partial(_sums, model))
        total = model.loss.base_score(np.array([targets / means]), np.ones(1)) if targets > 0 else 0.0
    else:
        scored = rows.score(partial(_scored, model))
        total = shift_to_balance(model.loss, *scored.T)
    return replace(model, refit_intercepts=model.refit_intercepts + total)


def shift_to_balance(loss: Loss, y: Floats, score: Floats, weight: Floats) -> float:
    """Return what to add to the scores (n,) for predictions and targets to have the same weighted sum; of a quantile,
    for its share of the weights to be below."""
    total, close = 0.0, CLOSE * max(1.0, float(np.abs(score).max(initial=0.0)))
    for _ in range(MOST_STEPS):
        step = loss.imbalance(y, score + total, weight)
        total += step
        if abs(step) <= close:
            break
    return total


def _score(model: AdditiveModel, part: Part) -> Floats:
    """Return the scores (m,) of some rows, with what is given of them."""
    score, offset = model.score(part.codes), offset_of(part)
    return score if offset is None else score + offset


def _sums(model: AdditiveModel, part: Part) -> NDArray[Any]:
    """Return the exact sums of targets and of predicted means."""
    means = model.loss.inverse_link(_score(model, part))
    return np.array([weighed(part.y, part.weight), weighed(means, part.weight)], object)


def _scored(model: AdditiveModel, part: Part) -> Floats:
    """Return the targets, scores and weights (m, 3) of some rows."""
    weight = np.ones(part.y.size) if part.weight is None else part.weight
    return np.stack([part.y, _score(model, part), weight], axis=1)
