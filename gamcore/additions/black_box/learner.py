"""The black box: scikit-learn's HistGradientBoosting on the features of a model, as they are before they are binned."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from gamcore.common.types import Floats, Ints
from gamcore.data.columns import TableError
from gamcore.data.table import Feature, Table, read_feature
from gamcore.model.loss import Loss

NAMESAKES: Final = ("gamma", "quantile")
"""Losses that scikit-learn has under our name; the others are of the mean, as is its usual one with their link."""

MOST_LEVELS: Final = 254
"""Levels of a category that are told apart: of more, the most frequent ones, and the others are one."""

MOST_ROUNDS: Final = 1000
VALIDATION: Final = 0.1
"""Share of the rows, or of their clusters, that choose the number of rounds."""


def features_of(table: Table, features: tuple[Feature, ...]) -> tuple[Floats, list[bool]]:
    """Return a table's features as numbers (n, p), NaN where missing, and which of them are categories."""
    columns = []
    for feature in features:
        values = read_feature(table, feature).astype(np.float64)
        if feature.is_category:
            values[values < 0] = np.nan
            if len(feature.levels) > MOST_LEVELS:
                counts = np.bincount(values[~np.isnan(values)].astype(np.int64), minlength=len(feature.levels))
                place = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
                known = ~np.isnan(values)
                values[known] = np.minimum(place[values[known].astype(np.int64)], MOST_LEVELS)
        columns.append(values)
    return np.column_stack(columns), [feature.is_category for feature in features]


def black_box_scores(
    loss: Loss, table: tuple[Floats, list[bool]], target: tuple[Floats, Floats, Floats], clusters: Ints,
    split: tuple[Ints, Ints], seed: int,
) -> Floats:  # fmt: skip
    """Return the scores (m, K) that a black box gives to the second of two sets of rows after it learned the first.

    table : as `features_of` gives it. target : y, weights and offsets (n,) of all rows. The number of rounds is chosen
    by some of the rows (clusters) that it learns from.
    """
    (X, nominal), (y, weight, offset), (train, held) = table, target, split
    exposure = np.exp(offset)
    options: dict[str, Any] = {
        "categorical_features": nominal, "max_iter": MOST_ROUNDS, "early_stopping": True, "random_state": seed
    }  # fmt: skip
    inner, valid = _apart(clusters[train], seed)
    inner, valid = train[inner], train[valid]
    if loss.is_binary:
        model = HistGradientBoostingClassifier(**options)
        if np.unique(y[inner]).size < np.unique(y[train]).size:
            raise TableError("A class has too few rows for a black box: leave its rows out, or add some.")
        known = np.isin(y[valid], y[inner])
        model.fit(X[inner], y[inner], weight[inner], X_val=X[valid[known]], y_val=y[valid[known]],
                  sample_weight_val=weight[valid[known]])  # fmt: skip
        scores = model.decision_function(X[held])
        return np.asarray(scores, np.float64).reshape(held.size, -1)
    if not loss.is_of_mean and loss.name not in NAMESAKES:
        raise TableError(f"No black box of scikit-learn learns {loss.error}: choose another objective.")
    usual = "poisson" if loss.has_log_link else "squared_error"
    name = loss.name if loss.name in NAMESAKES else usual
    model = HistGradientBoostingRegressor(loss=name, quantile=getattr(loss, "quantile", None), **options)
    rate, heavy = y / exposure, weight * exposure ** (2.0 - loss.variance_power) if offset.any() else weight
    model.fit(X[inner], rate[inner], heavy[inner], X_val=X[valid], y_val=rate[valid], sample_weight_val=heavy[valid])
    predicted = np.asarray(model.predict(X[held]), np.float64)
    return (loss.link(predicted) + offset[held])[:, None]


def _apart(clusters: Ints, seed: int) -> tuple[Ints, Ints]:
    """Return the places of rows that learn, and of those that choose the rounds: whole clusters, at least one each."""
    labels, of_rows = np.unique(clusters, return_inverse=True)
    order = np.random.default_rng(seed).permutation(labels.size)
    chosen = np.isin(of_rows, order[: max(round(VALIDATION * labels.size), 1)])
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)
