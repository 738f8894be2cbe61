"""Customers of a shop: what they spend in a month, and how long a delivery takes. README.md states the truth; so do
functions here."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POWER = 1.5
DISPERSION = 20.0
"""The variance of spend is 20 times its mean to the power of 1.5."""

MEMBERS = {"basic": 1.0, "plus": 1.5, "family": 1.25}
"""Factor of the mean spend."""

CARRIERS = {"post": (0.5, 0.15), "courier": (0.0, 0.0), "freight": (2.0, 0.5)}
"""Days that a carrier adds to the usual time of delivery and to its scale."""


def customers(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Customers, each with a carrier and the distance from the depot."""
    return pd.DataFrame(
        {
            "customer_id": [f"K{k:06d}" for k in rng.permutation(900_000)[:n]],
            "age": np.clip(rng.normal(46, 16, n), 18, 90).round().astype(int),
            "household": 1 + np.minimum(rng.poisson(1.3, n), 5),
            "membership": rng.choice(list(MEMBERS), n, p=[0.55, 0.3, 0.15]),
            "store_km": rng.gamma(1.8, 2.6, n).round(1),
            "app": rng.random(n) < 0.4,
            "tenure_months": pd.Series(rng.integers(1, 85, n)).mask(rng.random(n) < 0.07).astype("Int64"),
            "birth_month": rng.integers(1, 13, n),
            "carrier": rng.choice(list(CARRIERS), n, p=[0.5, 0.35, 0.15]),
            "depot_km": rng.integers(1, 101, n),
        }
    )


def mean_spend(X: pd.DataFrame) -> Floats:
    """Return the true mean spend in a month, (n,)."""
    age, km = X["age"].to_numpy(float), X["store_km"].to_numpy(float)
    months = X["tenure_months"].to_numpy(float, na_value=np.nan)
    logs = (
        0.4 * np.tanh((age - 35) / 8)
        + np.where(age >= 65, np.log(0.7), 0.0)
        + 0.15 * np.minimum(X["household"].to_numpy(float), 5)
        - 0.5 * np.tanh((km - 5) / 3)
        + np.where(X["app"].to_numpy(bool), np.log(1.3), 0.0)
        + np.select([months >= 24, np.isnan(months)], [np.log(1.4), np.log(0.8)], 0.0)
    )
    return np.asarray(20 * np.exp(logs) * X["membership"].map(MEMBERS).to_numpy(float))


def delivery_scale(X: pd.DataFrame) -> Floats:
    """Return the true scale of the days of delivery, (n,): their standard deviation is pi / sqrt(6) = 1.28 times it."""
    carrier = X["carrier"].map({name: scale for name, (_, scale) in CARRIERS.items()}).to_numpy(float)
    return np.asarray(0.2 + 0.01 * X["depot_km"].to_numpy(float) + carrier)


def delivery_quantile(X: pd.DataFrame, share: float) -> Floats:
    """Return the days (n,) within which that share of deliveries arrives: a Gumbel distribution's quantile."""
    carrier = X["carrier"].map({name: days for name, (days, _) in CARRIERS.items()}).to_numpy(float)
    usual = 2.5 + 0.04 * X["depot_km"].to_numpy(float) + carrier
    return np.asarray(usual - np.log(-np.log(share)) * delivery_scale(X))


def spend(n: int = 8_000, seed: int = 12) -> pd.DataFrame:
    """Customers with the days of their last delivery and what they spent in a month, the target, in the last column.

    A Tweedie variable is the sum of a Poisson number of Gamma amounts (Jorgensen 1987).
    """
    rng = np.random.default_rng(seed)
    X = customers(rng, n)
    mean = mean_spend(X)
    purchases = rng.poisson(mean ** (2 - POWER) / (DISPERSION * (2 - POWER)))
    shape = np.maximum(purchases, 1) * (2 - POWER) / (POWER - 1)
    amount = rng.gamma(shape, DISPERSION * (POWER - 1) * mean ** (POWER - 1))
    days = delivery_quantile(X, rng.random(n))
    return X.assign(delivery_days=days.round(1), spend=np.where(purchases > 0, np.maximum(amount, 0.01).round(2), 0.0))
