"""From a fitted model and its rows to what a black box would know beyond it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from gamcore.additions.black_box.learner import black_box_scores, features_of
from gamcore.additions.black_box.price import PriceOfReadability, Step
from gamcore.boosting.pairs.ranking import curves_of, strongest_lines
from gamcore.boosting.triples.ranking import Axes, Descent, Ranked, cells_of, ranked, steps_of
from gamcore.common.types import Floats, Ints
from gamcore.data.binning import encode_table
from gamcore.data.columns import TableError
from gamcore.data.rows import read_weight
from gamcore.data.table import Table, frame_of
from gamcore.estimators.additive import read_target
from gamcore.estimators.base import loss_of, n_scores, n_threads, read_rows, read_table
from gamcore.estimators.gam import ClassView, GAMClassifier, GAMRegressor
from gamcore.estimators.seen_rows import read_mask
from gamcore.explain.gap import Difference, HeldOut, Measured, difference, mean_of, measured
from gamcore.model.additive import AdditiveModel, check_relearnt, count_bins

MOST_STEPS: Final = 3
"""Terms that are added one after the other: what a sentence can name."""

FEWEST_ROWS: Final = 50
"""Rows that a black box learns from, at least."""

MOST_CROSSED: Final = 300
"""Values of two features together, up to which they are offered as one category."""

NEARLY: Final = 0.8
"""Share of the strongest crossing from which another may be offered for having fewer values."""

Tell = Callable[[int, int], object]


@dataclass(frozen=True)
class Part:
    """Some rows that were learned from, and others that were not, with the scores (n, K) that they have. Rows are
    places among all rows. black_box : scores of the others by a black box."""

    train: Ints
    held: Ints
    of_train: Floats
    of_held: Floats
    black_box: Floats


@dataclass(frozen=True)
class Known:
    """All rows: table, target, and what is given per row, (n,) each. clusters : each row's own number where none are
    given. grouped : whether they are."""

    table: Table
    y: Floats
    weight: Floats
    offset: Floats
    clusters: Ints
    grouped: bool

    def held_out(self, rows: Ints) -> HeldOut:
        numbers = np.unique(self.clusters[rows], return_inverse=True)[1]
        return HeldOut(self.y[rows], self.weight[rows], self.offset[rows], clusters=numbers)


def price_of_readability(
    model: GAMRegressor | GAMClassifier, X: Any, y: Any, sample_weight: Any = None, groups: Any = None,
    exposure: Any = None, *, held_out: Any = None, folds: int = 5, random_state: int = 0, progress: Tell | None = None,
) -> PriceOfReadability:  # fmt: skip
    """Return how much better a black box predicts than a fitted model, and where it knows more.

    The black box is scikit-learn's HistGradientBoosting on the same features, with as many rounds as its own validation
    rows ask for. The gap is that of the main metric on rows that neither has learned from: the AUC of two classes, the
    mean AUC of several, or of a number the share of the loss that is explained (R² for squares). Its interval is
    paired over rows, or over clusters, and holds the two models as they are.

    Where: what is left of the model's loss on the rows it learned from is ranked over all curves, pairs and triples of
    features, on coarse grids, and compared with chance; a term that is clear is added on its grid, and the rest ranked
    again, at most three times. What a term gains is measured on the held-out rows.

    Parameters
    ----------
    model :
        Fitted. It has learned from all rows that are not held out.
    X, y, sample_weight, groups, exposure :
        As `fit` takes them. Rows of one group stay in one fold, and intervals are over groups.
    held_out : (n,)
        A mask of the rows that the model has not learned from. Without it, copies of the model and black boxes are
        fitted to all but one of `folds` folds, in turn.
    folds :
        2 to 20.
    random_state :
        Of the black box and of the folds.
    progress :
        Called with the steps done, and of all.

    Raises
    ------
    TableError
        Where the model or the rows do not allow it; the message says why and what to do.
    """
    _check_model(model)
    rows, mask = _read(model, X, y, {"sample_weight": sample_weight, "groups": groups, "exposure": exposure}, held_out)
    tell = _Teller(progress, 2 + (1 if mask is not None else folds))
    if mask is not None:
        parts = [_held_out_part(model, rows, mask, random_state, tell)]
        learned = np.flatnonzero(~mask)
    else:
        parts = _folds(model, rows, folds, random_state, tell)
        learned = np.arange(rows.y.size)
    gap = _Gap(model, rows, parts)
    terms, steps, gain = _places(model, rows, learned, gap, tell)
    return PriceOfReadability(
        metric=_metric(model), readable=mean_of(gap.readable), black_box=mean_of(gap.black_box),
        gap=gap.between(gap.readable, gap.black_box), features=tuple(bins.feature.name for bins in model.model_.bins),
        ranked=terms, steps=steps, gain=gain, crossing=_crossing(model, terms),
        rows=sum(part.held.size for part in parts), folds=0 if mask is not None else folds,
    )  # fmt: skip


class _Teller:
    """Counts steps."""

    def __init__(self, progress: Tell | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def __call__(self) -> None:
        self.done += 1
        if self.progress:
            self.progress(self.done, self.total)


class _Gap:
    """The metric of both models over parts of rows."""

    def __init__(self, model: Any, rows: Known, parts: Sequence[Part]) -> None:
        self.loss, self.parts = loss_of(model), parts
        self.held = [rows.held_out(part.held) for part in parts]
        self.readable = self.measured([part.of_held for part in parts])
        self.black_box = self.measured([part.black_box for part in parts])

    def measured(self, scores: Sequence[Floats]) -> list[Measured]:
        return [measured(self.loss, held, own) for held, own in zip(self.held, scores, strict=True)]

    def between(self, first: Sequence[Measured], other: Sequence[Measured]) -> Difference:
        return difference(first, other, [held.clusters for held in self.held])


def _check_model(model: Any) -> None:
    """Raise TableError where there is no black box for a model."""
    if not isinstance(model, GAMRegressor | GAMClassifier) or isinstance(model, ClassView):
        raise TableError(f"A {type(model).__name__} has no black box: pass a GAMRegressor or a GAMClassifier.")
    check_is_fitted(model, "model_")
    if "init_score" in model.model_.given:
        raise TableError("The model adds to a given score, from which no black box of scikit-learn can start: "
                         "pass a model without init_score.")  # fmt: skip


def _metric(model: GAMRegressor | GAMClassifier) -> str:
    if n_scores(model) > 1:
        return "mean AUC"
    return "AUC" if loss_of(model).is_binary else "share explained"


def _read(
    model: GAMRegressor | GAMClassifier, X: Any, y: Any, given: dict[str, Any], held_out: Any
) -> tuple[Known, NDArray[np.bool_] | None]:
    """Return the rows of positive weight, and which are held out."""
    table, target = read_table(model, frame_of(X), reset=False), read_target(model, y)
    known = read_rows(model, table, target, **given)
    if "exposure" in model.model_.given and known.log_exposure is None:
        raise TableError("The model was fitted with exposure: pass exposure, too.")
    n = known.y.size
    mask = None if held_out is None else read_mask(held_out, target.size)
    if mask is not None and given["sample_weight"] is not None:
        mask = mask[read_weight(given["sample_weight"], target) > 0]
    rows = Known(
        known.table, known.y.astype(np.float64),
        weight=np.ones(n) if known.weight is None else known.weight,
        offset=np.zeros(n) if known.log_exposure is None else known.log_exposure,
        clusters=np.arange(n) if known.clusters is None else known.clusters, grouped=known.clusters is not None,
    )  # fmt: skip
    for size in (n,) if mask is None else (int((~mask).sum()), int(mask.sum())):
        if size < FEWEST_ROWS:
            raise TableError(f"A black box needs {FEWEST_ROWS} rows to learn from and as many held out: give it more.")
    return rows, mask


def _taken(rows: Known, places: Ints) -> Table:
    mask = np.zeros(rows.y.size, bool)
    mask[places] = True
    return rows.table.take(mask)


def _scores(model: GAMRegressor | GAMClassifier, rows: Known, places: Ints) -> Floats:
    """Return the scores (m, K) of some rows, in ascending order, with their offsets."""
    score = model.model_.score(encode_table(_taken(rows, places), model.model_.bins))
    return (score + rows.offset[places])[:, None] if score.ndim == 1 else score


class _BlackBox:
    """Black boxes on the features of a model."""

    def __init__(self, model: GAMRegressor | GAMClassifier, rows: Known, seed: int) -> None:
        self.loss, self.rows, self.seed, self.threads = loss_of(model), rows, seed, n_threads(model.n_jobs)
        self.table = features_of(rows.table, tuple(bins.feature for bins in model.model_.bins))

    def scores(self, train: Ints, held: Ints) -> Floats:
        """Return the scores of some rows, learned from others."""
        target = self.rows.y, self.rows.weight, self.rows.offset
        with threadpool_limits(self.threads, "openmp"):
            return black_box_scores(
                self.loss, self.table, target, self.rows.clusters, split=(train, held), seed=self.seed
            )


def _held_out_part(
    model: GAMRegressor | GAMClassifier, rows: Known, mask: NDArray[np.bool_], seed: int, tell: _Teller
) -> Part:
    train, held = np.flatnonzero(~mask), np.flatnonzero(mask)
    part = Part(train, held, of_train=_scores(model, rows, train), of_held=_scores(model, rows, held),
                black_box=_BlackBox(model, rows, seed).scores(train, held))  # fmt: skip
    tell()
    return part


def _folds(model: GAMRegressor | GAMClassifier, rows: Known, folds: int, seed: int, tell: _Teller) -> list[Part]:
    """Return a part per fold, with copies of the model that have not learned from it."""
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or not 2 <= folds <= 20:
        raise TableError(f"folds is {folds!r}: give a whole number from 2 to 20.")
    if isinstance(model.model_, AdditiveModel):
        check_relearnt(model.model_)
    parts, box = [], _BlackBox(model, rows, seed)
    for train, held in _splits(model, rows, folds, seed):
        copy = clone(model).set_params(**{name: value for name, value in PLAIN.items() if hasattr(model, name)})
        labels = model.classes_[rows.y[train].astype(np.int64)] if loss_of(model).is_binary else rows.y[train]
        given: dict[str, Any] = {"sample_weight": rows.weight[train]}
        given |= {"groups": rows.clusters[train]} if rows.grouped else {}
        given |= {"exposure": np.exp(rows.offset[train])} if rows.offset.any() else {}
        copy.fit(_taken(rows, train).frame, labels, **given)
        if n_scores(copy) != n_scores(model):
            raise TableError("A class has too few rows for so many folds: ask for fewer, or hold rows out.")
        parts.append(Part(train, held, of_train=_scores(copy, rows, train), of_held=_scores(copy, rows, held),
                          black_box=box.scores(train, held)))  # fmt: skip
        tell()
    return parts


PLAIN: Final = {"bands": 0, "keep_tables": False, "callback": None}
"""What copies of a model that only predict do without."""


def _splits(model: GAMRegressor | GAMClassifier, rows: Known, folds: int, seed: int) -> Sequence[tuple[Ints, Ints]]:
    """Return the rows of each fold, ascending; clusters stay together and classes are even."""
    n_clusters = np.unique(rows.clusters).size
    if n_clusters < folds:
        raise TableError(f"There are {n_clusters} groups for {folds} folds: ask for fewer folds.")
    kinds = (StratifiedGroupKFold if rows.grouped else StratifiedKFold) if loss_of(model).is_binary else (
        GroupKFold if rows.grouped else KFold)  # fmt: skip
    splitter = kinds(folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(rows.y.size), rows.y, rows.clusters if rows.grouped else None))


def _places(
    model: GAMRegressor | GAMClassifier, rows: Known, learned: Ints, gap: _Gap, tell: _Teller
) -> tuple[Ranked, tuple[Step, ...], Difference]:
    """Return the ranking of what the model lacks, the clear terms one after the other, and the gain of all."""
    bins = model.model_.bins
    codes = encode_table(rows.table, bins)
    models = [model.model_] if isinstance(model.model_, AdditiveModel) else list(model.model_.models)
    counts = count_bins(codes[:, learned], bins, rows.weight[learned])
    nominal = np.array([column.feature.is_category for column in bins])

    def descent(places: Ints, scores: Floats) -> Descent:
        return Descent.of(loss_of(model), rows.y[places], scores, rows.weight[places])

    scores, parts, now = _scores(model, rows, learned), list(gap.parts), gap.readable
    curves = strongest_lines([curves_of(fitted) for fitted in models])
    axes = Axes.of(counts, nominal, curves=curves, rows=descent(learned, scores).rows)
    coarse = axes.coded(codes)
    own = np.ascontiguousarray(coarse[:, learned])
    clusters = rows.clusters[learned] if rows.grouped else None
    pairs = [(min(pair.features), max(pair.features)) for pair in model.model_.pairs]
    steps: list[Step] = []
    first = terms = ranked(axes, own, descent(learned, scores), clusters, pairs=pairs)
    tell()
    while len(steps) < MOST_STEPS:
        taken = {step.place for step in steps}
        place = next((int(k) for k in terms.order if terms.clear[k] and int(k) not in taken), None)
        if place is None:
            break
        term = terms.terms[place]
        scores = scores + steps_of(axes, own, term, cells_of(axes, own, descent(learned, scores), term))
        parts = [_with_term(axes, coarse, term, part, descent(part.train, part.of_train)) for part in parts]
        after = gap.measured([part.of_held for part in parts])
        steps.append(Step(place, gap.between(now, after)))
        now = after
        terms = ranked(axes, own, descent(learned, scores), clusters, among=first.terms)
    tell()
    return first, tuple(steps), gap.between(gap.readable, now)


def _crossing(model: GAMRegressor | GAMClassifier, terms: Ranked) -> tuple[str, ...]:
    """Return the two features that are in most of the clear triples, by their strength; of those that are in nearly as
    much, the two with the fewest values together."""
    bins, strength = model.model_.bins, dict[tuple[int, ...], float]()
    for place in np.flatnonzero(terms.clear):
        if len(terms.terms[place]) == 3:
            for pair in itertools.combinations(terms.terms[place], 2):
                strength[pair] = strength.get(pair, 0.0) + float(terms.strengths[place])
    size = {pair: math.prod(bins[j].n_values for j in pair) for pair in strength}
    few = [pair for pair in strength if size[pair] <= MOST_CROSSED]
    least = NEARLY * max((strength[pair] for pair in few), default=0.0)
    chosen = min((pair for pair in few if strength[pair] >= least), key=lambda pair: size[pair], default=())
    return tuple(bins[j].feature.name for j in chosen)


def _with_term(axes: Axes, coarse: NDArray[np.uint8], term: tuple[int, ...], part: Part, descent: Descent) -> Part:
    """Return a part with a term added to the scores of the readable model, as its training rows have it."""
    train, held = (np.ascontiguousarray(coarse[:, places]) for places in (part.train, part.held))
    cells = cells_of(axes, train, descent, term)
    return replace(part, of_train=part.of_train + steps_of(axes, train, term, cells),
                   of_held=part.of_held + steps_of(axes, held, term, cells))  # fmt: skip
