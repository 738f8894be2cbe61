"""Rows added to a model that kept counts of its rows, which need not exist any more."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pandas as pd

from gamcore.boosting.running.progress import Callback
from gamcore.common.numbers import percent
from gamcore.data.columns import TableError
from gamcore.estimators.gam import GAMRegressor
from gamcore.estimators.saved import from_saved
from gamcore.estimators.updating import update
from shapewise.store.workspace import ModelAbout, StoreError, Workspace
from shapewise.training.intervals import calibrate
from shapewise.training.spec import Spec
from shapewise.training.train import describe, read_all, read_codes, store, with_present_codes

MOST_REPEATED = 0.5
"""Share of the added rows that may equal earlier ones: of coarse columns many do by chance."""


def add_rows(
    workspace: Workspace, spec: Spec, model: str, n_jobs: int = 1,
    callback: Callback | None = None,
) -> ModelAbout:  # fmt: skip
    """Add the training rows of a specification to a stored model, and store the result as a new model.

    Held-out rows are those of the added rows. TableError where the rows are those that the model has learned from.
    """
    spec = with_present_codes(workspace, replace(spec, keep_counts=True))
    before = workspace.models.about(model)
    _check_fresh(workspace, spec, before)
    data, started = read_all(workspace, spec), time.monotonic()
    grown = from_saved(workspace.models.load(model))
    assert isinstance(grown, GAMRegressor)
    grown.set_params(n_jobs=n_jobs, callback=callback)
    grown.tables_ = workspace.models.tables(model)
    known = ~data.held_out
    update(grown, data.X[known], data.y[known], **data.of_rows(known))
    read_codes(grown, spec, data)
    calibrate(grown, data, spec)
    about = describe(workspace, spec, data, grown, time.monotonic() - started)
    rows = about.rows | {"training": grown.tables_.n_rows, "added": int(known.sum())}
    drift = grown.update_drift_.to_dict("records")
    return store(workspace, replace(about, rows=rows, bands=grown.model_.n_halves, drift=drift), grown)


def _check_fresh(workspace: Workspace, spec: Spec, before: ModelAbout) -> None:
    """Raise TableError if most of the rows are in the table that a model was trained on, where that still exists."""
    try:
        old, new = (workspace.tables.read(table, {}) for table in (before.table, spec.table))
    except StoreError:
        return
    columns = [name for name in (*spec.features, spec.target) if name in old.columns and name in new.columns]
    keys = [pd.util.hash_pandas_object(frame[columns], index=False).to_numpy() for frame in (old, new)]
    repeated = float(np.isin(keys[1], keys[0]).mean()) if len(new) else 0.0
    if repeated > MOST_REPEATED:
        raise TableError(
            f"{percent(repeated, 0)} of the rows are in the older version, so the model has learned from them already: "
            "load the new rows alone, or retrain on all of them."
        )
