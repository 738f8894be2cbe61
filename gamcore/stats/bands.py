"""How sure a curve is: bands from complete refits on parts of the rows.

The spread of refits on halves of the rows is, unscaled, the standard error of one fit on all of them (the delete-d
jackknife; Shao and Wu, Annals of Statistics 1989). Bands cover the mean fitted curve; that a boosted curve is biased
where the truth jumps, or where there are few rows, they do not tell.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from gamcore.types import Floats

LEVEL: Final = 0.95

DRAWS: Final = 4_000
"""Simulated curves behind a simultaneous band: its half-width is then known to about 1%."""

SHRINK: Final = 0.1
"""Share of the refits' correlation that is taken for chance: without, the band of a whole curve is too narrow."""

USUAL_SHARE: Final = 0.85
"""Of the rows of a refit, those that it trains on."""

FEWEST_QUICK: Final = 4
"""Outer refits from which they give a band by themselves: with fewer, t quantiles are larger than any curve."""


def deviation(refits: Floats) -> Floats:
    """Return the standard deviation over refits (K, ...), of which one is taken for the mean; 0 of a single one."""
    return np.asarray(refits.std(axis=0, ddof=1)) if len(refits) > 1 else np.zeros(refits.shape[1:])


def pointwise(n_refits: int) -> float:
    """Return the half-width of a band that holds at each place by itself, in standard deviations over so many
    refits."""
    return float(stdtrit(n_refits - 1, 0.5 + LEVEL / 2))


def simultaneous(refits: Floats, seen: NDArray[np.bool_]) -> float:
    """Return the half-width of a band that holds at all places at once, in standard deviations over refits (K, V).

    The quantile of the largest of V correlated t variables, of which the refits give the correlation, shrunken; by
    simulation, always with the same draws (Ruppert, Wand and Carroll 2003, section 6.5). seen : (V,) places that count.
    """
    n_refits = len(refits)
    moves = refits[:, seen] - refits[:, seen].mean(axis=0)
    size = np.sqrt(np.square(moves).sum(axis=0))
    moves = moves[:, size > 0] / size[size > 0]
    if not moves.shape[1]:
        return pointwise(n_refits)
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal((DRAWS, n_refits)).astype(np.float32) @ moves.astype(np.float32)
    own = rng.standard_normal(drawn.shape, np.float32)
    largest = np.abs(np.sqrt(1 - SHRINK) * drawn + np.sqrt(SHRINK) * own).max(axis=1)
    chance = np.sqrt(rng.chisquare(n_refits - 1, DRAWS) / (n_refits - 1))
    return max(float(np.quantile(largest / chance, LEVEL)), pointwise(n_refits))


def half_scale(train_share: float) -> float:
    """Factor of the deviation over refits on halves of the rows, which trained on this share of each half.

    Less rows to train on make them lie further apart. At the usual share no factor is due: that the deviation is a
    little too large for a mean of outer refits about pays there for the bias of boosting (docs/coverage.md).
    """
    trained, usual = train_share / 2, USUAL_SHARE / 2
    return float(np.sqrt(trained / (1 - trained) * (1 - usual) / usual))


def quick_scale(train_share: float) -> float:
    """Return the standard error of a fit in standard deviations over refits that trained on this share of the rows; 0
    where they all had the same rows, and their spread tells nothing of others."""
    return float(np.sqrt(train_share / (1.0 - train_share))) if train_share < 1.0 else 0.0
