"""Thin ends of curves with a log link: `python -m benchmarks.boosting.thin_ends [--books N]`.

Simulated books of policies, with a frequency between .02 and .2 a year and few policies with cars of 30 years or more.
For each worth of the prior of `gamcore.boosting.credibility` (0: none), the squared error of the curves' logs in bins
under five expected events and in all bins, and the excess deviance of the predictions over the truth.
"""

from __future__ import annotations

import argparse
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.harness.machine import describe
from gamcore import GAMRegressor
from gamcore.boosting import credibility

FEW = 5.0
"""Expected events below which a bin is thin."""

LEVELS, SHARES = list("abcdefgh"), np.array([0.4, 0.3, 0.15, 0.1, 0.03, 0.015, 0.004, 0.001])


def book(seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, pd.DataFrame, np.ndarray]:
    """Return features, claims and exposures, the true logs of factors by feature, and the true frequencies."""
    rng = np.random.default_rng(seed)
    n, frequency = int(rng.choice([40_000, 120_000])), rng.uniform(0.02, 0.2)
    age, tail = rng.uniform(20, 80, n), int(rng.integers(5, 100))
    car = np.concatenate([rng.gamma(2, 3, n - tail), rng.uniform(30, 50, tail)])
    level, exposure = rng.choice(LEVELS, n, p=SHARES), rng.uniform(0.1, 1, n)
    steep = -0.04 * rng.choice([-1, 0, 0.5])
    of_level = dict(zip(LEVELS, rng.normal(0, 0.3, len(LEVELS)), strict=True))
    logs = pd.DataFrame({"age": 0.5 * np.sin(age / 12), "car": steep * np.minimum(car, 25),
                         "level": pd.Series(level).map(of_level)})  # fmt: skip
    logs -= logs.mean()
    mean = frequency * np.exp(logs.sum(axis=1).to_numpy())
    return (
        pd.DataFrame({"age": age, "car": car, "level": level}), rng.poisson(mean * exposure), exposure, logs, mean
    )  # fmt: skip


def errors(seed: int) -> dict[str, Any]:
    """Fit a book; return the squared errors of thin bins, the mean over all, and the excess deviance."""
    X, claims, exposure, logs, mean = book(seed)
    model = GAMRegressor(objective="poisson", random_state=0).fit(X, claims, exposure=exposure)
    fitted, thin, every = model.explain_rows(X).contributions, list[float](), list[float]()
    for place, name in enumerate(X.columns):
        bins = pd.DataFrame({"curve": fitted[:, place].round(12), "error": fitted[:, place] - logs[name],
                             "events": mean * exposure}).groupby("curve")  # fmt: skip
        squares, events = bins["error"].mean() ** 2, bins["events"].sum()
        thin += squares[events < FEW].tolist()
        every.append(float(np.average(squares, weights=events)))
    rate = model.predict(X, exposure=exposure) / exposure
    excess = np.average(rate - mean * np.log(rate) - (mean - mean * np.log(mean)), weights=exposure)
    return {"thin": thin, "all": float(np.mean(every)), "excess": float(excess)}


def main() -> None:
    """Print a row per worth of the prior."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--books", type=int, default=24)
    parser.add_argument("--events", type=float, nargs="*", default=[1e-9, 1.0, 5.0, 10.0])
    asked = parser.parse_args()
    print(describe())
    for worth in asked.events:
        with patch.object(credibility, "PRIOR_EVENTS", worth):
            each = [errors(seed) for seed in range(asked.books)]
        thin = np.concatenate([one["thin"] for one in each])
        print(
            f"prior of {worth:g} events: squared error {thin.mean():.4f} in {thin.size} thin bins, "
            f"{np.mean([one['all'] for one in each]):.5f} in all; excess deviance "
            f"{np.mean([one['excess'] for one in each]):.3e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
