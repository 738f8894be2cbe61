"""Features along which the whole score may only rise, or only fall.

The curve of such a feature is put in order after every step, and so is every tree of a pair with it; sums of what is in
order are, too. What is promised is the whole: purification moves parts between curves and surfaces, and neither needs
to be monotone alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from gamcore.common.types import Floats
from gamcore.data.binning import Bins
from gamcore.data.columns import TableError
from gamcore.data.table import place_among
from gamcore.model.additive import AdditiveModel
from gamcore.model.classes import ClassesModel

ROUNDING: Final = 1e-9
"""Share of the largest score by which one may be out of order: curves and surfaces are moved and added up."""


def signs_of(wanted: Mapping[Any, int] | None, bins: Sequence[Bins]) -> tuple[int, ...]:
    """Return 1 for each feature that may only rise, -1 where it may only fall, 0 for others; empty if all are free.

    wanted : signs by the name or place of a feature.
    """
    if not wanted:
        return ()
    names = [of_feature.feature.name for of_feature in bins]
    signs = [0] * len(names)
    for feature, sign in wanted.items():
        place = place_among(names, feature, "monotone")
        if sign not in (-1, 0, 1):
            raise TableError(f"monotone has {sign!r} for {feature!r}: give 1 to rise, -1 to fall, or 0.")
        if sign and bins[place].feature.is_category:
            raise TableError(f"{names[place]} is a category, whose levels have no order: leave it out of monotone.")
        signs[place] = sign
    return tuple(signs)


def promised(model: AdditiveModel | ClassesModel) -> dict[str, int] | None:
    """Return the signs that a model promises, by the name of a feature; None if it promises none."""
    signs = model.signs if isinstance(model, AdditiveModel) else ()
    signed = {bins.feature.name: sign for bins, sign in zip(model.bins, signs, strict=False) if sign}
    return signed or None


def least_step(model: AdditiveModel, feature: int, sign: int = 1) -> float:
    """Return the least change of the score, times `sign`, from one bin of a feature to the next, over all cells of its
    pairs.

    A score is a sum, so its least change is that of the curve and, for each pair, the least over the codes of the other
    feature, the missing and the unseen one included.
    """
    values = slice(1, model.bins[feature].n_values + 1)
    steps = sign * np.diff(model.terms[feature].scores[values])
    for pair in model.pairs:
        if feature in pair.features:
            surface = pair.scores if pair.features[0] == feature else pair.scores.T
            steps = steps + (sign * np.diff(surface[values], axis=0)).min(axis=1)
    return float(steps.min(initial=np.inf))


def is_monotone(model: AdditiveModel, feature: int) -> bool:
    """Return whether the score keeps the order along a feature that the model promises, if it does."""
    sign = model.signs[feature] if model.signs else 0
    return not sign or least_step(model, feature, sign) >= -ROUNDING * _largest(model)


def check_monotone(model: AdditiveModel) -> None:
    """Prove that the score keeps the order that the model promises; ArithmeticError where it does not."""
    for feature, bins in enumerate(model.bins):
        if not is_monotone(model, feature):
            raise ArithmeticError(f"The score is not monotone in {bins.feature.name}: please report this.")


def keeping(model: AdditiveModel) -> AdditiveModel:
    """Return the model with those of its promises that it keeps, as after an edit by hand."""
    signs = tuple(sign if is_monotone(model, feature) else 0 for feature, sign in enumerate(model.signs))
    return replace(model, signs=signs if any(signs) else ())


def _largest(model: AdditiveModel) -> float:
    scores: list[Floats] = [term.scores for term in model.terms] + [pair.scores for pair in model.pairs]
    return max((float(np.abs(score).max(initial=0.0)) for score in scores), default=0.0)
