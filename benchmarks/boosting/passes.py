"""Log-loss by passes of weighted counts, beside rows: `python -m benchmarks.boosting.passes [--data DIR] [--rows N]`.

Why only squared loss is boosted from counts of bin pairs. A pass of iteratively reweighted least squares makes weights
p (1 - p) and working responses from the scores, counts all rows anew, and boosts squared loss from the counts. It
begins at a fit of 100,000 rows. *damping* is the share of the way to the new scores that is gone. Truths are steep;
with `--data`, public tables are drawn again with jitter, and tested on rows that are held out before. CPU seconds, one
thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss

from gamcore import GAMClassifier, GAMRegressor
from gamcore.common.types import Floats, Ints
from tests.support.real_tables import read

START_ROWS: Final = 100_000
LEAST_WEIGHT: Final = 0.01
"""Working responses are noisy where weights vanish, so both are bounded."""

Made = TypeVar("Made")


class Task(NamedTuple):
    """Rows to fit and to test."""

    name: str
    X: pd.DataFrame
    y: Ints
    X_test: pd.DataFrame
    y_test: Ints


def steep(n: int, seed: int) -> tuple[pd.DataFrame, Ints]:
    """Return twelve features and classes, many of which are nearly certain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12))
    score = 3 * np.sin(2 * X[:, 0]) + 2 * X[:, 1] + 4 * np.tanh(3 * X[:, 2]) + 4 * (X[:, 3] > 1.5)
    return pd.DataFrame(X).add_prefix("x"), (rng.random(n) < 1 / (1 + np.exp(-score))).astype(np.int64)


def tasks(rows: int, data: Path | None) -> Iterator[Task]:
    """Yield the tables."""
    yield Task("steep", *steep(rows, 1), *steep(200_000, 2))
    rng = np.random.default_rng(0)
    for name in ("bank", "adult") if data else ():
        assert data is not None
        table = read(data, name)
        y, test = table.y.to_numpy().astype(np.int64), rng.random(len(table.y)) < 0.25
        kept = np.flatnonzero(~test)[rng.integers(0, int((~test).sum()), rows)]
        X = table.X.iloc[kept].reset_index(drop=True)
        for column in X.select_dtypes("number"):
            X[column] = X[column] + rng.normal(0.0, 1e-3 * float(table.X[column].std()), rows)
        yield Task(name, X, y[kept], table.X[test], y[test])


def timed(act: Callable[[], Made]) -> tuple[float, Made]:
    """Return the CPU seconds of an act, and what it made."""
    began = time.process_time()
    result = act()
    return time.process_time() - began, result


def chance(score: Floats) -> Floats:
    """Return the probabilities of scores."""
    return np.asarray(1 / (1 + np.exp(-score)))


def measure(task: Task, damping: float, n_passes: int) -> Iterator[dict[str, Any]]:
    """Yield the log-loss and the seconds up to the start, and up to each pass."""
    some = np.random.default_rng(3).permutation(len(task.y))[:START_ROWS]
    total, model = timed(lambda: GAMClassifier(random_state=0, n_jobs=1).fit(task.X.iloc[some], task.y[some]))
    score, of_test = model.decision_function(task.X), model.decision_function(task.X_test)
    about = {"table": task.name, "damping": damping}
    yield about | {"pass": 0, "CPU s": total, "log-loss": log_loss(task.y_test, chance(of_test))}
    for k in range(1, n_passes + 1):
        p = chance(score)
        weight = np.maximum(p * (1 - p), LEAST_WEIGHT)
        response, squares = score + (task.y - p) / weight, GAMRegressor(random_state=0, n_jobs=1, n_groups=8)
        seconds, _ = timed(lambda y=response, w=weight, m=squares: m.fit(task.X, y, sample_weight=w))
        score = score + damping * (squares.predict(task.X) - score)
        of_test = of_test + damping * (squares.predict(task.X_test) - of_test)
        total += seconds
        yield about | {"pass": k, "CPU s": total, "log-loss": log_loss(task.y_test, chance(of_test))}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the public tables (Parquet)")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--passes", type=int, default=4)
    asked = parser.parse_args()
    for task in tasks(asked.rows, asked.data):
        GAMClassifier(random_state=0, max_rounds=3).fit(task.X.head(30_000), task.y[:30_000])
        seconds, model = timed(lambda t=task: GAMClassifier(random_state=0, n_jobs=1).fit(t.X, t.y))
        loss = log_loss(task.y_test, model.predict_proba(task.X_test)[:, 1])
        print(f"{task.name}: rows {seconds:.2f} CPU s, log-loss {loss:.5f}", flush=True)
        for damping in (1.0, 0.5):
            print(pd.DataFrame(measure(task, damping, asked.passes)).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
