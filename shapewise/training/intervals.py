"""Prediction intervals of a newly trained model, calibrated on its held-out rows."""

from __future__ import annotations

from contextlib import suppress

from gamcore.data.columns import TableError
from gamcore.estimators.gam import Estimator, GAMRegressor
from gamcore.estimators.intervals import fit_intervals
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec


def calibrate(model: Estimator, data: Data, spec: Spec) -> None:
    """Give a model of a mean its prediction intervals; none where too few rows, or groups of rows, are held out, and
    none for an effect, which no row shows."""
    of_mean = isinstance(model, GAMRegressor) and spec.kind_of_target != "quantile" and spec.treatment is None
    if not (of_mean and data.measurable):
        return
    held = data.held_out
    assert isinstance(model, GAMRegressor)
    with suppress(TableError):
        fit_intervals(model, data.X[held], data.y[held], **data.of_rows(held))
