"""How far the thin ends of a curve may go, where the link is a logarithm.

Boosting lowers a leaf without events further in every round: a logarithm has no end. What such an end can say is
limited by its events, so each step of a curve, from its middle outward, is weighed by what lies beyond it. Let E be the
events that are expected beyond a step if the curve stayed where it is, and r the factor that the curve says they are
off by. With a gamma prior of mean 1 that is worth k events, the factor becomes

    (r E + k) / (E + k)

(Bühlmann and Straub's credibility; as the posterior mean of a Poisson rate, Gelman et al., *Bayesian Data Analysis*,
section 2.6). A step is weighed once, by all rows beyond it, so the result does not depend on how fine the bins are, and
a curve that may only rise still does. Levels have no neighbours: each is weighed against the mean effect, by events.

Events are what a row says of the log of its mean, its Fisher information: the mean itself for Poisson counts, and
w mu^(2 - p) / phi for a variance of phi mu^p. A constant factor of all weights cancels.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.part_sums import Part, Rows, offset_of, weighed
from gamcore.data.binning import Bins
from gamcore.model.additive import AdditiveModel, Term
from gamcore.stats.exact import as_float, counted, grain, whole_weights
from gamcore.types import Floats

PRIOR_EVENTS: Final = 5.0
"""Events that the prior is worth."""


def credible(model: AdditiveModel, rows: Rows) -> AdditiveModel:
    """Return a model with a log link whose thin ends and levels go no further than their events support."""
    total, spread, n_rows = rows.sum(partial(_totals, model))
    if not total or not spread:
        return model
    dispersion = as_float(int(spread)) / int(n_rows)
    unit = grain(as_float(int(total)))
    each = rows.sum(partial(_by_bin, model, unit)).astype(np.float64) * (unit / dispersion)
    terms, intercepts, first = [], model.refit_intercepts.copy(), 0
    for term, bins in zip(model.terms, model.bins, strict=True):
        last = first + bins.size
        moves = _moves(term, ordered=any(model.signs[term.feature : term.feature + 1]))
        moved = np.zeros(bins.size)
        if _is_free(model, term):
            moved = _moved(term, bins, moves, each[first:last], 2.0 - model.loss.variance_power)
        mean = float(np.average(moved, weights=term.counts)) if np.any(moved) else 0.0
        shift = np.where(moves, moved - mean, 0.0)
        refits = term.refits + shift
        terms.append(replace(term, scores=refits.mean(axis=0), refits=refits))
        intercepts += mean
        first = last
    return replace(model, terms=tuple(terms), refit_intercepts=intercepts)


def _is_free(model: AdditiveModel, term: Term) -> bool:
    """Whether a term's curve is of steps, whose ends nothing else holds: of a monotone one, a pair may rest on them."""
    steps = not model.shapes or model.shapes[term.feature] == "steps"
    rested_on = any(model.signs[term.feature : term.feature + 1]) and any(
        term.feature in pair.features for pair in model.pairs
    )
    return bool(term.counts.any()) and steps and not rested_on


def _means(model: AdditiveModel, part: Part) -> Floats:
    score, offset = model.score(part.codes), offset_of(part)
    return model.loss.inverse_link(score if offset is None else score + offset)


def _information(model: AdditiveModel, part: Part, means: Floats) -> Floats:
    """Return what each row (m,) says of the log of its mean, but for the dispersion."""
    each = means ** (2.0 - model.loss.variance_power)
    return each if part.weight is None else each * part.weight


def _totals(model: AdditiveModel, part: Part) -> NDArray[Any]:
    """Return the exact sums of the information and of the squared Pearson residuals, and the number of rows."""
    means = _means(model, part)
    squares = np.square(part.y - means) / means**model.loss.variance_power
    return np.array(
        [weighed(_information(model, part, means), None), weighed(squares, part.weight), part.y.size], object
    )


def _by_bin(model: AdditiveModel, unit: float, part: Part) -> NDArray[np.int64]:
    """Return the information in each bin of each feature, one after the other, in whole units."""
    _, whole = whole_weights(_information(model, part, _means(model, part)), unit)
    return np.concatenate([counted(line, bins.size, whole) for line, bins in zip(part.codes, model.bins, strict=True)])


def _moves(term: Term, ordered: bool) -> NDArray[np.bool_]:
    """Return which bins (size,) of a curve are moved: those with rows, and all values where they are kept in order."""
    moves = term.counts > 0
    if ordered:
        moves[1:-1] = moves.any()
    return moves


def _moved(term: Term, bins: Bins, moves: NDArray[np.bool_], events: Floats, growth: float) -> Floats:
    """Return what credibility adds to a curve (size,).

    events : (size,) expected under it. growth : 2 - p, of their logs as the log of the mean grows.
    """
    curve = term.scores - np.average(term.scores, weights=events)
    flat = events * np.exp(-growth * curve)  # if the curve were at its mean
    moved = np.where(moves, _weighed(curve, flat) - curve, 0.0)
    if bins.feature.is_category:
        return moved
    inside = np.flatnonzero(moves[1:-1]) + 1
    if inside.size > 1:
        middle = int(np.searchsorted(np.cumsum(events[inside]), events[inside].sum() / 2))
        moved[inside[middle]] = 0.0
        for side in (inside[middle:], inside[middle::-1]):
            moved[side] = _outward(curve[side], flat[side], growth) - curve[side]
    return moved


def _weighed(factor: Floats | float, events: Floats | float) -> Any:
    """Return the log of a factor, given its log, as far as events support it."""
    return np.log((np.exp(factor) * events + PRIOR_EVENTS) / (events + PRIOR_EVENTS))


def _outward(curve: Floats, flat: Floats, growth: float) -> Floats:
    """Return a curve (m,) whose steps, from its first bin outward, are weighed by the events beyond each."""
    beyond = np.cumsum(flat[::-1])[::-1]
    kept = curve.copy()
    for place in range(1, curve.size):
        level = kept[place - 1]
        kept[place] = level + _weighed(curve[place] - curve[place - 1], beyond[place] * np.exp(growth * level))
    return kept
