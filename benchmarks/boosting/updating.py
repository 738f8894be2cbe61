"""New rows without the old ones: `python -m benchmarks.boosting.updating [--rows N ...] [--json FILE]`.

A default model that keeps counts is fitted, and 1% new rows are added to it; beside it, a fit of all rows. Seconds are
of the whole update: encoding and counting the new rows, and boosting anew. *equal* says whether its predictions are
those, to the bit, of a model whose counts were made from old and new rows at once. Each cell is a process of its own
that fits and updates a small model first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.boosting.tables import WARM_ROWS, draw
from benchmarks.harness.cells import keep
from benchmarks.harness.machine import describe
from gamcore import GAMRegressor, count_rows, merge_counts, update

SHARE: Final = 0.01
"""New rows per old one."""


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of an act, by the clock and of the CPU."""
    began = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - began[0], time.process_time() - began[1]


def measured(n: int, p: int, n_jobs: int) -> dict[str, Any]:
    """Fit, update and check one model in this process."""
    X, y, _ = draw(max(n, WARM_ROWS) + round(SHARE * n), p, 0)
    small = GAMRegressor(keep_tables=True, random_state=0, n_jobs=n_jobs).fit(X.head(WARM_ROWS), y[:WARM_ROWS])
    update(small, X.head(WARM_ROWS), y[:WARM_ROWS])
    model = GAMRegressor(keep_tables=True, random_state=0, n_jobs=n_jobs).fit(X[:n], y[:n])
    at_once = copy(model)
    at_once.tables_ = model.tables_.emptied()
    added = timed(lambda: update(model, X[n:], y[n:]))
    merge_counts(at_once, count_rows(at_once, X, y))
    sample = X.head(100_000)
    equal = np.array_equal(model.predict(sample), at_once.predict(sample))
    del at_once
    fit = timed(lambda: GAMRegressor(random_state=0, n_jobs=n_jobs).fit(X, y))
    return {
        "rows": n, "features": p, "fit, s": fit[0], "update, s": added[0], "share": added[0] / fit[0],
        "fit, CPU s": fit[1], "update, CPU s": added[1], "share of CPU": added[1] / fit[1], "equal": equal,
        "counts, MiB": model.tables_.nbytes / 2**20,
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[300_000, 1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--features", type=int, nargs="*", default=[12, 20])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measured(asked.rows[0], asked.features[0], asked.jobs)))
        return
    cells = []
    for n in asked.rows:
        for p in asked.features:
            command = [sys.executable, "-m", "benchmarks.boosting.updating", "--one", "--rows", str(n)]
            command += ["--features", str(p), "--jobs", str(asked.jobs)]
            cells.append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
            print(pd.DataFrame(cells[-1:]).to_string(index=False, header=len(cells) == 1), flush=True)
    if asked.json:
        keep(asked.json, {"machine": describe(), "cells": cells})


if __name__ == "__main__":
    main()
