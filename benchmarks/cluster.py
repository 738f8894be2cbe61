"""Time fits on a Dask cluster of this machine: `python -m benchmarks.cluster [--rows N] [--features P]
[--loss squared|logistic] [--workers N] [--memory BYTES] [--delayed] [--machine]`.

The workers generate the table from the numbers of its pieces, wherever a piece is read; with `--delayed` they generate
it once, and keep the frames. With `--machine` threads of this process read the same pieces, and coded rows lie on its
disk. Compiled kernels are loaded before the clock starts.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import dask
import numpy as np
import pandas as pd
import psutil
from dask.utils import parse_bytes
from distributed import Client, LocalCluster

from benchmarks.harness.machine import describe
from benchmarks.harness.watch import Watch
from gamcore import GAMClassifier, GAMRegressor, Progress, warmup
from gamcore.common.numbers import count, fixed, size
from gamcore.common.types import Floats
from gamcore.distributed import OnCluster, OneMachine
from tests.support.pieces import same_bits

PIECE_ROWS, FRESH_ROWS, THREADS = 500_000, 100_000, 2
LOOK_SECONDS = 0.25


@dataclass(frozen=True)
class GeneratedPiece:
    """Rows that are made when they are read. squared : whether the target is a number."""

    number: int
    n_rows: int
    n_features: int
    squared: bool

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"Piece {self.number}"

    def read(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Make the rows."""
        rng = np.random.default_rng([2026, self.number])
        frame = pd.DataFrame(rng.normal(size=(self.n_rows, self.n_features)))
        frame.columns = [f"x{j}" for j in range(self.n_features)]
        score = truth(frame)
        y = score + rng.normal(size=self.n_rows) if self.squared else rng.random(self.n_rows) < 1 / (1 + np.exp(-score))
        frame = frame.assign(y=y if self.squared else y.astype(np.int64))
        return frame if columns is None else frame[list(columns)]


def truth(frame: pd.DataFrame) -> Floats:
    """Return the scores (n,) of rows: waves, bends and steps, each weaker than the one before."""
    ways = (lambda x: np.sin(2 * x), lambda x: np.abs(x) - 0.8, lambda x: (x > 0.5) - 0.3, np.tanh)
    return np.asarray(sum(ways[j % 4](frame[name].to_numpy()) / (1 + j / 4) for j, name in enumerate(frame)))


class Record:
    """A callback that notes when stages begin and end; meanwhile a thread looks at the memory of this process and its
    children. Each pass over the pieces is a stage of its own."""

    def __init__(self) -> None:
        self.began, self.stages, self.peaks = time.monotonic(), [], Counter[int]()
        self._last, self._over = Progress.of_step("reading the table", 0, 1, np.inf), threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def __call__(self, progress: Progress) -> None:
        """Note a stage."""
        now = time.monotonic() - self.began
        if progress.stage != self._last.stage or progress.seconds < self._last.seconds:
            self.stages.append([progress.stage, now - progress.seconds, now])
        self.stages[-1][2], self._last = now, progress

    def _look(self) -> None:
        this = psutil.Process()
        while not self._over.wait(LOOK_SECONDS):
            for child in (this, *this.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    self.peaks[child.pid] = max(self.peaks[child.pid], child.memory_info().rss)

    def report(self, workers: set[int]) -> str:
        """Return what was noted, as lines. workers : the processes that were workers in the end."""
        self._over.set()
        self._thread.join()
        lines = [f"  {name}: from {fixed(begin, 1)} to {fixed(end, 1)} s" for name, begin, end in self.stages]
        names = {os.getpid(): "driver", **dict.fromkeys(workers, "worker")}
        peaks = [f"{names.get(pid, 'other or lost process')} {size(peak)}" for pid, peak in self.peaks.items()]
        return "\n".join([*lines, f"  peak memory: {', '.join(peaks)}"])


def traffic(client: Client) -> dict[str, float]:
    """Return the bytes moved so far: as Dask sizes them, and on the loopback with all that else is there."""

    def of_worker(dask_worker: Any) -> tuple[float, float]:
        sent = dask_worker.transfer_outgoing_bytes_total
        return sent, sum(transfer["total"] for transfer in dask_worker.transfer_incoming_log)

    sent, got = np.sum(list(client.run(of_worker).values()), axis=0)
    loopback = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
    return {"between workers": got, "from workers to the driver": sent - got, "on the loopback": loopback}


def fit(X: Any, like: GeneratedPiece, crew: Any, client: Client | None = None) -> Any:
    """Fit to all pieces; print the seconds, the stages, and the error to the truth. like : a piece of the kind."""
    squared, before = like.squared, traffic(client) if client else {}
    record = Record()
    model = (GAMRegressor if squared else GAMClassifier)(random_state=0, n_jobs=THREADS, callback=record)
    with Watch() as watch:
        record.began = time.monotonic()
        model.fit(X, "y", client=crew)
        seconds = time.monotonic() - record.began
    workers = set(client.run(os.getpid).values()) if client else set()
    fresh = replace(like, number=10**9, n_rows=FRESH_ROWS).read().drop(columns="y")
    predictions = model.predict(fresh) if squared else model.decision_function(fresh)
    error = float(np.sqrt(np.mean((predictions - truth(fresh)) ** 2)))
    rounds = ", ".join(map(count, model.best_rounds_))
    print(f"{fixed(seconds, 1)} s; error to the truth {fixed(error, 4)}; best rounds {rounds}")
    print(record.report(workers))
    if client:
        moved = {name: size(bytes_ - before[name]) for name, bytes_ in traffic(client).items()}
        print("  moved:", ", ".join(f"{bytes_} {name}" for name, bytes_ in moved.items()))
    print(f"  other processes used {fixed(watch.others, 2)} cores", flush=True)
    return model


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--loss", choices=("squared", "logistic"), default="squared")
    parser.add_argument("--memory", type=parse_bytes, default="4GB", help="bytes that each worker may use")
    parser.add_argument("--delayed", action="store_true", help="the workers keep the frames, as Dask's delayed ones")
    parser.add_argument("--machine", "--alone", action="store_true", help="also without a cluster")
    asked = parser.parse_args()
    rows, features, workers = asked.rows, asked.features, asked.workers
    like = GeneratedPiece(0, PIECE_ROWS, features, squared=asked.loss == "squared")
    starts = range(0, rows, PIECE_ROWS)
    pieces = [replace(like, number=k, n_rows=min(PIECE_ROWS, rows - first)) for k, first in enumerate(starts)]
    X = [dask.delayed(GeneratedPiece.read)(piece) for piece in pieces] if asked.delayed else pieces
    cells = f"{count(rows)} rows x {features}, {size(rows * features * 8)} as float64"
    print(describe("dask", "distributed"), f"{cells}; {asked.loss}", sep="\n", flush=True)
    warmup()
    options = {"threads_per_worker": 1, "memory_limit": asked.memory, "dashboard_address": ":0"}
    dask.config.set({"distributed.admin.low-level-log-length": 10**5})  # of transfers, which are added up
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
        client.run(warmup)
        crew = OnCluster(client)
        most = crew.most_rows(features, GAMRegressor().outer_bags)
        print(f"{workers} workers of {size(asked.memory)}, at most {count(most)} rows a refit: ", end="", flush=True)
        on_cluster = fit(X, like, crew, client)
    if asked.machine:
        print(f"this machine, {THREADS} threads: ", end="", flush=True)
        alone = fit(pieces, like, OneMachine(THREADS, most))
        print("the same bits:", same_bits(on_cluster, alone))


if __name__ == "__main__":
    main()
