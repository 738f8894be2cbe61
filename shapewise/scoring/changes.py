"""The smallest allowed change of each row that would give it the other answer, for scored files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.data.column_names import Names
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.estimators.recourse import recourse
from gamcore.explain.shown import shown
from gamcore.model.output_names import predicted
from shapewise.scoring.reasons import Telling

ROW_SECONDS: Final = 0.004
"""To find the change of one row."""


class RowChanges:
    """Finds the changes of rows by a model. how : its line, what may change, and the answer that people are to get.
    watch : is called with the share of the rows that is done."""

    def __init__(self, estimator: GAMRegressor | GAMClassifier, how: Telling, names: Names) -> None:
        self._estimator, self._how, self._names = estimator, how, names
        self.watch: Callable[[float], None] | None = None
        self.columns = ("change", f"{predicted(estimator.model_.given)} then", "how unusual")

    def __call__(self, X: pd.DataFrame) -> dict[str, Any]:
        """Return the columns for rows; empty where a row has the answer, or no allowed change surely gives it."""
        loss, bins = loss_of(self._estimator), single_model(self._estimator).bins
        border = float(loss.link(np.array([self._how.line]))[0])
        possible = self._how.possible(bins, self._names)
        answer = recourse(self._estimator, X, border, possible, up=self._how.helps == "yes",
                        step=self.watch)  # fmt: skip
        words = [None if change is None else shown(change, self._names).words for change in answer.changes]
        scores = np.array([np.nan if change is None else change.score for change in answer.changes], np.float64)
        passed = np.array([np.nan if change is None else change.passed for change in answer.changes], np.float64)
        then = np.full(scores.size, np.nan)
        known = np.isfinite(scores)
        then[known] = loss.inverse_link(scores[known])
        return dict(zip(self.columns, (pd.Series(words, X.index, dtype=object), then, passed), strict=True))
