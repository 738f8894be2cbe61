"""How fine the bins of numbers are to be, and how boosting starts, chosen by the loss of rows that quick refits have
not seen.

A few refits, whose validation rows are together all rows, are boosted with ever finer bins while that pays. Most curves
are as good with 256 bins. Finer ones help where a target jumps between near values, or where extreme values matter that
would share a bin. Such curves are steep, and smoothing rounds may stand in their way: with each number of bins, refits
that start with small steps instead are tried as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from gamcore.boosting.counts.bin_pairs import ROW_GROUPS
from gamcore.boosting.fit.model import FitPlan, Seeds
from gamcore.boosting.fit.quick_refits import quick_refits
from gamcore.boosting.rows.source import Encoded
from gamcore.boosting.running.progress import Watcher
from gamcore.common.types import Floats
from gamcore.kernels import MOST_CODES, N_CODES

REFITS: Final = 3
"""Quick refits, each of which validates on a third of the groups."""

NOISE: Final = 0.5
"""Standard errors by which the loss must fall. Bins that are finer than needed cost time, but hardly any accuracy."""

WORSE: Final = 1.0
"""Standard errors from which a way to start is no longer tried with finer bins."""

Encode = Callable[[int], Encoded]


class Trial(NamedTuple):
    """How refits start, and the loss of each quick refit, (REFITS,)."""

    steep: bool
    losses: Floats

    @property
    def loss(self) -> float:
        """The mean loss."""
        return float(self.losses.mean())

    def exceeds(self, other: Trial, errors: float) -> bool:
        """Return whether the loss is higher than another's by more than so many standard errors."""
        higher = self.losses - other.losses
        return bool(higher.mean() > errors * higher.std(ddof=1) / np.sqrt(REFITS))


def finer_bins(data: Encoded, encoded: Encode, plan: FitPlan, seeds: Seeds, watcher: Watcher) -> tuple[Encoded, bool]:
    """Return the rows of `data`, which have N_CODES bins per number, with twice as many as often as that pays, and
    whether refits are to start with small steps (`Parameters.steep`).

    encoded : returns the rows with so many bins. All are dealt into as many groups, so that losses can be compared.
    """
    plan, always = replace(plan, n_groups=ROW_GROUPS), not plan.parameters.smoothing_rounds
    starts, bins, best = {True, always}, 2 * N_CODES, None
    while bins <= MOST_CODES and not watcher.stopped:
        finer = encoded(bins)
        if _sizes(finer) == _sizes(data):
            break
        if best is None:
            best, starts = _best(data, starts, plan, seeds, watcher)
        better, starts = _best(finer, starts, plan, seeds, watcher)
        if not best.exceeds(better, NOISE):
            break
        data, best, bins = finer, better, 2 * bins
    return data, always if best is None else best.steep


def _sizes(data: Encoded) -> list[int]:
    return [of_feature.size for of_feature in data.bins]


def _best(data: Encoded, starts: set[bool], plan: FitPlan, seeds: Seeds, watcher: Watcher) -> tuple[Trial, set[bool]]:
    """Return the best trial of some starts, and the starts that are not clearly worse."""
    trials = [_tried(data, steep, plan, seeds, watcher) for steep in sorted(starts)]
    best = min(trials, key=lambda trial: trial.loss)
    return best, {trial.steep for trial in trials if not trial.exceeds(best, WORSE)}


def _tried(data: Encoded, steep: bool, plan: FitPlan, seeds: Seeds, watcher: Watcher) -> Trial:
    plan = replace(plan, parameters=plan.parameters.steep()) if steep else plan
    _, refits = quick_refits(data, plan, seeds, watcher, REFITS)
    return Trial(steep, np.array([refit.valid_loss for refit in refits]))
