"""Who enters in greedy order: `python -m benchmarks.boosting.entries [--runs N] [--data DIR]`.

Ten of a hundred features have an effect, of several shapes. Some runs are fitted to the end, beside the usual order, in
which every feature has a curve. Errors are those of the mean, against the truth, over fresh rows. With `--data`, the
public tables come first: features kept, and the test metric in both orders, on one split.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm
from sklearn.metrics import roc_auc_score, root_mean_squared_error

from benchmarks.boosting.peers import split
from gamcore import GAMClassifier, GAMRegressor
from tests.support.real_tables import BINARY, REGRESSION, read

N_FEATURES, N_TRUE, N_TEST = 100, 10, 4_000


class Case(NamedTuple):
    """Rows to learn from, the correlation of features, whether the target is binary, and other settings."""

    rows: int
    together: float = 0.0
    binary: bool = False
    shapes: str | None = None

    def words(self) -> str:
        """Return the case in words."""
        kind = "two classes" if self.binary else "number"
        curves = "smooth" if self.shapes else "steps"
        return f"{kind}, {self.rows:,} rows, {curves}" + (f", correlated {self.together}" if self.together else "")


CASES = (
    Case(1_000), Case(2_000), Case(2_000, shapes="smooth"), Case(2_000, together=0.5), Case(10_000, binary=True),
)  # fmt: skip


def drawn(
    n_rows: int, together: float, rng: np.random.Generator, n_features: int = N_FEATURES
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return uniform features, and the sum of the effects of the first ten."""
    own, common = rng.normal(size=(n_rows, n_features)), rng.normal(size=(n_rows, 1))
    u = norm.cdf(np.sqrt(1 - together) * own + np.sqrt(together) * common)
    effect = (
        np.sin(2 * np.pi * u[:, 0]) + 2 * u[:, 1] + 1.5 * (u[:, 2] > 0.5) + 6 * (u[:, 3] - 0.5) ** 2
        + 0.8 * np.exp(u[:, 4]) + np.cos(3 * u[:, 5]) + 1.5 * u[:, 6] + 1.5 * (u[:, 7] > 0.8)
        + 3 * np.abs(u[:, 8] - 0.5) - 1.5 * u[:, 9]
    )  # fmt: skip
    return pd.DataFrame(u, columns=[f"x{j}" for j in range(n_features)]), effect


def measured(case: Case, seed: int, whole: bool) -> dict[str, float]:
    """Return who enters in one run; if `whole`, also what both orders give."""
    rng = np.random.default_rng(seed)
    X, effect = drawn(case.rows, case.together, rng)
    X_test, truth = drawn(N_TEST, case.together, rng)
    centre = effect.mean()
    y = rng.random(case.rows) < expit(effect - centre) if case.binary else effect + rng.normal(size=case.rows)
    kind: Any = GAMClassifier if case.binary else GAMRegressor
    common = {"shapes": case.shapes, "random_state": seed, "n_jobs": 2}
    entries = kind(order="greedy", outer_bags=1, max_rounds=1, **common).fit(X, y).entries_
    inside = set(entries.loc[entries["entered"] > 0, "feature"])
    right = len(inside & {f"x{j}" for j in range(N_TRUE)})
    results: dict[str, float] = {"true": right, "false": len(inside) - right}
    for order in ("greedy", "cyclic") if whole else ():
        began = time.perf_counter()
        model = kind(order=order, **common).fit(X, y)
        results[f"{order} s"] = time.perf_counter() - began
        score = model.decision_function(X_test) + centre if case.binary else model.predict(X_test)
        results[f"{order} error"] = float(np.mean((score - truth) ** 2))
    return results


def public(data: Path, name: str) -> dict[str, Any]:
    """Return how many features of a public table enter, and the test metric (RMSE or AUC) in both orders."""
    table = read(data, name)
    X, X_test, y, y_test = split(table, 0)
    kind: Any = GAMClassifier if table.classifier else GAMRegressor
    results: dict[str, Any] = {"table": name, "features": X.shape[1]}
    for order in ("greedy", "cyclic"):
        model = kind(order=order, random_state=0, n_jobs=2).fit(X, y)
        if order == "greedy":
            results["entered"] = int((model.entries_["entered"] > 0).sum())
        results[order] = (
            roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]) if table.classifier
            else root_mean_squared_error(y_test, model.predict(X_test))
        )  # fmt: skip
    return results


def summary(case: Case, runs: pd.DataFrame) -> dict[str, Any]:
    """Return a line of the table."""
    all_true, few = runs["true"] == N_TRUE, runs["false"] <= 1
    return {
        "case": case.words(), "all ten found": f"{all_true.sum()} of {len(runs)}",
        "and at most one other": f"{(all_true & few).sum()} of {len(runs)}", "others, mean": runs["false"].mean(),
        "squared error": runs["greedy error"].mean(), "in cyclic order": runs["cyclic error"].mean(),
        "seconds": runs["greedy s"].median(), "seconds in cyclic order": runs["cyclic s"].median(),
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--fits", type=int, default=20, help="runs that are fitted to the end")
    parser.add_argument("--data", type=Path, help="folder of the public tables (Parquet)")
    asked = parser.parse_args()
    for name in [*REGRESSION, *BINARY] if asked.data else []:
        print(public(asked.data, name), flush=True)
    for case in CASES:
        runs = pd.DataFrame([measured(case, seed, seed < asked.fits) for seed in range(asked.runs)])
        print(summary(case, runs), flush=True)


if __name__ == "__main__":
    main()
