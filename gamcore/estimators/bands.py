"""Bands of a model that has none yet, from refits on halves of its rows."""

from __future__ import annotations

from numbers import Integral
from typing import Any, TypeVar

from gamcore.boosting.fit.model import Seeds
from gamcore.boosting.running.progress import Watcher
from gamcore.common.numbers import count
from gamcore.estimators.additive import AdditiveEstimator
from gamcore.estimators.additive_parameters import FEWEST_BANDS, MOST_BANDS
from gamcore.estimators.progress_bar import Listener, listening

Model = TypeVar("Model", bound=AdditiveEstimator)


def add_bands(
    model: Model,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    groups: Any = None,
    exposure: Any = None,
    init_score: Any = None,
    n_refits: int = 30,
    callback: Listener = None,
) -> Model:
    """Add bands to a fitted model, from `n_refits` half-sample refits; pass the data that `fit` had.

    Equals fitting with `bands` where `random_state` is a number. If the callback stops it, the model stays
    unchanged.
    """
    if not isinstance(n_refits, Integral) or not FEWEST_BANDS <= n_refits <= MOST_BANDS:
        raise ValueError(f"n_refits is {n_refits!r}: bands need {FEWEST_BANDS} to {count(MOST_BANDS)} refits.")
    given = {"sample_weight": sample_weight, "groups": groups, "exposure": exposure, "init_score": init_score}
    data = model._read_known(X, y, given, in_training=True)
    with listening(callback) as heard:
        model._add_halves(data, n_refits, Seeds.of(model.random_state), Watcher(heard))
    return model
