"""Who could be helped, by a fitted model: the smallest allowed change of every row that a line decides against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gamcore.data.binning import encode_table
from gamcore.data.columns import TableError
from gamcore.estimators.additive import AdditiveEstimator, single_model
from gamcore.estimators.base import read_table, train_share
from gamcore.explain.counterfactuals import USUAL, Possible
from gamcore.explain.recourse import Recourse, recourse_of


def recourse(
    model: AdditiveEstimator, X: Any, line: float, possible: Possible = USUAL, *, up: bool = True,
    step: Callable[[float], None] | None = None,
) -> Recourse:  # fmt: skip
    """Return for each row (n,) of a table the smallest allowed change that takes its score across a line.

    line : a score, as for `smallest_changes`. possible : columns that may not change, and limits of others. up :
    whether rows below the line are to reach it; else those at or above it are to fall below. step : called with the
    share that is done.
    """
    check_is_fitted(model, "model_")
    if not np.isfinite(line):
        raise TableError(f"The line is {line}: pass a finite score.")
    codes = encode_table(read_table(model, X, reset=False), single_model(model).bins)
    return recourse_of(single_model(model), codes, line, possible, up=up, train_share=train_share(model), step=step)
