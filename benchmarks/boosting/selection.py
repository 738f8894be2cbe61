"""Honest selection: `python -m benchmarks.boosting.selection [--tables N]`.

The targets are unrelated to the features, so every suggested segment is due to chance. Cuts come from the model alone,
so 95% intervals from held-out rows should exclude 0 one time in twenty, however many ranges were tried; intervals from
the training rows, which chose the cuts, show what holding out is worth. Bands let hardly any noise through, so the
threshold is also set below 0: more segments are then suggested, and their intervals must be as valid.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

from benchmarks.harness.machine import describe
from tests.support.chance_segments import THRESHOLDS, shown


def measure(tables: int) -> pd.DataFrame:
    """Return the shares of segments suggested on noise whose interval excludes 0."""
    rows = []
    for binary in (True, False):
        each = [shown(seed, binary) for seed in range(tables)]
        for threshold in THRESHOLDS:
            hits = np.array([interval for hits_of in each for interval in hits_of[threshold]]).reshape(-1, 2)
            held, training = hits.mean(axis=0)
            error = np.sqrt(held * (1 - held) / len(hits))
            rows.append(("rate" if binary else "mean", threshold, tables, len(hits), held, error, training))
    names = ["target", "threshold", "tables", "segments", "held-out rows", "standard error", "training rows"]
    return pd.DataFrame(rows, columns=names)


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--tables", type=int, default=300)
    options = asked.parse_args()
    began = time.perf_counter()
    table = measure(options.tables)
    lines = ["| target | threshold | tables | segments | interval without 0, held-out rows | on training rows |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for row in table.to_dict("records"):
        lines.append(
            f"| {row['target']} | {row['threshold']:g} | {row['tables']} | {row['segments']} | "
            f"{row['held-out rows']:.1%} ± {row['standard error']:.1%} | {row['training rows']:.1%} |"
        )
    machine = describe()
    where = ", ".join(f"{name} {machine[name]}" for name in ("processor", "cores", "python", "numpy"))
    lines = [f"{where}; {time.perf_counter() - began:.0f} s.", "", *lines]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
