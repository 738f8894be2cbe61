"""How outcomes lie around their predictions: by their distance, in units that a model expects, or as a law says.

Either gives an outcome a score that is comparable between rows, and the outcome that has a given score. An outcome with
a mass is at a random place within it, so that scores have no ties and an end cannot leave out a part of a mass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from gamcore.common.types import Codes, Floats
from gamcore.stats.laws import Law

if TYPE_CHECKING:
    from gamcore.model.additive import AdditiveModel


MASS: Final = 0.01
"""Share of outcomes from which on the lowest or highest of them is one that many have: the end of what there can be."""


BEYOND: Final = 100.0
"""Widths beyond an end that its outcomes are spread over: so many that no row's prediction decides which are."""


@dataclass(frozen=True)
class Support:
    """Which outcomes there can be. least, most : the ends. whole : whether they are whole numbers. has_masses : whether
    some outcomes are those of many rows, as whole numbers are, and the ends where they are reached."""

    least: float = -inf
    most: float = inf
    whole: bool = False
    has_masses: bool = False

    @classmethod
    def of(cls, y: Floats) -> Support:
        """Return the support that some outcomes (n,) show.

        None is below 0 where none of these is: counts and amounts. An end is also where many of them are: the 5 of
        ratings from 1 to 5.
        """
        low, high, whole = float(y.min()), float(y.max()), bool((y == np.floor(y)).all())
        at_low, at_high = (2 <= np.sum(y == end) >= MASS * y.size for end in (low, high))
        least = low if at_low else 0.0 if low >= 0 else -inf
        return cls(least, high if at_high else inf, whole, whole or bool(at_low or at_high))

    def spread(self, y: Floats, width: Floats, rng: np.random.Generator) -> Floats:
        """Return outcomes (n,) at random places within their masses: a whole number is all that rounds to it, an end
        all that is beyond. width : (n,) of errors, so that places beyond an end are those of any row."""
        places = rng.random(y.size)
        spread = y + places - 0.5 if self.whole else y
        if not self.has_masses:
            return spread
        spread = np.where(y == self.least, y - BEYOND * width * places, spread)
        return np.where(y == self.most, y + BEYOND * width * places, spread)

    def nearest(self, places: Floats) -> Floats:
        """Return the outcomes (n,) whose masses have the places (n,)."""
        return np.clip(np.ceil(places - 0.5) if self.whole else places, self.least, self.most)


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

    @property
    @abstractmethod
    def are_whole(self) -> bool:
        """Whether outcomes are whole numbers."""

    @abstractmethod
    def scores(self, y: Floats, rows: Rows, rng: np.random.Generator) -> Floats:
        """Return the scores (n,) of outcomes (n,)."""

    @abstractmethod
    def ends(self, scores: Floats, rows: Rows) -> Floats:
        """Return the least outcomes (n,) with at least the scores (n,)."""


@dataclass(frozen=True)
class Spread(Outcomes):
    """Errors in units of the mean |error| that an additive model expects. scale : on the bins of the model itself.
    support : the outcomes that there can be."""

    scale: AdditiveModel
    support: Support = Support()

    @property
    def are_whole(self) -> bool:
        return self.support.whole

    def scores(self, y: Floats, rows: Rows, rng: np.random.Generator) -> Floats:
        width = self._width(rows)
        return np.asarray((self.support.spread(y, width, rng) - rows.predicted) / width)

    def ends(self, scores: Floats, rows: Rows) -> Floats:
        with np.errstate(over="ignore"):
            return self.support.nearest(rows.predicted + self._width(rows) * scores)

    def _width(self, rows: Rows) -> Floats:
        return self.scale.loss.inverse_link(self.scale.score(rows.codes) + rows.moved)


@dataclass(frozen=True)
class Drawn(Outcomes):
    """Levels of outcomes in the distribution that a law has at the predictions."""

    law: Law

    @property
    def are_whole(self) -> bool:
        return self.law.is_whole

    def scores(self, y: Floats, rows: Rows, rng: np.random.Generator) -> Floats:
        below, up_to = self.law.below(y, rows.predicted), self.law.up_to(y, rows.predicted)
        return np.asarray(below + rng.random(y.size) * (up_to - below))

    def ends(self, scores: Floats, rows: Rows) -> Floats:
        return self.law.quantile(scores, rows.predicted)
