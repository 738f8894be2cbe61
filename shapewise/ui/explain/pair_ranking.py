"""The ranking of all pairs of a model in view, computed once for all runs of a page."""

from __future__ import annotations

import copy
import math
from typing import Final

import numpy as np
import pandas as pd

from gamcore import pair_ranking, pair_worth
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.ui.session import state

MOST_ADDS: Final = 3e9
"""Rows times pairs that are ranked at once."""

FEWEST_ROWS: Final = 2_000
"""Least number of rows to rank on."""


@state.kept(show_spinner="Ranking all pairs", max_entries=16)
def ranked_pairs(model: str) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Return the ranking of all pairs on training rows, the worth of the model's pairs on held-out rows, and the number
    of rows ranked on. Large tables are ranked on a random sample of their training rows."""
    data, estimator = state.whole_data(state.workspace().models.about(model)), state.whole(model)
    assert data is not None
    assert isinstance(estimator, GAMRegressor | GAMClassifier)
    rows, held = np.flatnonzero(~data.held_out), data.held_out
    n_pairs = max(math.comb(len(estimator.model_.bins), 2), 1)
    most = max(round(MOST_ADDS / n_pairs), FEWEST_ROWS)
    if rows.size > most:
        rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    beside = [
        {name: values for name, values in data.of_rows(part).items() if name != "groups"} for part in (rows, held)
    ]
    threaded = copy.copy(estimator).set_params(n_jobs=state.n_jobs())  # the original is shared between sessions
    ranking = pair_ranking(threaded, data.X.iloc[rows], data.y.iloc[rows], **beside[0])
    worth = pair_worth(estimator, data.X[held], data.y[held], **beside[1])
    return ranking, worth, rows.size
