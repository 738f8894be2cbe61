"""Rows against counts of bin pairs: `python -m benchmarks.boosting.tables [--rows N ...] [--json FILE]`.

Squared loss, the default model. *Rows* is the fit that sums over rows, with the 32 groups that it usually has; *tables*
the one that large tables get, with its 8. Each cell is a process of its own that fits a small table first; CPU seconds
are of the whole fit, binning included, in one thread. The truth is known: the error is the mean square of the
difference to it on fresh rows. With `--data`, the public tables with numeric targets are fitted both ways, too, and
with the groups of the other, over several splits.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

from benchmarks.harness.cells import keep
from benchmarks.harness.machine import describe
from gamcore import GAMRegressor
from gamcore.boosting.counts import bin_pairs
from gamcore.common.types import Floats
from tests.support.real_tables import REGRESSION, read

ENGINES: Final = {"rows": bin_pairs.ROW_GROUPS, "tables": bin_pairs.TABLE_GROUPS}
WARM_ROWS: Final = 30_000
TEST_ROWS: Final = 200_000


def draw(n: int, p: int, seed: int) -> tuple[pd.DataFrame, Floats, Floats]:
    """Return features, targets, and the truth: four curved effects, noise of standard deviation 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    truth = np.sin(2 * X[:, 0]) + 0.25 * X[:, 1] ** 2 + np.tanh(3 * X[:, 2]) + 0.3 * X[:, 3]
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(p)]), truth + 2.0 * rng.normal(size=n), truth


def choose(engine: str) -> None:
    """Make all fits of this process use rows, or counts of bin pairs."""
    bin_pairs.FEWEST_ROWS = 2**62 if engine == "rows" else 1  # type: ignore[misc]
    bin_pairs.ROWS_PER_PAIR = 1  # type: ignore[misc]


def measured(engine: str, n: int, p: int) -> dict[str, float]:
    """Fit one table in this process."""
    choose(engine)
    make = {"n_groups": ENGINES[engine], "random_state": 0, "n_jobs": 1}
    X, y, _ = draw(max(n, WARM_ROWS), p, 0)
    GAMRegressor(**make).fit(X.head(WARM_ROWS), y[:WARM_ROWS])
    model, began = GAMRegressor(**make), time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - began
    X, _, truth = draw(TEST_ROWS, p, 1)
    error = float(np.mean((model.predict(X) - truth) ** 2))
    return {"seconds": seconds, "error": error, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def apart(engine: str, n: int, p: int) -> dict[str, float]:
    """Fit one table in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.boosting.tables", "--one", engine, "--rows", str(n)]
    done = subprocess.run([*command, "--features", str(p)], capture_output=True, check=True)
    return dict(json.loads(done.stdout))


def sizes(rows: list[int], features: list[int], repeats: int) -> pd.DataFrame:
    """Return CPU seconds, least of several runs in turn, and errors by rows and features."""
    cells = []
    for n in rows:
        for p in features:
            runs = [{engine: apart(engine, n, p) for engine in ENGINES} for _ in range(repeats)]
            least = {engine: min(run[engine]["seconds"] for run in runs) for engine in ENGINES}
            row: dict[str, Any] = {"rows": n, "features": p}
            row |= {f"{engine}, CPU s": least[engine] for engine in ENGINES}
            row["share"] = least["tables"] / least["rows"]
            row |= {f"{engine}, error": runs[0][engine]["error"] for engine in ENGINES}
            cells.append(row)
            print(pd.DataFrame([row]).to_string(index=False, header=len(cells) == 1), flush=True)
    return pd.DataFrame(cells)


def public(data: Path, splits: int) -> pd.DataFrame:
    """Return test RMSE of both ways, each with both numbers of groups: means over splits, and its standard error."""
    cells = []
    for name in REGRESSION:
        table, of_splits = read(data, name), []
        for seed in range(splits):
            X, X_test, y, y_test = train_test_split(table.X, table.y.to_numpy(), test_size=0.2, random_state=seed)
            errors = {}
            for engine in ENGINES:
                choose(engine)
                for n_groups in ENGINES.values():
                    model = GAMRegressor(random_state=seed, n_groups=n_groups).fit(X, y)
                    errors[f"{engine}, {n_groups} groups"] = root_mean_squared_error(y_test, model.predict(X_test))
            of_splits.append(errors)
        each = pd.DataFrame(of_splits)
        gap = each["tables, 8 groups"] - each["rows, 32 groups"]
        cells.append(
            {"table": name} | each.mean().to_dict() | {"8 against 32": gap.mean(), "standard error": gap.sem()}
        )
    return pd.DataFrame(cells)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000, 300_000, 1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--features", type=int, nargs="*", default=[8, 12, 20])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--data", type=Path, help="folder of the public tables (Parquet)")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", choices=list(ENGINES), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measured(asked.one, asked.rows[0], asked.features[0])))
        return
    frames = {"sizes": sizes(asked.rows, asked.features, asked.repeats)}
    if asked.data:
        frames["public"] = public(asked.data, asked.splits)
    for frame in frames.values():
        print(frame.to_string(index=False, float_format="{:.5g}".format))
    if asked.json:
        keep(asked.json, {"machine": describe(), **{name: frame.to_dict("records") for name, frame in frames.items()}})


if __name__ == "__main__":
    main()
