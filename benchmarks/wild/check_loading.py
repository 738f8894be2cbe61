"""Whether a loaded table has the cells that were written."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.wild.faults import Fault
from shapewise.ingest.common import clean_names
from shapewise.ingest.types import MISSING

CLOSE: Final = 1e-12
"""Relative distance of a number from the one that was written."""

MOSTLY_NUMBERS: Final = 0.05
"""Share of the cells of a column of texts that may be lost, each noted, where all others are numbers."""

AMBIGUOUS: Final = ("decimal commas", "thousands separators")
"""Notes by which the app says that it chose between two ways to read marks in numbers."""


def check(written: pd.DataFrame, loaded: pd.DataFrame, notes: list[str]) -> list[Fault]:
    """Return what differs between a table and how it was loaded.

    notes : what the app says about its reading.
    """
    if len(written) != len(loaded):
        return [Fault("rows", said=f"{len(loaded)} rows: {' '.join(notes)[-200:]}", right=f"{len(written)} rows")]
    expected = clean_names(list(map(str, written.columns)), [])
    if expected != list(loaded.columns):
        return [Fault("names", said=str(list(loaded.columns))[:300], right=str(expected)[:300])]
    wrong = []
    for k, name in enumerate(expected):
        fault = column(written.iloc[:, k], loaded[name])
        noted = any(
            note.startswith(f"{name}: ") and (note.endswith(AMBIGUOUS_ENDS) or "here and not" in note) for note in notes
        )
        if fault is not None:
            kind = "ambiguous file" if fault.kind == "numbers" and noted else fault.kind
            wrong.append(Fault(kind, name, fault.said, fault.right))
    return wrong


AMBIGUOUS_ENDS: Final = tuple(f"numbers with {words}." for words in AMBIGUOUS)


def column(written: pd.Series, loaded: pd.Series) -> Fault | None:
    """Return the first difference between a column and how it was loaded; None if there is none."""
    if pd.api.types.is_datetime64_any_dtype(written.dtype):
        return _dates(written, loaded)
    if pd.api.types.is_numeric_dtype(written.dtype) and not pd.api.types.is_bool_dtype(written.dtype):
        return _numbers(written, loaded)
    return _texts(written, loaded)


def _first(bad: NDArray[np.bool_], kind: str, loaded: pd.Series, written: Any) -> Fault | None:
    """Return the fault of the first bad cell (n,)."""
    if not bad.any():
        return None
    k = int(bad.argmax())
    return Fault(kind, said=f"{loaded.iloc[k]!r} ({int(bad.sum())} cells)", right=repr(written.iloc[k]))


def _numbers(written: pd.Series, loaded: pd.Series) -> Fault | None:
    right = written.to_numpy(float, na_value=np.nan)
    right = np.where(np.isinf(right), np.nan, right)  # said in a note
    if not pd.api.types.is_numeric_dtype(loaded.dtype):
        if np.isnan(right).all():
            return None
        numbers = pd.to_numeric(loaded, errors="coerce").to_numpy(float)
        is_code = bool((np.abs(right[~np.isnan(right)]) >= 1e15).any())
        if is_code or not np.isnan(numbers).any():
            return None
        return _first(~np.isnan(right), "numbers", loaded, written)
    numbers = loaded.to_numpy(float, na_value=np.nan)
    lost = np.isnan(numbers) != np.isnan(right)
    with np.errstate(invalid="ignore"):
        off = ~lost & ~np.isnan(right) & (np.abs(numbers - right) > CLOSE * np.maximum(np.abs(right), 1e-300))
    return _first(lost, "missing", loaded, written) or _first(off, "numbers", loaded, written)


def _dates(written: pd.Series, loaded: pd.Series) -> Fault | None:
    if not pd.api.types.is_datetime64_any_dtype(loaded.dtype):
        return None  # days that can be read in two ways stay text, and are lost to nobody
    plain = [moment.dt.tz_localize(None) if moment.dt.tz else moment for moment in (written, loaded)]
    right, moments = (moment.astype("datetime64[us]").reset_index(drop=True) for moment in plain)
    off = (right.isna() != moments.isna()) | (right.notna() & (right != moments))
    return _first(off.to_numpy(bool), "dates", loaded, written)


def _texts(written: pd.Series, loaded: pd.Series) -> Fault | None:
    right = written.astype("string").str.replace("\r\n", "\n").str.replace("\r", "\n").str.strip()
    right = right.mask(right == "")
    says_missing = right.str.lower().isin(MISSING).fillna(False).to_numpy(bool)
    if pd.api.types.is_bool_dtype(loaded.dtype):
        texts = loaded.astype("string").str.lower().reset_index(drop=True)
        return _unlike(right.str.lower(), texts, says_missing, loaded, written)
    if pd.api.types.is_numeric_dtype(loaded.dtype):
        return _as_numbers(right, loaded, says_missing, written)
    if pd.api.types.is_datetime64_any_dtype(loaded.dtype):
        meant = pd.to_datetime(right.where(~says_missing), errors="coerce", format="mixed", utc=True)
        meant = meant.dt.tz_localize(None).astype("datetime64[us]")
        moments = loaded.astype("datetime64[us]").reset_index(drop=True)
        either = pd.to_datetime(right.where(~says_missing), errors="coerce", format="mixed", utc=True, dayfirst=True)
        either = either.dt.tz_localize(None).astype("datetime64[us]")
        off = moments.isna() != meant.isna()
        off |= meant.notna() & (moments != meant) & (moments != either)
        return _first(off.to_numpy(bool), "dates", loaded, written)
    return _unlike(right, loaded.astype("string").reset_index(drop=True), says_missing, loaded, written)


def _unlike(
    right: pd.Series, texts: pd.Series, says_missing: NDArray[np.bool_], loaded: pd.Series, written: pd.Series
) -> Fault | None:
    lost = (right.isna() != texts.isna()).to_numpy(bool) & ~says_missing
    off = (right != texts).fillna(False).to_numpy(bool)
    kept = lost & right.isna().to_numpy(bool) & texts.str.lower().isin(MISSING).fillna(False).to_numpy(bool)
    return (
        _first(lost & ~kept, "missing", loaded, written)
        or _first(off & ~lost, "texts", loaded, written)
        or _first(kept, "NA kept", loaded, written)
    )


def _as_numbers(
    right: pd.Series, loaded: pd.Series, says_missing: NDArray[np.bool_], written: pd.Series
) -> Fault | None:
    """Texts that were read as numbers: each cell is its number, in one of the usual spellings; few may be lost."""
    numbers = loaded.to_numpy(float, na_value=np.nan)
    bare = right.str.replace(r"[%$€£\s\u00a0']", "", regex=True)
    spelled = [bare, bare.str.replace(",", ""), bare.str.replace(".", "", regex=False).str.replace(",", ".")]
    fits = np.zeros(len(right), bool)
    for spelling in spelled:
        meant = pd.to_numeric(spelling, errors="coerce").to_numpy(float, na_value=np.nan)
        fits |= np.isclose(meant, numbers, rtol=1e-12, atol=0)
    present = right.notna().to_numpy(bool) & ~says_missing
    lost = present & np.isnan(numbers)
    filled = ~right.notna().to_numpy(bool) & ~np.isnan(numbers)
    few = lost.sum() <= MOSTLY_NUMBERS * max(present.sum(), 1)
    return (
        _first(present & ~lost & ~fits, "numbers", loaded, written)
        or _first(filled, "missing", loaded, written)
        or (None if few else _first(lost, "missing", loaded, written))
    )
