"""Tables as they come in, and the features of a model read from them; the only module that validates user tables.

Every error message is one sentence that names the column and a remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.data.columns import (
    BOOLEANS,
    DatePart,
    Kind,
    TableError,
    codes_among,
    kind_of,
    read_booleans,
    read_calendar,
    read_dates,
    read_numbers,
    read_texts,
    valid_text,
    without_codes,
)
from gamcore.types import Ints

Values = NDArray[np.float64] | NDArray[np.int32]

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class Feature:
    """Source of a model's feature: a column, or the month or weekday of a date column.

    `levels` are all levels seen in training, in order; empty for numbers and dates. Dates are days since 1970-01-01.
    `missing` are codes in the column that mean a missing cell (`without_codes`).
    """

    name: str
    column: str
    kind: Kind
    part: DatePart = "value"
    levels: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def is_category(self) -> bool:
        """Whether the feature has levels instead of numbers."""
        return self.kind in ("category", "boolean")


def as_frame(X: Any) -> pd.DataFrame:
    """Return a frame with unique text names from a frame or a two-dimensional array (named x0, x1, ...)."""
    if not isinstance(X, pd.DataFrame):
        if hasattr(X, "toarray"):
            raise TableError("A sparse matrix is not supported: make it dense with X.toarray().")
        masked = isinstance(X, np.ma.MaskedArray)  # pandas makes masked cells missing; numpy would drop the mask
        array = X if masked else np.asarray(X)
        if array.ndim != 2:
            raise TableError(
                f"Expected 2D array, got an array with {array.ndim} dimensions instead. Reshape your data to one row "
                "per case and one column per feature."
            )
        with valid_text("The table"):
            X = pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])
            X = X.infer_objects() if array.dtype == object else X
    if isinstance(X.columns, pd.MultiIndex):
        raise TableError("Column names have several levels: join them into one, as in X.columns.map('_'.join).")
    names = [str(name) for name in X.columns]
    twice = {name: where for name in names if len(where := [i for i, n in enumerate(names) if n == name]) > 1}
    if twice:
        name, where = next(iter(twice.items()))
        raise TableError(f"Column name {name!r} is used {len(where)} times, at positions {where}: rename all but one.")
    if len(X) == 0:
        raise TableError(
            f"Found 0 sample(s) (shape={X.shape}) while a minimum of 1 is required: the table has no rows."
        )
    if not names:
        raise TableError(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required. The table has no columns.")
    return X.set_axis(names, axis=1)


@dataclass(frozen=True, eq=False)
class Table:
    """An input table: a frame with unique text names, and the kind of each column.

    It is made once, where data comes in (`Table.of`), and caches the kinds and texts, so that no later code infers or
    reads them again.
    """

    frame: pd.DataFrame
    _kinds: dict[str, Kind] = field(default_factory=dict)
    _texts: dict[str, tuple[Ints, list[str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any) -> Table:
        """Return the table of a frame or two-dimensional array; TableError where it cannot be used."""
        return X if isinstance(X, Table) else cls(as_frame(X))

    def __len__(self) -> int:
        return len(self.frame)

    def __contains__(self, name: str) -> bool:
        return name in self.frame.columns

    @property
    def names(self) -> list[str]:
        """Names of its columns."""
        return list(self.frame.columns)

    def kind(self, name: str) -> Kind:
        """Return the kind of a column; TableError where it cannot be used."""
        if name not in self._kinds:
            self._kinds[name] = kind_of(self.frame[name])
        return self._kinds[name]

    def texts(self, name: str) -> tuple[Ints, list[str]]:
        """Return a category column as codes (-1 missing), in as few bytes as hold them, into a list of level names."""
        if name not in self._texts:
            codes, names = read_texts(self.frame[name])
            self._texts[name] = codes.astype(np.min_scalar_type(-max(len(names), 1))), names
        return self._texts[name]

    def usable_kind(self, name: str) -> Kind | None:
        """Return what a column is, None where it cannot be used."""
        try:
            return self.kind(name)
        except TableError:
            return None

    def take(self, rows: NDArray[Any] | pd.Index, names: Sequence[str] | None = None) -> Table:
        """Return the rows of a mask or by their labels, with the named columns or all."""
        frame = self.frame.loc[rows] if names is None else self.frame.loc[rows, list(names)]
        return Table(frame, dict(self._kinds))

    def renamed(self, names: Sequence[str]) -> Table:
        """Return the table with new column names, by position."""
        kinds = {new: self._kinds[old] for new, old in zip(names, self.names, strict=True) if old in self._kinds}
        return Table(self.frame.set_axis(list(names), axis=1), kinds)


def as_table(frame: pd.DataFrame | Table) -> Table:
    """Return an already valid frame as a table, unchecked."""
    return frame if isinstance(frame, Table) else Table(frame)


def place_among(names: Sequence[str], key: Any, parameter: str, absent: str = "no feature") -> int:
    """Return the place of a feature given by name or place; TableError names the parameter that asks for it, and what a
    name that is not there is."""
    place = names.index(key) if key in names else key
    if isinstance(place, bool | np.bool_) or not isinstance(place, int | np.integer) or not 0 <= place < len(names):
        raise TableError(f"{parameter} names {key!r}, which is {absent}: {', '.join(names)}.")
    return int(place)


def names_among(names: Sequence[str], wanted: Iterable[Any], parameter: str) -> list[str]:
    """Return the names that are given by names, by places from 0 on, or by a mask with an entry per name."""
    keys = list(wanted)
    if keys and all(isinstance(key, bool | np.bool_) for key in keys):
        if len(keys) != len(names):
            raise TableError(f"{parameter} is a mask of {len(keys)} entries, not {len(names)}: give one per column.")
        return [name for name, is_wanted in zip(names, keys, strict=True) if is_wanted]
    named = [str(key) if str(key) in names else key for key in keys]
    return [names[place_among(names, key, parameter, "not a column of the table")] for key in named]


def learn_features(
    frame: pd.DataFrame | Table, categorical: Sequence[Any] | Literal["infer"] = "infer", date_parts: bool = False
) -> tuple[Feature, ...]:
    """Return the features of a training table.

    categorical : columns to treat as categories whatever their type, see `names_among`; "infer" goes by type alone.
    date_parts : whether each date column also gives its month and its weekday.
    """
    table = as_table(frame)
    kinds = {name: table.kind(name) for name in table.names}
    return features_of_kinds(kinds, lambda name: levels_of(table, name), categorical, date_parts)


def features_of_kinds(
    kinds: Mapping[str, Kind],
    levels: Callable[[str], tuple[str, ...]],
    categorical: Sequence[Any] | Literal["infer"] = "infer",
    date_parts: bool = False,
) -> tuple[Feature, ...]:
    """Return the features of columns of these kinds; `levels` returns those of a category. See `learn_features`."""
    chosen = [] if isinstance(categorical, str) else names_among(list(kinds), categorical, "categorical_features")
    features: list[Feature] = []
    for name, own in kinds.items():
        kind = "category" if name in chosen else own
        if kind == "boolean":
            features.append(Feature(name, name, kind, levels=BOOLEANS))
        elif kind == "category":
            features.append(Feature(name, name, kind, levels=levels(name)))
        else:
            features.append(Feature(name, name, kind))
        if kind == "date" and date_parts:
            features.append(Feature(f"{name} (month)", name, "category", "month", MONTHS))
            features.append(Feature(f"{name} (weekday)", name, "category", "weekday", WEEKDAYS))
    return tuple(features)


def levels_of(table: Table, name: str) -> tuple[str, ...]:
    """Return the levels of a column that occur, in the order of a categorical type, else as numbers if all are so, else
    by name."""
    codes, names = table.texts(name)
    present = [names[i] for i in np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(names)))]
    return tuple(present) if isinstance(table.frame[name].dtype, pd.CategoricalDtype) else in_order(present)


def in_order(levels: Iterable[str]) -> tuple[str, ...]:
    """Return levels in the order of numbers if all are, else by name."""
    names = sorted(levels)
    try:
        return tuple(sorted(names, key=float))
    except ValueError:
        return tuple(names)


def read_feature(frame: pd.DataFrame | Table, feature: Feature) -> Values:
    """Return the values of a feature in a table, (n,): float64, or int32 codes into `feature.levels`."""
    table = as_table(frame)
    if feature.column not in table:
        raise TableError(f"The table lacks column {feature.column!r}, which the model was trained on.")
    series = without_codes(table.frame[feature.column], feature.missing)
    if feature.part != "value":
        return read_calendar(series, feature.part)
    if feature.kind == "category":
        return codes_among(read_texts(series) if feature.missing else table.texts(feature.column), feature.levels)
    if feature.kind == "boolean":
        return read_booleans(series)
    kind = table.kind(feature.column)
    if kind == "category" and series.isna().all():
        return np.full(len(series), np.nan)
    if kind not in (feature.kind, "boolean"):
        raise TableError(f"Column {feature.column!r} was a {feature.kind} in training and is a {kind} now: convert it.")
    return read_dates(series) if feature.kind == "date" else read_numbers(series)
