"""Rows in parts of equal size by a value, such as tenths by prediction; curves of rows in few points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from gamcore.common.types import Bools, Floats, Ints
from gamcore.stats.weights import effective_rows

ROUNDING: Final = 1e-12
"""Sums of sizes differ by as much, relatively, from what they should be."""

MOST_POINTS: Final = 400
"""Most points of a drawn curve: more than a screen can show."""


def equal_parts(values: Floats, n_parts: int, sizes: Floats | None = None) -> Ints:
    """Return the part (n,) of each row, from 0, in order of value (n,); equal values stay together.

    sizes : (n,) of which parts have equal sums, such as exposures; None for equally many rows.
    """
    inner = np.linspace(0, 1, n_parts + 1)[1:-1]
    if sizes is None:
        cuts = np.quantile(values, inner)
    else:
        order = np.argsort(values, kind="stable")
        filled = np.cumsum(sizes[order])
        cuts = values[order][np.searchsorted(filled, filled[-1] * (inner - ROUNDING))]
    return np.searchsorted(np.unique(cuts), values)


def parts(part: Ints, weight: Floats | None) -> Iterator[tuple[int, Bools, Floats, float]]:
    """Yield each part of positive weight: its number, its rows (n,), their weights, and their effective number."""
    weights = np.ones(part.size) if weight is None else weight
    for k in np.unique(part):
        here = part == k
        w = weights[here]
        if w.sum() > 0:
            yield int(k), here, w, effective_rows(w)


def thin(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return at most `MOST_POINTS` evenly spaced points of a curve, including both ends."""
    if x.size <= MOST_POINTS:
        return x, y
    kept = np.unique(np.round(np.linspace(0, x.size - 1, MOST_POINTS)).astype(np.int64))
    return x[kept], y[kept]
