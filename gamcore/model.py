"""A model: a list of terms, a term a table of scores over bins. All else makes, draws, stores or acts on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gamcore.binning import Bins
from gamcore.losses import LOSSES, Loss

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """One shape function, on the link scale, centred: its mean over the training rows is 0.

    scores : (size,) by bin code, the mean over refits; code 0 is missing, the last is unseen. Bins without a training
        row are 0, the average effect.
    refits : (K, size) the scores of each outer refit, each centred.
    counts : (size,) training rows (their weights) a bin.
    """

    feature: int
    scores: Floats
    refits: Floats
    counts: Floats

    @property
    def importance(self) -> float:
        """Mean |score| over the training rows."""
        return float(np.average(np.abs(self.scores), weights=self.counts)) if self.counts.sum() > 0 else 0.0


@dataclass(frozen=True)
class AdditiveModel:
    """intercept + sum of terms = score; the loss's inverse link turns the score into a prediction."""

    bins: tuple[Bins, ...]
    terms: tuple[Term, ...]
    intercept: float
    refit_intercepts: Floats  # (K,)
    loss: Loss

    @property
    def n_refits(self) -> int:
        """K: outer refits whose mean the model is."""
        return self.refit_intercepts.size

    def score(self, codes: NDArray[np.uint8]) -> Floats:
        """Score (n,) of rows given as codes (p, n)."""
        score = np.full(codes.shape[1], self.intercept)
        for term in self.terms:
            score += term.scores[codes[term.feature]]
        return score

    def contributions(self, codes: NDArray[np.uint8]) -> Floats:
        """Contribution (n, terms) of each term to the score."""
        return np.stack([term.scores[codes[term.feature]] for term in self.terms], axis=1)

    def predict(self, codes: NDArray[np.uint8]) -> Floats:
        """Predictions (n,) in the target's units, or probabilities of the positive class."""
        return self.loss.inverse_link(self.score(codes))


def count_bins(codes: NDArray[np.uint8], bins: Sequence[Bins], weight: Floats | None) -> list[Floats]:
    """Training rows (their weights) of each bin of each feature."""
    return [
        np.bincount(line, weight, minlength=of_feature.size).astype(np.float64)
        for line, of_feature in zip(codes, bins, strict=True)
    ]


def assemble(
    bins: tuple[Bins, ...], curves: Floats, base_scores: Floats, counts: Sequence[Floats], loss_name: str
) -> AdditiveModel:
    """The mean of refits as one model, centred.

    curves : (K, p, V) of each refit, not centred; base_scores : (K,). All refits share their bins, so the mean of the
    curves is exact. Centring moves each curve's mean over *all* training rows into the intercept; predictions of rows
    that fall into bins with training rows do not change. Bins without any are then set to 0.
    """
    intercepts = base_scores.astype(np.float64).copy()
    terms = []
    for j, (of_feature, count) in enumerate(zip(bins, counts, strict=True)):
        refits = curves[:, j, : of_feature.size].copy()
        if count.sum() > 0:
            mean = refits @ count / count.sum()
            refits -= mean[:, None]
            intercepts += mean
        refits[:, count == 0] = 0.0
        terms.append(Term(j, refits.mean(axis=0), refits, count))
    return AdditiveModel(bins, tuple(terms), float(intercepts.mean()), intercepts, LOSSES[loss_name])
