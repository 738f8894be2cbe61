"""How far shapes vary with the seed, per preset: `python -m benchmarks.boosting.stability --data DIR --json FILE`.

The same rows are fitted with five seeds. Each curve's figure is the standard deviation of its bins over seeds, averaged
over rows; a table's figure is the mean over its curves, in units of the standard deviation of the model's scores.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.harness.machine import describe
from gamcore import PRESETS, GAMClassifier, GAMRegressor, warmup
from tests.support.real_tables import read

SEEDS = range(5)


def unsteadiness(models: list[GAMRegressor | GAMClassifier]) -> float:
    """Return the mean over curves of the row-weighted SD over seeds, as a share of the SD of the scores."""
    spread, size = [], []
    for terms in zip(*(model.model_.terms for model in models), strict=True):
        scores = np.stack([term.scores for term in terms])
        counts = terms[0].counts
        spread.append(np.average(scores.std(axis=0, ddof=1), weights=counts))
        size.append(np.average(scores.mean(axis=0) ** 2, weights=counts))
    return float(np.mean(spread) / np.sqrt(np.sum(size)))


def main() -> None:
    """Print one row per table and one column per preset."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--tables", nargs="*", default=["compact", "bike", "calhousing", "magic", "bank"])
    asked = parser.parse_args()
    warmup()
    rows = []
    for name in asked.tables:
        table = read(asked.data, name)
        for preset in ("fast", "balanced", "accurate"):
            kind = GAMClassifier if table.binary else GAMRegressor
            started = time.perf_counter()
            models = [kind(**PRESETS[preset], random_state=seed).fit(table.X, table.y) for seed in SEEDS]
            seconds = (time.perf_counter() - started) / len(models)
            rows.append({"table": name, "preset": preset, "unsteadiness": unsteadiness(models), "seconds": seconds})
            print(f"{name:12} {preset:10} {rows[-1]['unsteadiness']:.4f}  {seconds:.2f} s a fit", flush=True)
    asked.json.write_text(json.dumps({"machine": describe(), "cells": rows}, indent=1))


if __name__ == "__main__":
    main()
