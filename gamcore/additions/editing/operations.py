"""What the operations of an edit do to scores."""

from __future__ import annotations

import numpy as np

from gamcore.additions.editing.edits import FREEDOM, IN_ORDER, Edit, EditError
from gamcore.common.types import Floats, Ints
from gamcore.data.binning import Bins
from gamcore.stats.splines import smoothed


def edited_curve(edit: Edit, bins: Bins, scores: Floats, counts: Floats) -> tuple[Floats, Ints]:
    """Return a curve's scores (size,) after an edit, and the codes (m,) that it is about.

    counts : (size,) training rows by code, which weigh the bins.
    """
    curve = scores.copy()
    if edit.operation == "remove":
        curve[:] = 0.0
        return curve, np.arange(scores.size)
    if edit.operation == "centre":
        moved = np.ones(scores.size, bool)
        moved[[0, -1]] = counts[[0, -1]] > 0  # what training did not have stays average
        curve[moved] -= np.average(scores, weights=counts) if counts.sum() > 0 else 0.0
        return curve, np.empty(0, np.int64)
    codes = edit.where[0].codes(bins)
    if edit.operation in IN_ORDER:
        codes = _in_order(edit, bins, codes)
        curve[codes] = _reshaped(edit, bins.display[codes - 1], scores[codes], counts[codes])
    else:
        curve[codes] = changed(edit, scores[codes], counts[codes])
    return curve, codes


def changed(edit: Edit, scores: Floats, counts: Floats) -> Floats:
    """Return scores (m,) after an edit that knows no order."""
    value = edit.value or 0.0
    match edit.operation:
        case "set":
            return np.full(scores.shape, value)
        case "add":
            return scores + value
        case "equal":
            return np.full(scores.shape, np.average(scores, weights=counts if counts.sum() > 0 else None))
        case "at_most":
            return np.minimum(scores, value)
        case "at_least":
            return np.maximum(scores, value)
    return np.zeros(scores.shape)


def _in_order(edit: Edit, bins: Bins, codes: Ints) -> Ints:
    """Return the codes of values among those of an edit that needs an order."""
    if bins.feature.is_category:
        raise EditError(f"{bins.feature.name} has levels without an order: make some equal, or set them.")
    return codes[(codes > 0) & (codes < bins.unseen)]


def _reshaped(edit: Edit, values: Floats, scores: Floats, counts: Floats) -> Floats:
    """Return the scores (m,) of neighbouring bins by their typical values, after an edit that needs an order."""
    if scores.size < 2:
        return scores
    if edit.operation == "straight":
        return np.interp(values, values[[0, -1]], scores[[0, -1]])
    if edit.operation == "smooth":
        return smoothed(values, scores, counts, edit.value or FREEDOM)
    from sklearn.isotonic import isotonic_regression  # slow to load, and rarely needed

    weight = np.maximum(counts, 1e-9 * max(float(counts.max()), 1.0))  # a bin without rows follows its neighbours
    return np.asarray(isotonic_regression(scores, sample_weight=weight, increasing=edit.operation == "rising"))
