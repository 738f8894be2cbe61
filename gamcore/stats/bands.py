"""Confidence bands of curves, from complete refits on parts of the rows.

The spread of refits on halves of the rows is, unscaled, the standard error of one fit on all of them (the delete-d
jackknife; Shao and Wu, Annals of Statistics 1989). Bands cover the mean fitted curve. They do not show the
bias of a boosted curve where the true curve jumps or where rows are few.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from gamcore.common.types import Floats

LEVEL: Final = 0.95

DRAWS: Final = 4_000
"""Curves simulated for a simultaneous band; they give its half-width to about 1%."""

PART: Final = 256
"""Values simulated at a time."""

SHRINK: Final = 0.1
"""Share of the refits' correlation treated as noise: without it, the band of a whole curve is too narrow."""

USUAL_SHARE: Final = 0.85
"""Default share of a refit's rows that it trains on."""

CLARITIES: Final = (40.0, 160.0)
SCALES: Final = (1.04, 0.84)
"""Factors of half-sample bands by clarity: up to the first, from the last, and between the two on a scale of logs."""

FEWEST_QUICK: Final = 4
"""Fewest outer refits that give a band by themselves: with fewer, t quantiles exceed any curve."""


def deviation(refits: Floats) -> Floats:
    """Return the standard deviation over refits (K, ...) with K - 1 degrees of freedom; 0 for a single refit."""
    if len(refits) < 2:
        return np.zeros(refits.shape[1:])
    return np.where(np.ptp(refits, axis=0) > 0, refits.std(axis=0, ddof=1), 0.0)  # the mean of equal numbers may miss


def pointwise(n_refits: int) -> float:
    """Return the half-width of a pointwise band, in standard deviations over `n_refits` refits."""
    return float(stdtrit(n_refits - 1, 0.5 + LEVEL / 2))


def simultaneous(refits: Floats, seen: NDArray[np.bool_]) -> float:
    """Return the half-width of a simultaneous band, in standard deviations over refits (K, V).

    This is the quantile of the largest of V correlated t variables, simulated with fixed draws (Ruppert, Wand and
    Carroll 2003, section 6.5). Their correlation is that of the refits, shrunken. seen : (V,) values to include.
    """
    n_refits = len(refits)
    moves = refits[:, seen] - refits[:, seen].mean(axis=0)
    size = np.sqrt(np.square(moves).sum(axis=0))
    moves = (moves[:, size > 0] / size[size > 0]).astype(np.float32)
    if not moves.shape[1]:
        return pointwise(n_refits)
    shared, chance = _shared(n_refits)
    largest = np.zeros(DRAWS, np.float32)
    for part, start in enumerate(range(0, moves.shape[1], PART)):
        drawn = moves[:, start : start + PART].T @ shared
        drawn *= np.float32(np.sqrt(1 - SHRINK))
        drawn += _own(part)[: len(drawn)]
        np.maximum(largest, np.abs(drawn, out=drawn).max(axis=0), out=largest)
    return max(float(np.quantile(largest / chance, LEVEL)), pointwise(n_refits))


@lru_cache(maxsize=4)
def _shared(n_refits: int) -> tuple[NDArray[np.float32], Floats]:
    """Return what moves all values of a simulated curve together: normal draws (n_refits, DRAWS), and the chance of
    their common scale (DRAWS,)."""
    rng = np.random.default_rng(0)
    chance = np.sqrt(rng.chisquare(n_refits - 1, DRAWS) / (n_refits - 1))
    return rng.standard_normal((n_refits, DRAWS), np.float32), chance


@lru_cache(maxsize=4)
def _own(part: int) -> NDArray[np.float32]:
    """Return what moves each of PART values by itself: normal draws (PART, DRAWS), scaled; 4 MiB, kept for the next
    curve."""
    own = np.random.default_rng(1 + part).standard_normal((PART, DRAWS), np.float32)
    own *= np.float32(np.sqrt(SHRINK))
    return own


def half_scale(train_share: float, clarity: float) -> float:
    """Return the factor for the deviation over half-sample refits that trained on this share of each half.

    clarity : mean square of the curves beside that of their errors (`AdditiveModel.clarity`).

    With fewer training rows the refits spread further. The deviation is too large for a mean of outer refits, by about
    a fifth. Where curves are clear, that is taken off. Where they are not, boosting is biased by as much, and the band
    keeps it; between the two the factor is interpolated (calibrated on known truths: docs/method/coverage.md).
    """
    trained, usual = train_share / 2, USUAL_SHARE / 2
    by_share = np.sqrt(trained / (1 - trained) * (1 - usual) / usual)
    return float(by_share * np.interp(np.log10(max(clarity, 1.0)), np.log10(CLARITIES), SCALES))


def quick_scale(train_share: float) -> float:
    """Return the standard error of a fit, in standard deviations over refits that trained on this share of the rows.

    It is 0 where all refits had the same rows: their spread then says nothing about other rows.
    """
    return float(np.sqrt(train_share / (1.0 - train_share))) if train_share < 1.0 else 0.0
