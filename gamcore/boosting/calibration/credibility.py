"""How far the thin ends of a curve may go, where the link is a logarithm.

Boosting lowers a leaf without events further in every round: a logarithm has no end. What such an end can say is
limited by its events, so each step of a curve, from its middle outward, is weighed by what lies beyond it. Let E be the
events that are expected beyond a step if the curve stayed where it is, and r the factor that the curve says they are
off by. With a gamma prior of mean 1 that is worth k events, the factor becomes

    (r E + k) / (E + k)

(Bühlmann and Straub's credibility; as the posterior mean of a Poisson rate, Gelman et al., *Bayesian Data Analysis*,
section 2.6). A step is weighed once, by all rows beyond it, so the result does not depend on how fine the bins are, and
a curve that may only rise still does. In a tail, several steps are worth no more than one across them. Levels have no
neighbours: each is weighed against the mean effect, by events.

Events are what a row says of the log of its mean, its Fisher information: the mean itself for Poisson counts, and
w mu^(2 - p) / phi for a variance of phi mu^p. A constant factor of all weights cancels.

Half-sample refits are weighed like the model, each by the events of its half, so that their spread is that of the
curves that are shown. Where there are hardly any events, refits agree for lack of them; what these leave open is the
least that a band may show there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.rows.sums import Part, Rows, offset_of, weighed
from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.model.additive import AdditiveModel, Term
from gamcore.stats.exact import as_float, counted, grain, whole_weights

PRIOR_EVENTS: Final = 3.0
"""Events that the prior is worth. With five, the held-out deviance of a table whose ends are known well (bike) is .025%
above that without a prior, with three .016%."""

LEAST_EVENTS: Final = 10.0
"""Events that neighbours and other levels are worth in the band of a place that has none itself: with so many, bands
of thin bins hold as often as others (docs/method/coverage.md)."""

TAIL_EVENTS: Final = 50.0
"""Expected events beyond a place from which on it is in a tail."""

HALF: Final = 0.5
"""Share of the events that a half-sample refit has."""


@dataclass(frozen=True)
class Support:
    """What the rows say of one curve, by bin.

    events : (size,) expected under the curve. flat : (size,) if the curve were at its mean. moves : (size,) bins whose
    scores are weighed. growth : 2 - p, of the logs of events as the log of the mean grows.
    """

    bins: Bins
    events: Floats
    flat: Floats
    moves: Bools
    growth: float

    @property
    def sides(self) -> tuple[Ints, ...]:
        """The bins of a number from its middle outward, to either side; none of levels, which have no neighbours."""
        inside = np.flatnonzero(self.moves[1:-1]) + 1
        if self.bins.feature.is_category or inside.size < 2:
            return ()
        events = self.events[inside]
        middle = int(np.searchsorted(np.cumsum(events), events.sum() / 2))
        return inside[middle:], inside[middle::-1]

    def moved(self, curves: Floats, share: float = 1.0) -> Floats:
        """Return what credibility adds to curves (..., size), given a share of the events."""
        curves, flat = curves - np.average(curves, axis=-1, weights=self.events)[..., None], share * self.flat
        moved = np.where(self.moves, _weighed(curves, flat) - curves, 0.0)
        for side in self.sides:
            moved[..., side] = _outward(curves[..., side], flat[side], self.growth) - curves[..., side]
        return moved

    @property
    def least(self) -> Floats:
        """The least standard error (size,) of each bin: what the events there, and beyond, leave open."""
        beyond = self.events.copy()
        for side in self.sides:
            beyond[side] = np.cumsum(self.events[side][::-1])[::-1]
        return np.where(self.moves, 1.0 / np.sqrt(beyond + LEAST_EVENTS), 0.0)


def credible(model: AdditiveModel, rows: Rows) -> AdditiveModel:
    """Return a model with a log link whose thin ends and levels go no further than their events support."""
    return _weighed_model(model, supports_of(model, rows), lambda support, term: support.moved(term.scores))


def credible_halves(halves: AdditiveModel, model: AdditiveModel, rows: Rows) -> tuple[AdditiveModel, list[Floats]]:
    """Return half-sample refits of a model with a log link, weighed as it is, and the least standard errors (size,) of
    its terms."""
    supports = supports_of(model, rows)
    least = [
        support.least if support else np.zeros(term.scores.size)
        for support, term in zip(supports, model.terms, strict=True)
    ]
    return _weighed_model(halves, supports, lambda support, term: support.moved(term.refits, HALF)), least


def supports_of(model: AdditiveModel, rows: Rows) -> list[Support | None]:
    """Return what the rows say of each curve; None where it stays as it was fitted."""
    total, spread, n_rows = rows.sum(partial(_totals, model))
    if not total or not spread:
        return [None] * len(model.terms)
    dispersion = as_float(int(spread)) / int(n_rows)
    unit = grain(as_float(int(total)))
    each = rows.sum(partial(_by_bin, model, unit)).astype(np.float64) * (unit / dispersion)
    ends = np.cumsum([bins.size for bins in model.bins])
    events = np.split(each, ends[:-1])
    terms = zip(model.terms, model.bins, events, strict=True)
    return [_support(model, *term) if term[2].any() else None for term in terms]


def _support(model: AdditiveModel, term: Term, bins: Bins, events: Floats) -> Support | None:
    """Return what is said of a curve by the events (size,) that are expected under it."""
    if not _is_free(model, term):
        return None
    growth = 2.0 - model.loss.variance_power
    curve = term.scores - np.average(term.scores, weights=events)
    moves = _moves(term, ordered=any(model.signs[term.feature : term.feature + 1]))
    return Support(bins, events, flat=events * np.exp(-growth * curve), moves=moves, growth=growth)


def _weighed_model(
    model: AdditiveModel, supports: list[Support | None], moved_by: Callable[[Support, Term], Floats]
) -> AdditiveModel:
    """Return a model whose refits are moved by what credibility adds to each term, (size,) or (K, size); the mean of
    that over the training rows goes into the intercepts."""
    terms, intercepts = [], model.refit_intercepts.copy()
    for term, support in zip(model.terms, supports, strict=True):
        if support is None:
            terms.append(term)
            continue
        moved = moved_by(support, term)
        mean = np.average(moved, axis=-1, weights=term.counts)
        refits = term.refits + np.where(support.moves, moved - mean[..., None], 0.0)
        terms.append(replace(term, scores=refits.mean(axis=0), refits=refits))
        intercepts += mean
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


def _weighed(factor: Floats | float, events: Floats | float) -> Any:
    """Return the log of a factor, given its log, as far as events support it."""
    return np.log((np.exp(factor) * events + PRIOR_EVENTS) / (events + PRIOR_EVENTS))


def _outward(curve: Floats, flat: Floats, growth: float) -> Floats:
    """Return curves (..., m) whose steps, from their first bin outward, are weighed by the events beyond each.

    A staircase uses the same few events at each of its steps. So no place in a tail may be farther from an earlier one
    there than all events beyond that one support, in one step.
    """
    beyond = np.append(np.cumsum(flat[::-1])[::-1], 0.0)
    tail = int(np.searchsorted(-beyond, -TAIL_EVENTS))
    kept = curve.copy()
    for place in range(1, flat.size):
        level, here = kept[..., place - 1], curve[..., place]
        step = here - curve[..., place - 1]
        end = level + _weighed(step, beyond[place] * np.exp(growth * level))
        if place > tail:
            before = kept[..., tail - 1 : place] if tail else kept[..., :place]
            first = place - before.shape[-1]
            events = beyond[first + 1 : place + 1] * np.exp(growth * before)
            ends = before + _weighed(here[..., None] - curve[..., first:place], events)
            fallen = np.minimum(level, np.maximum(end, ends.max(axis=-1)))
            risen = np.maximum(level, np.minimum(end, ends.min(axis=-1)))
            end = np.where(step < 0, fallen, risen)
        kept[..., place] = end
    return kept
