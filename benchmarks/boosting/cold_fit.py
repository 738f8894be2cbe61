"""First fits in a new process: `python cold_fit.py KIND ...` prints CPU seconds as JSON; `cold` runs it.

Imports nothing of the benchmarks, so that the same file measures every version of the library on the path.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

ROWS, FEATURES = 5_000, 10
STEADY_ROWS, STEADY_TIMES = 20_000, 4


def data(rows: int) -> tuple[Any, Any]:
    """Return features, and a target with an interaction."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=rows)


def fitting(kind: str, rows: int = ROWS) -> Callable[[], Any]:
    """Import what a fit needs, and return it."""
    X, y = data(rows)
    labels = (y > 0).astype(int)
    if kind == "EBM":
        from interpret.glassbox import ExplainableBoostingClassifier

        return lambda: ExplainableBoostingClassifier(n_jobs=1, random_state=0).fit(X, labels)
    if kind == "LightGBM":
        from lightgbm import LGBMClassifier

        return lambda: LGBMClassifier(n_jobs=1, random_state=0, verbose=-1).fit(X, labels)
    from gamcore import GAMClassifier, GAMRegressor, MultiTaskTreesRegressor

    short = {"max_rounds": 5, "specific_rounds": 3, "outer_bags": 1, "random_state": 0}
    tasks = ["a", "b"] * (rows // 2)
    return {
        "classifier": lambda: GAMClassifier(random_state=0).fit(X, labels),
        "regressor": lambda: GAMRegressor(random_state=0).fit(X, y),
        "pairs": lambda: GAMClassifier(interactions=3, random_state=0).fit(X, labels),
        "tasks": lambda: MultiTaskTreesRegressor(**short).fit(X, y, task=tasks),
    }[kind]


def seconds(run: Callable[[], Any]) -> float:
    """Return the CPU seconds of a call, over all threads of this process."""
    began = time.process_time()
    run()
    return time.process_time() - began


def main() -> None:
    """Fit each kind twice in turn, or several times on more rows after `steady`, and print the seconds."""
    asked = sys.argv[1:]
    taken: dict[str, float] = {}
    if asked[0] == "steady":
        for kind in asked[1:]:
            run = fitting(kind, STEADY_ROWS)
            run()
            taken[kind] = min(seconds(run) for _ in range(STEADY_TIMES))
    else:
        runs: dict[str, Callable[[], Any]] = {}
        taken["import"] = seconds(lambda: runs.update({kind: fitting(kind) for kind in asked}))
        for kind, run in runs.items():
            first = seconds(run)
            taken[kind] = first - seconds(run)
    print(json.dumps(taken))


if __name__ == "__main__":
    main()
