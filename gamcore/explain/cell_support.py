"""Which cells of two features have enough rows to be read, together with their neighbours."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import convolve

from gamcore.common.types import Bools, Floats
from gamcore.explain.support import FEW_ROWS
from gamcore.model.additive import AdditiveModel, PairTerm, reading_bins


def supported(model: AdditiveModel, pair: PairTerm) -> Bools:
    """Return in which cells (size_1, size_2) of a pair a row may be judged: by the bins that the pair is read in, they
    have rows, and `FEW_ROWS` with the cells around them. Levels, and missing values, have no neighbours."""
    sides = [
        reading_bins(model.bins[j], pair.counts.sum(axis=1 - k), pair.counts.sum()) for k, j in enumerate(pair.features)
    ]
    first, second = (np.eye(int(side.max(initial=0)) + 1)[side] for side in sides)
    counts = first.T @ pair.counts @ second
    wide = [1 if model.bins[j].feature.is_category else 3 for j in pair.features]
    rows = counts.copy()
    rows[1:, 1:] = convolve(counts[1:, 1:], np.ones(wide), mode="constant")
    rows[0, 1:] = convolve(counts[0, 1:], np.ones(wide[1]), mode="constant")
    rows[1:, 0] = convolve(counts[1:, 0], np.ones(wide[0]), mode="constant")
    return np.asarray(((counts > 0) & (rows >= FEW_ROWS))[np.ix_(*sides)])


def around(values: Floats, counts: Floats, fewest: float = FEW_ROWS) -> Floats:
    """Return the mean value (K_1, K_2) over the rows of the smallest square of cells around each cell that holds
    `fewest` rows, or of all cells where none does; NaN for cells without rows."""
    smoothed, sums = np.where(counts > 0, values, np.nan), np.where(counts > 0, values * counts, 0.0)
    left = (counts > 0) & (counts < fewest)
    for reach in range(1, max(values.shape)):
        if not left.any():
            break
        square = np.ones((2 * reach + 1, 2 * reach + 1))
        rows = convolve(counts, square, mode="constant")
        means = convolve(sums, square, mode="constant") / np.maximum(rows, 1e-300)
        smoothed = np.where(left, means, smoothed)
        left &= rows < fewest
    return np.asarray(smoothed)
