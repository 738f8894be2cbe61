"""Concurrent fits and predictions in many threads of a process of their own.

The threads start first, with faulthandler on, so that they also compile the kernels or read them from the cache
concurrently. Each thread runs the same jobs in a different order: a job fits one of the estimators with a seed,
predicts, and writes the model's file. Then the main thread runs every job alone: each hash of predictions and file must
be the same.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gamcore import GAMClassifier, GAMRegressor, MultiTaskTreesClassifier, MultiTaskTreesRegressor
from gamcore.estimators.base import to_saved
from gamcore.io.gamx import to_bytes
from tests.support.places import ROOT

ROWS = 150
SEEDS = (0, 1)
SWITCH = 1e-5  # thread switch interval in seconds, a 500th of the default

SMALL: dict[str, Any] = {"outer_bags": 2, "max_rounds": 4, "max_bins": 16}
TASKS: dict[str, Any] = {**SMALL, "specific_rounds": 3, "max_depth": 2}
ESTIMATORS: dict[str, Callable[..., Any]] = {
    "regressor": partial(GAMRegressor, **SMALL),
    "classifier": partial(GAMClassifier, **SMALL),
    "regressor, 2 jobs": partial(GAMRegressor, n_jobs=2, **SMALL),
    "classifier with pairs": partial(GAMClassifier, interactions=[("a", "c")], **SMALL),
    "regressor with a searched pair": partial(GAMRegressor, interactions=1, **SMALL),
    "classifier on bags of rows": partial(GAMClassifier, ensemble="bagging", n_bags=3, **SMALL),
    "multi-task regressor": partial(MultiTaskTreesRegressor, **TASKS),
    "multi-task classifier": partial(MultiTaskTreesClassifier, additive=True, n_jobs=2, **TASKS),
}
JOBS = list(itertools.product(ESTIMATORS, SEEDS))


def table() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return two numbers, one with missing cells, a category, a target with an interaction, and each row's task."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=ROWS), "b": rng.normal(size=ROWS), "c": rng.choice(list("xyz"), ROWS)})
    X.loc[::9, "b"] = np.nan
    y = np.sin(X["a"]) * np.where(X["c"] == "x", 2, -1) + X["b"].fillna(1) + 0.3 * rng.normal(size=ROWS)
    return X, y.to_numpy(float), rng.choice(["s", "t"], ROWS)


def do(job: tuple[str, int], data: tuple[pd.DataFrame, np.ndarray, np.ndarray]) -> str:
    """Run a job; return the hash of the model's predictions and file."""
    (name, seed), (X, y, task) = job, data
    model = ESTIMATORS[name](random_state=seed)
    target = (y > 0.5).astype(int) if "classifier" in name else y
    asked = {"task": task} if name.startswith("multi") else {}
    model.fit(X, target, **asked)
    ask = model.predict_proba if "classifier" in name else model.predict
    digest = hashlib.sha256(np.ascontiguousarray(ask(X, **asked)).tobytes())
    digest.update(to_bytes(to_saved(model)))
    return digest.hexdigest()


def at_once(n_threads: int, times: int) -> dict[str, Any]:
    """Compare the results of the threads with those of the main thread alone."""
    data, together = table(), threading.Barrier(n_threads)

    def work(k: int) -> list[tuple[tuple[str, int], str]]:
        together.wait()
        mine = [JOBS[(k + turn) % len(JOBS)] for turn in range(times)]
        return [(job, do(job, data)) for job in mine]

    sys.setswitchinterval(SWITCH)
    began = time.perf_counter()
    with ThreadPoolExecutor(n_threads) as pool:
        made = [one for done in pool.map(work, range(n_threads)) for one in done]
    seconds = time.perf_counter() - began
    alone = {job: do(job, data) for job in JOBS}
    others = sorted({f"{job[0]}, seed {job[1]}" for job, answer in made if answer != alone[job]})
    return {
        "threads": n_threads, "fits": len(made), "jobs": len({job for job, _ in made}),
        "models": len(set(alone.values())), "differ": others, "seconds": round(seconds, 1),
    }  # fmt: skip


def run(n_threads: int, times: int) -> dict[str, Any]:
    """Run the comparison in a child process; "ended" is its exit code, "errors" the end of its error output."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.support.concurrent_fits"]
    done = subprocess.run([*command, str(n_threads), str(times)], cwd=ROOT, capture_output=True, text=True)
    report = json.loads(done.stdout) if done.returncode == 0 else {}
    return {"ended": done.returncode, "errors": done.stderr[-2000:], **report}


if __name__ == "__main__":
    print(json.dumps(at_once(*map(int, sys.argv[1:]))))
