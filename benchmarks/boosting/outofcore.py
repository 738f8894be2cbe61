"""Training within a tenth of the table's size: `python -m benchmarks.boosting.outofcore [--limit MIB] [--factor F]
[--folder DIR]`.

The table is made in batches; as a data frame it would be `factor` times the limit. It takes the app's own path: a
folder of Parquet is read by a watched child, stored, and trained on by a job whose worker the keeper kills above the
limit (resident set, imports and mapped pages included). For comparison, a model of the table's sample is fitted in
memory; both predict the same fresh rows.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn import metrics

from benchmarks.harness.machine import describe
from benchmarks.harness.watch import EVERY, MIB
from gamcore.estimators.gam import Estimator
from gamcore.estimators.saved import from_saved
from shapewise.access.quotas import Limits
from shapewise.ingest import supervisor as loader
from shapewise.jobs import process as child
from shapewise.jobs import queue as jobs
from shapewise.store.atomic_files import read_json, scratch_folder
from shapewise.store.workspace import TableAbout, Workspace
from shapewise.training import runs
from shapewise.training import train as training
from shapewise.training.dataset import learnt_from, read_data
from shapewise.training.spec import Spec

NUMBERS, CATEGORIES = 34, 4
GROUP_ROWS = 98_304
FRESH_ROWS = 400_000
TARGET = "bought"
FRESH_SEED = 10**6


def make(n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows with many small effects: bends, steps and waves of numbers, levels of unequal frequency, a date,
    missing cells."""
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


def write(path: Path, bytes_wanted: float) -> dict[str, float]:
    """Write the table one row group at a time, never holding it whole; return its sizes."""
    a_row = make(20_000, FRESH_SEED).memory_usage(deep=True).sum() / 20_000
    n_groups = int(bytes_wanted / a_row / GROUP_ROWS) + 1
    with contextlib.ExitStack() as stack:
        writer = None
        for k in range(n_groups):
            rows = pa.Table.from_pandas(make(GROUP_ROWS, k), preserve_index=False)
            writer = writer or stack.enter_context(pq.ParquetWriter(path, rows.schema, compression="zstd"))
            writer.write_table(rows)
    n_rows = n_groups * GROUP_ROWS
    return {"rows": n_rows, "frame_mib": float(n_rows * a_row) / MIB, "file_mib": path.stat().st_size / MIB}


def make_spec(table: str, columns: list[str], pairs: int) -> Spec:
    """Return the specification to train: the balanced preset on all columns."""
    features = [name for name in columns if name != TARGET]
    return Spec(table, TARGET, "large", features, ["1"], changes={"interactions": pairs} if pairs else {})


def load(space: Workspace, factor: float) -> dict[str, float]:
    """Make a table and load it into the workspace, within the memory limit of a job."""
    with tempfile.TemporaryDirectory(dir=space.root) as folder, scratch_folder(space.root) as into:
        size = write(Path(folder) / "part.parquet", factor * space.limits.memory)
        started = time.monotonic()
        limits = loader.ReadLimits(memory=space.limits.memory, table=space.limits.table_memory)
        reading = loader.Reading(Path(folder), "large", into, limits, lambda share, words: None)
        got = reading.finish()
        sample = into / "sample.parquet", got.sampled
        space.tables.add_file(into / "table.parquet", "large", got.rows, got.columns, got.notes, sample=sample)
        seconds = time.monotonic() - started
    return size | {"sample": got.sampled, "read_seconds": seconds, "read_peak_mib": reading.peak / MIB}


def train(space: Workspace, spec: Spec) -> tuple[runs.Run, float]:
    """Train in a job; return how it ended and the peak memory of its worker in MiB."""
    run, peak = runs.start(space, spec, 1), 0.0
    folder = jobs.folder(space, "runs", run)
    while not (folder / "end.json").is_file():  # asking for the job's state would disturb it
        with contextlib.suppress(psutil.Error):
            if process := child.process_of(folder):
                peak = max(peak, process.memory_info().rss / MIB)
        time.sleep(EVERY)
    state = runs.read(space, run)
    if state.model is None:
        raise SystemExit(f"{state.state}: {state.message} (peak {peak:,.0f} MiB)")
    return state, peak


def in_memory(space: Workspace, table: TableAbout, spec: Spec) -> Estimator:
    """Fit a model to the sample's training rows in memory."""
    return training.fit(
        read_data(space.tables.read(table.id), spec, space.tables.hold_out_by(table.id, None, None)), spec
    )


def scores(models: dict[str, Estimator]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the AUC and log-loss of each model on the same fresh rows."""
    fresh = make(FRESH_ROWS, FRESH_SEED + 1)
    for name, model in models.items():
        chance = model.predict_proba(fresh.drop(columns=TARGET))[:, 1]
        numbers = metrics.roc_auc_score(fresh[TARGET], chance), metrics.log_loss(fresh[TARGET], chance)
        yield name, dict(zip(("auc", "log_loss"), map(float, numbers), strict=True))


def run(folder: Path, limit: float, factor: float, pairs: int) -> dict[str, Any]:
    """Make and load the table, train, compare."""
    most = int(limit * MIB)
    space = Workspace(folder / "space", limits=Limits(slots=1, threads=1, memory=most, table_memory=most // 4))
    load_file = folder / "made.json"
    if not load_file.exists():
        load_file.write_text(json.dumps(load(space, factor)))
    (table,) = space.tables.listed()
    spec = make_spec(table.id, list(space.tables.read(table.id)), pairs)
    state, peak = train(space, replace(spec, bands=0))
    about = space.models.about(state.model or "")
    started = time.monotonic()
    other = in_memory(space, table, spec)
    seconds = time.monotonic() - started
    return {
        "limit_mib": limit, "peak_mib": peak, "table": read_json(load_file), "seconds": about.seconds,
        "rows": about.rows, "learnt": learnt_from(about.rows), "held_out": about.metrics,
        "fresh": dict(scores({"disk": from_saved(space.models.load(about.id)), "sample": other})),
        "sample_seconds": seconds, "machine": describe("pyarrow"),
        "spec": {k: v for k, v in spec.to_dict().items() if k in ("preset", "changes", "seed")},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=600.0, help="MiB of the worker, imports included")
    parser.add_argument("--factor", type=float, default=10.0, help="the table's size as a frame, in limits")
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="keeps the table for the next run")
    chosen = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = chosen.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        print(json.dumps(run(folder, chosen.limit, chosen.factor, chosen.pairs), indent=1))


if __name__ == "__main__":
    main()
