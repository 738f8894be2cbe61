"""The rows behind what is said: a column's cells and its effects, counted without the library's sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.common.types import Bools, Floats
from gamcore.data.binning import Bins, encode_table
from gamcore.data.table import Table, read_feature
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import n_scores
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.explain.curves import Curve
from gamcore.model.losses import LOSSES


@dataclass(frozen=True)
class Effects:
    """A column of the training rows, and its effects.

    cells : (n,) numbers, days since 1970-01-01 or texts; NaN or an empty text where missing. effects : (n,) on the
    curve's scale.
    """

    cells: NDArray[Any]
    effects: Floats
    scale: str

    @property
    def heights(self) -> Floats:
        """Effects (n,) on a scale on which they add up."""
        return np.log(self.effects) if self.scale == "ratio" else self.effects

    def mean(self, inside: Bools) -> float:
        """Return the mean effect of some rows, on the curve's scale; that of ratios is geometric."""
        if not inside.any():
            return math.nan
        mean = float(self.heights[inside].mean())
        return math.exp(mean) if self.scale == "ratio" else mean

    def inside(self, low: float, high: float) -> Bools:
        """Return which numbers (n,) are from `low` to `high`, both included."""
        return np.asarray((self.cells >= low) & (self.cells <= high))

    def rows_of(self, level: str) -> Bools:
        """Return which texts (n,) are a level."""
        return np.asarray(self.cells == level)


@dataclass
class CurveOnRows:
    """A curve on one scale beside the training rows. of : the class that it is read by, if there are several. group :
    the cells of those that it shares an effect with, its own first, and the effects (n,) of all on the link scale."""

    curve: Curve
    rows: Effects
    of: str = ""
    importance: float = field(default=0.0)
    group: tuple[list[NDArray[Any]], Floats] = field(default_factory=lambda: ([], np.empty(0)))

    @property
    def column(self) -> str:
        """Its name for a fault."""
        return f"{self.curve.feature}{f' ({self.of})' if self.of else ''} on {self.curve.scale}"


def cells_of(X: pd.DataFrame, bins: Bins) -> NDArray[Any]:
    """Return the cells (n,) of a feature."""
    if bins.feature.kind == "number" and bins.feature.part == "value":
        return pd.to_numeric(X[bins.feature.column]).to_numpy(float, na_value=np.nan)
    values = read_feature(Table(X), bins.feature)
    if not bins.feature.is_category:
        return values
    return np.array([*bins.feature.levels, ""], object)[values]


def views(estimator: GAMRegressor | GAMClassifier) -> Iterator[tuple[str, Any]]:
    """Yield an estimator as it is read: by each of its classes if there are several, with its name."""
    if isinstance(estimator, GAMClassifier) and n_scores(estimator) > 1:
        for label in estimator.classes_:
            yield str(label), estimator.of_class(label)
    else:
        yield "", estimator


def curves(estimator: GAMRegressor | GAMClassifier, X: pd.DataFrame) -> Iterator[CurveOnRows]:
    """Yield every curve on every scale, of every class, beside the training rows `X`."""
    codes = encode_table(X, estimator.model_.bins, in_training=True)
    for label, view in views(estimator):
        model = single_model(view)
        names = [bins.feature.name for bins in model.bins]
        for j, bins in enumerate(model.bins):
            link, cells = view.explain_shape(bins.feature.name), cells_of(X, bins)
            heights = model.terms[j].scores[codes[j]]
            size = float(np.abs(heights).mean())
            places = [j, *(names.index(name) for name in link.shared_with)]
            group = (
                [cells_of(X, model.bins[k]) for k in places],
                np.sum([model.terms[k].scores[codes[k]] for k in places], axis=0),
            )
            for scale in LOSSES[link.loss].scales:
                effects = LOSSES[link.loss].effect(heights, scale, link.base)
                yield CurveOnRows(link.on(scale), Effects(cells, effects, scale), label, size, group)
