"""How outcomes lie around their predictions: by their distance, in units that a model expects, or as a law says.

Either gives an outcome a score that is comparable between rows, and the outcome that has a given score.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gamcore.stats.laws import Law
from gamcore.types import Codes, Floats

if TYPE_CHECKING:
    from gamcore.model.additive import AdditiveModel


@dataclass(frozen=True)
class Rows:
    """Rows whose outcomes are asked about. predicted : (n,) means of their whole exposures. codes : (p, n).

    moved : given part of the log of the scale of their errors.
    """

    predicted: Floats
    codes: Codes
    moved: Floats | float = 0.0


class Outcomes(ABC):
    """What scores of outcomes mean."""

    @abstractmethod
    def scores(self, y: Floats, rows: Rows, rng: np.random.Generator) -> Floats:
        """Return the scores (n,) of outcomes (n,)."""

    @abstractmethod
    def ends(self, scores: Floats, rows: Rows) -> Floats:
        """Return the least outcomes (n,) with at least the scores (n,)."""


@dataclass(frozen=True)
class Spread(Outcomes):
    """Errors in units of the mean |error| that an additive model expects. scale : on the bins of the model itself."""

    scale: AdditiveModel

    def scores(self, y: Floats, rows: Rows, rng: np.random.Generator) -> Floats:
        return np.asarray((y - rows.predicted) / self._width(rows))

    def ends(self, scores: Floats, rows: Rows) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(rows.predicted + self._width(rows) * scores)

    def _width(self, rows: Rows) -> Floats:
        return self.scale.loss.inverse_link(self.scale.score(rows.codes) + rows.moved)


@dataclass(frozen=True)
class Drawn(Outcomes):
    """Levels of outcomes in the distribution that a law has at the predictions.

    An outcome with a mass is at a random place among the levels of its mass, so that levels have no ties.
    """

    law: Law

    def scores(self, y: Floats, rows: Rows, rng: np.random.Generator) -> Floats:
        below, up_to = self.law.below(y, rows.predicted), self.law.up_to(y, rows.predicted)
        return np.asarray(below + rng.random(y.size) * (up_to - below))

    def ends(self, scores: Floats, rows: Rows) -> Floats:
        return self.law.quantile(scores, rows.predicted)
