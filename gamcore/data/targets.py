"""Targets and other values per row, with checks that raise readable messages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from gamcore.data.columns import TARGET, Kind, TableError, kind_of, read_numbers, valid_text

LARGEST_TARGET: Final = 1e150

PLAIN: Final = (str, bool, int, float, np.bool_, np.integer, np.floating)
"""Types of class labels."""

MOST_CLASSES: Final = 20
"""Each class has curves of its own, which somebody has to read."""


def _target(y: Any) -> pd.Series:
    """Return a target as a column named `TARGET`."""
    if y is None:
        raise TableError("This estimator requires y to be passed, but the target y is None.")
    with valid_text("The target"):
        return pd.Series(y).reset_index(drop=True).rename(TARGET)


def read_numeric_target(y: Any) -> NDArray[np.float64]:
    """Return a regression target: finite numbers, float64 (n,)."""
    series = _target(y)
    if kind_of(series) not in ("number", "boolean"):
        raise TableError("The target is not a number: choose a numeric column, or train a classifier.")
    values = read_numbers(series)
    missing = int(np.isnan(values).sum())
    if missing:
        raise TableError(f"The target is missing (NaN) in {missing} rows: drop them before training.")
    if np.max(np.abs(values), initial=0.0) > LARGEST_TARGET:
        raise TableError("The target has values beyond 1e150: divide it by a constant first.")
    return values


def read_class_target(y: Any, most: int = MOST_CLASSES) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return a target of 2 to `most` classes: codes from 0 on, (n,), and the classes in order."""
    series = _target(y)
    missing = int(series.isna().sum())
    if missing:
        raise TableError(f"The target is missing (NaN) in {missing} rows: drop them before training.")
    kind = kind_of(series)
    classes, codes = np.unique(series.to_numpy(), return_inverse=True)
    classes = _labels(classes, kind)
    if classes.size < 2:
        raise TableError("The target has one class, and a classifier needs at least two: add rows of another.")
    if most == 2 < classes.size:
        raise TableError(
            f"Only binary classification is supported: the target has {classes.size} classes and must have 2; say "
            "which levels are positive, or choose another column."
        )
    if classes.size > most:
        raise TableError(
            f"The target has {classes.size} classes, and at most {most} are possible: combine the rare ones, "
            "or train a regressor if it is a number."
        )
    return codes.astype(np.int64), classes


def _labels(classes: NDArray[Any], kind: Kind) -> NDArray[Any]:
    """Return class labels as texts, numbers or truths, which every format can hold."""
    if kind == "date":
        raise TableError("The target holds dates: turn it into text or numbers, or choose another column.")
    if kind == "number" and not types.is_integer_dtype(classes.dtype):
        numbers = read_numbers(pd.Series(classes, name=TARGET))
        if np.any(numbers != np.floor(numbers)):
            raise TableError("Unknown label type: the target is continuous; train a regressor, or choose classes.")
        classes = numbers if any(isinstance(label, Decimal) for label in classes) else classes
    odd = next((label for label in classes if not isinstance(label, PLAIN)), None)
    if odd is not None:
        raise TableError(
            f"The target has labels of type {type(odd).__name__}, such as {str(odd)[:40]!r}: turn them into text."
        )
    with valid_text("The target"):
        "".join(label for label in classes if isinstance(label, str)).encode()
    return classes


def places_of(y: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place (n,) of each row's class among known ones, -1 for another."""
    return np.asarray(pd.Index(classes).get_indexer(pd.Index(_target(y).to_numpy())), np.int64)


def codes_of(y: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the codes (n,) of a target among known classes, some of which it may lack."""
    codes = places_of(y, classes)
    if (codes < 0).any():
        strange = list(pd.unique(_target(y)[codes < 0]))[:3]
        raise TableError(f"The target has the classes {strange}; the model knows {list(classes)}.")
    return codes
