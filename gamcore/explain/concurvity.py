"""Concurvity: where features are correlated, a model may credit an effect to either, and refits disagree on which.

The concurvity of a generalized additive model (Buja, Hastie and Tibshirani, Annals of Statistics 1989) is measured by
its symptom: over refits, one curve goes up on the rows where the other goes down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gamcore.common.types import Codes
from gamcore.model.additive import AdditiveModel

MARKED: Final = -0.3
"""Correlation of two curves' deviations below which they are said to trade off. It stays within .1 for independent
features; it is -.46 for latitude and longitude, and -.3 to -.8 for two copies of a feature."""

WORTH: Final = 0.02
"""Least variance over refits that both curves need, as a share of the largest: flat refits trade nothing off."""


@dataclass(frozen=True)
class Tradeoff:
    """Two features whose curves trade off.

    correlation : of the curves' deviations from their means over refits, over refits and rows. share : of the variances
    of both, the part that cancels in the sum of the two curves.
    """

    first: str
    second: str
    correlation: float
    share: float


def tradeoffs(model: AdditiveModel, codes: Codes) -> list[Tradeoff]:
    """Return the pairs of features whose curves trade off over rows (p, m), the strongest first; by half-sample refits
    where there are any."""
    refits = model.halves or model
    if refits.n_refits < 3:
        return []
    n_terms = len(refits.terms)
    covariance = np.zeros((n_terms, n_terms))
    means = [term.refits.mean(axis=0) for term in refits.terms]
    for k in range(refits.n_refits):
        moved = np.stack([(t.refits[k] - m)[codes[t.feature]] for t, m in zip(refits.terms, means, strict=True)])
        covariance += moved @ moved.T
    variance = np.diag(covariance)
    scale = np.sqrt(np.outer(variance, variance))
    correlation = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
    large = variance > WORTH * variance.max(initial=0.0)
    names = [bins.feature.name for bins in model.bins]
    pairs = []
    for i in range(n_terms):
        for j in range(i):
            if correlation[i, j] < MARKED and large[i] and large[j]:
                share = 1 - (variance[i] + variance[j] + 2 * covariance[i, j]) / (variance[i] + variance[j])
                pairs.append(Tradeoff(names[j], names[i], float(correlation[i, j]), float(share)))
    return sorted(pairs, key=lambda pair: pair.correlation)
