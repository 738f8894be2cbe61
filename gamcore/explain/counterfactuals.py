"""What would have to be different: single changes of a row that take its score to the other side of a line."""

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

    words : what the feature would have to be; code : of the bin it goes to; score : of the row then.
    passed : share of training rows whose values lie between the old and the new one; of levels, of all other levels.
    """

    feature: str
    words: str
    code: int
    score: float
    passed: float


def scores_by_code(model: AdditiveModel, codes: NDArray[np.uint8], place: int) -> Floats:
    """Return the score (size,) of a row (p,) for each code of one of its features, all else as it is."""
    row = np.repeat(codes[:, None], model.bins[place].size, axis=1)
    row[place] = np.arange(model.bins[place].size)
    return model.score(row)


def smallest_changes(model: AdditiveModel, codes: NDArray[np.uint8], line: float) -> list[Change]:
    """Of each feature the nearest change that takes a row (p,) across a line of the score, the smallest first.

    Only to bins with training rows, never to missing; features that are parts of a date do not change alone.
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
    """Return how far (size,) each code is, as a share of the training rows with a value."""
    inside = counts.copy()
    inside[0] = inside[-1] = 0.0
    total = max(float(inside.sum()), 1e-300)
    if bins.feature.is_category:
        return np.asarray(1.0 - inside / total)
    middle = (np.cumsum(inside) - inside / 2) / total
    return np.abs(middle - (middle[code] if 0 < code < counts.size - 1 else 0.5))


def _words(bins: Bins, old: int, new: int, fits: NDArray[np.bool_]) -> str:
    """Return what a feature would have to be for a code, and for its neighbours beyond that flip as well."""
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
