"""Prediction intervals by split conformal: scores of outcomes, and which of them few calibration rows are beyond.

A score says how an outcome lies around its prediction (`gamcore.model.outcomes`): by the error divided by its scale,
the mean |error| that an additive model of the same features expects there (locally weighted split conformal: Lei et
al., JASA 2018, section 5.2), or, of a model of counts or of amounts with a mass at 0, by its level in a distribution at
the prediction. Outcomes that cannot be everywhere, such as counts and amounts, lie otherwise where predictions are next
to the end; they are calibrated within groups of like predictions (Mondrian: Vovk, Gammerman and Shafer 2005,
section 4.5), so that the promise holds in each.

The two ends of an interval are quantiles of these scores over calibration rows that no model has seen, each tail by
itself (Romano, Patterson and Candes, NeurIPS 2019, Theorem 2). If calibration rows and a new row are exchangeable, each
end is missed with a probability of at most (1 - coverage) / 2, whatever the models; without ties also of at least that
less 1 / (m + 1). Of outcomes with masses this lower bound is of scores: an end is a possible outcome, and its own mass
lies inside as a whole, so that more outcomes are inside than were asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.numbers import count, fixed
from gamcore.common.types import Floats
from gamcore.model.outcomes import Outcomes, Rows, Spread

if TYPE_CHECKING:
    from gamcore.model.additive import AdditiveModel

ROUNDING: Final = 1e-12
"""Share of all weight that sums of weights may miss a quantile by: 20 x .95 must be 19."""

MOST_PARTS: Final = 10
FEWEST_IN_PART: Final = 100
"""Most parts by prediction that are calibrated each by itself, and the fewest calibration rows of a part: with a
hundred, coverage of a part is right to about 1% on average over tables."""


@dataclass(frozen=True)
class Calibration:
    """Scores of calibration rows.

    scores : (m,) ascending. weights : (m,) of these rows, in units of the largest that a new row may have.
    """

    scores: Floats
    weights: Floats

    @property
    def total(self) -> float:
        """Weight of the rows; their number where all weigh the same."""
        return float(self.weights.sum())

    @property
    def most_coverage(self) -> float:
        """The largest coverage that the rows allow: one row, the new one, lies beyond each end."""
        return max(1.0 - 2.0 / (self.total + 1.0), 0.0)

    def factors(self, coverage: float) -> tuple[float, float]:
        """Return the scores of both ends of an interval.

        That of the upper end is the lowest that, with all below it, has a share of at least (1 + coverage) / 2 of the
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
        needed = _needed(coverage)
        if self.total < needed * (1.0 - ROUNDING):
            raise ValueError(
                f"A coverage of {coverage} needs {count(np.ceil(needed - ROUNDING))} calibration rows (or groups), and "
                f"there are {count(np.floor(self.total + ROUNDING))}: pass more rows to fit_intervals, half of which "
                f"calibrate, or ask for at most {fixed(np.floor(self.most_coverage * 1e3) / 1e3, 3)}."
            )

    def and_also(self, other: Calibration) -> Calibration:
        """Return the rows of both."""
        scores, weights = np.r_[self.scores, other.scores], np.r_[self.weights, other.weights]
        order = np.argsort(scores, kind="stable")
        return Calibration(scores[order], weights[order])


@dataclass(frozen=True)
class Intervals:
    """What intervals around the predictions of a model are made of.

    outcomes : what scores mean. groups : (g,) calibration rows by their predictions, ascending. cuts : (g - 1,)
    predictions from which on a row is of the next group.
    """

    outcomes: Outcomes
    groups: tuple[Calibration, ...]
    cuts: Floats

    @property
    def scale(self) -> AdditiveModel | None:
        """The model of the mean |error|, where scores are in its units."""
        return self.outcomes.scale if isinstance(self.outcomes, Spread) else None

    @property
    def are_whole(self) -> bool:
        """Whether ends are whole numbers."""
        return self.outcomes.are_whole

    @property
    def all_rows(self) -> Calibration:
        """The calibration rows of all groups."""
        return reduce(Calibration.and_also, self.groups)

    @property
    def total(self) -> float:
        """Weight of all calibration rows."""
        return sum(group.total for group in self.groups)

    @property
    def most_coverage(self) -> float:
        """The largest coverage that the calibration rows allow, all groups in one."""
        return self.all_rows.most_coverage

    def check(self, coverage: float) -> None:
        """Raise ValueError where there can be no interval of this coverage."""
        self.all_rows.check(coverage)

    def scores_of_ends(self, predicted: Floats, coverage: float) -> Floats:
        """Return the scores (n, 2) of the ends at predictions (n,).

        Neighbouring groups are taken together until each has the rows that the coverage needs.
        """
        self.check(coverage)
        needed = _needed(coverage) * (1.0 - ROUNDING)
        joined: list[Calibration] = []
        place = np.empty(len(self.groups), np.int64)
        for k, group in enumerate(self.groups):
            if joined and (joined[-1].total < needed or sum(g.total for g in self.groups[k:]) < needed):
                joined[-1] = joined[-1].and_also(group)
            else:
                joined.append(group)
            place[k] = len(joined) - 1
        of_group = np.array([group.factors(coverage) for group in joined])
        return np.asarray(of_group[place[np.searchsorted(self.cuts, predicted, side="right")]])

    def around(self, rows: Rows, coverage: float) -> Floats:
        """Return the intervals (n, 2) of rows, lower and upper ends in the target's units."""
        scores = self.scores_of_ends(rows.predicted, coverage)
        return np.stack([self.outcomes.ends(scores[:, k], rows) for k in (0, 1)], axis=1)


def _needed(coverage: float) -> float:
    """Return the calibration rows that a coverage needs."""
    return 2.0 / (1.0 - coverage) - 1.0


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


def calibrated(scores: Floats, weight: Floats | None, clusters: NDArray[np.int64] | None) -> Calibration:
    """Return the calibration by rows with these scores (m,).

    A new row may weigh as much as the heaviest of them, so that with weights the promise is of rows drawn in proportion
    to these (Tibshirani et al., NeurIPS 2019, whose weight of the new row is here at its bound). With clusters every
    cluster weighs 1, whatever its size, and so does the new one: the promise is of a row of a cluster drawn at random
    (Lee, Barber and Willett 2023, on hierarchical data).
    """
    weight = np.ones(scores.size) if weight is None else weight
    most = float(weight.max()) if clusters is None else np.bincount(clusters, weight)[clusters]
    order = np.argsort(scores, kind="stable")
    return Calibration(scores[order], (weight / most)[order])


def cuts_between(predicted: Floats, n_rows: int) -> Floats:
    """Return where predictions (n,) are cut into tenths; into fewer parts where `n_rows` calibration rows are few."""
    parts = int(np.clip(n_rows // FEWEST_IN_PART, 1, MOST_PARTS))
    return np.unique(np.quantile(predicted, np.arange(1, parts) / parts))
