"""Values per row beside the target: weights, clusters, exposures and initial scores, with readable errors."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from gamcore.common.types import Floats, Ints
from gamcore.data.columns import TableError

NAMED_ROWS: Final = 3

LARGEST_SCORE: Final = 1e150


def rows_in_words(bad: Ints) -> str:
    """Return how many rows there are, and the first of them, counted from 0."""
    first = ", ".join(str(row) for row in bad[:NAMED_ROWS])
    more = ", ..." if bad.size > NAMED_ROWS else ""
    return f"{bad.size} row{'s' * (bad.size != 1)} (counted from 0: {first}{more})"


def check_unmasked(values: Any, name: str) -> None:
    """Raise TableError where some of the values per row are masked: an array would lose the mask."""
    masked = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
    if masked:
        raise TableError(f"{name} has {masked} masked rows: give every row a value.")


def read_weight(sample_weight: Any, y: NDArray[Any]) -> Floats:
    """Return the weights (n,), at least one of them above 0."""
    check_unmasked(sample_weight, "sample_weight")
    weight: Floats = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise TableError("The sample weights overflow when they are summed: scale them down.")
    if not (weight > 0).any():
        raise TableError("Every sample weight is zero: give some rows a positive weight.")
    return weight


def read_clusters(groups: Any, n: int) -> Ints:
    """Return the cluster (n,) of each row, from labels."""
    check_unmasked(groups, "groups")
    if np.ndim(groups) != 1:
        raise TableError(f"groups has {np.ndim(groups)} dimensions: give one label per row.")
    clusters, labels = pd.factorize(np.asarray(groups), use_na_sentinel=False)
    if len(labels) < 2 and n > 1:
        raise TableError("groups has one label only, so no rows could validate: leave it out.")
    if clusters.size != n:
        raise TableError(f"groups has {clusters.size} entries for {n} rows: give one per row.")
    return np.asarray(clusters, np.int64)


def read_log_exposure(exposure: Any, n: int) -> Floats:
    """Return the logs (n,) of exposures, which must be above 0."""
    values = row_numbers(exposure, "exposure")
    if values.shape != (n,):
        raise TableError(f"exposure has the shape {values.shape} for {n} rows: give one number per row.")
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if bad.size:
        raise TableError(f"exposure is not above 0 in {rows_in_words(bad)}: correct or drop these rows.")
    return np.log(values)


def read_init_score(init_score: Any, n: int, n_scores: int = 1) -> Floats | None:
    """Return given scores (n,), or (n, n_scores) where each row has several; None if none are given."""
    if init_score is None:
        return None
    values = row_numbers(init_score, "init_score")
    shape = (n,) if n_scores == 1 else (n, n_scores)
    if values.shape != shape:
        each = "one score per row" if n_scores == 1 else f"{n_scores} scores per row, one per class"
        raise TableError(f"init_score has the shape {values.shape} for {n} rows: give {each}.")
    bad = np.flatnonzero(~(np.abs(values.reshape(n, -1)) <= LARGEST_SCORE).all(axis=1))
    if bad.size:
        raise TableError(f"init_score is not a finite number in {rows_in_words(bad)}: correct or drop these rows.")
    return values


def row_numbers(values: Any, name: str) -> Floats:
    """Return values per row as float64; what is missing is NaN."""
    check_unmasked(values, name)
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise TableError(f"{name} has values that are not numbers: give one number per row.") from error
