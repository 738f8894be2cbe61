"""The price of readability on known truths: how often a black box is called better where it is not, how often the
planted triple is ranked first of all, how often one is claimed, or kept by `triples="auto"`, where there is none; and
the seconds of the ranking.

`python -m benchmarks.black_box --runs 100`
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

from gamcore import GAMRegressor, price_of_readability
from gamcore.boosting.triples.ranking import Axes, Descent, ranked
from gamcore.estimators.additive import single_model
from gamcore.model.losses import LOSSES

FEATURES = 12
TRUTHS = ("additive", "pairwise", "triple")


def drawn(truth: str, n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return correlated features, and a target of noise with variance 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, FEATURES)) + 0.5 * rng.normal(size=(n, 1))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * X[:, 2] ** 2 + rng.normal(size=n)
    if truth != "additive":
        y += 0.5 * X[:, 3] * X[:, 4]
    if truth == "triple":
        y += 0.4 * np.sign(X[:, 5]) * np.sign(X[:, 6]) * X[:, 7]
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(FEATURES)]), y


def run(truth: str, n: int, seed: int) -> dict[str, float]:
    X, y = drawn(truth, n, seed)
    held = np.arange(n) % 4 == 0
    model = GAMRegressor(interactions=2, outer_bags=4, random_state=seed, n_jobs=1).fit(X[~held], y[~held])
    price = price_of_readability(model, X, y, held_out=held, random_state=seed)
    own = GAMRegressor(interactions="auto", triples="auto", outer_bags=4, random_state=seed, n_jobs=1)
    kept = {term.features for term in single_model(own.fit(X[~held], y[~held])).triples}
    triples = [k for k in price.ranked.order if len(price.ranked.terms[k]) == 3]
    return {
        "better": price.gap.lower > 0,
        "covers 0": not price.gap.is_clear,
        "worse": price.gap.upper < 0,
        "gap": price.gap.value,
        "triple first": price.ranked.terms[triples[0]] == (5, 6, 7),
        "triple claimed": any(price.ranked.clear[k] for k in triples),
        "anything claimed": bool(price.steps),
        "named": price.terms[:1] == (("x5", "x6", "x7"),),
        "auto keeps any": bool(kept),
        "auto keeps the planted": (5, 6, 7) in kept,
        "auto keeps only it": kept == {(5, 6, 7)},
    }


def seconds(n: int) -> float:
    """Return the processor's seconds to rank all curves, pairs and triples of 12 features, after compilation."""
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 41, (FEATURES, n)).astype(np.uint8)
    counts = [np.bincount(line, minlength=42).astype(float) for line in codes]
    axes = Axes.of(counts, np.zeros(FEATURES, bool), np.zeros((FEATURES, 256)), rows=n)
    descent = Descent.of(LOSSES["squared"], rng.normal(size=n), np.zeros((n, 1)), np.ones(n))
    coarse = axes.coded(codes)
    ranked(axes, coarse, descent)
    start = time.process_time()
    ranked(axes, coarse, descent)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rows", type=int, default=2000)
    arguments = parser.parse_args()
    for truth in TRUTHS:
        frame = pd.DataFrame([run(truth, arguments.rows, seed) for seed in range(arguments.runs)])
        means = " ".join(f"{name} {mean:.3f}" for name, mean in frame.astype(float).mean().items())
        print(f"{truth}: {means}", flush=True)
    print(f"ranking of 20,000 rows, 220 triples: {seconds(20_000):.3f} CPU seconds")


if __name__ == "__main__":
    main()
