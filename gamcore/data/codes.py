"""Codes that stand for a missing cell, such as -1 or 99: a cell that holds one counts as missing.

A code is the name of a level, or a number written as a level's name is (`code_of`). Numbers and categories can have
codes; booleans and dates cannot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pandas as pd

from gamcore.data.binning import Bins
from gamcore.data.columns import Kind, TableError, without_codes

MissingCodes = Mapping[str, Sequence[str]]
"""Codes by column."""

NO_CODES: Final[MissingCodes] = {}


def code_of(text: str, column: str, kind: Kind | None) -> str:
    """Return a code as cells are compared with it; TableError where the column cannot hold it."""
    if kind not in ("number", "category"):
        raise TableError(f"Column {column!r} holds {kind or 'mixed '}s: only numbers and levels can mean missing.")
    if kind == "category":
        return text
    if not is_number(text):
        raise TableError(f"{text!r} cannot mean missing in column {column!r}, which holds numbers: write a number.")
    value = float(text)
    return str(int(value)) if value.is_integer() else str(value)


def clear_codes(frame: pd.DataFrame, codes: MissingCodes) -> pd.DataFrame:
    """Return a frame with missing cells in place of codes; columns without codes, and those it lacks, stay as is."""
    known = {name: texts for name, texts in codes.items() if texts and name in frame.columns}
    cleared = {name: without_codes(frame[name], texts) for name, texts in known.items()}
    return frame.assign(**cleared) if cleared else frame


def with_codes(
    bins: tuple[Bins, ...], codes: MissingCodes, aliases: Mapping[str, str] | None = None
) -> tuple[Bins, ...]:
    """Return the bins of a model that was trained without these codes and is to read them as missing.

    aliases : columns of the model that stand for a column of another name.
    """
    read = []
    for of_feature in bins:
        feature = of_feature.feature
        own = tuple(codes.get((aliases or {}).get(feature.column, feature.column), ()))
        if feature.kind == "number":
            own = tuple(code for code in own if is_number(code))
        fits = feature.part == "value" and feature.kind in ("number", "category")
        read.append(replace(of_feature, feature=replace(feature, missing=own if fits else ())))
    return tuple(read)


def is_number(code: str) -> bool:
    """Return whether a code is a finite number."""
    try:
        return math.isfinite(float(code))
    except ValueError:
        return False
