"""The terms of two models as tables of scores by code, each for the same list of terms, and the way back from scores.

A model has K scores per row: one, or one per class. All arrays of a term end in (K,).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from scipy.special import softmax

from gamcore.common.types import Codes, Floats
from gamcore.estimators.base import train_share
from gamcore.explain.importance import term_names
from gamcore.model.additive import AdditiveModel
from gamcore.model.grids import GridTerm
from gamcore.model.loss import Loss
from gamcore.stats.bands import half_scale

NEAR: Final = 1e-6
"""Scores nearer to each other have the slope of the link between them."""

NUDGE: Final = 1e-4
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
"""Nodes of the integral of a softmax's slopes along a path; what they leave of the change is closed."""


@dataclass(frozen=True)
class Link:
    """What turns scores (n, K) into the prediction (n,) that is asked about. place : of the class among several."""

    loss: Loss
    place: int = 0

    def predict(self, scores: Floats) -> Floats:
        """Return the predictions (n,) of scores (n, K)."""
        if scores.shape[1] == 1:
            return self.loss.inverse_link(scores[:, 0])
        return np.asarray(softmax(scores, axis=1)[:, self.place], np.float64)

    def slopes(self, start: Floats, end: Floats) -> Floats:
        """Return the mean slope (n, K) of the prediction along the straight path from scores (n, K) to others.

        The slopes times the steps of the scores add up to the change of the prediction.
        """
        step = end - start
        size = np.square(step).sum(axis=1)
        near = size < NEAR**2
        if start.shape[1] > 1:
            slopes = self._along(start, step)
        else:
            slopes = np.zeros_like(step)
            middle = (start[near] + end[near]) / 2
            slopes[near, 0] = (self.predict(middle + NUDGE) - self.predict(middle - NUDGE)) / (2 * NUDGE)
        left = self.predict(end) - self.predict(start) - (slopes * step).sum(axis=1)
        slopes += np.where(near, 0.0, left / np.where(near, 1.0, size))[:, None] * step
        return slopes

    def _along(self, start: Floats, step: Floats) -> Floats:
        """Return the mean slopes (n, K) of the chance of a class, by Gauss and Legendre."""
        slopes = np.zeros_like(start)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            chances = softmax(start + (node + 1) / 2 * step, axis=1)
            mine = chances[:, self.place : self.place + 1]
            slopes -= weight / 2 * mine * chances
            slopes[:, self.place] += weight / 2 * mine[:, 0]
        return slopes


@dataclass(frozen=True)
class TermTable:
    """The scores of a term, one table for all scores of a row.

    places : of its features among the model's bins. parts : of each feature the part (size,) of each code, which the
    table is over; none where it is over codes. scores : (size_1, ..., K).
    """

    places: tuple[int, ...]
    parts: tuple[Codes, ...]
    scores: Floats

    def at(self, codes: Codes) -> Floats:
        """Return what the term adds to the scores (n, K) of rows given as codes (p, n)."""
        cells = [codes[place] for place in self.places]
        if self.parts:
            cells = [part[cell] for part, cell in zip(self.parts, cells, strict=True)]
        return np.asarray(self.scores[tuple(cells)])


@dataclass(frozen=True)
class Curves:
    """The terms of a model, or of one of its refits, in the order of a list of terms; None where the model lacks one.

    intercept : (K,).
    """

    intercept: Floats
    terms: tuple[TermTable | None, ...]

    def parts(self, codes: Codes, given: Floats | None) -> Floats:
        """Return the parts (n, terms, K) of the scores of rows given as codes (p, n).

        given : scores (n, K) that stand beside the model's, which are the last part.
        """
        parts = np.zeros((codes.shape[1], len(self.terms) + (given is not None), self.intercept.size))
        for k, term in enumerate(self.terms):
            if term is not None:
                parts[:, k] = term.at(codes)
        if given is not None:
            parts[:, -1] = given
        return parts


@dataclass(frozen=True)
class Learned:
    """What is compared of a fitted estimator. models : one per score. sign : -1 where the first of two classes is asked
    about, whose log-odds are those of the second, reversed."""

    estimator: Any
    models: tuple[AdditiveModel, ...]
    link: Link
    sign: float = 1.0

    @cached_property
    def terms(self) -> dict[str, tuple[str, ...]]:
        """The names of the terms, pairs and triples last, each with the names of its features."""
        first = self.models[0]
        names = [bins.feature.name for bins in first.bins]
        return {
            name: tuple(names[j] for j in term.features)
            for name, term in zip(term_names(first), first.all_terms, strict=True)
        }

    @property
    def n_halves(self) -> int:
        """Number of half-sample refits; 0 where there are none."""
        return min(model.n_halves for model in self.models)

    def curves(self, order: Sequence[str]) -> Curves:
        """Return the model's curves, in an order of terms."""
        return self._in_order(
            np.array([model.intercept for model in self.models]),
            [[term.scores for term in model.all_terms] for model in self.models],
            order,
        )

    def refit(self, k: int | None, order: Sequence[str]) -> Curves:
        """Return the curves of a half-sample refit, as far from the mean of all as a fit to other rows would be; None
        for that mean."""
        intercepts: list[float] = []
        tables: list[list[Floats]] = []
        for model, scale, means in zip(self.models, self._scales, self._means, strict=True):
            assert model.halves is not None
            halves, middle = model.halves, model.halves.intercept
            if k is None:
                tables.append(means)
                intercepts.append(middle)
                continue
            refits = [term.refit(k) for term in halves.all_terms]
            tables.append([mean + scale * (refit - mean) for refit, mean in zip(refits, means, strict=True)])
            intercepts.append(middle + scale * (float(halves.refit_intercepts[k]) - middle))
        return self._in_order(np.array(intercepts), tables, order)

    @cached_property
    def _scales(self) -> list[float]:
        return [half_scale(train_share(self.estimator), model.clarity) for model in self.models]

    @cached_property
    def _means(self) -> list[list[Floats]]:
        """Of each score the mean over the half-sample refits of each term."""
        return [
            [] if model.halves is None else [term.scores for term in model.halves.all_terms] for model in self.models
        ]

    def _in_order(self, intercept: Floats, tables: Sequence[Sequence[Floats]], order: Sequence[str]) -> Curves:
        """Return curves of tables, which are by score and term."""
        first = self.models[0]
        stacked = {
            name: TermTable(
                term.features,
                term.parts if isinstance(term, GridTerm) else (),
                self.sign * np.stack([of_score[k] for of_score in tables], axis=-1),
            )
            for k, (name, term) in enumerate(zip(self.terms, first.all_terms, strict=True))
        }
        return Curves(self.sign * intercept, tuple(map(stacked.get, order)))
