"""Nanoseconds per cell of binning and encoding: `python -m benchmarks.boosting.binning`.

From a frame to codes: features are learnt, bins fitted and all rows encoded, in CPU seconds of one thread, least of
several runs, each in a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.types import Floats
from gamcore.data.binning import bin_table
from gamcore.data.table import Table, learn_features

TABLES: Final = ("numbers", "weighted", "texts")
FEATURES: Final = 12
N_TEXTS: Final = 4
"""Columns of text in the table that has some."""


def make(kind: str, n: int) -> tuple[pd.DataFrame, Floats | None]:
    """Return a table of normal, whole, rounded and partly missing numbers, and perhaps of texts; and its weights."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {}
    for j in range(FEATURES - N_TEXTS * (kind == "texts")):
        columns[f"x{j}"] = (
            lambda: rng.normal(size=n),
            lambda: rng.integers(0, 1_000, n),
            lambda: rng.lognormal(size=n).round(2),
            lambda: np.where(rng.uniform(size=n) < 0.1, np.nan, rng.gamma(2.0, size=n)),
        )[j % 4]()
    for j in range(N_TEXTS * (kind == "texts")):
        levels = np.array([f"level {k}" for k in range(30 * (j + 1))])
        columns[f"t{j}"] = levels[rng.integers(0, levels.size, n)]
    return pd.DataFrame(columns), rng.uniform(0.5, 2.0, n) if kind == "weighted" else None


def measured(kind: str, n: int) -> float:
    """Return the CPU nanoseconds per cell, compiled code warm."""
    frame, weights = make(kind, n)
    seconds, cells = [], 0
    for _ in range(2):
        began = time.process_time()
        table = Table.of(frame)
        cells = bin_table(table, learn_features(table), weights).codes.size
        seconds.append(time.process_time() - began)
    return 1e9 * min(seconds) / cells


def measure(kind: str, n: int) -> float:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.boosting.binning", "--one", kind, "--rows", str(n)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[20_000, 300_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", choices=TABLES, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(measured(asked.one, asked.rows[0]))
        return
    rows = [
        {"rows": n, "table": kind, "ns per cell": min(measure(kind, n) for _ in range(asked.repeats))}
        for n in asked.rows
        for kind in TABLES
    ]
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
