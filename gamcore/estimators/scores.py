"""What `score` tells: the share of the loss that predictions explain, or the share of classes that they hit.

`score` takes what `predict` takes, so that a search rates the predictions that the model is used for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from gamcore.common.types import Floats
from gamcore.data.columns import TableError
from gamcore.data.rows import read_weight
from gamcore.data.targets import places_of, read_numeric_target
from gamcore.model.losses import Loss

GIVEN: Final = {"exposure": True, "init_score": True}
"""Values per row that metadata routing passes on without being asked: they can mean one thing only."""


def explained(loss: Loss, y: Floats, predicted: Floats, weight: Floats | None = None) -> float:
    """Return 1 - the loss of predictions (n,) / that of the constant which has the least on these rows.

    R^2 for squared loss, D^2 for the deviances and the pinball loss (`sklearn.metrics.d2_tweedie_score`,
    `d2_pinball_score`). Where all targets are equal there is nothing to explain: 1 for perfect predictions, else 0.
    """
    there = np.ones(y.size, bool) if weight is None else weight > 0
    y, predicted, mass = y[there], predicted[there], np.ones(y.size) if weight is None else weight[there]
    if np.ptp(y) == 0:
        return float(np.array_equal(y, predicted))
    if loss.is_scaled:  # so that no unit of the target takes its squares out of range
        y, predicted = in_unit(np.ptp(y), y, predicted)
    constant = np.full(y.size, loss.base_score(y, mass))
    with np.errstate(over="ignore"):  # predictions beside which all targets are alike explain less than any number
        each = [loss.loss(y, score) for score in (loss.link(predicted), constant)]
    ours, least = (float(np.average(losses, weights=mass)) for losses in each)
    return 1.0 - ours / least


def in_unit(size: float, *values: Floats) -> list[Floats]:
    """Return values divided by the power of two above a size: no bit is lost, and squares of that size are numbers."""
    with np.errstate(over="ignore"):
        return [np.ldexp(each, -int(np.frexp(size)[1])) for each in values]


def share_explained(loss: Loss, y: Any, predicted: Floats, sample_weight: Any = None) -> float:
    """Return `explained` of targets and weights as they are given, which are checked."""
    target = read_numeric_target(y)
    weight = _weight_of(sample_weight, target, predicted.size)
    if sentence := loss.impossible(target):
        raise TableError(sentence)
    return explained(loss, target, predicted, weight)


def share_right(y: Any, predicted: NDArray[Any], classes: NDArray[Any], sample_weight: Any = None) -> float:
    """Return the share of rows (of their weight) whose class is the predicted one; a class the model has never seen is
    wrong."""
    codes = places_of(y, classes)
    weight = _weight_of(sample_weight, codes, predicted.size)
    return float(np.average(codes == places_of(predicted, classes), weights=weight))


def warn_of_missing(fitted_with: Iterable[str], given: Mapping[str, Any], stacklevel: int = 3) -> None:
    """Warn where a model was fitted with values per row that `score` was not given: it rates other predictions."""
    for name in fitted_with:
        if given.get(name) is None:
            warnings.warn(
                f"The model was fitted with {name}, and score without it rates other predictions: pass {name}= to "
                "score; searches pass it to score where scikit-learn's metadata routing is enabled.",
                UserWarning,
                stacklevel=stacklevel,
            )


def warn_of_no_tasks(n_tasks: int) -> None:
    """Warn where metadata routing is enabled and rows of several tasks come without: scikit-learn's metrics by name
    pass none to `predict`, whoever asked for them."""
    if get_config()["enable_metadata_routing"]:
        warnings.warn(
            f"The model has {n_tasks} tasks and was given none: it answers by what they have in common. A metric by "
            'its name, such as scoring="r2", passes no tasks: leave scoring out, or pass a function of (model, X, y).',
            UserWarning,
            stacklevel=5,
        )


def _weight_of(sample_weight: Any, target: NDArray[Any], n: int) -> Floats | None:
    if target.size != n:
        raise TableError(f"The table has {n} rows and the target {target.size}: give one target per row.")
    return None if sample_weight is None else read_weight(sample_weight, target)
