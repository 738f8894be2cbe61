"""Thin ends of curves with a log link: `python -m benchmarks.boosting.thin_ends [--books N]`.

Simulated books of policies, with a frequency between .02 and .2 a year and 5 to 100 years of exposure with cars of 30
years or more, whose true effect stays, goes on or jumps there; half of the books have whole years. Bins of one curve
are covered or missed together, and a few curves of books with few claims have most of the thin bins: so the mean over
curves stands beside the share of all bins, each with its interval by resampled books. For each worth of
the prior of `boosting.calibration.credibility` (1e-9: none), the squared error of the curves' logs in bins under five
expected events and in all bins, how often the bands of half-sample refits cover the truth there, and the excess
deviance of the predictions over the truth.
"""

from __future__ import annotations

import argparse
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.harness.machine import describe
from gamcore import GAMRegressor
from gamcore.boosting.calibration import credibility

FEW = 5.0
"""Expected events below which a bin is thin."""

DRAWS = 500
"""Times that books are resampled."""

EXPOSURE = 0.55
"""Mean years of a policy."""

LEVELS, SHARES = list("abcdefgh"), np.array([0.4, 0.3, 0.15, 0.1, 0.03, 0.015, 0.004, 0.001])


def book(seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, pd.DataFrame, np.ndarray]:
    """Return features, claims and exposures, the true logs of factors by feature, and the true frequencies."""
    rng = np.random.default_rng(seed)
    n, frequency = int(rng.choice([20_000, 40_000])), rng.uniform(0.02, 0.2)
    age, tail = rng.uniform(20, 80, n), int(rng.uniform(5, 100) / EXPOSURE)
    car = np.concatenate([rng.gamma(2, 3, n - tail), rng.uniform(30, 50, tail)])
    if seed % 2:
        age, car = np.floor(age), np.floor(car)
    level, exposure = rng.choice(LEVELS, n, p=SHARES), rng.uniform(0.1, 1, n)
    steep, end = 0.04 * rng.choice([-1, -0.5, 0, 1]), rng.choice(["stays", "goes on", "jumps"])
    of_car = steep * np.minimum(car, 50 if end == "goes on" else 25)
    of_car += rng.normal(0, 0.4) * (car >= 30) * (end == "jumps")
    of_level = dict(zip(LEVELS, rng.normal(0, 0.3, len(LEVELS)), strict=True))
    logs = pd.DataFrame({"age": 0.5 * np.sin(age / 12), "car": of_car, "level": pd.Series(level).map(of_level)})
    logs -= logs.mean()
    mean = frequency * np.exp(logs.sum(axis=1).to_numpy())
    return (
        pd.DataFrame({"age": age, "car": car, "level": level}), rng.poisson(mean * exposure), exposure, logs, mean
    )  # fmt: skip


def errors(seed: int, bands: int) -> tuple[pd.DataFrame, float]:
    """Fit a book; return its bins (feature, error, expected events, whether covered), and the excess deviance."""
    X, claims, exposure, logs, mean = book(seed)
    model = GAMRegressor(objective="poisson", bands=bands, random_state=0, n_jobs=1).fit(X, claims, exposure=exposure)
    frames = []
    for codes, name in zip(model._encode(X), X.columns, strict=True):
        truth = pd.DataFrame({"truth": logs[name], "events": mean * exposure}).groupby(codes - 1)
        by_bin = truth.agg({"truth": "mean", "events": "sum"})
        curve, at = model.explain_shape(name), by_bin.index.to_numpy()
        inside = (curve.lower[at] <= by_bin["truth"]) & (by_bin["truth"] <= curve.upper[at])
        error = curve.scores[at] - by_bin["truth"]
        frames.append(by_bin.assign(seed=seed, feature=name, error=error, covered=inside))
    rate = model.predict(X, exposure=exposure) / exposure
    excess = np.average(rate - mean * np.log(rate) - (mean - mean * np.log(mean)), weights=exposure)
    return pd.concat(frames), float(excess)


def words(bins: pd.DataFrame, bands: int) -> str:
    """Return squared error and coverage of some bins."""
    error = f"squared error {np.square(bins['error']).mean():.4f} in {len(bins):,} bins"
    if not bands:
        return error
    shares = [f"{name} {100 * part.mean():.1f}" for name, part in bins.groupby("feature")["covered"]]
    curves = bins.groupby(["seed", "feature"])["covered"].agg(["sum", "size", "mean"]).reset_index()
    books = [curve for _, curve in curves.groupby("seed")]
    rng, drawn = np.random.default_rng(0), []
    for _ in range(DRAWS):
        some = pd.concat([books[k] for k in rng.integers(0, len(books), len(books))])
        drawn.append((some["sum"].sum() / some["size"].sum(), some["mean"].mean()))
    (low, least), (high, most) = 100 * np.quantile(drawn, [0.025, 0.975], axis=0)
    mean = f"mean of {len(curves)} curves {100 * curves['mean'].mean():.1f} ({least:.1f} to {most:.1f})"
    covered = f"{100 * bins['covered'].mean():.1f}% ({low:.1f} to {high:.1f}; {', '.join(shares)})"
    return f"{error}, covered {covered}, {mean}"


def main() -> None:
    """Print a row per worth of the prior."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--books", type=int, default=80)
    parser.add_argument("--first", type=int, default=0, help="seed of the first book")
    parser.add_argument("--bands", type=int, default=30, help="half-sample refits; 0 for none")
    parser.add_argument("--events", type=float, nargs="*", default=[1e-9, credibility.PRIOR_EVENTS])
    asked = parser.parse_args()
    print(describe())
    for worth in asked.events:
        with patch.object(credibility, "PRIOR_EVENTS", worth):
            each = [errors(seed, asked.bands) for seed in range(asked.first, asked.first + asked.books)]
        bins = pd.concat([of_book for of_book, _ in each])
        thin = bins["events"] < FEW
        print(
            f"prior of {worth:g} events. Thin: {words(bins[thin], asked.bands)}. Others: "
            f"{words(bins[~thin], asked.bands)}. Excess deviance {np.mean([excess for _, excess in each]):.3e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
