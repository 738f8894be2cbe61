"""From fitted models and two groups of rows to what explains the difference of their rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gamcore.additions.why.curves import Learned, Link
from gamcore.additions.why.moved import WhyMoved
from gamcore.additions.why.shares import Pair, Rows, shares
from gamcore.data.binning import encode_table
from gamcore.data.columns import TableError
from gamcore.data.table import Table, frame_of
from gamcore.data.targets import codes_of
from gamcore.estimators.additive import read_target, single_model
from gamcore.estimators.base import loss_of, read_rows, read_table
from gamcore.estimators.gam import ClassView, GAMClassifier, GAMRegressor
from gamcore.estimators.seen_rows import check_names, check_worth, clusters_of_both, columns_read
from gamcore.model.classes import ClassesModel

GIVEN_SCORE: Final = "(given score)"
"""The term of scores that were given beside the models'."""

SIDE: Final = ("X", "y", "sample_weight", "exposure", "init_score", "groups")
"""What is given of each group."""


def why_moved(
    model_a: GAMRegressor | GAMClassifier, X_a: Any, y_a: Any,
    model_b: GAMRegressor | GAMClassifier | None = None, X_b: Any = None, y_b: Any = None, *,
    sample_weight_a: Any = None, sample_weight_b: Any = None, exposure_a: Any = None, exposure_b: Any = None,
    init_score_a: Any = None, init_score_b: Any = None, groups_a: Any = None, groups_b: Any = None,
    families: Mapping[str, str] | None = None, of_class: Any = None, worth: float | None = None,
    names: tuple[str, str] = ("A", "B"), held_out: bool = False,
) -> WhyMoved:  # fmt: skip
    """Return why the mean outcome of rows B differs from that of rows A: who came, what changed, what is left.

    *Composition* (who came) is what the values of the rows account for, *behaviour* (what changed) what the curves do,
    *level* what all rows have alike, *residual* what the models do not explain. By term they add up to the difference.
    With one model, `why_moved(model, X_a, y_a, X_b=X_b, y_b=y_b)`, behaviour is 0 and the residual is what composition
    does not explain. The level is what changed for rows as those of A; a term that a model lacks is 0 there.

    Parameters
    ----------
    model_a, model_b :
        Fitted to the rows of either group, with the same objective; with `bands`, behaviour has intervals.
    X_a, y_a, X_b, y_b :
        Tables that have the columns of both models, and their outcomes.
    sample_weight_a, sample_weight_b : (n,)
        Only their ratios within a group matter.
    exposure_a, exposure_b : (n,)
        The means are then rates per unit of it.
    init_score_a, init_score_b : (n,) or (n, K)
        Given scores, which are a term of their own.
    groups_a, groups_b : (n,)
        Labels of clusters, such as customers; a label that both have is one cluster.
    families :
        The family of a feature by its name; a feature without one is its own.
    of_class :
        The class whose share is asked about, against all others; of two, the second if None.
    worth :
        Money per unit of the outcome: parts are also given in money, for the rows (or exposure) of B.
    names :
        Of the groups, such as ("March", "April").
    held_out :
        Whether the models have not learned from these rows. Otherwise the residual flatters them, and it is said so.

    Raises
    ------
    TableError
        Where models, rows or settings do not go together; the message says which and what to do.
    """
    check_names(names, "groups")
    check_worth(worth)
    first = _learned(model_a, of_class)
    second = first if model_b is None or model_b is model_a else _learned(model_b, of_class)
    _check_alike(first, second)
    order, features = _terms(first, second)
    each = ((X_a, y_a, sample_weight_a, exposure_a, init_score_a, groups_a),
            (X_b, y_b, sample_weight_b, exposure_b, init_score_b, groups_b))  # fmt: skip
    sides = [dict(zip(SIDE, side, strict=True)) for side in each]
    _check_sides(sides, first, second)
    read = [_rows((first, second), place, name, side) for place, name, side in zip((0, 1), names, sides, strict=True)]
    groups = _numbered(read)
    curves = first.curves(order)
    pair = Pair(groups, (curves, curves if second is first else second.curves(order)), first.link)
    given = (GIVEN_SCORE,) if groups[0].given is not None else ()
    return WhyMoved(
        shares(pair, (first, second), order), terms=(*order, *given),
        features=(*features, *((name,) for name in given)), families=_families(families, features), names=names,
        means=(_mean(groups[0]), _mean(groups[1])), size=groups[1].size, worth=worth,
        is_share=first.link.loss.is_binary, is_one_model=second is first, is_of_mean=first.link.loss.is_of_mean,
        held_out=held_out,
    )  # fmt: skip


def _learned(model: Any, of_class: Any) -> Learned:
    """Return what is compared of a fitted estimator."""
    if not isinstance(model, GAMRegressor | GAMClassifier):
        raise TableError(f"A {type(model).__name__} has no terms to compare: pass a GAMRegressor or a GAMClassifier.")
    if isinstance(model, ClassView):
        of_class, model = model.classes_[model.place_], model.whole_
    check_is_fitted(model, "model_")
    if isinstance(model, GAMRegressor):
        if of_class is not None:
            raise TableError(f"of_class is {of_class!r} and the model predicts a number: leave of_class out.")
        return Learned(model, (single_model(model),), Link(loss_of(model)))
    if isinstance(model.model_, ClassesModel):
        if of_class is None:
            raise TableError(f"The model has {len(model.classes_)} classes: choose one of them with of_class.")
        place = int(codes_of([of_class], model.classes_)[0])
        return Learned(model, model.model_.models, Link(loss_of(model), place))
    place = 1 if of_class is None else int(codes_of([of_class], model.classes_)[0])
    return Learned(model, (single_model(model),), Link(loss_of(model), place), 1.0 if place else -1.0)


def _check_alike(first: Learned, second: Learned) -> None:
    """Raise TableError where two models do not predict the same thing."""
    own, other = first.link.loss, second.link.loss
    if own.name != other.name or not (own.is_of_mean or own == other):
        raise TableError(
            f"The models have the objectives {own} and {other}, so their predictions differ in kind: fit both with one."
        )
    if own.is_binary and list(first.estimator.classes_) != list(second.estimator.classes_):
        raise TableError(
            f"The models know the classes {list(first.estimator.classes_)} and {list(second.estimator.classes_)}: "
            "fit both to the same."
        )


def _terms(first: Learned, second: Learned) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the names of the terms of either model, and the features of each."""
    terms = {**second.terms, **first.terms}
    order = [*first.terms, *(name for name in second.terms if name not in first.terms)]
    return order, [terms[name] for name in order]


def _families(families: Mapping[str, str] | None, features: Sequence[tuple[str, ...]]) -> dict[str, str]:
    """Return the family of each feature; its own name where it has none."""
    known = {name: name for of_term in features for name in of_term}
    if strange := [name for name in families or {} if name not in known]:
        raise TableError(f"families has {strange[0]!r}, which is no feature of the models: take it out or correct it.")
    return {**known, **{name: str(family) for name, family in (families or {}).items()}}


def _check_sides(sides: Sequence[dict[str, Any]], first: Learned, second: Learned) -> None:
    """Raise TableError where something is given for one group only, or lacks that the models were fitted with."""
    for name in sides[0]:
        lacking = [letter for letter, side in zip("ab", sides, strict=True) if side[name] is None]
        if lacking and (len(lacking) == 1 or name in ("X", "y")):
            optional = "" if name in ("X", "y") else ", or for neither group"
            raise TableError(f"{name}_{lacking[0]} is missing: pass it{optional}.")
    for name in {*first.models[0].given, *second.models[0].given}:
        if sides[0][name] is None:
            raise TableError(f"The models were fitted with {name}: pass {name}_a and {name}_b.")


@contextmanager
def _in_group(name: str) -> Iterator[None]:
    """Name the group that a refusal is about."""
    try:
        yield
    except ValueError as error:
        raise TableError(f"Group {name}: {error}") from error


def _table(learned: Learned, X: Any) -> Table:
    return read_table(learned.estimator, columns_read(learned.estimator, frame_of(X)), reset=False)


def _rows(models: tuple[Learned, Learned], place: int, name: str, side: dict[str, Any]) -> tuple[Rows, Any]:
    """Return the rows of a group, with the labels of their clusters, None where they have none."""
    own = models[place]
    with _in_group(name):
        target = read_target(own.estimator, side["y"])
        asked = {key: side[key] for key in ("sample_weight", "groups", "exposure", "init_score")}
        known = read_rows(own.estimator, _table(own, side["X"]), target, **asked)
        codes = [encode_table(known.table, own.models[0].bins)] * 2
        if models[0] is not models[1]:
            other = models[1 - place]
            table = read_rows(other.estimator, _table(other, side["X"]), target, **asked).table
            codes[1 - place] = encode_table(table, other.models[0].bins)
    outcome = known.y.astype(np.float64)
    if own.link.loss.is_binary:
        outcome = (outcome == own.link.place).astype(np.float64)
    exposure = np.ones(outcome.size) if known.log_exposure is None else np.exp(known.log_exposure)
    weight = np.ones(outcome.size) if known.weight is None else known.weight
    given = known.init_score
    if given is not None:
        given = own.sign * given.reshape(outcome.size, -1)
    size = float(outcome.size * np.average(exposure, weights=weight))
    return Rows(outcome / exposure, weight * exposure, (codes[0], codes[1]), given, None, size=size), known.labels


def _numbered(read: list[tuple[Rows, Any]]) -> tuple[Rows, Rows]:
    """Return the rows of both groups, with clusters numbered over both together."""
    (first, of_first), (second, of_second) = read
    numbers = clusters_of_both(of_first, of_second) or (None, None)
    return replace(first, clusters=numbers[0]), replace(second, clusters=numbers[1])


def _mean(rows: Rows) -> float:
    """Return the mean outcome of a group, per unit of exposure."""
    return float(rows.share @ rows.outcome)
