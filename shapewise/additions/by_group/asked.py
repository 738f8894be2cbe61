"""Where a model is wrong on its held-out rows, and its columns as a table; with and without pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pandas as pd

from gamcore import CalibrationByGroup, calibration_by_group
from gamcore.common.numbers import p_value
from gamcore.data.column_names import Names
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.store.workspace import ModelAbout
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec

GIVEN: Final = ("weight", "exposure", "group")
"""Columns of a specification that are no groups of rows."""

HEADS: Final = {
    "column": "Column", "in_model": "In the model", "groups": "Groups", "wrong": "Clearly off",
    "group": "Clearest group", "observed": "Observed", "predicted": "Predicted", "ratio": "Observed by predicted",
    "p_holm": "p after Holm",
}  # fmt: skip


def is_measurable(model: ModelAbout, data: Data | None) -> bool:
    """Return whether a model has held-out rows that it surely has not learned from."""
    return data is not None and data.measurable and not {"sample", "added"} & set(model.rows or {})


def asked_of(
    estimator: GAMRegressor | GAMClassifier, model: ModelAbout, rows: pd.DataFrame, data: Data, of_class: str
) -> CalibrationByGroup:
    """Return where a model is wrong on held-out rows; TableError where it cannot be said.

    rows : of its table, with all columns. of_class : of several classes the one that is asked about.
    """
    spec = Spec.from_dict(model.spec)
    apart = {spec.target, *(getattr(spec, name) for name in GIVEN)}
    beside = [name for name in rows.columns if name not in data.X.columns and name not in apart]
    given = {"sample_weight": data.weight, "groups": data.groups, "exposure": data.exposure}
    known = {name: values for name, values in given.items() if values is not None}
    label = next((level for level in data.classes if str(level) == of_class), None)
    X = data.X.join(rows[beside])
    return calibration_by_group(estimator, X, data.y, **known, held_out=data.held_out, of_class=label)


def shown(calibration: CalibrationByGroup, names: Names) -> CalibrationByGroup:
    """Return an answer with columns and levels as people call them."""
    columns = tuple(replace(column, cut=column.cut.named(names)) for column in calibration.columns)
    return replace(calibration, columns=columns)


def ranking(calibration: CalibrationByGroup) -> pd.DataFrame:
    """Return a line per column, that with the clearest error first, under names that people read."""
    table = calibration.by_column()
    words = [p_value(p).removeprefix("p ").removeprefix("= ") for p in table["p_holm"]]
    return table.assign(in_model=table["in_model"].map({True: "yes", False: "no"}), p_holm=words).rename(columns=HEADS)
