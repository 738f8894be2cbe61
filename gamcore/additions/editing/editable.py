"""Fitted estimators changed by hand, at a known price; each change returns a copy."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from gamcore.additions.editing.edited import before_edits, edited, edits_in, fitted_part, replayed
from gamcore.additions.editing.edits import Edit, EditError, Operation, Where
from gamcore.boosting.fit.model import Seeds, fit
from gamcore.boosting.rows.source import Encoded, with_features
from gamcore.boosting.rows.sums import added
from gamcore.boosting.running.progress import Watcher
from gamcore.common.types import Floats
from gamcore.data.columns import TableError
from gamcore.estimators.additive import AdditiveEstimator, single_model
from gamcore.estimators.additive_parameters import GREEDY
from gamcore.estimators.base import loss_of
from gamcore.estimators.progress_bar import Listener, listening
from gamcore.explain.room import room_of
from gamcore.model.additive import AdditiveModel, AnyTerm
from gamcore.model.monotone import keeping

Additive = TypeVar("Additive", bound=AdditiveEstimator)


@dataclass(frozen=True)
class EditPrice:
    """What edits do on some rows, preferably held out.

    loss_before, loss_after : mean loss per row. mean_before, mean_after : mean prediction. moved : mean size of the
    change of a prediction. crossed : share of the rows whose prediction changes sides of `line`.
    """

    rows: int
    loss_before: float
    loss_after: float
    mean_before: float
    mean_after: float
    moved: float
    crossed: float
    line: float


def edits_of(model: AdditiveEstimator) -> tuple[Edit, ...]:
    """Return the edits of a fitted model, the first one first."""
    return edits_in(_editable(model)).edits


def edits_that_stay(model: AdditiveEstimator) -> tuple[Edit, ...]:
    """Return the first edits of a model, those that all else was learnt around."""
    own = edits_in(_editable(model))
    return own.edits[: own.around]


def edit(
    model: Additive,
    on: str | Sequence[str],
    operation: Operation,
    where: Mapping[str, Any] | Where | Sequence[Mapping[str, Any] | Where] | None = None,
    value: float | None = None,
    reason: str = "",
) -> Additive:
    """Return a copy with one more edit.

    on : the name of a feature, or the two of a pair. operation : "set" to the value, "add" it, "equal" (to the mean
    over training rows), "straight" (between the ends), "smooth" (to `value` degrees of freedom, 4 by default),
    "rising", "falling" (the nearest such curve), "at_most", "at_least" the value, "centre" (the curve to a mean of
    0 over training rows), "remove". where : of which cells, as in {"at_least": 60, "below": 75}, {"is": ["north"]},
    {"missing": True} or {"unseen": True}, one for each feature of a pair; by default of all values. value : on the
    link scale. EditError where the edit does not fit the model.
    """
    features = (on,) if isinstance(on, str) else tuple(on)
    places = [where] * len(features) if where is None or isinstance(where, Mapping | Where) else list(where)
    value = None if value is None else float(value)
    bins = {column.feature.name: column for column in _editable(model).bins}
    cells = [Where.of(place) for place in places]
    if len(cells) == len(features):
        cells = [cell.whole(bins[name]) if name in bins else cell for name, cell in zip(features, cells, strict=True)]
    return with_edits(model, [*edits_of(model), Edit(features, operation, tuple(cells), value, reason)])


def with_edits(model: Additive, edits: Iterable[Edit]) -> Additive:
    """Return a copy with some edits instead of its own: fewer undo the last ones, without a trace."""
    copied = copy.copy(model)
    copied.model_ = edited(_editable(model), edits)
    return copied


def replay(model: Additive, edits: Sequence[Edit]) -> tuple[Additive, list[tuple[Edit, str]]]:
    """Return a copy with those of some edits that fit, such as those of an older model; and the others, each with
    the reason why it does not."""
    copied = copy.copy(model)
    copied.model_, others = replayed(_editable(model), edits)
    return copied, others


def edit_price(
    model: Additive,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    exposure: Any = None,
    init_score: Any = None,
    before: AdditiveEstimator | None = None,
    line: float | None = None,
) -> EditPrice:
    """Return what the edits do on some rows.

    before : the model to compare with, which may have other bins; by default this one without edits, but for those
    that all else was learnt around. line : a prediction whose sides are compared; by default a chance of one half,
    or the mean prediction before.
    """
    given = {"sample_weight": sample_weight, "exposure": exposure, "init_score": init_score}
    rows, after = model._read_known(X, y, given), _editable(model)
    if before is None or _editable(before).bins is after.bins:
        first = (rows, before_edits(after) if before is None else _editable(before))
    else:
        first = (before._read_known(X, y, given), _editable(before))
    return price_of(first, (rows, after), line)


def room_to_move(
    model: Additive,
    X: Any,
    y: Any,
    share: float = 0.01,
    sample_weight: Any = None,
    exposure: Any = None,
    init_score: Any = None,
    loss: float | None = None,
) -> dict[str, Floats]:
    """Return how far the scores (size,) of each feature may move, up or down, for the loss to rise by a share of it
    at most while all other curves adapt (`explain.room`); pass the rows that `fit` had.

    By code: missing, the bins in order, unseen. loss : mean loss that the share is of, such as that of held-out
    rows; by default that of these rows.
    """
    given = {"sample_weight": sample_weight, "exposure": exposure, "init_score": init_score}
    rows, before = model._read_known(X, y, given, in_training=True), before_edits(_editable(model))
    room, loss = room_of(before, rows), loss or price_of((rows, before), (rows, before)).loss_before
    return {bins.feature.name: np.sqrt(share * loss) * room.width(j) for j, bins in enumerate(before.bins)}


def refit_others(
    model: Additive,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    groups: Any = None,
    exposure: Any = None,
    init_score: Any = None,
    quick: bool = False,
    callback: Listener = None,
) -> Additive:
    """Return a copy in which all else is learnt anew around the curves and pairs that were edited, and around the
    pairs of an edited curve and all triples; pass the data that `fit` had. The copy has no bands, and its edits stay.

    quick : by a single refit.
    """
    given = {"sample_weight": sample_weight, "groups": groups, "exposure": exposure, "init_score": init_score}
    data = model._read_known(X, y, given, in_training=True).with_loss(loss_of(model))
    copied = copy.copy(model)
    with listening(callback) as heard:
        copied.model_ = _around(model, _editable(model), data, 1 if quick else model.outer_bags, Watcher(heard))
    return copied


def _around(estimator: Additive, model: AdditiveModel, data: Encoded, n_refits: int, watcher: Watcher) -> AdditiveModel:
    """Return a model of which what was not edited is boosted around the rest."""
    own, names = edits_in(model), [bins.feature.name for bins in model.bins]
    fixed = {names.index(edit.on[0]) for edit in own.edits if len(edit.on) == 1}
    edited_pairs = {tuple(sorted(map(names.index, edit.on))) for edit in own.edits if len(edit.on) == 2}
    held = {pair.features for pair in model.pairs if pair.features in edited_pairs or fixed & set(pair.features)}
    free = [pair.features for pair in model.pairs if pair.features not in held]
    curves = fitted_part(model).terms
    others = [j for j in range(len(names)) if j not in fixed and (estimator.order != GREEDY or curves[j].refits.any())]
    if not others:
        raise TableError("Every curve was edited: none is left to be refit.")
    ahead = _score_of(model, fixed, held, data)
    around = replace(data, init_score=added(data.init_score, ahead))
    plan = estimator._plan(around, names)
    of_others = replace(plan.parameters, order="cyclic")
    plan = replace(plan, n_refits=n_refits, interactions=free, triples=0, parameters=of_others)
    refit = fit(with_features(around, np.array(others)), plan, Seeds.of(estimator.random_state), watcher).model
    assert isinstance(refit, AdditiveModel)
    refit = _repeated(refit, model.n_refits)
    fitted, learnt = fitted_part(model), {pair.features: pair for pair in refit.pairs}
    pairs = tuple(pair if pair.features in held else learnt[pair.features] for pair in fitted.pairs)
    terms = tuple(fitted.terms[j] if j in fixed else refit.terms[j] for j in range(len(names)))
    refit = replace(refit, terms=terms, pairs=pairs, triples=model.triples, given=model.given, base=model.base)
    refit = keeping(refit)
    return edited(refit, own.edits, around=len(own.edits))


def _editable(model: AdditiveEstimator) -> AdditiveModel:
    """Return the model of an estimator; EditError where it has no single score per row."""
    single = single_model(model)
    if single.loss.is_partial:
        raise EditError("The model has several classes, and edits need one score per row: train two of them.")
    return single


def _score_of(model: AdditiveModel, fixed: set[int], held: set[tuple[int, int]], data: Encoded) -> Floats:
    """Return what some curves and pairs, and all triples, add to rows (n,)."""
    codes = data.binned.codes
    pairs = [pair for pair in model.pairs if pair.features in held]
    terms: tuple[AnyTerm, ...] = (*(model.terms[j] for j in sorted(fixed)), *pairs, *model.triples)
    score = np.zeros(codes.shape[1])
    for term in terms:
        score += term.at(codes)
    return score


def _repeated(model: AdditiveModel, n_refits: int) -> AdditiveModel:
    """Return a model of a single refit as one of several that are equal; any other as it is."""
    if model.n_refits != 1:
        return model
    lines = [np.repeat(term.refits, n_refits, axis=0) for term in model.terms]
    terms = [replace(term, refits=own, scores=own.mean(axis=0)) for term, own in zip(model.terms, lines, strict=True)]
    pairs = [
        replace(
            pair, surfaces=np.repeat(pair.surfaces, n_refits, axis=0), means=np.repeat(pair.means, n_refits),
            rows=np.repeat(pair.rows, n_refits, axis=0), columns=np.repeat(pair.columns, n_refits, axis=0),
            merges=(np.repeat(pair.merges[0], n_refits, axis=0), np.repeat(pair.merges[1], n_refits, axis=0)),
        )
        for pair in model.pairs
    ]  # fmt: skip
    intercepts = np.repeat(model.refit_intercepts, n_refits)
    return replace(model, terms=tuple(terms), pairs=tuple(pairs), refit_intercepts=intercepts)


def price_of(
    before: tuple[Encoded, AdditiveModel], after: tuple[Encoded, AdditiveModel], line: float | None = None
) -> EditPrice:
    """Return what edits do, given the same rows in the bins of the model before and after; see `EditPrice`."""
    rows, loss = after[0], before[1].loss
    weight = np.ones(rows.y.size) if rows.weight is None else rows.weight
    given = 0.0 if rows.offset is None else rows.offset
    scores = [model.score(data.binned.codes) + given for data, model in (before, after)]
    exposed = 0.0 if rows.log_exposure is None else rows.log_exposure
    first, second = (loss.inverse_link(score - exposed) for score in scores)
    losses = [float(np.average(loss.loss(rows.y, score), weights=weight)) for score in scores]
    means = [float(np.average(values, weights=weight)) for values in (first, second)]
    at = line if line is not None else 0.5 if loss.is_binary else means[0]
    crossed = float(np.average((first >= at) != (second >= at), weights=weight))
    moved = float(np.average(np.abs(second - first), weights=weight))
    return EditPrice(
        rows=rows.y.size, loss_before=losses[0], loss_after=losses[1], mean_before=means[0], mean_after=means[1],
        moved=moved, crossed=crossed, line=at,
    )  # fmt: skip
