"""Tables in pieces, and clusters to fit them on."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import dask
import numpy as np
import pandas as pd
import psutil
from distributed import Client

from tests.support.fits import friendly, outcomes
from tests.support.forks import Forks, Program

PROGRAM = "import dask\ndask.config.refresh()\nfrom distributed.cli.{name} import main\nmain()"
"""A program of Dask, with the settings in its own environment."""


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


@cache
def dask_forks() -> Forks:
    """What the programs of all clusters are forked from, and others that ask these."""
    forks = Forks((
        "distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "gamcore.distributed.cluster",
        "shapewise.access.cluster",
    ))  # fmt: skip
    atexit.register(forks.close)
    return forks


@dataclass
class Processes:
    """A cluster of processes of their own: the programs that a page test runs would be started again by children of
    its process. add : starts a worker more."""

    client: Client
    scheduler: psutil.Process
    workers: list[psutil.Process]
    add: Callable[[], psutil.Process]

    def replace_one(self) -> None:
        """Kill a worker, and start another in its place."""
        psutil.Process(next(iter(self.client.run(os.getpid).values()))).kill()
        self.add()


@contextmanager
def cluster(n_workers=2) -> Iterator[Processes]:
    """Start a cluster; see `bare_cluster`."""
    with TemporaryDirectory() as folder, bare_cluster(Path(folder), n_workers) as made:
        yield made


@contextmanager
def bare_cluster(folder, n_workers=2, certificates=None) -> Iterator[Processes]:
    """Start a scheduler and workers, each with one thread. certificates : variables that say where they are."""
    file, started = folder / "scheduler.json", []
    environment = {**os.environ, **(certificates or {})}

    def start(name, *options):
        words = ("--scheduler-file", str(file), "--no-dashboard", *options)
        program = Program(name, PROGRAM.format(name=name), str(folder), words)
        started.append(dask_forks().start(program, environment))
        return started[-1]

    def add():
        kept = ("--nthreads", "1", "--memory-limit", "2GB", "--local-directory", str(folder))
        return start("dask_worker", "--no-nanny", *kept)

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
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, left = psutil.wait_procs(started, 10)
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left)


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
