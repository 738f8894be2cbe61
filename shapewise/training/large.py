"""Training on a table far larger than memory, stored as one Parquet file with a sample of its rows.

Bins are learnt from the sample. One pass over the table writes the codes of all training rows to disk. Each refit reads
as many of them as fit in memory: all of them, or a part that differs from refit to refit. All refits share their bins,
so their mean is exact. Rows per bin, means and the base rate are computed over all rows.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.boosting.progress import Progress
from gamcore.boosting.row_files import ROW_BYTES, Files
from gamcore.boosting.rows import in_range
from gamcore.boosting.rows_in_parts import RowsInParts
from gamcore.boosting.rows_on_disk import PartsOnDisk
from gamcore.data.binning import Bins, type_of_all
from gamcore.data.codes import clear_codes
from gamcore.data.columns import TableError
from gamcore.data.own_bins import own_bins
from gamcore.data.table import Table, as_frame, learn_features
from gamcore.estimators.additive_parameters import AUTO
from gamcore.estimators.gam import Estimator, GAMClassifier, GAMRegressor
from gamcore.kernels import N_CODES
from gamcore.model.additive import AdditiveModel
from gamcore.model.losses import LOSSES
from gamcore.numbers import size
from gamcore.types import Bools
from shapewise.jobs.process import StoppedError
from shapewise.memory import give_back_early
from shapewise.store.batches import batches, count_rows
from shapewise.training.cost import estimate
from shapewise.training.dataset import Data, columns_of, held_out_rows, read_data
from shapewise.training.estimator import learner
from shapewise.training.large_pass import HeldOutOfTable, Spilling, learn_bins
from shapewise.training.spec import Spec

Callback = Callable[[Progress], bool | None]
Additive = GAMRegressor | GAMClassifier

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
    """Fit a model to all training rows of a table; return it, the rows of the sample, and counts of rows.

    sample : rows of the table in their order; metrics are measured on its held-out rows.

    The counts: training, the training rows; weighing, those with a nonzero weight; held_out, held-out rows of the
    sample; set_aside, held-out rows of the table; without_target; refits, the number of refits; a_refit, rows per
    refit, validation rows included; learnt, rows that the refits cover together; banded, rows whose halves gave bands.
    """
    check_kind(spec)
    give_back_early()
    sample = as_frame(sample)
    data = read_data(sample, spec, held_out_by)
    model = learner(data, spec, n_jobs, callback)
    assert isinstance(model, Additive)
    n_rows = count_rows(place.table)
    known = ~data.held_out & (True if data.weight is None else data.weight > 0)
    bins = _learn_bins(model, data, known, n_rows > len(sample))
    _check_disk(place.scratch, n_rows, len(bins) * np.dtype(type_of_all(bins)).itemsize)
    files = Files(place.scratch, len(bins), type_of_all(bins))
    try:
        columns = list(dict.fromkeys([*columns_of(spec, held_out_by), *spec.filter_columns()]))
        held = held_out_rows(sample, spec.table, held_out_by.get("group"), held_out_by.get("time"))
        held_out = HeldOutOfTable(sample, held, held_out_by)
        spilling = Spilling(spec, sample[columns], held_out, bins, files, classes=data.classes)
        _read(place.table, n_rows, sample[columns], spilling, callback)
        give_back_early()
        source = _source(spilling, model, place.memory, n_jobs)
        model.fit_source(data.X[known], data.y[known], source, spec.bands)
        counts = _counts(spilling, source, data, model)
    finally:
        files.close()
    return model, data, counts


def check_kind(spec: Spec) -> None:
    """Raise TableError for a kind of model that cannot be trained from disk."""
    if spec.kind != "additive":
        raise TableError(
            "Multi-task trees need their whole table in memory, and this one is far larger: train an additive model, "
            "or load fewer rows."
        )
    if spec.keep_counts:
        raise TableError("Counts of rows are kept of tables in memory, and this one is far larger: train without them.")


def _learn_bins(model: Additive, data: Data, known: Bools, partial: bool) -> tuple[Bins, ...]:
    """Return the bins of the rows marked in `known` (n,): the sample's training rows of positive weight."""
    X = Table.of(data.X[known])
    weight = None if data.weight is None else in_range(data.weight[known], float(data.weight[known].mean()))
    features = learn_features(X, model.categorical_features, model.date_parts)
    max_bins = N_CODES if model.max_bins == AUTO else int(model.max_bins)
    return learn_bins(X, features, weight, max_bins, partial=partial, own=own_bins(model.bins, features))


def _check_disk(scratch: Path, n_rows: int, code_bytes: int) -> None:
    needed, free = n_rows * (code_bytes + ROW_BYTES) + SPARE_BYTES, shutil.disk_usage(scratch).free
    if free < needed:
        raise TableError(
            f"Training on this table needs {size(needed)} of disk in {scratch}, and {size(free)} are "
            "free: make room, or choose fewer features."
        )


def _read(table: Path, n_rows: int, like: pd.DataFrame, spilling: Spilling, callback: Callback | None) -> None:
    """Read the table once and spill its training rows."""
    started, done = time.monotonic(), 0
    for frame in batches(table, like):
        spilling.take(clear_codes(frame, spilling.spec.codes_of(spilling.spec.table) or {}))
        done += len(frame)
        if callback and callback(Progress.of_reading(done, n_rows, time.monotonic() - started)):
            raise StoppedError("Cancelled.")
    if not spilling.complete:
        raise TableError(
            "The table's sample has rows that the table lacks, so they were not made together: load it again."
        )
    if not spilling.files.n_rows:
        raise TableError("No training row is left: the table or the row filter is too small.")


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


def _source(spilling: Spilling, model: Additive, memory: int, n_jobs: int) -> RowsInParts:
    parameters, spec = model.get_params(deep=False), spilling.spec
    most = most_rows(spilling.files.n_rows, spilling.files.n_features, parameters, memory, n_jobs, loss=model.loss.name)
    weighted, clustered, exposed = (name is not None for name in (spec.weight, spec.group, spec.exposure))
    return RowsInParts(
        PartsOnDisk(spilling.files, weighted, clustered, exposed),
        spilling.bins(),
        spilling.sizes,
        most,
        LOSSES["softmax"] if spec.loss == "softmax" else model.loss,
        weighted=weighted,
        clustered=clustered,
        exposed=exposed,
        room=memory,
    )


def _counts(spilling: Spilling, source: RowsInParts, data: Data, model: Additive) -> dict[str, int]:
    n_groups = source.usual_groups(model.ensemble, spilling.spec.bands > 0)
    n_groups = n_groups if isinstance(model.n_groups, str) else model.n_groups
    n_rows, all_learnt = source.parts.n_rows, source.is_counted(n_groups, model.ensemble)
    fitted = model.model_
    banded = isinstance(fitted, AdditiveModel) and fitted.n_halves > 0
    return {
        "training": spilling.counts["training"],
        "held_out": int(np.count_nonzero(data.held_out)),
        "without_target": spilling.counts["without_target"],
        "weighing": n_rows,
        "set_aside": spilling.counts["set_aside"],
        "a_refit": n_rows if all_learnt else source.n_rows,
        "learnt": n_rows if all_learnt else source.covered(model.outer_bags),
        "refits": model.outer_bags,
    } | ({"banded": n_rows} if banded else {})
