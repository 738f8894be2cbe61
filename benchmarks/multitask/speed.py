"""Time a tree of the common model and a LightGBM round of the same depth on the same rows.

Two tasks, told apart by one more column, a category in both libraries; no validation rows. With two threads ours grows
the trees of two refits side by side, and LightGBM those of its one model faster; both are reported as seconds per tree.
Binning and the first round are excluded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.harness.cells import Cell
from benchmarks.harness.watch import Watch
from gamcore.estimators.multitask import MultiTaskTreesRegressor

ROWS, FEATURES, ROUNDS, REPEATS = 1_000_000, 40, 30, 3
DEPTHS, THREADS = (3, 5), (1, 2)
BINS: Final = 255
ASKED: Final = 1.5
"""Largest accepted ratio of our seconds per tree to LightGBM's."""

Data = tuple[pd.DataFrame, Any, Any]
Stamps = list[float]


def speed_data() -> Data:
    """Return normal features, a target that depends on some of them, and the task."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES), np.float32)
    task = rng.integers(2, size=ROWS)
    y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + task * X[:, 4] + rng.standard_normal(ROWS)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(FEATURES)]), y, task


def grow_ours(data: Data, depth: int, threads: int, **parameters: Any) -> float:
    """Return the seconds per tree, of as many refits as threads."""
    stamps: Stamps = []
    X, y, task = data
    model = MultiTaskTreesRegressor(
        max_depth=depth, max_rounds=ROUNDS, specific_depth=0, max_bins=BINS, validation_fraction=0.0,
        outer_bags=threads, n_jobs=threads, random_state=0,
        callback=lambda progress: stamps.append(time.perf_counter()), **parameters,
    )  # fmt: skip
    model.fit(X, y, task)
    return (stamps[-1] - stamps[0]) / (len(stamps) - threads)


def boost_lightgbm(data: Data, depth: int, threads: int) -> float:
    """Return the seconds per round."""
    import lightgbm

    stamps: Stamps = []
    X, y, task = data
    table = lightgbm.Dataset(X.assign(task=task), y, categorical_feature=["task"], params={"max_bin": BINS})
    options = {
        "objective": "regression", "max_depth": depth, "num_leaves": 2**depth, "max_bin": BINS, "lambda_l2": 1.0,
        "num_threads": threads, "verbosity": -1,
    }  # fmt: skip
    lightgbm.train(options, table, ROUNDS, callbacks=[lambda env: stamps.append(time.perf_counter())])
    return (stamps[-1] - stamps[0]) / (len(stamps) - 1)


def measure_speed() -> list[Cell]:
    """Return a cell per depth and number of threads: medians of alternating repeats."""
    data = speed_data()
    cells = []
    for depth in DEPTHS:
        for threads in THREADS:
            calls: dict[str, Callable[..., float]] = {"ours": grow_ours, "LightGBM": boost_lightgbm}
            seconds: dict[str, Stamps] = {name: [] for name in calls}
            with Watch() as watch:
                for _ in range(REPEATS):
                    for name, call in calls.items():
                        seconds[name].append(call(data, depth, threads))
            medians = {name: float(np.median(each)) for name, each in seconds.items()}
            cells.append({"depth": depth, "threads": threads, "seconds": medians, "others_cores": watch.others})
    return cells


def speed_table(cells: list[Cell]) -> pd.DataFrame:
    """Return a row per depth and number of threads."""
    rows = [
        {
            "depth": cell["depth"], "threads": cell["threads"],
            **{f"{name}, ms per tree": 1e3 * seconds for name, seconds in cell["seconds"].items()},
            "ours / LightGBM": cell["seconds"]["ours"] / cell["seconds"]["LightGBM"],
            "cores taken by others": cell["others_cores"],
        }
        for cell in cells
    ]  # fmt: skip
    return pd.DataFrame(rows).set_index("depth")
