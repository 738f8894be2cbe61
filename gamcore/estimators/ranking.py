"""All pairs of features of a table by the strength of their interaction, without a model at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from gamcore.data.table import Table
from gamcore.estimators.base import column
from gamcore.estimators.gam import ESTIMATORS, GAMRegressor
from gamcore.model.losses import LOSSES, default_loss


def rank_pairs(
    X: Any,
    y: Any,
    objective: Literal["auto", "squared", "logistic", "softmax", "poisson", "gamma", "tweedie", "quantile"] = "auto",
    strength: Literal["purified", "rss"] = "purified",
    sample_weight: Any = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: Callable[[int, int], None] | None = None,
    quantile: float = 0.5,
) -> pd.DataFrame:
    """Return all pairs of features of a table (n, p) by the strength of their interaction (FAST; Lou et al., KDD 2013).

    A quick additive model is fitted first, and its residuals are split by the best cross of each pair. "purified"
    counts how much a cross reduces the loss beyond main effects; "rss" is the paper's drop of the residual sum of
    squares, under which two features whose main effects are not fitted to the end make a strong pair as well.

    objective : "auto" is logistic for a target of two values, softmax for one of names, else squared. quantile : of
    objective "quantile".

    progress : called with the number of grids done and their total.

    Returns a frame with one row per pair: feature_1, feature_2, strength, rank; strongest first. Its attrs["chance"] is
    the strength of the strongest pair if there were no interaction.
    """
    loss = _usual_objective(pd.Series(column(y))) if objective == "auto" else objective
    if loss not in LOSSES:
        raise ValueError(f'objective is {objective!r}: it must be "auto" or one of {", ".join(map(repr, LOSSES))}.')
    kind = LOSSES[loss].kind
    model = ESTIMATORS[kind](outer_bags=2, strength=strength, n_jobs=n_jobs, random_state=random_state)
    if isinstance(model, GAMRegressor):
        model.set_params(objective=loss, quantile=quantile)
    table = Table.of(X)  # a stream is read once
    return model.fit(table, y, sample_weight).rank_pairs(table, y, sample_weight, progress=progress)


def _usual_objective(y: pd.Series) -> str:
    """Return the objective of a target: by its number of values, and whether they are numbers."""
    n_values = y.nunique()
    names = n_values > 2 and not is_numeric_dtype(y.dtype)
    return "softmax" if names else default_loss(n_values == 2).name
