"""The values of a column, by the kind that its type says; errors name the column and a remedy.

A column becomes numbers (float64, NaN missing) or category codes (int32, -1 missing, -2 unseen). The kind of a column
follows from its type and is never guessed from the look of its text: turning "12,5" into a number is the reader's job.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from gamcore.common.pauses import pause
from gamcore.common.types import Ints
from gamcore.data.dates import DAY, DAYS_AFTER, FIRST_DAY

Kind = Literal["number", "boolean", "date", "category"]
DatePart = Literal["value", "month", "weekday"]

MISSING: Final = -1
UNSEEN: Final = -2

BOOLEANS = ("False", "True")
_BEGIN, _END = np.datetime64("0001-01-01", "s"), np.datetime64("10000-01-01", "s")
TARGET: Final = "the target"
"""Name of the target's column while it is read."""


class TableError(ValueError):
    """Data that cannot be used; the message names the place and a remedy."""


@contextmanager
def valid_text(what: str) -> Iterator[None]:
    """Raise TableError where text cannot be encoded as UTF-8."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise TableError(
            f"{what} holds text with an unpaired surrogate ({error.object[error.start]!r}): clean it, as in "
            "text.encode('utf-8', 'replace').decode()."
        ) from error


def _where(series: pd.Series) -> str:
    """Return the name of a column, or of the target, for a message."""
    return "The target" if series.name == TARGET else f"Column {series.name!r}"


def kind_of(series: pd.Series) -> Kind:
    """Return the kind of a column by its type; objects are inspected, but numbers in text are not detected."""
    pause()
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if isinstance(dtype, pd.SparseDtype):
        return kind_of(series.sparse.to_dense())
    if types.is_bool_dtype(dtype):
        return "boolean"
    if types.is_complex_dtype(dtype):
        raise TableError(f"Complex data not supported: split {series.name!r} into its real and imaginary part.")
    if types.is_numeric_dtype(dtype):
        return "number"
    if types.is_datetime64_any_dtype(dtype):
        return "date"
    if types.is_timedelta64_dtype(dtype):
        raise TableError(f"{_where(series)} holds durations: turn it into a number, as in .dt.total_seconds().")
    if isinstance(dtype, pd.PeriodDtype):
        raise TableError(f"{_where(series)} holds periods: turn it into dates with .dt.to_timestamp().")
    if isinstance(dtype, pd.ArrowDtype):
        return _kind_of_arrow(series)
    if types.is_string_dtype(dtype) and not types.is_object_dtype(dtype):
        return "category"
    return _kind_of_objects(series)


def _kind_of_arrow(series: pd.Series) -> Kind:
    text = str(series.dtype).removesuffix("[pyarrow]")
    if text in ("string", "large_string", "string_view", "null") or text.startswith("dictionary<values=string"):
        return "category"
    if text.startswith("date"):
        return "date"
    if text.startswith("decimal"):
        return "number"
    raise TableError(f"{_where(series)} has type {text}, which is not one value per cell: flatten or drop it.")


def _kind_of_objects(series: pd.Series) -> Kind:
    """Return the one kind that all present objects share."""
    inferred = types.infer_dtype(series, skipna=True)
    names_of_kinds: dict[str, Kind] = {
        "string": "category", "empty": "category", "categorical": "category", "boolean": "boolean",
        "integer": "number", "floating": "number", "mixed-integer-float": "number", "decimal": "number",
        "datetime": "date", "datetime64": "date", "date": "date",
    }  # fmt: skip
    if inferred in names_of_kinds:
        return names_of_kinds[inferred]
    present = series[series.notna()]
    kinds = present.map(lambda cell: type(cell).__name__)
    odd = kinds.ne(kinds.mode()[0])
    row = present.index[odd.argmax()] if odd.any() else present.index[0]
    if inferred == "complex":
        raise TableError(f"Complex data not supported: split {series.name!r} into its real and imaginary part.")
    raise TableError(
        f"{_where(series)} mixes or nests values ({', '.join(sorted(set(kinds))[:4])}; see row {row}): an "
        "argument must be a string or a number, so make every cell one or the other."
    )


def read_numbers(series: pd.Series) -> NDArray[np.float64]:
    """Return a number column as float64 with NaN for missing; infinite values are refused."""
    pause()
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    try:
        values = series.to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise TableError(f"{_where(series)} should hold numbers only ({error}): clean or drop it.") from error
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise TableError(f"{_where(series)} has {infinite} infinite values: replace infinity by missing (NaN).")
    return np.asarray(values)


def has_zone(series: pd.Series) -> bool | None:
    """Return whether the times of a date column have a time zone, None if no cell tells; TableError where only some
    have one."""
    if not series.notna().any():
        return None
    if isinstance(series.dtype, pd.ArrowDtype):
        return getattr(series.dtype.pyarrow_dtype, "tz", None) is not None
    if not types.is_object_dtype(series.dtype):
        return isinstance(series.dtype, pd.DatetimeTZDtype)
    kinds = {getattr(cell, "tzinfo", None) is not None for cell in series[series.notna()]}
    if len(kinds) > 1:
        raise TableError(f"{_where(series)} mixes times with and without a time zone: give all of them one, or none.")
    return kinds.pop()


def _dates(series: pd.Series) -> pd.Series:
    """Return a date column as naive datetime64: times of a zone in UTC, others by their own clock."""
    has_zone(series)
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        return series.dt.tz_convert("UTC").dt.tz_localize(None)
    try:
        stamps = pd.to_datetime(series.astype(object) if isinstance(series.dtype, pd.ArrowDtype) else series, utc=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise TableError(f"{_where(series)} has a date that cannot be read ({error}): fix or clear it.") from error
    return stamps.dt.tz_localize(None)


def read_dates(series: pd.Series) -> NDArray[np.float64]:
    """Return a date column as days since 1970-01-01, with fractions; NaN is missing.

    Days from the year 1 to the end of 9999 are read. The last microseconds of 9999, which a double rounds up to the
    year 10000, stay inside.
    """
    pause()
    stamps = _dates(series).to_numpy()
    seconds = stamps.astype("datetime64[s]")  # finer units would overflow
    inside = (seconds >= _BEGIN) & (seconds < _END)
    if not (inside | np.isnat(stamps)).all():
        raise TableError(f"{_where(series)} has dates outside the years 1 to 9999: fix or clear them.")
    days = stamps.astype("datetime64[us]").astype(np.int64).astype(np.float64) / DAY
    days[np.isnat(stamps)] = np.nan
    return np.asarray(np.minimum(days, np.nextafter(DAYS_AFTER, FIRST_DAY)))


def read_texts(series: pd.Series) -> tuple[NDArray[np.int64], list[str]]:
    """Return a category column as codes (-1 missing) into the list of the distinct levels that occur, by name.

    A categorical type may list others, of rows that are gone; the order of its list is kept.
    """
    pause()
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.cat.remove_unused_categories()
        codes, levels = series.cat.codes.to_numpy(np.int64), list(series.cat.categories)
    else:
        codes, uniques = pd.factorize(series, use_na_sentinel=True)
        levels = list(uniques)
    texts = [level_name(cell) for cell in levels]
    with valid_text(_where(series)):
        "".join(texts).encode()
    names = list(dict.fromkeys(texts))
    if len(names) == len(texts):
        return np.asarray(codes, np.int64), names
    place = {name: i for i, name in enumerate(names)}  # 1 and "1" share a name, and so a level
    renumber = np.array([place[text] for text in texts] + [MISSING], np.int64)
    return renumber[codes], names


def read_present_texts(series: pd.Series) -> tuple[NDArray[np.int64], list[str]]:
    """Return what `read_texts` does, with only the names that occur: a categorical column may list others."""
    codes, names = read_texts(series)
    present = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(names)))
    place = np.full(len(names) + 1, MISSING, np.int64)  # missing is -1, the last
    place[present] = np.arange(present.size)
    return place[codes], [names[k] for k in present]


def hash_texts(texts: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a number (n,) for each text or None, the same in every table and process."""
    return np.asarray(pd.util.hash_array(texts, categorize=True), np.uint64)


def hash_labels(labels: pd.Series) -> NDArray[np.uint64]:
    """Return a number (n,) for each label, the same in every table and process."""
    codes, names = read_texts(labels)
    return hash_texts(np.array([*names, None], object))[codes]  # missing is -1, the last


def level_name(cell: Hashable) -> str:
    """Return the name of a level; TableError for a cell that holds several values."""
    if isinstance(cell, bytes | list | dict | tuple | set):
        raise TableError(
            f"A category holds {type(cell).__name__} values such as {str(cell)[:40]!r}: turn them into text."
        )
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # a missing value turns a column of whole numbers into 1.0, 2.0
    return str(cell)


def codes_among(texts: tuple[Ints, list[str]], levels: Sequence[str]) -> NDArray[np.int32]:
    """Return the codes of a column's texts into given levels: -1 missing, -2 for any level that is not among them."""
    codes, names = texts
    place = {level: i for i, level in enumerate(levels)}
    renumber = np.array([place.get(name, UNSEEN) for name in names] + [MISSING], np.int32)
    return renumber[codes]


def read_booleans(series: pd.Series) -> NDArray[np.int32]:
    """Return False and True, or 0 and 1, as codes 0 and 1; other values are unseen."""
    if kind_of(series) == "category":
        return codes_among(read_texts(series), BOOLEANS)
    numbers = read_numbers(series.astype(object) if types.is_object_dtype(series.dtype) else series)
    codes = np.where(numbers == 0, 0, np.where(numbers == 1, 1, UNSEEN)).astype(np.int32)
    codes[np.isnan(numbers)] = MISSING
    return codes


def read_calendar(series: pd.Series, part: DatePart) -> NDArray[np.int32]:
    pause()
    days = _dates(series)
    numbers = (days.dt.month - 1) if part == "month" else days.dt.day_of_week
    return np.asarray(numbers.fillna(MISSING), np.int32)


def without_codes(series: pd.Series, codes: Sequence[str]) -> pd.Series:
    """Return a column with missing cells in place of codes; numbers become float64, whether or not a code occurs."""
    if not codes:
        return series
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    if types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype):
        values = series.to_numpy(np.float64, na_value=np.nan)
        kept = np.where(np.isin(values, _numbers_in(codes)), np.nan, values)
        return pd.Series(kept, series.index, name=series.name)
    places, names = read_texts(series)
    coded = np.array([name in codes for name in names] + [False])[places]
    if isinstance(series.dtype, pd.CategoricalDtype):
        gone = [level for level in series.cat.categories if level_name(level) in codes]
        return series.cat.remove_categories(gone)
    return series.mask(coded)


def _numbers_in(codes: Sequence[str]) -> list[float]:
    values = []
    for code in codes:
        with suppress(ValueError):
            values.append(float(code))
    return values
