"""Counterfactuals: changes of a single feature that take a row's score across a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gamcore.data.binning import Bins
from gamcore.data.dates import as_date
from gamcore.model.additive import AdditiveModel
from gamcore.types import Floats


@dataclass(frozen=True)
class Change:
    """A change of one feature.

    words : the new value. code : its bin. score : the row's score after the change. passed : share of training rows
    with values between the old and the new one; for a level, with any other level than the new one.
    """

    feature: str
    words: str
    code: int
    score: float
    passed: float


def scores_by_code(model: AdditiveModel, codes: NDArray[np.uint8], place: int) -> Floats:
    """Return the score (size,) of a row (p,) for each code of one feature, all else unchanged."""
    row = np.repeat(codes[:, None], model.bins[place].size, axis=1)
    row[place] = np.arange(model.bins[place].size)
    return model.score(row)


def smallest_changes(model: AdditiveModel, codes: NDArray[np.uint8], line: float) -> list[Change]:
    """Return each feature's nearest change that takes the score of a row (p,) across `line`, the smallest first.

    Changes go only to bins with training rows, never to missing. Features made from one date column do not change
    alone, so they are left out.
    """
    above = float(model.score(codes[:, None])[0]) > line
    columns = [bins.feature.column for bins in model.bins]
    changes = []
    for j, (bins, term) in enumerate(zip(model.bins, model.terms, strict=True)):
        if columns.count(bins.feature.column) > 1:
            continue
        scores = scores_by_code(model, codes, j)
        fits = ((scores > line) != above) & (term.counts > 0)
        fits[0] = fits[codes[j]] = False
        if not fits.any():
            continue
        passed = _passed(bins, term.counts, int(codes[j]))
        code = int(np.where(fits, passed, np.inf).argmin())
        words = _words(bins, int(codes[j]), code, fits)
        changes.append(Change(bins.feature.name, words, code, float(scores[code]), float(passed[code])))
    return sorted(changes, key=lambda change: change.passed)


def _passed(bins: Bins, counts: Floats, code: int) -> Floats:
    """Return the distance (size,) to each code, as a share of the training rows with a value."""
    inside = counts.copy()
    inside[0] = inside[-1] = 0.0
    total = max(float(inside.sum()), 1e-300)
    if bins.feature.is_category:
        return np.asarray(1.0 - inside / total)
    middle = (np.cumsum(inside) - inside / 2) / total
    return np.abs(middle - (middle[code] if 0 < code < counts.size - 1 else 0.5))


def _words(bins: Bins, old: int, new: int, fits: NDArray[np.bool_]) -> str:
    """Return in words the values of a code, and of its neighbours that also cross the threshold."""
    if bins.feature.is_category:
        return bins.levels[new - 1] if new <= len(bins.levels) else "one of the rare levels"
    if not bins.cuts.size:
        return _number(bins, float(bins.display[0]))
    first = last = new
    while first > 1 and fits[first - 1]:
        first -= 1
    while last < bins.n_values and fits[last + 1]:
        last += 1
    low = _number(bins, float(bins.cuts[first - 2])) if first > 1 else ""
    high = _number(bins, float(bins.cuts[last - 1])) if last < bins.n_values else ""
    if low and high:
        return f"{low} to under {high}"
    return f"{low} or more" if low else f"under {high}" if high else "any value"


def _number(bins: Bins, value: float) -> str:
    return str(as_date(value).date()) if bins.feature.kind == "date" else f"{value:,.6g}"
