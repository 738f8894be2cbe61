"""Columns that are shuffled as codes give what scikit-learn gives, which reads them anew each time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance

from gamcore import GAMClassifier, GAMRegressor
from shapewise.training.evaluation import row_losses, shuffled


def rows(n=300):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=n), "c": rng.choice(list("xyz"), n), "unused": 1.0})
    X["d"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    return X, X["a"] + (X["c"] == "x") * X["a"] + rng.normal(size=n), rng.uniform(0.5, 2.0, n)


def classes(y):
    return pd.cut(y, [-np.inf, -1, 1, np.inf], labels=list("abc")).astype(str)


KINDS = {
    "numbers": (GAMRegressor(max_rounds=20, date_parts=True), lambda y: y),
    "yes or no": (GAMClassifier(max_rounds=20), lambda y: y > 0),
    "classes": (GAMClassifier(max_rounds=20), classes),
    "rates": (GAMRegressor(objective="poisson", max_rounds=20), lambda y: np.clip(np.round(y), 0, None)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_shuffled_columns_cost_what_scikit_learn_says(kind):
    X, y, weight = rows()
    model, of = KINDS[kind]
    y, exposure = of(y), weight[::-1] if kind == "rates" else None
    model.set_params(outer_bags=1, random_state=0).fit(X, y, **({"exposure": exposure} if kind == "rates" else {}))

    def score(model, X, y):
        return -np.average(row_losses(model, X, y, exposure), weights=weight)

    theirs = permutation_importance(model, X, y, scoring=score, n_repeats=5, random_state=0)["importances_mean"]
    ours = shuffled(model, X, y, weight, exposure)
    assert list(ours.index) == list(X.columns)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert ours["unused"] == 0.0 < ours["a"]
