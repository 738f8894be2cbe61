"""Motor policies over a year: how many claims, and what they cost. README.md states the truth; so do functions here."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]

REGIONS = {  # factor of the claim rate
    "capital": 1.5, "port": 1.25, "coast": 1.1, "plain": 1.0, "lakes": 0.95, "hills": 0.85, "forest": 0.75,
    "islands": 0.65,
}  # fmt: skip
SHAPE = 1.5
"""Shape of the Gamma distribution of a claim's amount: its coefficient of variation is sqrt(1 / 1.5) = .82."""


def policies(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Policies with their exposure. Bonus classes rise with age, so young drivers are in the low ones."""
    young = rng.random(n) < 0.15
    age = np.where(young, rng.integers(18, 29, n), np.clip(rng.gamma(7, 5, n) + 18, 20, 90).round())
    power = np.clip(rng.gamma(10, 9.5, n), 35, 240).round()
    km = np.clip(rng.lognormal(9.3, 0.5, n), 1_000, 60_000)
    full = rng.random(n) < 0.45
    return pd.DataFrame(
        {
            "policy_id": [f"P{k:06d}" for k in rng.permutation(900_000)[:n]],
            "exposure_years": np.where(full, 1.0, rng.integers(2, 100, n) / 100),
            "driver_age": age.astype(int),
            "vehicle_age": pd.Series(np.minimum(rng.geometric(0.13, n) - 1, 30))
            .mask(rng.random(n) < 0.05)
            .astype("Int64"),
            "power_kw": power.astype(int),
            "region": rng.choice(list(REGIONS), n, p=[0.2, 0.12, 0.13, 0.2, 0.08, 0.12, 0.1, 0.05]),
            "bonus_class": rng.binomial(9, np.clip((age - 15) / 60, 0.05, 0.85)),
            "annual_km": pd.Series((km / 500).round() * 500).mask(rng.random(n) < 0.1).astype("Int64"),
            "colour": rng.choice(["black", "grey", "white", "blue", "red"], n, p=[0.26, 0.27, 0.24, 0.13, 0.1]),
        }
    )


def _numbers(X: pd.DataFrame, *names: str) -> list[Floats]:
    """Return columns as numbers, NaN where missing."""
    return [X[name].to_numpy(float, na_value=np.nan) for name in names]


def claim_rate(X: pd.DataFrame) -> Floats:
    """Return the true number of claims per year, (n,)."""
    age, car, power, km = _numbers(X, "driver_age", "vehicle_age", "power_kw", "annual_km")
    logs = (
        0.5 * (1 - np.tanh((age - 25) / 4))
        + 0.3 * (1 + np.tanh((age - 74) / 4))
        + np.log(np.select([car <= 2, car >= 10], [1.2, 0.8], 1.0))
        + 0.3 * np.tanh((power - 90) / 30)
        - 0.08 * X["bonus_class"].to_numpy(float)
        + np.where(np.isnan(km), np.log(1.2), 0.3 * np.log(np.nan_to_num(km, nan=12_000.0) / 12_000))
        + np.where((age < 26) & (power >= 100), np.log(1.8), 0.0)
    )
    return np.asarray(0.11 * np.exp(logs) * X["region"].map(REGIONS).to_numpy(float))


def claim_size(X: pd.DataFrame) -> Floats:
    """Return the true mean amount of one claim, (n,)."""
    age, car, power = _numbers(X, "driver_age", "vehicle_age", "power_kw")
    logs = (
        0.35 * np.tanh((power - 90) / 40)
        - 0.05 * np.minimum(np.nan_to_num(car, nan=5.0), 10)
        + np.where(age < 26, np.log(1.3), 0.0)
        + np.where(X["region"].isin(["capital", "port"]), np.log(1.2), 0.0)
    )
    return np.asarray(2_000 * np.exp(logs))


def claims(n: int = 12_000, seed: int = 6) -> pd.DataFrame:
    """Policies with the number of their claims and the sum of their amounts."""
    rng = np.random.default_rng(seed)
    X = policies(rng, n)
    number = rng.poisson(claim_rate(X) * X["exposure_years"])
    amount = rng.gamma(np.maximum(SHAPE * number, 1.0), claim_size(X) / SHAPE)
    return X.assign(claim_amount=np.where(number > 0, np.maximum(amount, 1).round(2), 0.0), claims=number)
