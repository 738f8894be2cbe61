"""From fitted models and two groups of rows to what explains the difference of their rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from gamcore.additions.why.curves import Learned, Link
from gamcore.additions.why.moved import WhyMoved
from gamcore.additions.why.shares import Pair, Rows, shares
from gamcore.data.binning import encode_table
from gamcore.data.columns import TableError
from gamcore.data.table import frame_of
from gamcore.estimators.additive import read_target, single_model
from gamcore.estimators.base import TrainingRows, loss_of, read_rows, read_table
from gamcore.estimators.gam import ClassView
from gamcore.estimators.seen_rows import (
    Estimator,
    Sample,
    check_names,
    check_samples,
    check_worth,
    clusters_of_both,
    columns_read,
    one_outcome,
    refusals_named,
)
from gamcore.model.classes import ClassesModel

GIVEN_SCORE: Final = "(given score)"
"""The term of scores that were given beside the models'."""


def why_moved(
    model: Estimator, first: Sample, second: Sample, second_model: Estimator | None = None, *,
    families: Mapping[str, str] | None = None, of_class: Any = None, worth: float | None = None,
    names: tuple[str, str] = ("A", "B"), held_out: bool = False,
) -> WhyMoved:  # fmt: skip
    """Return why the mean outcome of a second group of rows differs from that of a first: who came, what changed, what
    is left.

    *Composition* (who came) is what the values of the rows account for, *behaviour* (what changed) what the curves do,
    *level* what all rows have alike, *residual* what the models do not explain. By term they add up to the difference.
    With one model, behaviour is 0 and the residual is what composition does not explain. The level is what changed for
    rows as those of the first group; a term that a model lacks is 0 there.

    Parameters
    ----------
    model, second_model :
        Fitted to the rows of either group, with the same objective; with `bands`, behaviour has intervals.
    first, second :
        The groups, whose tables have the columns of both models. Of weights only the ratios within a group matter; with
        exposures, means are rates per unit of them; given scores are a term of their own; a label of `groups` that both
        groups have is one cluster.
    families :
        The family of a feature by its name; a feature without one is its own.
    of_class :
        The class whose share is asked about, against all others; of two, the second if None.
    worth :
        Money per unit of the outcome: parts are also given in money, for the rows (or exposure) of the second group.
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
    own = _learned(model, of_class)
    other = own if second_model is None or second_model is model else _learned(second_model, of_class)
    _check_alike(own, other)
    order, features = _terms(own, other)
    samples, models = (first, second), (own, other)
    check_samples(samples, names, {*own.models[0].given, *other.models[0].given})
    read = []
    for place, (name, sample) in enumerate(zip(names, samples, strict=True)):
        with refusals_named(name):
            read.append(_rows(models, place, sample))
    numbers = clusters_of_both(samples) or (None, None)
    groups = replace(read[0], clusters=numbers[0]), replace(read[1], clusters=numbers[1])
    curves = own.curves(order)
    pair = Pair(groups, (curves, curves if other is own else other.curves(order)), own.link)
    given = (GIVEN_SCORE,) if groups[0].given is not None else ()
    return WhyMoved(
        shares(pair, models, order), terms=(*order, *given),
        features=(*features, *((name,) for name in given)), families=_families(families, features), names=names,
        means=(_mean(groups[0]), _mean(groups[1])), size=groups[1].size, worth=worth,
        is_share=own.link.loss.is_binary, is_one_model=other is own, is_of_mean=own.link.loss.is_of_mean,
        held_out=held_out,
    )  # fmt: skip


def _learned(model: Any, of_class: Any) -> Learned:
    """Return what is compared of a fitted estimator."""
    fitted, code = one_outcome(model, of_class)
    if isinstance(fitted, ClassView):
        whole = fitted.whole_
        assert isinstance(whole.model_, ClassesModel)
        return Learned(whole, whole.model_.models, Link(loss_of(whole), fitted.place_))
    return Learned(fitted, (single_model(fitted),), Link(loss_of(fitted), code), 1.0 if code else -1.0)


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


def _rows(models: tuple[Learned, Learned], place: int, sample: Sample) -> Rows:
    """Return the rows of a group, whose clusters are not numbered yet."""
    own, X = models[place], frame_of(sample.X)  # once: a table may be a stream
    target = read_target(own.estimator, sample.y)

    def known_to(learned: Learned) -> TrainingRows:
        table = read_table(learned.estimator, columns_read(learned.estimator, X), reset=False)
        return read_rows(
            learned.estimator, table, target, sample.sample_weight, sample.groups, exposure=sample.exposure,
            init_score=sample.init_score,
        )  # fmt: skip

    known = known_to(own)
    codes = [encode_table(known.table, own.models[0].bins)] * 2
    if models[0] is not models[1]:
        other = models[1 - place]
        codes[1 - place] = encode_table(known_to(other).table, other.models[0].bins)
    outcome = known.y.astype(np.float64)
    if own.link.loss.is_binary:
        outcome = (outcome == own.link.place).astype(np.float64)
    exposure = np.ones(outcome.size) if known.log_exposure is None else np.exp(known.log_exposure)
    weight = np.ones(outcome.size) if known.weight is None else known.weight
    given = known.init_score
    if given is not None:
        given = own.sign * given.reshape(outcome.size, -1)
    size = float(outcome.size * np.average(exposure, weights=weight))
    return Rows(outcome / exposure, weight * exposure, (codes[0], codes[1]), given, None, size=size)


def _mean(rows: Rows) -> float:
    """Return the mean outcome of a group, per unit of exposure."""
    return float(rows.share @ rows.outcome)
