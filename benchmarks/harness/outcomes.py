"""Tables of claims, amounts, spend and an upper quantile whose truths are known, seeded.

All have the same rows of policies. A truth is a constant plus one function per feature, on the log scale of a mean or
in units of a quantile: a U, steps, a straight line, a bend, a factor of eight levels, and a feature without effect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

Floats = NDArray[np.float64]

POWER: Final = 1.5
QUANTILE: Final = 0.9

REGIONS: Final = ("A", "B", "C", "D", "E", "F", "G", "H")
SHARES: Final = np.array([0.24, 0.2, 0.16, 0.13, 0.1, 0.08, 0.06, 0.03])
RELATIVITIES: Final = np.array([1.0, 0.85, 1.1, 1.3, 0.7, 1.0, 1.6, 0.6])
"""Of the regions."""

EFFECTS: Final[dict[str, Callable[[Any], Floats]]] = {
    "age": lambda x: np.where(x < 48, 0.0009 * (48 - x) ** 2, 0.0005 * (x - 48) ** 2),
    "car_age": lambda x: np.array([0.25, 0.1, 0.0, -0.3])[np.digitize(x, [2, 5, 12])],
    "bonus": lambda x: 0.012 * (x - 50.0),
    "density": lambda x: 0.5 * expit(2.0 * (np.log(x) - 6.0)),
    "region": lambda x: np.log(RELATIVITIES)[np.searchsorted(REGIONS, x)],
}
"""Known functions; `colour` has none."""

CLAIMS_A_YEAR: Final = 0.06
SHORTEST: Final = 0.05
"""Years insured of the shortest policy."""

AMOUNT: Final = 1_200.0
AMOUNT_SHAPE: Final = 1.5
SPEND: Final = 40.0
SPEND_DISPERSION: Final = 20.0
LEAST_SPREAD: Final = 0.3
"""About the smallest standard deviation of a normal value."""


@dataclass(frozen=True)
class Outcome:
    """A table with its target (n,) and what is known of it: the best prediction (n,), per unit of exposure (n,)."""

    X: pd.DataFrame
    y: Floats
    truth: Floats
    exposure: Floats | None = None


def policies(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the features of n policies."""
    return pd.DataFrame(
        {
            "age": np.clip(np.round(rng.normal(45.0, 15.0, n)), 18, 90),
            "car_age": np.minimum(rng.geometric(0.13, n) - 1, 30),
            "bonus": np.where(rng.random(n) < 0.55, 50.0, np.clip(50.0 + np.round(rng.exponential(18.0, n)), 50, 150)),
            "density": np.round(np.exp(rng.normal(6.0, 1.5, n)), 1),
            "colour": rng.integers(1, 13, n),
            "region": rng.choice(REGIONS, n, p=SHARES),
        }
    )


def effect(X: pd.DataFrame) -> Floats:
    """Return the sum of the known functions (n,), between about -.8 and 3."""
    return np.sum([function(X[name].to_numpy()) for name, function in EFFECTS.items()], axis=0)


def claims(n: int = 100_000, seed: int = 0) -> Outcome:
    """Return numbers of claims, Poisson, of policies that were insured for a year or a part of it."""
    rng = np.random.default_rng([seed, 1])
    X = policies(n, rng)
    exposure = np.where(rng.random(n) < 0.6, 1.0, np.round(rng.uniform(SHORTEST, 1.0, n), 2))
    rate = CLAIMS_A_YEAR * np.exp(effect(X))
    return Outcome(X, rng.poisson(rate * exposure).astype(float), rate, exposure)


def amounts(n: int = 20_000, seed: int = 0) -> Outcome:
    """Return amounts of claims, Gamma."""
    rng = np.random.default_rng([seed, 2])
    X = policies(n, rng)
    mean = AMOUNT * np.exp(effect(X))
    return Outcome(X, np.maximum(rng.gamma(AMOUNT_SHAPE, mean / AMOUNT_SHAPE), 0.01), mean)


def tweedie(mean: Floats, events: Floats, dispersion: float, rng: np.random.Generator, power: float = POWER) -> Floats:
    """Return Tweedie amounts (n,), sums of `events` (n,) Gamma amounts; events are Poisson with the rates of
    `tweedie_rate`.

    This is the compound form of Jorgensen 1987 for 1 < power < 2.
    """
    shape = (2.0 - power) / (power - 1.0)
    scale = dispersion * (power - 1.0) * mean ** (power - 1.0)
    return np.where(events > 0, rng.gamma(np.maximum(events, 1.0) * shape, scale), 0.0)


def tweedie_rate(mean: Floats, dispersion: float, power: float = POWER) -> Floats:
    """Return the mean numbers (n,) of Gamma amounts in a Tweedie amount."""
    return np.asarray(mean ** (2.0 - power) / (dispersion * (2.0 - power)))


def spend(n: int = 50_000, seed: int = 0) -> Outcome:
    """Return what customers spend, Tweedie of power 1.5; most spend nothing."""
    rng = np.random.default_rng([seed, 3])
    X = policies(n, rng)
    mean = SPEND * np.exp(effect(X) - 1.0)
    events = rng.poisson(tweedie_rate(mean, SPEND_DISPERSION)).astype(float)
    return Outcome(X, tweedie(mean, events, SPEND_DISPERSION, rng), mean)


def upper(n: int = 20_000, seed: int = 0) -> Outcome:
    """Return normal values whose mean and standard deviation both grow with the effect; the truth is their quantile."""
    rng = np.random.default_rng([seed, 4])
    X = policies(n, rng)
    grown = effect(X)
    middle, spread = 3.0 * grown, LEAST_SPREAD + 0.8 * (1.0 + grown)
    return Outcome(X, middle + spread * rng.standard_normal(n), middle + norm.ppf(QUANTILE) * spread)
