"""How fine the bins of numbers are to be, chosen by the loss of rows that quick refits have not seen.

A few refits, whose validation rows are together all rows, are boosted with ever finer bins while that pays. Most curves
are as good with 256 bins. Finer ones help where a target jumps between near values, or where extreme values matter that
would share a bin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from gamcore.boosting.fit import FitPlan, Seeds
from gamcore.boosting.progress import Watcher
from gamcore.boosting.quick_refits import quick_refits
from gamcore.boosting.rows import Encoded
from gamcore.boosting.table_counts import ROW_GROUPS
from gamcore.kernels import MOST_CODES, N_CODES
from gamcore.types import Floats

REFITS: Final = 3
"""Quick refits, each of which validates on a third of the groups."""

NOISE: Final = 0.5
"""Standard errors by which the loss must fall. Bins that are finer than needed cost time, but hardly any accuracy."""

Encode = Callable[[int], Encoded]


def finer_bins(data: Encoded, encoded: Encode, plan: FitPlan, seeds: Seeds, watcher: Watcher) -> Encoded:
    """Return the rows of `data`, which have N_CODES bins per number, with twice as many as often as that pays.

    encoded : returns the rows with so many bins. All are dealt into as many groups, so that losses can be compared.
    """
    plan = replace(plan, n_groups=ROW_GROUPS)
    losses, bins = None, 2 * N_CODES
    while bins <= MOST_CODES and not watcher.stopped:
        finer = encoded(bins)
        if _sizes(finer) == _sizes(data):
            break
        losses = _losses(data, plan, seeds, watcher) if losses is None else losses
        fallen = losses - (new := _losses(finer, plan, seeds, watcher))
        if not fallen.mean() > NOISE * fallen.std(ddof=1) / np.sqrt(REFITS):
            break
        data, losses, bins = finer, new, 2 * bins
    return data


def _sizes(data: Encoded) -> list[int]:
    return [of_feature.size for of_feature in data.bins]


def _losses(data: Encoded, plan: FitPlan, seeds: Seeds, watcher: Watcher) -> Floats:
    """Return the validation loss of each quick refit, (REFITS,)."""
    _, refits = quick_refits(data, plan, seeds, watcher, REFITS)
    return np.array([refit.valid_loss for refit in refits])
