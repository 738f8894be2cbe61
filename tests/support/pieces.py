"""Tables in pieces, and clusters to fit them on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import dask
import numpy as np
import pandas as pd
from distributed import Client

from tests.support.fits import friendly, outcomes
from tests.support.places import ROOT


def mixed_table(n=6000, seed=0):
    """Make a table with numbers, missing cells, categories, dates, weights, labels, exposures, and several targets."""
    X, y = friendly(n, seed)
    rng = np.random.default_rng(seed)
    score = np.sin(2 * X["a"]) + X["a"] * X["b"].fillna(0.5)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    return X.assign(
        yes=rng.uniform(size=n) < 0.3, day=pd.Series(days).where(rng.uniform(size=n) < 0.95), k=rng.integers(0, 40, n),
        w=np.where(rng.uniform(size=n) < 0.1, 0.0, rng.uniform(0.1, 2.0, n)), years=rng.uniform(0.5, 2.0, n),
        who=rng.integers(0, n // 20, n).astype(str), good=np.where(y == 1, "good", "bad"),
        number=score + rng.normal(size=n),
        kind=np.where(score > 1, "high", np.where(score < 0, "low", "middle")), events=outcomes("poisson", score, rng),
        amount=outcomes("tweedie", score, rng),
    )  # fmt: skip


def cut(frame, n_pieces):
    """Cut a table into pieces of about the same size, with one that is empty."""
    ends = np.linspace(0, len(frame), n_pieces + 1).astype(int)
    pieces = [frame.iloc[first:end] for first, end in pairwise(ends)]
    return [*pieces[:1], frame.iloc[:0], *pieces[1:]]


def files_of(folder, frame, n_files=4):
    """Write a table as the files of a dataset; return its path."""
    folder.mkdir(parents=True)
    for number, part in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        frame.iloc[part].to_parquet(folder / f"part-{number}.parquet", index=False)
    return str(folder)


@dataclass
class Processes:
    """A cluster of processes of their own: the programs that a page test runs would be started again by children of
    its process. add : starts a worker more."""

    client: Client
    scheduler: subprocess.Popen
    workers: list[subprocess.Popen]
    add: Callable[[], subprocess.Popen]


@contextmanager
def cluster(n_workers=2, *, nanny=False) -> Iterator[Processes]:
    """Start a cluster; see `bare_cluster`."""
    with TemporaryDirectory() as folder, bare_cluster(Path(folder), n_workers, nanny=nanny) as made:
        yield made


@contextmanager
def bare_cluster(folder, n_workers=2, certificates=None, *, nanny=False) -> Iterator[Processes]:
    """Start a scheduler and workers, each with one thread. certificates : variables that say where they are. nanny :
    whether lost workers are started again."""
    file, started = folder / "scheduler.json", []
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(certificates or {})}

    def start(program, *options):
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--scheduler-file", str(file), "--no-dashboard"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen([*command, *options], env=environment, cwd=folder, **quiet))
        return started[-1]

    def add():
        kept = "--nanny" if nanny else "--no-nanny"
        return start("dask_worker", kept, "--nthreads", "1", "--memory-limit", "2GB", "--local-directory", str(folder))

    try:
        scheduler = start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--protocol", "tls" if certificates else "tcp"
        )
        end = time.monotonic() + 30
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.1)
        workers = [add() for _ in range(n_workers)]
        known = {name.removeprefix("DASK_").lower().replace("__", "."): of for name, of in (certificates or {}).items()}
        with dask.config.set(known), Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(n_workers)
            yield Processes(client, scheduler, workers, add)
    finally:
        for process in reversed(started):
            process.terminate()  # so that a nanny ends its worker
        for process in started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def arrays(model):
    """Yield all arrays of a fitted model, of each class where there are several."""
    for one in getattr(model.model_, "models", (model.model_,)):
        yield from (part for term in one.terms for part in (term.scores, term.refits, term.counts))
        yield from (part for pair in one.pairs for part in (pair.surfaces, pair.counts))
        yield from (np.array([one.intercept, one.base]), one.refit_intercepts)
        if one.halves is not None:
            yield from (term.refits for term in one.halves.terms)
    yield model.validation_losses_


def same_bits(one, other):
    """Return whether two models are equal to the bit, with their bins."""
    alike = all(np.array_equal(mine, theirs, True) for mine, theirs in zip(arrays(one), arrays(other), strict=True))
    for mine, theirs in zip(one.model_.bins, other.model_.bins, strict=True):
        alike = alike and (mine.feature, mine.levels, mine.pooled) == (theirs.feature, theirs.levels, theirs.pooled)
        alike = alike and np.array_equal([*mine.cuts, mine.low], [*theirs.cuts, theirs.low], True)
    return alike
