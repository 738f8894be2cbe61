"""Fits through counts of the rows, where a model keeps these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from gamcore.boosting.counts.bin_pairs import HALF_GROUPS, TABLE_GROUPS
from gamcore.boosting.fit.model import Seeds
from gamcore.boosting.running.progress import Watcher
from gamcore.boosting.updating.tables import KeptTables
from gamcore.data.columns import TableError, hash_texts
from gamcore.estimators.additive import AdditiveEstimator, bin_rows
from gamcore.estimators.additive_parameters import AUTO
from gamcore.estimators.base import TrainingRows, loss_of, n_threads
from gamcore.estimators.progress_bar import listening
from gamcore.kernels import CODE, N_CODES
from gamcore.model.additive import AdditiveModel


def fit_counts(model: AdditiveEstimator, rows: TrainingRows) -> KeptTables:
    """Fit a model to rows in memory through counts of them, and return the counts.

    TableError where the settings rule that out, or the rows have more bins than counts can be kept of.
    """
    _check_settings(model)
    model.steep_ = not model.smoothing_rounds
    binned = bin_rows(model, rows, int(model.max_bins), int(model.max_bins))
    if binned.codes.dtype != CODE:
        raise TableError(f"Counts of rows can be kept of at most {N_CODES - 2} bins per feature: give fewer cuts.")
    data = replace(model._encoded(rows, binned, None), weight=rows.given_weight)
    seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    tables = KeptTables.of(data, seed, _groups(model), keys=keys_of(rows), n_threads=n_threads(model.n_jobs))
    boost_counts(model, tables)
    assert isinstance(model.model_, AdditiveModel)
    # Rows to come may lie beside any cut, so the counts do not know what does; the model of these rows does.
    model.model_ = replace(model.model_, bins=binned.bins)
    return tables


def boost_counts(model: AdditiveEstimator, tables: KeptTables) -> None:
    """Boost a model from counts, with bands where `bands` asks for them."""
    seeds = Seeds.of(tables.origin.seed)
    with listening(model.callback) as callback:
        watcher = Watcher(callback)
        model._fit_source(tables, seeds, watcher)
        if model.bands and not watcher.stopped:
            model._add_group_halves(tables, tables.problem, model.bands, seeds, watcher=watcher)


def keys_of(rows: TrainingRows) -> NDArray[np.uint64] | None:
    """Return a number (n,) for each row's label, the same in every table; None where rows have no labels."""
    if rows.labels is None:
        return None
    texts = pd.Series(rows.labels).astype(str).to_numpy(object)
    return hash_texts(texts)


def _check_settings(model: AdditiveEstimator) -> None:
    """Raise TableError where a model cannot be boosted from counts."""
    wrong = {
        'objective="squared"': not loss_of(model).is_additive,
        'ensemble="grouped"': model.ensemble != "grouped",
        "interactions=0": not (isinstance(model.interactions, int | np.integer) and model.interactions == 0),
        "triples=0": not (isinstance(model.triples, int | np.integer) and model.triples == 0),
        "shapes=None": bool(model.shapes),
        f"max_bins={N_CODES} or fewer": model.max_bins == AUTO or int(model.max_bins) > N_CODES,
        f'bands=0, or n_groups="auto" or at least {HALF_GROUPS}': bool(model.bands) and _groups(model) < HALF_GROUPS,
    }
    if needed := [setting for setting, is_wrong in wrong.items() if is_wrong]:
        raise TableError(f"Counts of rows can be kept with {' and '.join(needed)}: set it, or keep_tables=False.")


def _groups(model: AdditiveEstimator) -> int:
    if isinstance(model.n_groups, str):
        return HALF_GROUPS if model.bands else TABLE_GROUPS
    return int(model.n_groups)
