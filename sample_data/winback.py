"""A test that has run: customers who stayed away got an email, a letter, or nothing. README.md states the truth; so do
functions here."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ARMS = ("none", "email", "letter")
REGIONS = {"north": 0.0, "south": 0.02, "coast": -0.02, "hills": 0.0}
"""Added to the chance of a return, in every arm."""


def customers(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Customers who have not ordered for a while, as they were before the test."""
    return pd.DataFrame(
        {
            "customer_id": [f"W{k:05d}" for k in rng.permutation(100_000)[:n]],
            "age": np.clip(rng.normal(48, 17, n), 18, 90).round().astype(int),
            "days_away": np.clip(rng.gamma(2.2, 70, n), 14, 700).round().astype(int),
            "past_orders": 1 + rng.poisson(2.5, n),
            "app": rng.random(n) < 0.45,
            "region": rng.choice(list(REGIONS), n, p=[0.35, 0.3, 0.2, 0.15]),
        }
    )


def chance(X: pd.DataFrame) -> Floats:
    """Return the true chance (n,) of a return without any message."""
    orders = np.minimum(X["past_orders"].to_numpy(float), 8)
    return np.asarray(0.14 + 0.02 * orders + X["region"].map(REGIONS).to_numpy(float))


def effect(X: pd.DataFrame, arm: str) -> Floats:
    """Return by how much a message raises the chance of a return, (n,): the truth."""
    age, away = X["age"].to_numpy(float), X["days_away"].to_numpy(float)
    if arm == "email":
        recent = 1 / (1 + np.exp((away - 120) / 12))
        return np.asarray(0.14 * recent + np.where(X["app"].to_numpy(bool), 0.08, 0.0) - 0.05)
    return np.asarray(0.16 / (1 + np.exp(-(age - 60) / 3))) if arm == "letter" else np.zeros(len(X))


def winback(n: int = 18_000, seed: int = 31) -> pd.DataFrame:
    """Customers with their arm, whether they came back within a month, and what they spent then."""
    rng = np.random.default_rng(seed)
    X = customers(rng, n)
    arm = rng.choice(list(ARMS), n)
    moved = sum(np.where(arm == name, effect(X, name), 0.0) for name in ARMS)
    back = rng.random(n) < np.clip(chance(X) + moved, 0, 1)
    spent = np.where(back, 8 + rng.gamma(2.0, 16.0, n), 0.0)
    return X.assign(arm=arm, returned=back.astype(int), spend=spent.round(2))
