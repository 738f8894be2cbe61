"""Models of more than two classes: an additive score per class, and their softmax as probabilities.

Only differences of scores matter, so a function of a feature that all classes share changes no probability. It is
chosen so that curves add up to 0 over classes in every bin (the axiomatic form of Zhang et al., KDD 2019, section 4):
a curve then says how a feature moves a class beside the average class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import logsumexp, softmax

from gamcore.common.types import Codes, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.model.additive import AdditiveModel, AnyTerm, Given, PairTerm, Term
from gamcore.model.losses import LARGEST_LOGIT, LOSSES, Loss

MOST_SCALINGS: Final = 200
"""Rounds of proportional scaling for the base scores beside given ones; about ten are usual."""


def class_losses(codes: Ints, scores: Floats) -> Floats:
    """Return -log P(own class) of each row (n,), given scores (n, K)."""
    return np.asarray(logsumexp(scores, axis=1) - scores[np.arange(codes.size), codes], np.float64)


def against_rest(scores: Floats) -> Floats:
    """Return the log-odds (n, K) of each class against all others, given scores (n, K)."""
    log_odds: Floats = np.empty_like(scores)
    for k in range(scores.shape[1]):
        log_odds[:, k] = scores[:, k] - logsumexp(np.delete(scores, k, axis=1), axis=1)
    return log_odds


def base_scores(codes: Ints, weight: Floats, n_classes: int, offset: Floats | None = None) -> Floats:
    """Return the scores (K,) of the best constant, beside an offset (n, K) if there is one.

    They are logs of the classes' shares. Beside an offset, each is scaled until the mean probability of its class is
    its share (iterative proportional fitting). A class without rows gets the score that stands for almost none.
    """
    sums = np.bincount(codes, weight, n_classes)
    shares = np.maximum(sums / sums.sum(), np.exp(-LARGEST_LOGIT))
    scores: Floats = np.log(shares)
    if offset is None:
        return scores
    scores -= np.average(offset, axis=0, weights=weight)
    for _ in range(MOST_SCALINGS):
        step = np.log(shares / np.maximum(np.average(softmax(scores + offset, axis=1), axis=0, weights=weight), 1e-300))
        scores += np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-12:
            break
    return scores


@dataclass(frozen=True)
class ClassesModel:
    """An additive model per class, with the same bins, counts and pairs, whose scores add up to 0 over classes.

    The loss of each is `losses.ClassLoss`: read alone, a score is a log-odds against the average class.
    """

    models: tuple[AdditiveModel, ...]

    @property
    def n_classes(self) -> int:
        return len(self.models)

    @property
    def bins(self) -> tuple[Bins, ...]:
        return self.models[0].bins

    @property
    def loss(self) -> Loss:
        return self.models[0].loss

    @property
    def given(self) -> tuple[Given, ...]:
        return self.models[0].given

    @property
    def pairs(self) -> tuple[PairTerm, ...]:
        """The pairs of the first class; the others have the same."""
        return self.models[0].pairs

    @property
    def all_terms(self) -> tuple[AnyTerm, ...]:
        """The terms of the first class; the others are of the same features."""
        return self.models[0].all_terms

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the first class; the others are of the same features and rows."""
        return self.models[0].terms

    @property
    def n_refits(self) -> int:
        """Number of outer refits that the model averages."""
        return self.models[0].n_refits

    @property
    def n_halves(self) -> int:
        """Number of half-sample refits; 0 where there are none."""
        return self.models[0].n_halves

    @property
    def base_chances(self) -> Floats:
        """Shares (K,) of the classes among the training rows."""
        return np.asarray(softmax([model.base_score for model in self.models]), np.float64)

    def with_bins(self, bins: tuple[Bins, ...]) -> ClassesModel:
        """Return the model with other bins of the same sizes, such as those that know codes for missing."""
        return ClassesModel(tuple(replace(model, bins=bins) for model in self.models))

    def score(self, codes: Codes) -> Floats:
        """Return the scores (n, K) of rows given as codes (p, n)."""
        return np.stack([model.score(codes) for model in self.models], axis=1)

    def predict(self, codes: Codes) -> Floats:
        """Return the probabilities (n, K) of rows given as codes (p, n)."""
        return np.asarray(softmax(self.score(codes), axis=1), np.float64)


def beside_the_average(models: Sequence[AdditiveModel], shares: Floats) -> ClassesModel:
    """Return models of all classes as one, less what they share: scores then add up to 0 over classes.

    shares : (K,) of the classes among the training rows. Halves, if there are any, are treated alike.
    """
    halves = [model.halves for model in models]
    whole = _less_the_mean([replace(model, halves=None) for model in models])
    if all(half is not None for half in halves):
        of_halves = _less_the_mean([half for half in halves if half is not None])
        whole = [replace(model, halves=half) for model, half in zip(whole, of_halves, strict=True)]
    logs = np.log(np.maximum(shares, np.exp(-LARGEST_LOGIT)))
    bases = logs - logs.mean()
    return ClassesModel(tuple(replace(model, base=float(base)) for model, base in zip(whole, bases, strict=True)))


def _less_the_mean(models: Sequence[AdditiveModel]) -> list[AdditiveModel]:
    """Return models less the mean of their terms, pairs and intercepts."""
    terms = [
        [replace(term, refits=refits, scores=refits.mean(axis=0)) for term, refits in zip(own, refits_of, strict=True)]
        for own, refits_of in (
            (feature, _apart([term.refits for term in feature]))
            for feature in zip(*[m.terms for m in models], strict=True)
        )
    ]
    pairs = [_pairs_apart(pair) for pair in zip(*[m.pairs for m in models], strict=True)]
    intercepts = _apart([model.refit_intercepts for model in models])
    return [
        replace(
            model,
            terms=tuple(each[k] for each in terms),
            pairs=tuple(each[k] for each in pairs),
            refit_intercepts=intercepts[k],
            loss=LOSSES["softmax"],
        )
        for k, model in enumerate(models)
    ]


def _apart(values: Sequence[Floats]) -> list[Floats]:
    """Return arrays, one per class, less their mean."""
    mean = np.mean(values, axis=0)
    return [array - mean for array in values]


def _pairs_apart(pairs: Sequence[PairTerm]) -> list[PairTerm]:
    """Return the terms of one pair, one per class, less their mean; their merged bins are the same."""
    parts = [_apart([getattr(pair, name) for pair in pairs]) for name in ("surfaces", "means", "rows", "columns")]
    return [
        replace(pair, surfaces=surfaces, means=means, rows=rows, columns=columns)
        for pair, surfaces, means, rows, columns in zip(pairs, *parts, strict=True)
    ]
