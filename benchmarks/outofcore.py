"""Training in a tenth of a table's size: `python -m benchmarks.outofcore [--limit MIB] [--factor F] [--folder DIR]`.

A table is made in batches, whose size as a data frame is `factor` times the limit, and trained on in a child process
whose resident set, imports and mapped pages included, is looked at every 20 ms: above the limit it is killed. Beside it
a model of the 200,000 rows of its sample is fitted in memory; both predict the same fresh rows.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn import metrics

from benchmarks.machine import describe
from benchmarks.watch import EVERY, MIB
from gamcore import load_model
from gamcore.workspace import training
from gamcore.workspace.memory import give_back_early, plain_pool
from gamcore.workspace.outofcore import Place, fit_on_disk
from gamcore.workspace.rows import learnt_from, read_data
from gamcore.workspace.spec import Spec

NUMBERS, CATEGORIES = 34, 4
GROUP_ROWS = 98_304
SAMPLE_ROWS = 200_000
FRESH_ROWS = 400_000
BESIDE_MIB = 160
"""What the child needs beside the refits' rows: a copy of the sample, a batch of the table, compiled kernels."""

TARGET = "bought"
FRESH_SEED = 10**6


def make(n_rows: int, seed: int) -> pd.DataFrame:
    """Rows of many small effects: bends, steps and waves of numbers, levels of unlike frequency, a date, gaps."""
    rng = np.random.default_rng([2026, seed])
    values = rng.standard_normal((NUMBERS, n_rows), np.float32).round(2)
    levels = np.minimum(rng.zipf(1.4, (CATEGORIES, n_rows)), 400)
    days = rng.integers(0, 1000, n_rows)
    score = np.zeros(n_rows)
    for j, line in enumerate(values):
        way = (np.sin((1 + j / 5) * line), np.abs(line) - 0.8, line > 1 - j / 17, np.tanh(3 * line))[j % 4]
        score += way * 0.6 / (1 + j / 4)
    for k, line in enumerate(levels):
        score += 0.5 * np.cos(line * (k + 1.3))
    score += 0.3 * (days > 700) + 0.4 * np.sign(values[0]) * np.sign(values[1])
    numbers = values.astype(np.float64)
    numbers[1::4][rng.random((len(numbers[1::4]), n_rows)) < 0.1] = np.nan
    frame = pd.DataFrame({f"x{j}": line for j, line in enumerate(numbers)})
    names = np.array([f"level {k}" for k in range(401)], object)
    for k, line in enumerate(levels):
        frame[f"c{k}"] = pd.Series(names[line], dtype="str")
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")
    frame[TARGET] = (rng.random(n_rows) < 1 / (1 + np.exp(0.5 - score))).astype(np.int64)
    return frame


def write(folder: Path, bytes_wanted: float) -> dict[str, float]:
    """The table and its sample, never whole: row group after row group."""
    a_row = make(20_000, FRESH_SEED).memory_usage(deep=True).sum() / 20_000
    n_groups = int(bytes_wanted / a_row / GROUP_ROWS) + 1
    n_rows = n_groups * GROUP_ROWS
    taken = np.linspace(0, n_rows - 1, SAMPLE_ROWS).astype(np.int64)
    writer, parts = None, []
    for k in range(n_groups):
        frame = make(GROUP_ROWS, k)
        mine = taken[(taken >= k * GROUP_ROWS) & (taken < (k + 1) * GROUP_ROWS)]
        parts.append(frame.iloc[mine - k * GROUP_ROWS])
        rows = pa.Table.from_pandas(frame, preserve_index=False)
        writer = writer or pq.ParquetWriter(folder / "table.parquet", rows.schema, compression="zstd")
        writer.write_table(rows)
    assert writer is not None
    writer.close()
    pd.concat(parts, ignore_index=True).to_parquet(folder / "sample.parquet", index=False)
    size = (folder / "table.parquet").stat().st_size
    return {"rows": n_rows, "columns": frame.shape[1], "frame_mib": float(n_rows * a_row) / MIB, "file_mib": size / MIB}


def make_spec(columns: list[str], pairs: int) -> Spec:
    """What is trained: the balanced preset on all columns."""
    features = [name for name in columns if name != TARGET]
    return Spec("0123456789abcdef", TARGET, "large", features, ["1"], changes={"interactions": pairs} if pairs else {})


def child(folder: Path, limit: float, pairs: int) -> None:
    """Train on the table in this process, and tell of it."""
    give_back_early()
    with plain_pool():
        sample = pd.read_parquet(folder / "sample.parquet")
    memory = limit - psutil.Process().memory_info().rss / MIB - BESIDE_MIB
    started = time.monotonic()
    stages: dict[str, float] = {}

    def callback(progress: Any) -> None:
        stages[progress.stage] = round(time.monotonic() - started, 1)

    place = Place(folder / "table.parquet", folder, int(memory * MIB))
    model, data, counts = fit_on_disk(place, sample, make_spec(list(sample), pairs), {}, 1, callback)
    seconds = time.monotonic() - started
    model.save(folder / "disk.gamx")
    told = {"budget_mib": memory, "seconds": seconds, "stages_end": stages, "held_out": training.evaluate(data, model)}
    (folder / "disk.json").write_text(json.dumps(told | {"counts": counts}))


def watch(command: list[str], limit: float) -> float:
    """Run a child and look at its resident set; the peak in MiB. It is killed above the limit."""
    process = subprocess.Popen(command)
    seen, peak = psutil.Process(process.pid), 0.0
    while process.poll() is None:
        try:
            peak = max(peak, seen.memory_info().rss / MIB)
        except psutil.Error:
            break
        if peak > limit:
            process.kill()
            process.wait()
            raise SystemExit(f"Killed at {peak:,.0f} MiB, above the limit of {limit:,.0f} MiB.")
        time.sleep(EVERY)
    if process.wait():
        raise SystemExit(f"The child failed with code {process.returncode}.")
    return peak


def scores(folder: Path) -> Iterator[tuple[str, float, float]]:
    """AUC and log-loss of both models on the same fresh rows."""
    fresh = make(FRESH_ROWS, FRESH_SEED + 1)
    for name in ("disk", "sample"):
        chance = load_model(folder / f"{name}.gamx").predict_proba(fresh.drop(columns=TARGET))[:, 1]
        yield name, metrics.roc_auc_score(fresh[TARGET], chance), metrics.log_loss(fresh[TARGET], chance)


def on_sample(folder: Path, pairs: int) -> float:
    """The model of the sample's training rows, in memory; seconds."""
    sample = pd.read_parquet(folder / "sample.parquet")
    spec, started = make_spec(list(sample), pairs), time.monotonic()
    training.fit(read_data(sample, spec, {}), spec).save(folder / "sample.gamx")
    return time.monotonic() - started


def run(folder: Path, limit: float, factor: float, pairs: int) -> dict[str, Any]:
    """Make the table, train, compare."""
    made = folder / "made.json"
    if not made.exists():
        started = time.monotonic()
        table = write(folder, factor * limit * MIB)
        made.write_text(json.dumps(table | {"made_in_seconds": time.monotonic() - started}))
    table = json.loads(made.read_text())
    print(json.dumps(table), flush=True)
    command = [sys.executable, "-m", "benchmarks.outofcore", "--child", "--folder", str(folder), "--limit", str(limit)]
    peak = watch([*command, "--pairs", str(pairs)], limit)
    told = json.loads((folder / "disk.json").read_text())
    seconds = on_sample(folder, pairs)
    found = {name: {"auc": auc, "log_loss": loss} for name, auc, loss in scores(folder)}
    return {
        "limit_mib": limit, "peak_mib": peak, "table": table, **told, "learnt": learnt_from(told["counts"]),
        "fresh": found, "sample_seconds": seconds, "machine": describe("pyarrow"),
        "spec": {k: v for k, v in asdict(make_spec([], pairs)).items() if k in ("preset", "changes", "seed")},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=600.0, help="MiB of the child, imports included")
    parser.add_argument("--factor", type=float, default=10.0, help="the table's size as a frame, in limits")
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(chosen.folder, chosen.limit, chosen.pairs)
        return
    with contextlib.ExitStack() as stack:  # a folder that is named keeps its table for the next run
        folder = chosen.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        print(json.dumps(run(folder, chosen.limit, chosen.factor, chosen.pairs), indent=1))


if __name__ == "__main__":
    main()
