"""What was observed along a feature, beside what a model says of it: the mean of the target in each part of its axis.

A curve is the effect of one feature, all else equal; the observed mean also has what goes along with the feature. Where
the two differ, other features explain the difference. Of a model of a quantile, that quantile stands for the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.model.losses import Loss
from gamcore.model.scales import Scale

MOST_POINTS: Final = 24
FEWEST_ROWS: Final = 30
"""Rows behind an observed mean: neighbouring bins are joined until they have as many."""


@dataclass(frozen=True)
class Observed:
    """Observed means of a target along a feature, as effects against the mean of the same rows.

    at : (m,) place on the feature's axis (mean of the rows' bins), or the bin of a level. scores : (m,) on `scale`.
    means : (m,) in the target's units. rows : (m,). name : which rows.
    """

    at: Floats
    scores: Floats
    means: Floats
    rows: Floats
    name: str

    def of_levels(self, places: Ints) -> Observed:
        """Return the means of some levels, by their places (m,), which are numbered anew."""
        new = {int(place): k for k, place in enumerate(places)}
        kept = np.array([int(at) in new for at in self.at], bool)
        at = np.array([new[int(at)] for at in self.at[kept]], np.float64)
        return Observed(at, self.scores[kept], self.means[kept], self.rows[kept], self.name)


def observed(
    bins: Bins, codes: Codes, y: Floats, weight: Floats | None, loss: Loss, scale: Scale, name: str
) -> Observed:
    """Return the observed means of rows (n,) by their codes in a feature.

    Levels with fewer than `FEWEST_ROWS` rows are left out; bins of numbers are joined with their neighbours.
    """
    k = bins.n_values
    inside = (codes >= 1) & (codes <= k)
    w = np.ones(y.size) if weight is None else weight
    place = codes[inside].astype(np.int64) - 1
    rows = np.bincount(place, minlength=k).astype(np.float64)
    mass = np.bincount(place, w[inside], minlength=k).astype(np.float64)
    sums = np.bincount(place, w[inside] * y[inside], minlength=k).astype(np.float64)
    if bins.feature.is_category:
        groups = np.where(rows >= FEWEST_ROWS, np.arange(k), -1)
    else:
        groups = _joined(rows, max(FEWEST_ROWS, int(np.ceil(rows.sum() / MOST_POINTS))))
    kept = groups >= 0
    n = int(groups.max(initial=-1)) + 1

    def total(values: Floats) -> Floats:
        return np.bincount(groups[kept], values[kept], minlength=n).astype(np.float64)

    of_rows, of_mass = total(rows), total(mass)
    there = of_mass > 0
    means = total(sums)[there] / of_mass[there]
    if not loss.is_of_mean:
        of_part = [groups[place] == part for part in np.flatnonzero(there)]
        means = np.array([_middle(y[inside][rows], w[inside][rows], loss) for rows in of_part])
    axis = np.arange(k, dtype=np.float64) if bins.feature.is_category else bins.display
    at = total(axis * mass)[there] / of_mass[there]
    whole = _middle(y, w, loss) if w.any() else float("nan")
    return Observed(at, _effects(means, whole, loss, scale), means, of_rows[there], name)


def _middle(y: Floats, w: Floats, loss: Loss) -> float:
    """Return the prediction of the best constant."""
    return float(np.average(y, weights=w)) if loss.is_of_mean else loss.base_score(y, w)


def _joined(rows: Floats, fewest: int) -> NDArray[np.int64]:
    """Return the group (K,) of each bin: neighbours in order, each group with `fewest` rows; what is left at the end
    joins the last."""
    groups = np.zeros(rows.size, np.int64)
    group, held = 0, 0.0
    for k, n in enumerate(rows):
        groups[k] = group
        held += n
        if held >= fewest:
            group, held = group + 1, 0.0
    if held < fewest and group:
        groups[groups == group] = group - 1
    return groups


def _effects(means: Floats, whole: float, loss: Loss, scale: Scale) -> Floats:
    """Return means as effects against the mean of all rows; NaN where that is infinite, as the odds of certainty."""
    base = float(loss.link(np.array([whole]))[0])
    effects = loss.effect(loss.link(means) - base, scale, base)
    certain = (means <= 0) | (means >= 1) if loss.is_binary else (means <= 0) & loss.has_log_link
    certain &= scale not in ("points", "units")
    return np.where(certain, np.nan, effects)
