"""Tables as they come in, and the features of a model read from them; the only module that validates user tables.

Every error message is one sentence that names the column and a remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from gamcore.common.types import Ints
from gamcore.data.column_names import parts_of_date
from gamcore.data.columns import (
    BOOLEANS,
    DatePart,
    Kind,
    TableError,
    codes_among,
    has_zone,
    kind_of,
    read_booleans,
    read_calendar,
    read_dates,
    read_numbers,
    read_texts,
    valid_text,
    without_codes,
)

Values = NDArray[np.float64] | NDArray[np.int32]

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class Feature:
    """Source of a model's feature: a column, or the month or weekday of a date column.

    `levels` are all levels seen in training, in order; empty for numbers and dates. Dates are days since 1970-01-01.
    `missing` are codes in the column that mean a missing cell (`without_codes`). `zoned`: whether the times of a date
    column have a time zone, and so are moments, read in UTC; None where either will do.
    """

    name: str
    column: str
    kind: Kind
    part: DatePart = "value"
    levels: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    zoned: bool | None = False

    @property
    def is_category(self) -> bool:
        """Whether the feature has levels instead of numbers."""
        return self.kind in ("category", "boolean")


def frame_of(X: Any) -> Any:
    """Return a pandas frame of a table with names, whatever holds it; anything else as it is.

    Arrow's stream interface is how polars, DuckDB, pyarrow and others hand over a table; a lazy one is collected, a
    mapping has its columns by name.
    """
    if isinstance(X, pd.DataFrame | pd.Series | np.ndarray):
        return X
    if not hasattr(X, "__arrow_c_stream__") and callable(getattr(X, "collect", None)):
        X = X.collect()
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # a sparse matrix may be one
        try:
            return pd.DataFrame(dict(X))
        except (TypeError, ValueError) as error:
            raise TableError(f"A dict has to hold a column of the table by each name ({error}): correct it.") from error
    if hasattr(X, "__arrow_c_stream__"):
        try:
            return pa.table(X).to_pandas(date_as_object=False)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise TableError(
                f"The {type(X).__name__} cannot be read as a table of columns ({error}): pass a frame with one column "
                "per feature."
            ) from error
    return X.to_pandas() if hasattr(X, "to_pandas") else X


def as_frame(X: Any) -> pd.DataFrame:
    """Return a frame with unique text names from a table (see `frame_of`) or a two-dimensional array, whose columns are
    named x0, x1, ..."""
    X = frame_of(X)
    if not isinstance(X, pd.DataFrame):
        if hasattr(X, "toarray"):
            raise TableError("A sparse matrix is not supported: make it dense with X.toarray().")
        masked = isinstance(X, np.ma.MaskedArray)  # pandas makes masked cells missing; numpy would drop the mask
        try:
            array = X if masked else np.asarray(X)
        except ValueError as error:  # rows of unequal length
            raise TableError(f"The rows are no table ({error}): give all of them one cell per column.") from error
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
    with valid_text("A column's name"):
        "".join(names).encode()
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
    def of(cls, X: Any, columns: Sequence[str] | None = None) -> Table:
        """Return the table of anything that holds one (`frame_of`), or of a two-dimensional array; TableError where it
        cannot be used.

        columns : what the columns of an array are called, by position; x0, x1, ... if None.
        """
        if isinstance(X, Table):
            return X
        framed = frame_of(X)
        table = cls(as_frame(framed))
        if columns is None or isinstance(framed, pd.DataFrame):
            return table
        if len(columns) != len(table.names):
            raise TableError(
                f"X has {len(table.names)} features, but {len(columns)} are expected: {', '.join(columns)}."
            )
        return table.renamed(columns)

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


def as_table(X: Any) -> Table:
    """Return a table as it is, an already valid frame unchecked, and anything else as `Table.of` reads it."""
    return Table(X) if isinstance(X, pd.DataFrame) else Table.of(X)


def place_among(names: Sequence[str], key: Any, parameter: str) -> int:
    """Return the place of a feature given by name or place; TableError names the parameter that asks for it."""
    place = names.index(key) if key in names else key
    if isinstance(place, bool | np.bool_) or not isinstance(place, int | np.integer) or not 0 <= place < len(names):
        raise TableError(f"{parameter} names {key!r}, which is no feature: {', '.join(names)}.")
    return int(place)


def names_among(names: Sequence[str], wanted: Iterable[Any], parameter: str) -> list[str]:
    """Return the names that are given by names, by places from 0 on, or by a mask with an entry per name."""
    keys = list(wanted)
    if keys and all(isinstance(key, bool | np.bool_) for key in keys):
        if len(keys) != len(names):
            raise TableError(f"{parameter} is a mask of {len(keys)} entries, not {len(names)}: give one per column.")
        return [name for name, is_wanted in zip(names, keys, strict=True) if is_wanted]
    named = [str(key) if str(key) in names else key for key in keys]
    return [names[place_among(names, key, parameter)] for key in named]


def learn_features(
    frame: pd.DataFrame | Table, categorical: Sequence[Any] | Literal["infer"] = "infer", date_parts: bool = False
) -> tuple[Feature, ...]:
    """Return the features of a training table.

    categorical : columns to treat as categories whatever their type, see `names_among`; "infer" goes by type alone.
    date_parts : whether each date column also gives its month and its weekday.
    """
    table = as_table(frame)
    kinds = {name: table.kind(name) for name in table.names}
    zoned = {name for name, kind in kinds.items() if kind == "date" and has_zone(table.frame[name])}
    return features_of_kinds(kinds, lambda name: levels_of(table, name), categorical, date_parts, zoned=zoned)


def features_of_kinds(
    kinds: Mapping[str, Kind],
    levels: Callable[[str], tuple[str, ...]],
    categorical: Sequence[Any] | Literal["infer"] = "infer",
    date_parts: bool = False,
    zoned: Collection[str] = (),
) -> tuple[Feature, ...]:
    """Return the features of columns of these kinds. See `learn_features`.

    levels : returns those of a category. zoned : the dates that have a time zone.
    """
    chosen = [] if isinstance(categorical, str) else names_among(list(kinds), categorical, "categorical_features")
    features: list[Feature] = []
    for name, own in kinds.items():
        kind = "category" if name in chosen else own
        if kind == "boolean":
            features.append(Feature(name, name, kind, levels=BOOLEANS))
        elif kind == "category":
            features.append(Feature(name, name, kind, levels=levels(name)))
        else:
            features.append(Feature(name, name, kind, zoned=name in zoned))
        if kind == "date" and date_parts:
            month, weekday = parts_of_date(name, kinds)
            features.append(Feature(month, name, "category", "month", MONTHS, zoned=name in zoned))
            features.append(Feature(weekday, name, "category", "weekday", WEEKDAYS, zoned=name in zoned))
    return tuple(features)


def levels_of(table: Table, name: str) -> tuple[str, ...]:
    """Return the levels of a column that occur, in the order of a categorical type, else as numbers if all are so, else
    by name."""
    names = table.texts(name)[1]
    return tuple(names) if isinstance(table.frame[name].dtype, pd.CategoricalDtype) else in_order(names)


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
        _check_zone(series, feature)
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
    if feature.kind != "date":
        return read_numbers(series)
    _check_zone(series, feature)
    return read_dates(series)


def _check_zone(series: pd.Series, feature: Feature) -> None:
    """Raise TableError where only the training, or only this table, has a time zone: the moments are not known then."""
    if feature.zoned is None or (zoned := has_zone(series)) is None or zoned == feature.zoned:
        return
    if feature.zoned:
        raise TableError(
            f"Column {feature.column!r} has no time zone, and had one in training: say which it is of, as in "
            ".dt.tz_localize('UTC')."
        )
    raise TableError(
        f"Column {feature.column!r} has a time zone, and had none in training: turn it into times of the same clock "
        "without one, as in .dt.tz_convert('UTC').dt.tz_localize(None)."
    )
