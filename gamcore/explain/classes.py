"""Curves of several classes, as chances: what a feature does to the probability of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from gamcore.common.numbers import percent
from gamcore.common.types import Floats
from gamcore.data.labels import set_apart
from gamcore.explain.curves import NO_BAND, Curve, explain_shape
from gamcore.explain.places import typical_of
from gamcore.model.classes import ClassesModel
from gamcore.stats.bands import USUAL_SHARE, deviation, pointwise
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot


@dataclass(frozen=True)
class ClassCurves(Explanation):
    """The chances of K classes along one feature, for a row whose other features are average.

    shape : the feature's bins and rows, as those of any curve. classes : names. chances, lower, upper : (K, bins), the
    ends of 95% bands point by point. missing : (K,) of a missing cell. base : (K,) shares of the training rows.
    """

    shape: Curve
    classes: tuple[str, ...]
    chances: Floats
    lower: Floats
    upper: Floats
    missing: Floats
    base: Floats

    @property
    def feature(self) -> str:
        """Name of the feature."""
        return self.shape.feature

    @property
    def has_band(self) -> bool:
        """Whether there is a band."""
        return self.shape.band != NO_BAND

    def describe(self, target: str = "class", **words: Any) -> Plot:
        """Return the plot of the classes' chances along the feature."""
        from gamcore.explain.plots.chances import chances

        return chances(self, target, **words)

    def words(self) -> str:
        """Return the largest movement in a sentence, between places with rows enough to be read."""
        if not self.chances.size:
            return f"{self.feature} has no values in training, so no effect."
        runs, rows = self.shape.runs or tuple(np.arange(self.shape.scores.size)[:, None]), self.shape.counts + 1e-9
        read = np.stack([np.average(self.chances[:, run], axis=1, weights=rows[run]) for run in runs], axis=1)
        k = int(np.ptp(read, axis=1).argmax())
        low, high = int(read[k].argmin()), int(read[k].argmax())
        ends = [f"{percent(float(read[k, at]))} at {typical_of(self.shape, runs[at]).spoken}" for at in (low, high)]
        return f"{self.feature} moves {set_apart(self.classes[k])} most: {', '.join(ends)}."

    def frame(self) -> pd.DataFrame:
        """Return the numbers: a row per bin, missing last, and the chance of each class with its band."""
        places = [self.shape.place(k) for k in range(self.shape.scores.size)]
        table: dict[str, list[object]] = {self.feature: [*places, "(missing)"]}
        for k, name in enumerate(self.classes):
            table[name] = [*self.chances[k].tolist(), float(self.missing[k])]
            if self.has_band:
                table[f"{name}, lower"] = [*self.lower[k].tolist(), None]
                table[f"{name}, upper"] = [*self.upper[k].tolist(), None]
        return pd.DataFrame({**table, "rows": [*self.shape.counts.tolist(), self.shape.missing[3]]})


def explain_classes(
    model: ClassesModel, feature: int, classes: tuple[str, ...], train_share: float = USUAL_SHARE
) -> ClassCurves:
    """Return the chances of all classes along one feature, with bands from the refits behind those of its curves."""
    curves = [explain_shape(class_model, feature, train_share) for class_model in model.models]
    bases = np.array([class_model.base_score for class_model in model.models])[:, None]
    scores = np.stack([class_model.terms[feature].scores for class_model in model.models])
    chances = np.asarray(softmax(bases + scores, axis=0))
    inside = slice(1, model.bins[feature].n_values + 1)
    shown = chances[:, inside]
    refits = np.stack([curve.refits for curve in curves], axis=1)  # (R, K, bins)
    reach = np.zeros(shown.shape)
    if curves[0].band != NO_BAND and len(refits) > 1:
        spread = np.asarray(softmax(bases + refits, axis=1))
        reach = pointwise(len(refits)) * np.stack([deviation(spread[:, k]) for k in range(len(classes))])
    return ClassCurves(
        shape=curves[0],
        classes=classes,
        chances=shown,
        lower=np.maximum(shown - reach, 0.0),
        upper=np.minimum(shown + reach, 1.0),
        missing=chances[:, 0],
        base=model.base_chances,
    )
