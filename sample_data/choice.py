"""Customers who choose one of four plans. README.md states the truth; so does `plan_scores`."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PLANS = ("basic", "flex", "family", "premium")
AREAS = {"city": (0.8, -0.6), "suburb": (0.0, 0.3), "village": (-0.7, 0.0)}
"""What an area adds to the score of flex and of family."""


def callers(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Customers of a telephone company, before they choose."""
    income = np.exp(rng.normal(10.5, 0.5, n)).round(-2)
    return pd.DataFrame(
        {
            "customer_id": [f"T{k:06d}" for k in rng.permutation(900_000)[:n]],
            "age": np.clip(rng.gamma(8, 4.6, n) + 10, 18, 88).round().astype(int),
            "income": pd.Series(income.astype(int)).mask(rng.random(n) < 0.08).astype("Int64"),
            "children": np.minimum(rng.poisson(0.9, n), 5),
            "data_gb": rng.gamma(2, 9, n).round(1),
            "streaming": rng.random(n) < 0.45,
            "area": rng.choice(list(AREAS), n, p=[0.4, 0.38, 0.22]),
            "invoice_day": rng.integers(1, 29, n),
        }
    )


def plan_scores(X: pd.DataFrame) -> Floats:
    """Return the true scores (n, 4) in the order of PLANS: probabilities are proportional to their exp."""
    age, children, data = (X[name].to_numpy(float) for name in ("age", "children", "data_gb"))
    income = X["income"].to_numpy(float, na_value=np.nan)
    in_flex, in_family = (X["area"].map({name: s[k] for name, s in AREAS.items()}).to_numpy(float) for k in (0, 1))
    much = np.where(data >= 15, 1.0, -1.0)
    basic = 0.05 * (age - 45)
    flex = np.where(age < 30, 1.2, 0.0) + in_flex - 0.1
    family = np.select([children >= 3, children >= 1], [2.4, 1.6], 0.0) + in_family - 1.1
    known = np.nan_to_num(income, nan=36_000.0)
    rich = np.where(np.isnan(income), -0.5, np.tanh(2 * np.log(known / 36_000)))
    premium = rich + np.tanh((data - 15) / 8) + 0.8 * much * np.where(X["streaming"].to_numpy(bool), 1.0, -1.0)
    return np.stack([basic, flex, family, premium - 0.3], axis=1)


def choice(n: int = 9_000, seed: int = 8) -> pd.DataFrame:
    """Customers with the plan that they choose, in the last column: a draw from the softmax of their scores."""
    rng = np.random.default_rng(seed)
    X = callers(rng, n)
    scores = plan_scores(X)
    return X.assign(plan=np.array(PLANS)[np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)])
