"""Training on a table far larger than memory, stored as one Parquet file with a sample of its rows.

One pass over the table writes the codes of all training rows to disk. Each refit reads as many of them as fit in
memory: all of them, or a part that differs from refit to refit.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.boosting.rows.files import ROW_BYTES, Files
from gamcore.boosting.rows.on_disk import PartsOnDisk
from gamcore.boosting.rows.sums import PartInMemory
from gamcore.boosting.running.progress import Callback, Progress
from gamcore.common.numbers import size
from gamcore.data.binning import type_of_all
from gamcore.data.codes import clear_codes
from gamcore.data.columns import TableError
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import Estimator
from shapewise.jobs.process import StoppedError
from shapewise.memory import give_back_early
from shapewise.store.batches import Matching, batches, count_rows
from shapewise.training.cost import estimate
from shapewise.training.dataset import Data
from shapewise.training.large_fit import Prepared
from shapewise.training.large_pass import Noted
from shapewise.training.spec import Spec

FEWEST_ROWS: Final = 1_000
"""The fewest rows that a refit must have memory for."""

SPARE_BYTES: Final = 64 * 2**20
"""Disk space to leave free beside what a pass writes."""


@dataclass(frozen=True)
class TrainingPlace:
    """The path of a table, a folder for unnamed temporary files, and the bytes of memory that its training may use."""

    table: Path
    scratch: Path
    memory: int


def fit_on_disk(
    place: TrainingPlace,
    sample: pd.DataFrame,
    spec: Spec,
    held_out_by: dict[str, str],
    n_jobs: int = 1,
    callback: Callback | None = None,
) -> tuple[Estimator, Data, dict[str, int]]:
    """Fit a model to all training rows of a table; return it, the rows of the sample, and counts of rows (`Prepared`).

    sample : rows of the table in their order; metrics are measured on its held-out rows.
    """
    check_kind(spec)
    give_back_early()
    n_rows = count_rows(place.table)
    prepared = Prepared.of(sample, spec, held_out_by, n_rows, n_jobs=n_jobs, callback=callback)
    bins = prepared.coder.bins
    _check_disk(place.scratch, n_rows, len(bins) * np.dtype(type_of_all(bins)).itemsize)
    files = Files(place.scratch, len(bins), type_of_all(bins))
    weighted, clustered, exposed = (name is not None for name in (spec.weight, spec.group, spec.exposure))
    parts = PartsOnDisk(files, weighted, clustered, exposed)
    try:
        noted = Noted.nothing(len(bins))
        for part, of_part in coded(place.table, n_rows, prepared, callback):
            noted += of_part
            if part.y.size:
                files.write(**{name: column for name, column in part._asdict().items() if column is not None})
        give_back_early()
        parameters = prepared.model.get_params(deep=False)
        loss = loss_of(prepared.model).name
        most = most_rows(files.n_rows, files.n_features, parameters, place.memory, n_jobs, loss=loss)
        counts = prepared.fit(prepared.source(parts, noted, most, place.memory), noted)
    finally:
        files.close()
    return prepared.model, prepared.data, counts


def coded(
    table: Path, n_rows: int, prepared: Prepared, callback: Callback | None
) -> Iterator[tuple[PartInMemory, Noted]]:
    """Read a table once and yield its training rows in codes, batch by batch, with what is noted of them."""
    started, done, matching = time.monotonic(), 0, Matching(prepared.like)
    codes = prepared.coder.spec.codes_of(prepared.coder.spec.table) or {}
    for batch in batches(table, prepared.like):
        frame = clear_codes(batch, codes)
        yield prepared.coder.code(frame, done, matching.find(frame))
        done += len(frame)
        if callback and callback(Progress.of_reading(done, n_rows, time.monotonic() - started)):
            raise StoppedError("Cancelled.")
    if not matching.complete:
        raise TableError(
            "The table's sample has rows that the table lacks, so they were not made together: load it again."
        )


def check_kind(spec: Spec) -> None:
    """Raise TableError for a kind of model that cannot be trained from disk."""
    if spec.kind != "additive":
        raise TableError(
            "Multi-task trees need their whole table in memory, and this one is far larger: train an additive model, "
            "or load fewer rows."
        )
    if spec.keep_counts:
        raise TableError("Counts of rows are kept of tables in memory, and this one is far larger: train without them.")


def _check_disk(scratch: Path, n_rows: int, code_bytes: int) -> None:
    needed, free = n_rows * (code_bytes + ROW_BYTES) + SPARE_BYTES, shutil.disk_usage(scratch).free
    if free < needed:
        raise TableError(
            f"Training on this table needs {size(needed)} of disk in {scratch}, and {size(free)} are "
            "free: make room, or choose fewer features."
        )


def most_rows(
    n_rows: int, n_features: int, parameters: dict[str, Any], memory: int, n_jobs: int, loss: str = ""
) -> int:
    """Return how many rows a refit may have within `memory` bytes. loss : its name.

    All rows if they fit together with all refits; else as many as fit where each refit holds its own rows.
    """
    if estimate(n_rows, n_features, parameters, n_jobs, loss).memory <= memory:
        return n_rows
    alone, at_once = {**parameters, "outer_bags": 1}, max(1, min(n_jobs, parameters["outer_bags"]))
    fits, too_many = 0, n_rows
    while too_many - fits > 1:
        tried = (fits + too_many) // 2
        if estimate(tried, n_features, alone, 1).memory <= memory // at_once:
            fits = tried
        else:
            too_many = tried
    if fits < FEWEST_ROWS:
        raise TableError(
            f"{size(memory)} of memory cannot hold a refit of {n_features} features: choose fewer features "
            "or pairs, or close other programs."
        )
    return fits
