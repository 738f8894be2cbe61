"""Targets and other values per row, with checks that raise readable messages."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from gamcore.common.numbers import counted
from gamcore.data.columns import TARGET, Kind, TableError, kind_of, read_numbers, valid_text

LARGEST_TARGET: Final = 1e150

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
        raise TableError(
            f"The target is missing (NaN) in {counted(missing, 'row')}: drop {'it' if missing == 1 else 'them'} before "
            "training."
        )
    if np.max(np.abs(values), initial=0.0) > LARGEST_TARGET:
        raise TableError("The target has values beyond 1e150: divide it by a constant first.")
    return values


def read_class_target(y: Any, most: int = MOST_CLASSES) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return a target of 2 to `most` classes: codes from 0 on, (n,), and the classes in order."""
    series = _target(y)
    missing = int(series.isna().sum())
    if missing:
        raise TableError(
            f"The target is missing (NaN) in {counted(missing, 'row')}: drop {'it' if missing == 1 else 'them'} before "
            "training."
        )
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


def check_label(label: Any, what: str) -> None:
    """Raise TableError for the label of a class or a task, which `what` names, that no file can hold."""
    plain = label.item() if isinstance(label, np.generic) else label
    kept = isinstance(plain, str | bool) or (isinstance(plain, int) and -(2**63) <= plain < 2**64)
    if not (kept or (isinstance(plain, float) and math.isfinite(plain))):
        raise TableError(
            f"{what} is {type(label).__name__} {str(label)[:40]!r}: label them with strings, or numbers of 64 bits."
        )
    with valid_text("A label"):
        str(label).encode()


def _labels(classes: NDArray[Any], kind: Kind) -> NDArray[Any]:
    """Return class labels as texts, numbers or truths, which every format can hold."""
    if kind == "date":
        raise TableError("The target holds dates: turn it into text or numbers, or choose another column.")
    if kind == "number" and not types.is_integer_dtype(classes.dtype):
        numbers = read_numbers(pd.Series(classes, name=TARGET))
        if np.any(numbers != np.floor(numbers)):
            raise TableError("Unknown label type: the target is continuous; train a regressor, or choose classes.")
        classes = numbers if any(isinstance(label, Decimal) for label in classes) else classes
    for label in classes[: MOST_CLASSES + 1]:
        check_label(label, "The target has a class that")
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
