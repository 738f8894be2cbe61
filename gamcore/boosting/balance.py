"""The intercept for which a model keeps what its loss promises of the training rows.

A mean of refits, each stopped early on its own rows, is close to that and misses it. Where the link is a logarithm the
sums are what a model is used for (claims, amounts), and where a quantile is modelled the share of rows below it. So the
intercept is set at the end; no curve changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from gamcore.boosting.rows import Part
from gamcore.model.additive import AdditiveModel
from gamcore.model.losses import Loss
from gamcore.types import Floats

CLOSE: Final = 1e-13
"""A step of the intercept that is no more than rounding, in units of 1 and of the largest score."""

MOST_STEPS: Final = 20

Parts = Callable[[], Iterator[Part]]


def balanced(model: AdditiveModel, parts: Parts) -> AdditiveModel:
    """Return the model with the intercept that its loss asks for; `parts` yields the training rows, each time anew."""
    if not model.loss.is_balanced:
        return model
    rows = [_scored(model, part) for part in parts()]
    total = shift_to_balance(model.loss, *(np.concatenate([one[k] for one in rows]) for k in range(3)))
    return replace(model, refit_intercepts=model.refit_intercepts + total)


def shift_to_balance(loss: Loss, y: Floats, score: Floats, weight: Floats) -> float:
    """Return what to add to the scores (n,) for predictions and targets to have the same weighted sum."""
    total, close = 0.0, CLOSE * max(1.0, float(np.abs(score).max(initial=0.0)))
    for _ in range(MOST_STEPS):
        step = loss.imbalance(y, score + total, weight)
        total += step
        if abs(step) <= close:
            break
    return total


def _scored(model: AdditiveModel, part: Part) -> tuple[Floats, Floats, Floats]:
    """Return the targets, scores and weights of some rows."""
    score = model.score(part.codes)
    if part.offset is not None:
        score += part.offset
    return part.y, score, np.ones(part.y.size) if part.weight is None else part.weight
