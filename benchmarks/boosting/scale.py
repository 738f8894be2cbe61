"""How a step's time and memory grow: `python -m benchmarks.boosting.scale [--json FILE] [--train]`.

Rows, features, bags and groups are varied one at a time. Each point is measured in its own process on generated codes,
with one refit that trains on all groups; its memory is the peak beyond the codes. Points already in the file are kept.
`--train` also fits a large table until early stopping.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness.cells import keep, load, quietest, run_module
from benchmarks.harness.machine import describe
from benchmarks.harness.synthetic import (
    DEFAULTS,
    LOSSES,
    grouped,
    make_settings,
    make_table,
    make_workload,
    step_seconds,
)
from benchmarks.harness.watch import MIB, Watch
from gamcore import GAMRegressor, warmup
from gamcore.boosting.counts.bin_pairs import ROW_GROUPS
from gamcore.boosting.running.executor import make_executor

BASE = {"rows": 100_000, "features": 20, "bags": 16, "groups": ROW_GROUPS, "threads": 1, "loss": "logistic"}
FEW_ROWS = 20_000
BAGS = (1, 2, 4, 8, 16, 32, 64)
GROUPS = (8, 16, 32, 64, 128, 256)
SLOPE_FROM = 100_000
"""Rows from which the slope is taken: below, the part of a step that does not depend on rows is the larger one."""

WARM_ROWS = 150_000
TRAIN = "train"
THREADS = (1, 2)

Point = dict[str, Any]


def points(rows: list[int], features: list[int], loss: str) -> Iterator[Point]:
    """Yield all points, each named by what it varies."""
    base = BASE | {"loss": loss}
    yield from ({"changed": "rows", **base, "rows": n, "threads": t} for n in rows for t in THREADS)
    yield from ({"changed": "features", **base, "rows": FEW_ROWS, "features": n} for n in features)
    yield from ({"changed": "bags", **base, "bags": n} for n in BAGS)
    yield from ({"changed": "groups", **base, "groups": n} for n in GROUPS)


def measure(point: Point, seconds: float) -> Point:
    """Return the seconds of a step and the memory at one point."""
    loss = LOSSES[point["loss"]]
    settings = make_settings(loss, point["bags"])
    executor = make_executor(point["threads"]) if point["threads"] > 1 else None

    def run(n_rows: int, n_features: int, spend: float) -> tuple[list[float], Watch]:
        table = make_table(n_rows, n_features, point["groups"])
        with Watch() as watch:
            work = make_workload(table, loss)
            times = step_seconds(grouped(work, settings, DEFAULTS.subsample, executor), settings, work, spend)
        return times, watch

    run(10 * point["groups"], 2, 0.0)  # compile, or load compiled code, before memory is measured
    times, watch = run(point["rows"], point["features"], seconds)
    if executor:
        executor.close()
    result = {"step_seconds": float(np.median(times)), "calls": len(times)}
    return result | {"memory_mib": watch.mib, "others_cores": watch.others}


def train(n_rows: int, n_features: int) -> Point:
    """Return the seconds and memory, beyond the frame itself, of a fit to a large table."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((n_rows, n_features), np.float32)
    y = np.sin(values[:, 0]) + 0.5 * values[:, 1] ** 2 + values[:, 2:].sum(axis=1) / n_features
    y += rng.standard_normal(n_rows, np.float32)
    X = pd.DataFrame(values, columns=[f"x{j}" for j in range(n_features)], copy=False)
    chosen: Point = {"outer_bags": 1, "n_jobs": max(THREADS), "random_state": 0}
    warmup()
    GAMRegressor(**chosen, max_rounds=2).fit(X[:WARM_ROWS], y[:WARM_ROWS])
    with Watch() as watch:
        started = time.perf_counter()
        model = GAMRegressor(**chosen).fit(X, y)
        seconds = time.perf_counter() - started
    return {
        "seconds": seconds,
        "memory_mib": watch.mib,
        "frame_mib": values.nbytes / MIB,
        "rounds": model.n_rounds_,
        "parameters": chosen,
        "others_cores": watch.others,
    }


def one_cell(asked: argparse.Namespace) -> None:
    """Measure one point, or the large fit, and write the result."""
    point = json.loads(asked.cell)
    if point["changed"] == TRAIN:
        keep(asked.out, point | train(point["rows"], point["features"]))
    else:
        keep(asked.out, point | measure(point, asked.seconds))


def in_own_process(point: Point, seconds: float) -> Point:
    """Measure a point in its own process."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "point.json"
        fault = run_module(
            "benchmarks.boosting.scale", ["--cell", json.dumps(point), "--seconds", seconds, "--out", out]
        )
        return load(out) or point | {"error": fault}


def slopes(points: list[Point]) -> pd.DataFrame:
    """Return the least-squares slope of log seconds on log rows: 1 means that twice the rows take twice the time."""
    frame = pd.DataFrame([p for p in points if p["changed"] == "rows" and p["rows"] >= SLOPE_FROM and "error" not in p])
    slope_rows = []
    for (loss, threads), part in frame.groupby(["loss", "threads"]) if len(frame) else ():
        if len(part) > 1:
            slope = np.polyfit(np.log(part["rows"]), np.log(part["step_seconds"]), 1)[0]
            about = {"loss": loss, "threads": threads, "from_rows": part["rows"].min(), "to_rows": part["rows"].max()}
            slope_rows.append(about | {"slope": float(slope)})
    return pd.DataFrame(slope_rows)


def tables(points: list[Point]) -> list[pd.DataFrame]:
    """Return the points, the slopes, and the large fit."""
    large = [point for point in points if point["changed"] == TRAIN and "error" not in point]
    frames = [
        pd.DataFrame([point for point in points if point["changed"] != TRAIN]),
        slopes(points),
        pd.DataFrame(large),
    ]
    return [frame.drop(columns=["at", "parameters"], errors="ignore") for frame in frames]


def main() -> None:
    """Measure the missing points, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 300_000, 1_000_000, 3_000_000, 10**7])
    parser.add_argument("--features", type=int, nargs="*", default=[5, 10, 20, 50, 100, 200, 637, 1000])
    parser.add_argument("--loss", choices=list(LOSSES), default="logistic")
    parser.add_argument("--seconds", type=float, default=2.0, help="of measuring, a point")
    parser.add_argument("--train", action="store_true", help="also fit a large table")
    parser.add_argument("--train-rows", type=int, default=10**7)
    parser.add_argument("--json", type=Path, help="file of the points; existing ones are kept")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cell:
        one_cell(asked)
        return
    known: list[Point] = load(asked.json).get("points", []) if asked.json else []
    measured = [point for point in known if "error" not in point]  # failed points are tried again
    wanted = list(points(asked.rows, asked.features, asked.loss))
    if asked.train:
        wanted.append({"changed": TRAIN, "rows": asked.train_rows, "features": BASE["features"]})
    for point in wanted:
        if not any(point.items() <= point_now.items() for point_now in measured):
            measured.append(quietest(partial(in_own_process, point, asked.seconds)))
            print({k: v for k, v in measured[-1].items() if k != "at"}, flush=True)
            if asked.json:
                keep(asked.json, {"machine": describe(), "points": measured})
    for frame in tables(measured):
        print(frame.to_string(index=False, float_format="{:.4g}".format))


if __name__ == "__main__":
    main()
