"""How many curves a model needs: `python -m benchmarks.boosting.fewer [--runs N] [--data DIR]`.

Ten of 200 features have an effect, as in `benchmarks.boosting.entries`, and 20,000 rows are fitted with the defaults.
The public tables follow: the fewest curves within one standard error, and the test metric (RMSE or AUC) of a new model
of these features, beside that of all.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score, root_mean_squared_error

from benchmarks.boosting.entries import N_TRUE, drawn
from benchmarks.boosting.peers import split
from benchmarks.harness.machine import describe
from benchmarks.harness.page import markdown
from gamcore import GAMClassifier, GAMRegressor, fewer_curves
from tests.support.real_tables import BINARY, REGRESSION, read

WORDS = (
    "Measured by `python -m benchmarks.boosting.fewer`: *kept* is the smallest model within one standard error, "
    "*all* and *of these*\nthe test metric (RMSE; AUC from *magic* on) with all features and in a new model of "
    "those kept."
)
N_FEATURES, N_ROWS = 200, 20_000
N_WIDE, N_WIDE_TRUE = 1_000, 30


def kept(path: pd.DataFrame) -> list[str]:
    """Return the features of the chosen step."""
    step = path[path["chosen"]].iloc[0]
    return [name for name in path.columns[4:] if step[name] > 0]


def measured(seed: int) -> dict[str, float]:
    """Return how many true and other curves one run keeps, and its seconds."""
    rng = np.random.default_rng(seed)
    X, effect = drawn(N_ROWS, 0.0, rng, N_FEATURES)
    y = effect + rng.normal(size=N_ROWS)
    model = GAMRegressor(random_state=seed, n_jobs=2).fit(X, y)
    began = time.perf_counter()
    names = kept(fewer_curves(model, X, y))
    right = len(set(names) & {f"x{j}" for j in range(N_TRUE)})
    return {"true": right, "false": len(names) - right, "seconds": time.perf_counter() - began}


def wide(seed: int = 0) -> str:
    """Say what is kept of 1,000 features of which 30 have an effect, and how long it takes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.random((N_ROWS, N_WIDE))).add_prefix("x")
    true = [f"x{j}" for j in range(N_WIDE_TRUE)]
    y = sum(0.5 * np.sin((3 + 3 * (j % 3)) * X[name]) for j, name in enumerate(true)) + rng.normal(size=N_ROWS)
    began = time.perf_counter()
    model = GAMRegressor(random_state=seed, n_jobs=2, outer_bags=1).fit(X, y)
    fitted = time.perf_counter()
    names = kept(fewer_curves(model, X, y))
    return (
        f"{N_WIDE_TRUE} true curves of {N_WIDE:,}, one refit as on Train: {len(set(names) & set(true))} of these and "
        f"{len(set(names) - set(true))} others kept; the refit takes {fitted - began:.1f} s, the path "
        f"{time.perf_counter() - fitted:.2f} s."
    )


def public(data: Path, name: str) -> dict[str, Any]:
    """Return the curves kept on a public table, and the test metric of all and of these."""
    table = read(data, name)
    X, X_test, y, y_test = split(table, 0)
    kind: Any = GAMClassifier if table.classifier else GAMRegressor

    def metric(columns: list[str]) -> tuple[Any, float]:
        model = kind(random_state=0, n_jobs=2).fit(X[columns], y)
        if table.classifier:
            return model, roc_auc_score(y_test, model.predict_proba(X_test[columns])[:, 1])
        return model, root_mean_squared_error(y_test, model.predict(X_test[columns]))

    model, whole = metric(list(X.columns))
    names = kept(fewer_curves(model, X, y))
    return {"table": name, "features": X.shape[1], "kept": len(names), "all": whole, "of these": metric(names)[1]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--data", type=Path, help="folder of the public tables (Parquet)")
    asked = parser.parse_args()
    machine, lines = describe(), []
    where = f"Measured on {machine['processor']}, {machine['cores']} cores."
    if asked.runs:
        runs = pd.DataFrame([measured(seed) for seed in range(asked.runs)])
        good = ((runs["true"] == N_TRUE) & (runs["false"] <= 1)).sum()
        lines.append(
            f"Ten true curves of {N_FEATURES} and {N_ROWS:,} rows: all ten and at most one other in {good} of "
            f"{len(runs)} runs; {runs['seconds'].median():.2f} s for the path (median). {where}"
        )
        lines += ["", wide()]
    if asked.data:
        table = pd.DataFrame([public(asked.data, name) for name in [*REGRESSION, *BINARY]]).set_index("table")
        lines += ["", *markdown(table, 4), "", WORDS]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
