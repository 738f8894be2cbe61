"""The additive model: a list of terms, each a table of scores over the bins of one feature or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Bools, Codes, Floats, Ints
from gamcore.data.binning import Bins, merge_bins
from gamcore.data.columns import TableError
from gamcore.model.grids import GridTerm
from gamcore.model.intervals import Intervals
from gamcore.model.knots import between_knots, functions_by_code, knots_of, smooth_effects
from gamcore.model.losses import Loss
from gamcore.model.purification import CellWeights, two_way
from gamcore.model.shapes import LINES, Shape, are_smooth
from gamcore.stats.bands import deviation, simultaneous
from gamcore.stats.exact import counted, whole_weights
from gamcore.stats.splines import MOST_KNOTS

Given = Literal["exposure", "init_score"]
GIVEN: Final[tuple[Given, ...]] = get_args(Given)
"""What may be given per row beside the features."""

Places = NDArray[Any]
"""Merged codes, or places between them."""

FEWEST_BINS, MOST_BINS = 6, 32
ROWS_A_CELL: Final = 60
"""Training rows per cell that set the number of bins per axis of a drawn pair.

With all bins, most cells would have too few training rows, or none.
"""


@dataclass(frozen=True)
class Term:
    """One shape function on the link scale, centred to a mean of 0 over the training rows.

    scores : (size,) by bin code, the mean over refits; code 0 is missing, the last is unseen. Bins without training
        rows have score 0, the average effect.
    refits : (K, size) the scores of each outer refit, each centred.
    counts : (size,) training rows (sum of weights) per bin.
    """

    feature: int
    scores: Floats
    refits: Floats
    counts: Floats

    @property
    def features(self) -> tuple[int]:
        """The place of its feature, as a term of several has them."""
        return (self.feature,)

    def at(self, codes: Codes) -> Floats:
        """Return what the term adds to the scores (n,) of rows given as codes (p, n)."""
        return np.asarray(self.scores[codes[self.feature]])

    def refit(self, k: int) -> Floats:
        """Return the scores (size,) of one refit."""
        return np.asarray(self.refits[k])

    def each_at(self, codes: Codes) -> Floats:
        """Return what each refit's term adds to the scores of rows, (K, n)."""
        return self.refits[:, codes[self.feature]]

    @property
    def importance(self) -> float:
        """Mean |score| over the training rows."""
        return float(np.average(np.abs(self.scores), weights=self.counts)) if self.counts.sum() > 0 else 0.0

    @cached_property
    def deviation(self) -> Floats:
        """Standard deviation (size,) of the scores over refits."""
        return deviation(self.refits)

    @cached_property
    def reach(self) -> float:
        """Half-width of the simultaneous band, in units of `deviation`."""
        return simultaneous(self.refits, self.counts > 0)


@dataclass(frozen=True)
class PairTerm:
    """One interaction of two features, on the link scale.

    Each refit has a surface over its own merged bins, and the mean and main effects contained in it. Where the term is
    pure, these are part of the intercept and of the two features' terms instead.

    features : indices of the two features.
    surfaces : (K, m, m) one per refit, over merged bins.
    merges : (K, size) for either feature, the merged code of each code. Those of a smooth pair are fractions: between
        merged bins, a surface goes straight from one to the next along either feature (`model.knots`).
    means : (K,); rows : (K, size_1); columns : (K, size_2) means and main effects of the surfaces, weighted by the
        training rows of their cells; equal for all codes of a drawn bin, or of a smooth pair smooth.
    counts : (size_1, size_2) training rows (sum of weights) per cell.
    ordered : whether codes without training rows keep the scores of the surfaces, which are in order along a monotone
        feature, as their main effects alone need not be.
    drawn : (size_1, size_2) scores set by hand, NaN where they are as fitted; None where none are.
    """

    features: tuple[int, int]
    surfaces: Floats
    merges: tuple[Places, Places]
    means: Floats
    rows: Floats
    columns: Floats
    counts: Floats
    pure: bool
    ordered: bool = False
    drawn: Floats | None = None

    @property
    def is_smooth(self) -> bool:
        """Whether its surfaces have no steps."""
        return self.merges[0].dtype.kind == "f"

    def surface_at(self, k: int | Ints, first: NDArray[np.integer], second: NDArray[np.integer]) -> Floats:
        """Return the surfaces of refits at codes of the two features, whatever is pure or drawn; shapes broadcast."""
        a, b = self.merges[0][k, first], self.merges[1][k, second]
        if not self.is_smooth:
            return np.asarray(self.surfaces[k, a, b])
        last = self.surfaces.shape[1] - 1
        (i, s), (j, t) = ((np.floor(at).astype(np.int64), at % 1.0) for at in (a, b))
        next_i, next_j = np.minimum(i + 1, last), np.minimum(j + 1, last)
        below = (1 - t) * self.surfaces[k, i, j] + t * self.surfaces[k, i, next_j]
        above = (1 - t) * self.surfaces[k, next_i, j] + t * self.surfaces[k, next_i, next_j]
        return np.asarray((1 - s) * below + s * above)

    def whole_surface(self, k: int) -> Floats:
        """Return the surface (size_1, size_2) of one refit, by the codes of the two features."""
        first, second = (np.arange(size) for size in self.counts.shape)
        return self.surface_at(k, first[:, None], second)

    def refit(self, k: int) -> Floats:
        """Return the scores (size_1, size_2) of one refit, by the codes of the two features.

        A code without training rows (unseen, or missing where no value was missing) has no interaction unless the term
        is `ordered`: its scores hold only the mean and main effects. So have values of a smooth pair, as lines have.
        """
        surface = self.whole_surface(k)
        effects = self.means[k] + self.rows[k][:, None] + self.columns[k]
        rows, columns = self._empty
        surface[rows], surface[:, columns] = effects[rows], effects[:, columns]
        scores = surface - effects if self.pure else surface
        return np.asarray(scores if self.drawn is None else np.where(np.isnan(self.drawn), scores, self.drawn))

    @cached_property
    def _empty(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which codes of either feature have no interaction."""
        rows, columns = (self.counts.sum(axis=axis) == 0 for axis in (1, 0))
        if self.is_smooth:
            rows[1:-1] = columns[1:-1] = False
        return (rows & False, columns & False) if self.ordered else (rows, columns)

    def refits_at(self, first: NDArray[np.integer], second: NDArray[np.integer]) -> Floats:
        """Return the scores (K, n) of all refits for rows given by their codes (n,) of the two features."""
        k = np.arange(len(self.surfaces))[:, None]
        surface = self.surface_at(k, first, second)
        effects = self.means[:, None] + self.rows[:, first] + self.columns[:, second]
        rows, columns = self._empty
        empty = rows[first] | columns[second]
        surface = np.where(empty, effects, surface)
        scores = surface - effects if self.pure else surface
        if self.drawn is None:
            return np.asarray(scores)
        drawn = self.drawn[first, second]
        return np.where(np.isnan(drawn), scores, drawn)

    @cached_property
    def scores(self) -> Floats:
        """Scores (size_1, size_2), the mean over refits.

        Where the term is pure, their mean over the training rows of any drawn bin is 0.
        """
        total = self.refit(0)
        for k in range(1, len(self.surfaces)):
            total += self.refit(k)
        return total / len(self.surfaces)

    def at(self, codes: Codes) -> Floats:
        """Return what the term adds to the scores (n,) of rows given as codes (p, n)."""
        return np.asarray(self.scores[codes[self.features[0]], codes[self.features[1]]])

    def each_at(self, codes: Codes) -> Floats:
        """Return what each refit's term adds to the scores of rows, (K, n)."""
        return self.refits_at(codes[self.features[0]], codes[self.features[1]])

    @cached_property
    def importance(self) -> float:
        """Mean |score| over the training rows."""
        return float(np.average(np.abs(self.scores), weights=self.counts)) if self.counts.sum() > 0 else 0.0


AnyTerm = Term | PairTerm | GridTerm
"""A term: its `features`, its `scores` and `counts` over their bins or parts, and what it adds to rows (`at`)."""


@dataclass(frozen=True)
class OpenEffect:
    """A feature whose curve shows no clear effect, though rows show one: of its own, or together with others, which say
    nearly the same, so that no row tells whose it is.

    feature, others : their places; the strongest first; no others where it is its own. determined : share of the
    feature that the others tell. way : of its own effect, 1 if it rises along the feature, -1 if it falls; else 0.
    """

    feature: int
    others: tuple[int, ...] = ()
    determined: float = 0.0
    way: int = 0


class Attachment:
    """What an addition keeps with a model. The core carries it, and asks it only this."""

    summary: str = ""
    """What a reader of the model is told of it, in a few words; empty for nothing."""

    refusal: str = ""
    """Why the model cannot be learnt anew with it, as a sentence; empty where it can."""

    def listed(self) -> dict[str, Any]:
        """Return what a list of models says of it, as plain values by name."""
        return {}

    def fitted_part(self, model: AdditiveModel) -> AdditiveModel:
        """Return its model as it was fitted."""
        return model

    def onto(self, model: AdditiveModel) -> AdditiveModel:
        """Return a model that was learnt anew with this attached; without, where it says nothing of another model."""
        return model

    def by_hand(self, model: AdditiveModel, feature: int) -> Bools:
        """Return which codes (size,) of a feature's curve were not learnt, but set."""
        return np.zeros(model.bins[feature].size, bool)

    def with_bins(self, bins: tuple[Bins, ...]) -> Self:
        """Return the same for a model with other bins of the same sizes."""
        return self


@dataclass(frozen=True)
class AdditiveModel:
    """intercept + sum of terms = score; the loss's inverse link turns the score into a prediction.

    triples : interactions of three features, beyond all pairs of these, which are in `pairs`.
    base : score of the training rows' mean target (per unit of exposure); NaN where a file lacks it.
    given : what the score of a row adds to: "exposure" (its log), "init_score", both, or nothing.
    halves : half-sample refits, as a model with the same bins, counts and terms. Their spread gives the bands of the
        terms (`stats.bands`). None where there are none yet.
    evenness : of half-sample refits, the effective share of the rows that they are of (`stats.weights`); 1 where all
        weigh the same.
    open_effects : of half-sample refits, effects that rows show and curves do not (`explain.open_effects`).
    signs : of each feature 1 where the score may only rise along it, -1 where it may only fall, 0 elsewhere; empty if
        all are free (`model.monotone`).
    shapes : how the curve of each feature was learnt; empty if all are steps.
    intervals : what intervals around predictions are made of; None where they have not been calibrated.
    attachments : what additions keep with the model, by the addition's name. The model predicts the same without.
    """

    bins: tuple[Bins, ...]
    terms: tuple[Term, ...]
    refit_intercepts: Floats  # (K,)
    loss: Loss
    pairs: tuple[PairTerm, ...] = ()
    triples: tuple[GridTerm, ...] = ()
    base: float = float("nan")
    halves: AdditiveModel | None = None
    given: tuple[Given, ...] = ()
    evenness: float = 1.0
    open_effects: tuple[OpenEffect, ...] = ()
    signs: tuple[int, ...] = ()
    shapes: tuple[Shape, ...] = ()
    intervals: Intervals | None = None
    attachments: Mapping[str, Attachment] = field(default_factory=dict)

    @property
    def all_terms(self) -> tuple[AnyTerm, ...]:
        """The curves, then the pairs, then the triples."""
        return (*self.terms, *self.interactions)

    @property
    def interactions(self) -> tuple[PairTerm | GridTerm, ...]:
        """The terms of several features: the pairs, then the triples."""
        return (*self.pairs, *self.triples)

    @cached_property
    def intercept(self) -> float:
        """The mean of the refits' intercepts."""
        return float(self.refit_intercepts.mean())

    @property
    def n_refits(self) -> int:
        """Number K of outer refits that the model averages."""
        return self.refit_intercepts.size

    @property
    def n_halves(self) -> int:
        """Number of half-sample refits; 0 where there are none."""
        return 0 if self.halves is None else self.halves.n_refits

    @cached_property
    def clarity(self) -> float:
        """How clear the curves are: their mean square beside that of their errors, over the training rows of all terms.

        The errors are the spread of half-sample refits; 0 where there are none. Rows of unequal weights count as the
        fewer that they are worth.
        """
        if self.fitted is not self:  # what was not learnt tells nothing of errors
            return self.fitted.clarity
        if self.halves is None:
            return 0.0
        known = [(term, half) for term, half in zip(self.terms, self.halves.terms, strict=True) if term.counts.any()]
        size = sum(np.average(np.square(term.scores), weights=term.counts) for term, _ in known)
        error = sum(np.average(np.square(half.deviation), weights=term.counts) for term, half in known)
        return float(size / error) * self.halves.evenness if error > 0 else 0.0

    @property
    def base_score(self) -> float:
        """Score at which effects on the prediction are given: that of the mean target, else the intercept."""
        return self.base if np.isfinite(self.base) else self.intercept

    def with_bins(self, bins: tuple[Bins, ...]) -> AdditiveModel:
        """Return the model with other bins of the same sizes, such as those that know codes for missing."""
        attachments = {name: attachment.with_bins(bins) for name, attachment in self.attachments.items()}
        return replace(self, bins=bins, attachments=attachments)

    @property
    def fitted(self) -> AdditiveModel:
        """The model as it was fitted: without what its attachments changed; itself where they changed nothing."""
        model = self
        for attachment in self.attachments.values():
            model = attachment.fitted_part(model)
        return model

    def by_hand(self, feature: int) -> Bools:
        """Return which codes (size,) of a feature's curve were not learnt, but set."""
        mask = np.zeros(self.bins[feature].size, bool)
        for attachment in self.attachments.values():
            mask |= attachment.by_hand(self, feature)
        return mask

    def score(self, codes: Codes) -> Floats:
        """Return the score (n,) of rows given as codes (p, n)."""
        score = np.full(codes.shape[1], self.intercept)
        for term in self.all_terms:
            score += term.at(codes)
        return score

    def contributions(self, codes: Codes) -> Floats:
        """Return the contribution (n, terms) of each term to the score, in the order of `all_terms`."""
        return np.stack([term.at(codes) for term in self.all_terms], axis=1)

    def predict(self, codes: Codes) -> Floats:
        """Return the predictions (n,) in the target's units, or probabilities of the positive class."""
        return self.loss.inverse_link(self.score(codes))


def carried(model: AdditiveModel, before: AdditiveModel) -> AdditiveModel:
    """Return a model that was learnt anew with the attachments of the one before."""
    for attachment in before.attachments.values():
        model = attachment.onto(model)
    return model


def check_relearnt(model: AdditiveModel) -> None:
    """Raise TableError where an attachment refuses that its model is learnt anew."""
    for attachment in model.attachments.values():
        if attachment.refusal:
            raise TableError(attachment.refusal)


def count_bins(codes: Codes, bins: Sequence[Bins], weight: Floats | None) -> list[Floats]:
    """Return the training rows (sum of weights) in each bin of each feature."""
    unit, whole = whole_weights(weight)
    counts = zip(codes, bins, strict=True)
    return [counted(line, of_feature.size, whole).astype(np.float64) * unit for line, of_feature in counts]


def assemble(
    bins: tuple[Bins, ...],
    curves: Floats,
    base_scores: Floats,
    counts: Sequence[Floats],
    loss: Loss,
    signs: tuple[int, ...] = (),
    shapes: tuple[Shape, ...] = (),
) -> AdditiveModel:
    """Return the mean of refits as one model, centred.

    curves : (K, p, V) per refit, not centred; base_scores : (K,). All refits share their bins, so the mean of the
    curves is exact. Centring moves each curve's mean over *all* training rows into the intercept; predictions of rows
    that fall into bins with training rows do not change. Bins without any are then set to 0; values of a monotone
    feature keep what is in order, and those of a line what is on it.
    """
    intercepts = base_scores.astype(np.float64).copy()
    terms = []
    for j, (of_feature, count) in enumerate(zip(bins, counts, strict=True)):
        refits = curves[:, j, : of_feature.size].copy()
        if count.sum() > 0:
            mean = refits @ count / count.sum()
            refits -= mean[:, None]
            intercepts += mean
        empty = count == 0
        empty[1:-1] &= not (any(signs[j : j + 1]) or (shapes and shapes[j] in LINES))
        refits[:, empty] = 0.0
        terms.append(Term(j, refits.mean(axis=0), refits, count))
    return AdditiveModel(bins, tuple(terms), intercepts, loss, signs=signs, shapes=shapes)


def count_cells(codes: Codes, pair: tuple[int, int], bins: Sequence[Bins], weight: Floats | None) -> Floats:
    """Return the training rows (sum of weights) in each cell of two features, (size_1, size_2)."""
    unit, whole = whole_weights(weight)
    sizes = bins[pair[0]].size, bins[pair[1]].size
    cells = counted(cells_of(codes, pair, sizes[1]), sizes[0] * sizes[1], whole)
    return (cells.astype(np.float64) * unit).reshape(sizes)


def cells_of(codes: Codes, pair: tuple[int, int], size: int) -> Ints:
    """Return the cell (n,) of two features that each row is in; size : codes of the second."""
    cells: Ints = codes[pair[0]].astype(np.int64) * size + codes[pair[1]]
    return cells


def reading_bins(bins: Bins, counts: Floats, n_rows: float) -> Codes:
    """Return the merged code (size,) of each code of a feature, for purifying and drawing its pairs; 0 is missing.

    Numbers get few bins of equal weight, so that a cell of two features has about ROWS_A_CELL rows; levels stay. With
    the bins of a curve, too few rows would decide how much of a surface is main effect: the curve would follow their
    noise, and no band would show it.
    """
    if bins.feature.is_category:
        merge: Codes = np.arange(bins.size, dtype=bins.dtype)
        merge[-1] = 0
        return merge
    most = min(max(round(np.sqrt(n_rows / ROWS_A_CELL)), FEWEST_BINS), MOST_BINS)
    return merge_bins(counts, np.arange(1, bins.size - 1), most, 0.0)[: bins.size]


def pair_bins(model: AdditiveModel, pair: tuple[int, int], counts: Floats) -> tuple[Codes, Codes]:
    """Return the `reading_bins` of both features of a pair, given the training rows of its cells."""
    first, second = (
        reading_bins(model.bins[j], counts.sum(axis=1 - side), counts.sum()) for side, j in enumerate(pair)
    )
    return first, second


def pair_effects(
    surfaces: Floats,
    merges: tuple[Codes, Codes],
    counts: Floats,
    coarse: tuple[Codes, Codes],
) -> tuple[Floats, Floats, Floats]:
    """Return the means (K,), row effects (K, size_1) and column effects (K, size_2) of surfaces, by `reading_bins`."""
    fine = CellWeights.of(counts)
    first, second = coarse
    shape = int(first.max(initial=0)) + 1, int(second.max(initial=0)) + 1
    place = first[fine.rows].astype(np.int64) * shape[1] + second[fine.columns]
    weight = counts[fine.rows, fine.columns]
    cells = CellWeights.of(np.bincount(place, weight, shape[0] * shape[1]).astype(np.float64).reshape(shape))
    values = np.empty((len(surfaces), cells.rows.size))
    for line, surface, a, b in zip(values, surfaces, *merges, strict=True):
        sums = np.bincount(place, weight * surface[a[fine.rows], b[fine.columns]], shape[0] * shape[1]).reshape(shape)
        line[:] = sums[cells.rows, cells.columns] / cells.weight[cells.rows, cells.columns]
    means, rows, columns = two_way(cells, values)
    of_codes = rows[:, first], columns[:, second]
    for effects in of_codes:
        effects[:, -1] = 0.0  # never seen
    return means, *of_codes


def add_pair(
    model: AdditiveModel,
    pair: tuple[int, int],
    surfaces: Floats,
    merges: tuple[NDArray[np.uint8], NDArray[np.uint8]],
    counts: Floats,
    purify: bool,
) -> AdditiveModel:
    """Return the model with one more interaction; the arguments are fields of `PairTerm`.

    Purifying moves the mean and main effects of the surfaces (weighted by the training rows of the drawn cells) to
    the intercept and the two terms. No prediction changes.
    """
    smooth = are_smooth(pair, model.shapes, model.signs)
    pure = purify and (smooth or not model.shapes)  # a line would get the steps of others
    term = PairTerm(
        features=pair,
        surfaces=surfaces,
        merges=merges,
        means=np.empty(0),
        rows=np.empty(0),
        columns=np.empty(0),
        counts=counts,
        pure=pure,
        ordered=any(sign for j in pair for sign in model.signs[j : j + 1]),
    )
    coarse = pair_bins(model, pair, counts)
    if smooth:
        term, effects = _smooth(model, term, coarse)
    else:
        effects = pair_effects(surfaces, merges, counts, coarse)
    means, rows, columns = effects
    term = replace(term, means=means, rows=rows, columns=columns)
    model = replace(model, pairs=(*model.pairs, term))
    return with_pair_effects(model, pair, effects) if pure else model


def _smooth(
    model: AdditiveModel, term: PairTerm, coarse: tuple[Codes, Codes]
) -> tuple[PairTerm, tuple[Floats, Floats, Floats]]:
    """Return a pair that goes straight from one merged bin to the next, and its means and main effects, as of
    `pair_effects`.

    The main effects have as many knots as the pair is read in bins.
    """
    places, functions = [], []
    for side, j in enumerate(term.features):
        positions, counts = model.bins[j].display, model.terms[j].counts
        each = [between_knots(knots_of(merge, positions, counts), positions) for merge in term.merges[side]]
        places.append(np.stack(each))
        functions.append(functions_by_code(positions, counts, min(int(coarse[side].max()), MOST_KNOTS)))
    term = replace(term, merges=(places[0], places[1]))
    surfaces = np.stack([term.whole_surface(k) for k in range(len(term.surfaces))])
    return term, smooth_effects(surfaces, term.counts, (functions[0], functions[1]))


def with_pair_effects(
    model: AdditiveModel, pair: tuple[int, int], effects: tuple[Floats, Floats, Floats]
) -> AdditiveModel:
    """Return the model with the effects of a pair's surfaces (`pair_effects`) in the intercepts and the two terms."""
    means, *of_sides = effects
    terms = list(model.terms)
    for place, of_side in zip(pair, of_sides, strict=True):
        refits = terms[place].refits + of_side
        terms[place] = replace(terms[place], refits=refits, scores=refits.mean(axis=0))
    return replace(model, terms=tuple(terms), refit_intercepts=model.refit_intercepts + means)
