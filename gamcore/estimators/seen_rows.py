"""Samples of rows with their outcomes, and from a fitted model of one outcome to what it predicts of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.columns import TableError
from gamcore.data.rows import read_clusters, read_log_exposure, read_weight
from gamcore.data.table import Table, frame_of
from gamcore.data.targets import codes_of
from gamcore.estimators.additive import read_target
from gamcore.estimators.base import loss_of, n_scores, read_table
from gamcore.estimators.gam import ClassView, GAMClassifier, GAMRegressor
from gamcore.explain.seen import Seen

Estimator = GAMRegressor | GAMClassifier
Samples = tuple["Sample", "Sample"]
OF_BOTH: Final = ("exposure", "init_score", "groups")
"""What two samples have both, or neither."""


@dataclass(frozen=True)
class Sample:
    """Rows with their outcomes, as `fit` takes them: X may have more columns than a model reads.

    y, sample_weight, groups, exposure : (n,). groups : labels of clusters, such as customers, whose rows belong
    together. init_score : (n,) or (n, K). What is not given is None.
    """

    X: Any
    y: Any
    sample_weight: Any = None
    groups: Any = None
    exposure: Any = None
    init_score: Any = None

    def check(self, needed: Collection[str] = ()) -> None:
        """Raise TableError where the sample lacks its table, its outcomes, or what a model was fitted with."""
        for name in ("X", "y"):
            if getattr(self, name) is None:
                raise TableError(f"{name} is missing: pass it.")
        for name in needed:
            if getattr(self, name) is None:
                raise TableError(f"The model was fitted with {name}: pass {name}, too.")


def check_samples(samples: Samples, names: tuple[str, str], needed: Collection[str]) -> None:
    """Raise TableError where one of two samples lacks what models were fitted with, or what the other has."""
    for name, sample in zip(names, samples, strict=True):
        with refusals_named(name):
            if not isinstance(sample, Sample):
                raise TableError(f"A {type(sample).__name__} is no sample of rows: pass Sample(X, y).")
            sample.check(needed)
    for key in OF_BOTH:
        lacking = [name for name, sample in zip(names, samples, strict=True) if getattr(sample, key) is None]
        if len(lacking) == 1:
            raise TableError(f'{key} is missing in "{lacking[0]}" alone: pass it for both samples, or for neither.')


@contextmanager
def refusals_named(name: str) -> Iterator[None]:
    """Put the name of the sample that a refusal is about before it."""
    try:
        yield
    except ValueError as error:
        raise TableError(f'In "{name}": {error}') from error


def one_outcome(model: Estimator, of_class: Any) -> tuple[Estimator, int]:
    """Return a model of one outcome, and the code of what is asked about; of several classes, one against the rest."""
    if not isinstance(model, GAMRegressor | GAMClassifier):
        raise TableError(f"A {type(model).__name__} has no one outcome: pass a GAMRegressor or a GAMClassifier.")
    check_is_fitted(model, "model_")
    if isinstance(model, GAMRegressor):
        if of_class is not None:
            raise TableError(f"of_class is {of_class!r} and the model predicts a number: leave of_class out.")
        return model, 1
    if isinstance(model, ClassView):
        return model, 1
    if n_scores(model) > 1:
        if of_class is None:
            raise TableError(f"The model has {len(model.classes_)} classes: choose one of them with of_class.")
        return model.of_class(of_class), 1
    return model, 1 if of_class is None else int(codes_of([of_class], model.classes_)[0])


def read_seen(model: Estimator, sample: Sample, code: int, held_out: Any = None) -> tuple[Table, Seen, Bools]:
    """Return the rows of positive weight: all their columns, what is seen and predicted, and which are held out."""
    framed, target = frame_of(sample.X), read_target(model, sample.y)
    own = read_table(model, columns_read(model, framed), reset=False)
    table = Table.of(framed) if isinstance(framed, pd.DataFrame) else own
    held = np.ones(target.size, bool) if held_out is None else read_mask(held_out, target.size)
    if len(table) != target.size:
        raise TableError(f"The table has {len(table)} rows and the target {target.size}: give one target per row.")
    sample.check(model.model_.given)
    weight = np.ones(target.size) if sample.sample_weight is None else read_weight(sample.sample_weight, target)
    exposure = np.ones(target.size)
    if sample.exposure is not None:
        exposure = np.exp(read_log_exposure(sample.exposure, target.size))
    clusters = None if sample.groups is None else read_clusters(sample.groups, target.size)
    seen = Seen.of(loss_of(model), _outcome(model, target, code), _predicted(model, own, sample, code), weight,
                   exposure, clusters)  # fmt: skip
    kept = weight > 0
    if not (held & kept).any():
        raise TableError("No row is held out with a positive weight: hold out some.")
    if kept.all():
        return table, seen, held
    return table.take(kept), seen.take(kept), held[kept]


def check_names(names: tuple[str, str], what: str) -> None:
    """Raise TableError unless two things, such as "models", have a name each."""
    if len(names) != 2 or len({str(name) for name in names}) < 2 or not all(str(name).strip() for name in names):
        raise TableError(f"names is {names!r}: give the two {what} two different names.")


def check_worth(worth: float | None) -> None:
    """Raise TableError where money per unit of the outcome is no number."""
    if worth is not None and not (isinstance(worth, int | float) and math.isfinite(worth)):
        raise TableError(f"worth is {worth!r}: give a finite number, the money per unit of the outcome.")


def clusters_of_both(samples: Samples) -> tuple[Ints, Ints] | None:
    """Return the clusters (n,) and (m,) of the rows of positive weight of two samples, numbered so that a label that
    both have is one cluster; None where they have none."""
    first, second = map(_labels, samples)
    if first is None or second is None:
        return None
    numbers = pd.factorize(np.concatenate([first, second]), use_na_sentinel=False)[0].astype(np.int64)
    return numbers[: first.size], numbers[first.size :]


def _labels(sample: Sample) -> NDArray[Any] | None:
    """Return the labels of the clusters of the rows of positive weight; None where there are none."""
    if sample.groups is None:
        return None
    labels = np.asarray(sample.groups).astype(object)
    return labels if sample.sample_weight is None else labels[np.asarray(sample.sample_weight, np.float64) > 0]


def columns_read(model: Estimator, framed: Any) -> Any:
    """Return the columns of a table that a model reads."""
    if not isinstance(framed, pd.DataFrame) or not hasattr(model, "feature_names_in_"):
        return framed
    framed = framed.set_axis([str(name) for name in framed.columns], axis=1)
    if lacking := [name for name in model.feature_names_in_ if name not in framed.columns]:
        raise TableError(f"The table has no column {lacking[0]!r}, which the model reads: add it.")
    return framed[list(model.feature_names_in_)]


def _outcome(model: Estimator, target: Floats, code: int) -> Floats:
    return (target == code).astype(np.float64) if loss_of(model).is_binary else target.astype(np.float64)


def _predicted(model: Estimator, own: Table, sample: Sample, code: int) -> Floats:
    """Return what is expected of each row (n,), of its whole exposure."""
    if isinstance(model, GAMRegressor):
        return model.predict(own, sample.exposure, sample.init_score)
    return np.asarray(model.predict_proba(own, sample.init_score)[:, code])


def read_mask(held_out: Any, n: int) -> Bools:
    """Return a mask (n,) of rows."""
    mask = np.asarray(held_out)
    if mask.shape != (n,) or mask.dtype != bool:
        raise TableError(f"held_out has the shape {mask.shape} and the type {mask.dtype}: give True or False per row, "
                         f"{n} of them.")  # fmt: skip
    return mask
