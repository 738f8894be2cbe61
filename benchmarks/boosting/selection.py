"""Honest selection: `python -m benchmarks.boosting.selection [--tables N] [--doc FILE]`.

The targets are unrelated to the features, so every suggested segment is due to chance. Cuts come from the model alone,
so 95% intervals from held-out rows should exclude 0 one time in twenty, however many ranges were tried; intervals from
the training rows, which chose the cuts, show what holding out is worth. Bands let hardly any noise through, so the
threshold is also set below 0: more segments are then suggested, and their intervals must be as valid.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.harness.machine import describe
from benchmarks.harness.page import put_between
from gamcore import GAMClassifier, GAMRegressor
from gamcore.decide.segments import Evidence, HeldOutRows, suggest

MARKS = ("<!-- selection -->", "<!-- /selection -->")
N_ROWS, N_BANDS = 3_000, 12
SETTINGS = {"max_rounds": 60, "outer_bags": 4}
THRESHOLDS = (0.0, -0.1)  # on the link scale


def noise(seed: int, binary: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of numbers, counts, levels and missing cells, and a target independent of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "number": rng.normal(size=N_ROWS), "tail": rng.lognormal(0, 1, N_ROWS), "count": rng.poisson(3, N_ROWS),
            "level": rng.choice(list("abcde"), N_ROWS), "flag": rng.random(N_ROWS) < 0.3,
            "gaps": np.where(rng.random(N_ROWS) < 0.2, np.nan, rng.random(N_ROWS)),
        }
    )  # fmt: skip
    return X, (rng.random(N_ROWS) < 0.25).astype(int) if binary else rng.gamma(2, 1, N_ROWS)


def shown(seed: int, binary: bool) -> dict[float, list[tuple[bool, bool]]]:
    """Return, by threshold, whether the interval of each segment suggested on one table excludes 0, on held-out and on
    training rows."""
    X, y = noise(seed, binary)
    held = np.random.default_rng([seed, 1]).random(N_ROWS) < 0.2
    kind = GAMClassifier if binary else GAMRegressor
    model = kind(random_state=seed, bands=N_BANDS, interactions=1, **SETTINGS).fit(X[~held], y[~held])
    training = HeldOutRows(model.model_, X[~held], y[~held].astype(float))  # not held out: for comparison
    hits: dict[float, list[tuple[bool, bool]]] = {}
    for threshold in THRESHOLDS:
        segments = suggest(model.model_, X[held], y[held].astype(float), threshold=threshold)
        pairs = [(segment.evidence, training.evidence(segment.rule)) for segment in segments]
        hits[threshold] = [(_leaves_0_out(one), _leaves_0_out(other)) for one, other in pairs]
    return hits


def _leaves_0_out(evidence: Evidence) -> bool:
    low, high = evidence.opportunity_interval
    return bool(low > 0 or high < 0)


def measure(tables: int) -> pd.DataFrame:
    """Return the shares of segments suggested on noise whose interval excludes 0."""
    rows = []
    for binary in (True, False):
        each = [shown(seed, binary) for seed in range(tables)]
        for threshold in THRESHOLDS:
            hits = np.array([one for hits_of in each for one in hits_of[threshold]]).reshape(-1, 2)
            held, training = hits.mean(axis=0)
            error = np.sqrt(held * (1 - held) / len(hits))
            rows.append(("rate" if binary else "mean", threshold, tables, len(hits), held, error, training))
    names = ["target", "threshold", "tables", "segments", "held-out rows", "standard error", "training rows"]
    return pd.DataFrame(rows, columns=names)


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--tables", type=int, default=300)
    asked.add_argument("--doc", type=Path, help="a page whose marks get the table")
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
    if options.doc:
        put_between(options.doc, MARKS, lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
