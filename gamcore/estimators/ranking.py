"""All pairs of features of a table by the strength of their interaction, with and without a model at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from gamcore.boosting.pairs.ranking import rank_without_pairs
from gamcore.data.table import Table
from gamcore.estimators.additive import AdditiveEstimator, ranking_frame, single_model
from gamcore.estimators.additive_parameters import pair_options
from gamcore.estimators.base import column, n_threads
from gamcore.estimators.gam import ESTIMATORS, GAMRegressor
from gamcore.explain import surfaces
from gamcore.model.losses import LOSSES, default_loss


def rank_pairs(
    X: Any,
    y: Any,
    objective: str = "auto",
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

    objective : of `GAMRegressor`, or "logistic" or "softmax"; "auto" is logistic for a target of two values, softmax
    for one of names, else squared. quantile : of objective "quantile".

    progress : called with the number of grids done and their total.

    Returns a frame with one row per pair: feature_1, feature_2, strength, rank; strongest first. Its attrs["chance"] is
    the strength of the strongest pair if there were no interaction.
    """
    name = _usual_objective(pd.Series(column(y))) if objective == "auto" else objective
    if name not in LOSSES:
        raise ValueError(f'objective is {objective!r}: it must be "auto" or one of {", ".join(map(repr, LOSSES))}.')
    kind = LOSSES[name].kind
    model = ESTIMATORS[kind](outer_bags=2, strength=strength, n_jobs=n_jobs, random_state=random_state)
    if isinstance(model, GAMRegressor):
        model.set_params(objective=name, quantile=quantile)
    table = Table.of(X)  # a stream is read once
    return pair_ranking(model.fit(table, y, sample_weight), table, y, sample_weight, progress=progress)


def pair_ranking(
    model: AdditiveEstimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    exposure: Any = None,
    init_score: Any = None,
    chance: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Return all pairs of features, ranked by how much their interaction would reduce the loss on these rows.

    One row per pair: feature_1, feature_2, strength (per row, in units of the loss), rank; strongest first. With
    `chance`, which doubles the time, the frame's attrs["chance"] is the strength of the strongest pair if there
    were no interaction. The model's own pairs are left out of its score, so they are ranked too. `progress` is
    called with the number of grids done and their total.
    """
    data = model._read_known(X, y, {"sample_weight": sample_weight, "exposure": exposure, "init_score": init_score})
    options = pair_options(model, data.y.size, n_threads(model.n_jobs))
    ranking = rank_without_pairs(
        data, model.model_, options.parameters,
        pure=options.pure, n_jobs=options.n_jobs, chance=chance, progress=progress,
    )  # fmt: skip
    return ranking_frame(ranking, [bins.feature.name for bins in model.model_.bins])


def pair_worth(
    model: AdditiveEstimator, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None, init_score: Any = None
) -> pd.DataFrame:
    """Return the worth of each of the model's pairs on these rows, preferably held out; see `surfaces.pair_worth`."""
    data = model._read_known(X, y, {"sample_weight": sample_weight, "exposure": exposure, "init_score": init_score})
    return surfaces.pair_worth(model.model_, data)


def triple_worth(
    model: AdditiveEstimator, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None, init_score: Any = None
) -> pd.DataFrame:
    """Return the worth of each of the model's triples on these rows; see `surfaces.triple_worth`."""
    data = model._read_known(X, y, {"sample_weight": sample_weight, "exposure": exposure, "init_score": init_score})
    return surfaces.triple_worth(single_model(model), data)


def _usual_objective(y: pd.Series) -> str:
    """Return the objective of a target: by its number of values, and whether they are numbers."""
    n_values = y.nunique()
    names = n_values > 2 and not is_numeric_dtype(y.dtype)
    return "softmax" if names else default_loss(n_values == 2).name
