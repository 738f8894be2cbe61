"""The held-out rows of a stored model, predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.common.types import Floats, Ints
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import ClassView, in_class
from gamcore.estimators.saved import from_saved
from gamcore.model.losses import Loss
from shapewise.store.workspace import StoreError, Workspace
from shapewise.training.dataset import Data, read_data
from shapewise.training.effects import as_trained
from shapewise.training.spec import Spec
from shapewise.training.task_dataset import predicted


@dataclass(frozen=True)
class HeldOutPredictions:
    """Held-out rows of a model: targets, predictions, weights; and the mean target of the training rows.

    exposure : (n,) or None. Targets, predictions and the mean are then rates, and it is a part of the weights. groups :
    (n,) which rows belong together, or None.
    """

    y: Floats
    predicted: Floats
    weight: Floats | None
    baseline: float
    loss: Loss
    exposure: Floats | None = None
    groups: NDArray[Any] | None = None

    @property
    def binary(self) -> bool:
        """Whether targets are 0 and 1, and predictions chances."""
        return self.loss.is_binary


def of(data: Data, predictions: Floats, loss: Loss) -> HeldOutPredictions:
    """Return the held-out rows with their predictions (n,), which are rates where there is an exposure."""
    held, (y, weight) = data.held_out, data.rates
    weights = [None if weight is None else weight[part] for part in (held, ~held)]
    baseline = float(np.average(y[~held], weights=weights[1]))
    exposure = None if data.exposure is None else data.exposure[held]
    groups = None if data.groups is None else data.groups[held]
    return HeldOutPredictions(y[held], predictions, weights[0], baseline, loss=loss, exposure=exposure, groups=groups)


@dataclass(frozen=True)
class HeldOutClasses:
    """Held-out rows of a model of several classes: classes (n,), their chances (n, K), weights; and the training rows'
    shares (K,)."""

    codes: Ints
    chances: Floats
    weight: Floats | None
    shares: Floats


def of_classes(data: Data, chances: Floats) -> HeldOutClasses:
    """Return the held-out rows of several classes with their chances (n, K)."""
    held, train = data.held_out, ~data.held_out
    codes = pd.Index(data.classes).get_indexer(pd.Index(data.y))
    weight = np.ones(codes.size) if data.weight is None else data.weight
    shares = np.bincount(codes[train], weight[train], len(data.classes)) / weight[train].sum()
    return HeldOutClasses(
        codes[held].astype(np.int64), chances, None if data.weight is None else weight[held], np.asarray(shares)
    )


def held_out(space: Workspace, identifier: str, of_class: str = "") -> HeldOutPredictions | None:
    """Return the held-out rows of a stored model; None if its table is gone, or nothing is held out. Of an effect, all
    rows of its test, predicted by models that have not seen them.

    of_class : the class that a model of several is read by; the first if it has no such class.
    """
    data = _measurable(space, identifier)
    if data is None:
        return None
    fitted = in_class(from_saved(space.models.load(identifier)), of_class)
    unseen = space.models.unseen(identifier) if data.expected is not None else None
    if unseen is not None and unseen.part.size == len(data.y):  # no row is spared: others predict those it has learnt
        y = data.y.to_numpy(np.float64)
        return HeldOutPredictions(y, unseen.predicted, None, float(y.mean()), loss=loss_of(fitted), groups=data.groups)
    if isinstance(fitted, ClassView):
        data = data.of_class(fitted.label)
    return of(data, predicted(fitted, data.X[data.held_out]), loss_of(fitted))


def held_out_classes(space: Workspace, identifier: str) -> HeldOutClasses | None:
    """Return the held-out rows of a stored model of several classes; None if its table is gone, or nothing is held
    out."""
    data = _measurable(space, identifier)
    if data is None:
        return None
    return of_classes(data, np.asarray(from_saved(space.models.load(identifier)).predict_proba(data.X[data.held_out])))


def _measurable(space: Workspace, identifier: str) -> Data | None:
    """Return the rows of a stored model; None if its table is gone, or nothing is held out."""
    model = space.models.about(identifier)
    if not model.spec or model.of_tasks:
        return None
    spec = Spec.from_dict(model.spec)
    try:
        data = read_data(
            space.tables.read(spec.table, spec.codes_of(spec.table)), spec, space.tables.about(spec.table).held_out_by
        )
        data = as_trained(space, spec, data)
    except (StoreError, OSError):
        return None
    return data if data.measurable else None
