"""Random models of random tables: every loss, spikes, thin tails, few rows, weights, missing cells, dates, levels."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore import GAMClassifier, GAMRegressor
from gamcore.common.types import Floats

OBJECTIVES: Final = ("squared", "poisson", "gamma", "tweedie", "quantile", "binary", "classes")
FEWEST_OF_A_CLASS: Final = 4
"""Rows of a class with fewer of which there are no bands."""

FEW: Final[dict[str, Any]] = {"outer_bags": 4, "max_rounds": 40, "bands": 12}


def column(rng: np.random.Generator, n: int) -> Floats:
    """Return numbers (n,) as strangers' tables have them."""
    kind = rng.integers(8)
    if kind == 0:
        return rng.normal(rng.normal(0, 100), 10 ** rng.uniform(-4, 5), n)
    if kind == 1:  # zeros and money
        return np.where(rng.random(n) < rng.uniform(0.2, 0.9), 0.0, rng.gamma(1, 100, n).round(2))
    if kind == 2:
        return rng.lognormal(0, 2, n)
    if kind == 3:
        return rng.integers(0, rng.integers(2, 40), n).astype(float)
    if kind == 4:  # heavy ends, and thin bins between them
        return np.clip(rng.normal(5, 6, n), 0, 10)
    if kind == 5:
        return rng.poisson(rng.uniform(0.05, 3), n).astype(float)
    if kind == 6:
        return rng.choice([0.0, 1.0], n, p=[0.9, 0.1]) * rng.choice([1, 1000])
    return np.round(rng.uniform(0, 1, n) ** 4 * 1000, rng.integers(0, 4))


def table(rng: np.random.Generator) -> tuple[pd.DataFrame, Floats]:
    """Return features, and a score of each row (n,) that they explain, of mean 0 and deviation about 1."""
    n = int(rng.integers(40, 700))
    first, second = column(rng, n), column(rng, n)
    ranks = pd.Series(first).rank(pct=True).to_numpy()
    levels = rng.choice(list("abcdefghij"), n, p=rng.dirichlet(np.full(10, 0.5)))
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 24 * 300, n) / rng.choice([1, 24]), unit="h")
    form = rng.integers(4)
    score = [2 * ranks, np.sin(6 * ranks), (ranks > 0.8) * 3.0, np.zeros(n)][form]
    score = score + (levels == "a") * rng.normal() + rng.normal(0, 0.3) * (days.day_of_year > 200)
    if rng.random() < 0.3:
        first = np.where(rng.random(n) < 0.1, np.nan, first)
    frame = pd.DataFrame({"first": first, "second": second, "level": levels, "day": days})
    return frame, np.asarray(rng.choice([0.3, 2, 3]) * (score - score.mean()))


def target(rng: np.random.Generator, objective: str, score: Floats) -> Any:
    """Return what an objective learns, (n,)."""
    match objective:
        case "poisson":
            return _not_nothing(rng.poisson(np.exp(score - rng.uniform(0, 3))))
        case "gamma":
            return rng.gamma(2.0, np.exp(score))
        case "tweedie":
            return _not_nothing(rng.poisson(np.exp(score)) * rng.gamma(2.0, 1.0, score.size))
        case "binary":
            y = rng.random(score.size) < 1 / (1 + np.exp(-2 * score + rng.uniform(0, 3)))
            y[:2] = False, True
            for few in (value for value in (False, True) if np.sum(y == value) < FEWEST_OF_A_CLASS):
                y[:FEWEST_OF_A_CLASS] = few
            return y.astype(int)
        case "classes":
            y = np.digitize(score + rng.normal(0, 0.5, score.size), [-0.5, 0.5])
            y[: 3 * FEWEST_OF_A_CLASS] = np.repeat([0, 1, 2], FEWEST_OF_A_CLASS)
            return y
    return score * 10 ** rng.uniform(-3, 4) + rng.normal(0, rng.uniform(0.05, 2), score.size)


def _not_nothing(amounts: Floats) -> Floats:
    """Return amounts (n,) of which one is not 0: of none is no mean that a model could begin with."""
    return amounts if amounts.any() else np.eye(1, amounts.size).ravel()


def fitted(seed: int, **given: Any) -> tuple[Any, pd.DataFrame, Floats | None]:
    """Return a random model with bands of its curves, the rows that it learnt from, and their weights. given : further
    parameters of the model."""
    rng = np.random.default_rng(seed)
    objective = OBJECTIVES[seed % len(OBJECTIVES)]
    X, score = table(rng)
    y = target(rng, objective, score)
    weight = rng.uniform(0.5, 2, len(X)) if rng.random() < 0.2 else None
    given = FEW | {"random_state": seed, "max_bins": int(rng.choice([8, 32, 256]))} | given
    if objective in ("binary", "classes"):
        model = GAMClassifier(**given).fit(X, y, sample_weight=weight)
        return (model.of_class(int(rng.integers(3))) if objective == "classes" else model), X, weight
    return GAMRegressor(objective=objective, **given).fit(X, y, sample_weight=weight), X, weight
