"""Prediction intervals by split conformal: a model of how far outcomes lie from predictions, and how many times as far.

The error of a row is divided by its scale, the mean |error| that an additive model of the same features expects there
(locally weighted split conformal: Lei et al., JASA 2018, section 5.2). The two ends of an interval are quantiles of
these scores over calibration rows that neither model has seen, each tail by itself (Romano, Patterson and Candes,
NeurIPS 2019, Theorem 2). If calibration rows and a new row are exchangeable, each end is missed with a probability of
at most (1 - coverage) / 2, whatever the models; without ties also of at least that less 1 / (m + 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.numbers import count, fixed
from gamcore.types import Codes, Floats

if TYPE_CHECKING:
    from gamcore.model.additive import AdditiveModel

ROUNDING: Final = 1e-12
"""Share of all weight that sums of weights may miss a quantile by: 20 x .95 must be 19."""


@dataclass(frozen=True)
class Intervals:
    """What intervals around the predictions of a model are made of.

    scale : additive model of the mean |error|, on the bins of the model whose errors they are.
    scores : (m,) errors of the calibration rows, in units of their scales, ascending.
    weights : (m,) of these rows, in units of the largest that a new row may have.
    """

    scale: AdditiveModel
    scores: Floats
    weights: Floats

    @property
    def total(self) -> float:
        """Weight of the calibration rows; their number where all weigh the same."""
        return float(self.weights.sum())

    @property
    def most_coverage(self) -> float:
        """The largest coverage that the calibration rows allow: one row, the new one, lies beyond each end."""
        return max(1.0 - 2.0 / (self.total + 1.0), 0.0)

    def factors(self, coverage: float) -> tuple[float, float]:
        """Return both ends of an interval, in scales from the prediction.

        The upper end is the lowest score that, with all below it, has a share of at least (1 + coverage) / 2 of the
        weight of the calibration rows and the new row; the lower one is its mirror image.
        """
        self.check(coverage)
        wanted = ((1.0 + coverage) / 2.0 - ROUNDING) * (self.total + 1.0)
        upper, lower = (
            float(scores[np.searchsorted(np.cumsum(weights), wanted)])
            for scores, weights in ((self.scores, self.weights), (self.scores[::-1], self.weights[::-1]))
        )
        return lower, upper

    def check(self, coverage: float) -> None:
        """Raise ValueError where there can be no interval of this coverage."""
        if not isinstance(coverage, int | float | np.number) or not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage is {coverage!r}: it must be a number between 0 and 1, such as 0.9.")
        needed = 2.0 / (1.0 - coverage) - 1.0
        if self.total < needed * (1.0 - ROUNDING):
            raise ValueError(
                f"A coverage of {coverage} needs {count(np.ceil(needed - ROUNDING))} calibration rows (or groups), and "
                f"there are {count(np.floor(self.total + ROUNDING))}: pass more rows to fit_intervals, half of which "
                f"calibrate, or ask for at most {fixed(np.floor(self.most_coverage * 1e3) / 1e3, 3)}."
            )

    def around(self, predicted: Floats, codes: Codes, coverage: float, moved: Floats | float = 0.0) -> Floats:
        """Return the intervals (n, 2) of rows, lower and upper ends in the target's units.

        predicted : (n,); codes : (p, n) of the same rows; moved : given part of the log of the scale.
        """
        width = self.scale.loss.inverse_link(self.scale.score(codes) + moved)
        with np.errstate(over="ignore"):
            return np.asarray(predicted[:, None] + width[:, None] * np.array(self.factors(coverage)))


def unseen_as_missing(model: AdditiveModel) -> AdditiveModel:
    """Return the model in which levels that no training row has score as missing cells do.

    Calibration rows may have levels that the rows of a first model had not; how uncertain these are is worth knowing.
    """
    terms = []
    for term in model.terms:
        refits, scores = term.refits.copy(), term.scores.copy()
        refits[:, -1], scores[-1] = refits[:, 0], scores[0]
        terms.append(replace(term, refits=refits, scores=scores))
    return replace(model, terms=tuple(terms))


def calibrated(
    scale: AdditiveModel, scores: Floats, weight: Floats | None, clusters: NDArray[np.int64] | None
) -> Intervals:
    """Return intervals from the scores (m,) of calibration rows.

    A new row may weigh as much as the heaviest of them, so that with weights the promise is of rows drawn in proportion
    to these (Tibshirani et al., NeurIPS 2019, whose weight of the new row is here at its bound). With clusters every
    cluster weighs 1, whatever its size, and so does the new one: the promise is of a row of a cluster drawn at random
    (Lee, Barber and Willett 2023, on hierarchical data).
    """
    weight = np.ones(scores.size) if weight is None else weight
    most = float(weight.max()) if clusters is None else np.bincount(clusters, weight)[clusters]
    order = np.argsort(scores, kind="stable")
    return Intervals(scale, scores[order], (weight / most)[order])
