"""Shared base of all estimators: reading tables and rows, checking parameters, restoring saved models."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeVar

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from gamcore.boosting.rows.source import relative_weight
from gamcore.boosting.running.progress import Progress
from gamcore.common.types import Codes, Floats, Ints
from gamcore.data.binning import columns_of, encode_table
from gamcore.data.columns import TableError
from gamcore.data.rows import read_clusters, read_init_score, read_log_exposure, read_weight
from gamcore.data.table import Table, frame_of
from gamcore.estimators.parameters import THREADS, constraints, document, parameter
from gamcore.estimators.reading import diagram_below, quality
from gamcore.explain.model_page import Fact
from gamcore.io.checks import ModelFileWarning
from gamcore.io.manifest import Saved
from gamcore.model.additive import AdditiveModel
from gamcore.model.classes import ClassesModel
from gamcore.model.losses import LOSSES, Loss
from gamcore.multitask.model import TaskModel
from gamcore.stats.bands import USUAL_SHARE
from gamcore.viz.spec import Plot

FEW_THREADS: Final = 16


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a fit: table, target (n,), and, where given, weights, clusters and the two parts of an offset.

    log_exposure : (n,). init_score : (n,), or (n, K) for K classes. labels : (n,) those of the clusters. given_weight :
    the weights as they were given, where `weight` has them in units of their mean, and None where all are alike.
    """

    table: Table
    y: NDArray[Any]
    weight: Floats | None = None
    clusters: Ints | None = None
    log_exposure: Floats | None = None
    init_score: Floats | None = None
    labels: NDArray[Any] | None = None
    given_weight: Floats | None = None

    def weighed(self) -> TrainingRows:
        """Return the rows whose weight is above 0, weighed in units of the mean weight."""
        assert self.weight is not None
        kept = self.weight > 0
        weight = self.weight[kept]
        clusters = None if self.clusters is None else np.unique(self.clusters[kept], return_inverse=True)[1]
        log_exposure, init_score, labels = (
            None if values is None else values[kept] for values in (self.log_exposure, self.init_score, self.labels)
        )
        relative = relative_weight(weight, float(weight.mean()))
        return TrainingRows(
            self.table.take(kept),
            self.y[kept],
            weight=relative if np.ptp(relative) > 0 else None,
            clusters=clusters,
            log_exposure=log_exposure,
            init_score=init_score,
            labels=labels,
            given_weight=weight,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class TableEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator of a table of mixed columns, with the settings that all have."""

    _parameter_constraints: ClassVar[dict[str, Any]]
    model_: AdditiveModel | ClassesModel | TaskModel = field(init=False)

    categorical_features: Sequence[Any] | Literal["infer"] = parameter(
        "infer",
        [StrOptions({"infer"}), "array-like"],
        "Columns to treat as categories whatever their type: their names or places, or a mask of all columns.",
    )
    date_parts: bool = parameter(False, ["boolean"], "Whether a date column also gives its month and its weekday.")
    n_jobs: int | None = parameter(None, THREADS, "Threads. The model is bit-identical for any number of them.")
    random_state: int | np.random.RandomState | None = parameter(None, ["random_state"], "Seed of every random draw.")
    callback: Callable[[Progress], bool | None] | Literal["progress"] | None = parameter(
        None, [callable, StrOptions({"progress"}), None],
        "Called with every `Progress`, in turn; rounds may come up to 64 at a time. Returning true stops "
        'the fit at its best round so far. "progress" shows the rounds as they are done, by tqdm.',
    )  # fmt: skip

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Give an estimator the validation and the documentation of its settings."""
        super().__init_subclass__(**keywords)
        cls._parameter_constraints = constraints(cls)
        cls.__doc__ = (cls.__doc__ or "").replace("{parameters}", document(cls))

    @property
    def _loss(self) -> Loss:
        raise NotImplementedError

    def _to_saved(self, **about: Any) -> Saved:
        raise NotImplementedError

    if not TYPE_CHECKING:  # else any attribute would be taken to be there

        def __getattr__(self, name: str) -> Any:
            """What was an attribute in 0.1 and is a function now, for scripts of that time."""
            if name in WERE_ATTRIBUTES:
                return WERE_ATTRIBUTES[name](self)
            return super().__getattribute__(name)  # which raises as it did: a model that is not fitted says so

    @property
    def _n_scores(self) -> int:
        """Scores per row: 1, or one per class."""
        return 1

    def _read_exposure(self, exposure: Any, n: int) -> Floats | None:
        """Return the logs (n,) of exposures above 0, None if none are given."""
        if exposure is None:
            return None
        if not self._loss.has_log_link:
            logs = ", ".join(repr(loss.name) for loss in LOSSES.values() if loss.has_log_link)
            raise TableError(f"exposure multiplies a mean: choose an objective of {logs}, or leave exposure out.")
        return read_log_exposure(exposure, n)

    def _encode(self, X: Any) -> Codes:
        check_is_fitted(self, "model_")
        return encode_table(read_table(self, X, reset=False), self.model_.bins)

    def _feature_index(self, feature: str | int) -> int:
        check_is_fitted(self, "model_")
        return place_of(feature, [bins.feature.name for bins in self.model_.bins])

    def _shares_of_columns(self, sizes: Floats) -> Floats:
        """Return the share (n_features_in_,) of each column of the table in sizes (p,) by feature; 0 if all are 0.

        A date column may give several features.
        """
        columns = [bins.feature.column for bins in self.model_.bins]
        names = list(getattr(self, "feature_names_in_", dict.fromkeys(columns)))
        place = np.array([names.index(column) for column in columns], np.int64)
        sums = np.bincount(place, sizes, self.n_features_in_)
        return np.asarray(sums / (sums.sum() or 1.0), np.float64)

    def _about(self) -> dict[str, Any]:
        """Return the parameters, columns and versions, as plain JSON."""
        parameters = {name: (value, plain(value)) for name, value in self.get_params().items()}
        return {
            "parameters": {
                name: as_json for name, (value, as_json) in parameters.items() if value is None or as_json is not None
            },
            "n_features_in": int(self.n_features_in_),
            "named_columns": hasattr(self, "feature_names_in_"),
            "versions": {"python": platform.python_version(), "numpy": np.__version__},
        }

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram and, of a fitted estimator, what it learned."""
        diagram: str = super()._html_repr()
        return diagram + diagram_below(self)

    def _quality(self, X: Any, y: Any, target: str, rows: dict[str, Any]) -> tuple[list[Fact], list[Plot]]:
        """Return what a report says of predictions: names and values, and a plot."""
        return quality(self, X, y, target, rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def place_of(feature: str | int, names: list[str]) -> int:
    """Return the index of a feature given by name or index."""
    if isinstance(feature, str):
        if feature not in names:
            raise KeyError(f"The model has no feature {feature!r}; it has {', '.join(names[:10])}.")
        return names.index(feature)
    return range(len(names))[feature]


def read_table(model: TableEstimator, X: Any, reset: bool) -> Table:
    """Return the input as a table; scikit-learn records (`reset`) or checks the number and names of its columns."""
    X = X if isinstance(X, Table) else frame_of(X)
    table = Table.of(X)
    validate_data(model, X.frame if isinstance(X, Table) else X, reset=reset, skip_check_array=True)
    if not reset and not isinstance(X, pd.DataFrame | Table):  # an array after a frame: by position
        return table.renamed(columns_of(model.model_.bins))
    return table if reset else by_position(model, table)


def by_position(model: TableEstimator, table: Table) -> Table:
    """Return a table under the names of a fitted model's columns, where the model was fitted without any (to an array)
    and the table has others: scikit-learn warns, and goes by position."""
    columns = columns_of(model.model_.bins)
    named = hasattr(model, "feature_names_in_") or not set(columns).isdisjoint(table.names)
    return table if named or len(columns) != len(table.names) else table.renamed(columns)


def read_rows(
    model: TableEstimator,
    table: Table,
    y: NDArray[Any],
    sample_weight: Any,
    groups: Any,
    exposure: Any = None,
    init_score: Any = None,
) -> TrainingRows:
    """Return the rows of a fit, checked; rows of weight 0 are dropped."""
    n = len(table)
    if n != y.size:
        raise TableError(f"The table has {n} rows and the target {y.size}: give one target per row.")
    rows = TrainingRows(
        table,
        y,
        weight=None if sample_weight is None else read_weight(sample_weight, y),
        clusters=None if groups is None else read_clusters(groups, n),
        log_exposure=model._read_exposure(exposure, n),
        init_score=read_init_score(init_score, n, n_scores(model)),
        labels=None if groups is None else np.asarray(groups),
    )
    return rows if rows.weight is None else rows.weighed()


def train_share(model: TableEstimator) -> float:
    """Share of a refit's rows that it trained on; the default where the stored fraction is invalid."""
    known = getattr(model, "validation_fraction", None)
    return 1.0 - known if isinstance(known, int | float) and 0 <= known <= 0.9 else USUAL_SHARE


def n_scores(model: TableEstimator) -> int:
    """Return how many scores a row has: 1, or one per class of several."""
    return model._n_scores


def loss_of(model: TableEstimator) -> Loss:
    """Return the loss that an estimator minimises."""
    return model._loss


def to_saved(model: TableEstimator, **about: Any) -> Saved:
    """Return a fitted model with its parameters and versions; `about` adds plain JSON values."""
    return model._to_saved(**about)


WERE_ATTRIBUTES: Final[dict[str, Callable[[TableEstimator], Any]]] = {
    "loss": loss_of,
    "to_saved": lambda model: partial(to_saved, model),
}
"""Attributes of 0.1 that the engine asks for, and how they answer still."""


def check_parameters(estimator: TableEstimator) -> None:
    """Raise InvalidParameterError where a parameter's value is not allowed."""
    _check(type(estimator), estimator.get_params(deep=False))


def _check(cls: type[TableEstimator], parameters: dict[str, Any]) -> None:
    constraints = {name: cls._parameter_constraints.get(name, []) for name in parameters}
    for name, value in parameters.items():
        numeric = any(isinstance(constraint, Interval) for constraint in constraints[name])
        if isinstance(value, bool) and numeric:  # Python counts True as the number 1
            raise InvalidParameterError(f"The {name!r} parameter of {cls.__name__} must not be {value}: give a number.")
        if isinstance(value, int) and abs(value) >= 2**63:
            raise InvalidParameterError(f"The {name!r} parameter of {cls.__name__} is a number beyond 2^63.")
    validate_parameter_constraints(cls._parameter_constraints, parameters, caller_name=cls.__name__)


def column(y: Any) -> Any:
    """Return a target of shape (n, 1) as (n,), with scikit-learn's warning; other shapes raise its error."""
    if y is None or (isinstance(y, pd.Series | list) and np.ndim(y) == 1):
        return y
    if isinstance(y, np.ma.MaskedArray):  # a masked cell counts as missing, which is refused later
        return pd.Series(column_or_1d(y.data, warn=True)).mask(column_or_1d(np.ma.getmaskarray(y)))
    return column_or_1d(y, warn=True)


def _is_valid(cls: type[TableEstimator], name: str, value: Any) -> bool:
    """Return whether a parameter may have a value."""
    try:
        _check(cls, {name: value})
    except InvalidParameterError:
        return False
    return True


Revived = TypeVar("Revived", bound=TableEstimator)


def revive(cls: type[Revived], saved: Saved) -> Revived:
    """Return an estimator with the columns and parameters of a saved model.

    Parameters that this version does not know are ignored. Invalid ones keep their defaults, with a warning.
    """
    parameters = saved.about.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    known = {name: value for name, value in parameters.items() if name in cls._get_param_names()}
    valid = {name: value for name, value in known.items() if _is_valid(cls, name, value)}
    if odd := sorted(set(known) - set(valid)):
        warnings.warn(
            f"The model file has invalid parameters, which were set to their defaults: {', '.join(odd)}.",
            ModelFileWarning,
            stacklevel=3,
        )
    estimator = cls(**valid)
    columns = columns_of(saved.model.bins)
    estimator.n_features_in_ = len(columns)
    if saved.about.get("named_columns", True):
        estimator.feature_names_in_ = np.array(columns, object)
    return estimator


def plain(value: Any) -> Any:
    """Return a parameter as a JSON value; None where it has none, and for numbers that are not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        named = {name: plain(entry) for name, entry in value.items() if isinstance(name, str)}
        return None if len(named) < len(value) or None in named.values() else named
    if not isinstance(value, list | tuple | range):
        return None
    listed = [plain(entry) for entry in value]
    return None if None in listed else listed


def n_threads(n_jobs: int | None) -> int:
    """Return the threads of a fit: at most one per processor, or 16 where there are fewer processors."""
    return min(int(joblib.effective_n_jobs(n_jobs)), max(FEW_THREADS, os.cpu_count() or 1))


def numbers(read: Any) -> list[float]:
    """Return a list of plain numbers from a file, empty if invalid: a file's metadata is never trusted."""
    fine = isinstance(read, list) and all(type(n) in (int, float) and abs(n) < 2**53 for n in read)
    return list(read) if fine else []
