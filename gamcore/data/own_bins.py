"""Bins that a person chooses: the cuts of a number or a date, or the levels of a category that count as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.types import Floats
from gamcore.data.columns import TableError, level_name, read_dates
from gamcore.data.table import Feature, place_among
from gamcore.kernels import MOST_CODES

PARAMETER: Final = "bins"
MOST_CUTS: Final = MOST_CODES - 3
"""Most cuts of a feature: one less than bins of values."""


@dataclass(frozen=True)
class OwnBins:
    """Chosen bins of one feature; both parts are empty where its bins are learnt.

    cuts : (m,) ascending; a value at a cut is in the bin that begins there. Dates are days since 1970-01-01.
    merged : for the first level of each merged bin, the others that share it. Some of these may not occur in training:
        rows to come may have them.
    """

    cuts: Floats = field(default_factory=lambda: np.empty(0))
    merged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


LEARNT: Final = OwnBins()


def own_bins(wanted: Mapping[Any, Any] | None, features: Sequence[Feature]) -> tuple[OwnBins, ...]:
    """Return the chosen bins of each feature; TableError where they are none.

    wanted : by the name or place of a feature, its cuts, or lists of the levels that share a bin.
    """
    own = [LEARNT] * len(features)
    for key, chosen in (wanted or {}).items():
        place = place_among([feature.name for feature in features], key, PARAMETER)
        feature = features[place]
        if isinstance(chosen, str | bytes) or not isinstance(chosen, Iterable):
            raise TableError(f"{PARAMETER} has {chosen!r} for {feature.name}: give a list.")
        own[place] = (_levels_of if feature.is_category else _cuts_of)(feature, list(chosen))
    return tuple(own)


def _cuts_of(feature: Feature, chosen: list[Any]) -> OwnBins:
    where = f"{PARAMETER} of {feature.name}"
    try:
        cuts = _days(chosen) if feature.kind == "date" else np.array(chosen, np.float64)
    except (ValueError, TypeError) as error:
        kind = "dates" if feature.kind == "date" else "numbers"
        raise TableError(f"{where}: {chosen!r} are not all {kind}: give the values at which bins begin.") from error
    if cuts.ndim != 1 or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
        raise TableError(f"{where}: give the values at which bins begin in ascending order, each once.")
    if cuts.size > MOST_CUTS:
        raise TableError(f"{where}: {cuts.size} cuts are too many: give at most {MOST_CUTS}.")
    return OwnBins(cuts=cuts)


def _days(chosen: list[Any]) -> Floats:
    if any(isinstance(day, int | float) for day in chosen):
        raise TypeError("A date is no number.")
    return read_dates(pd.Series([pd.Timestamp(day) for day in chosen], dtype=object if chosen else "datetime64[us]"))


def _levels_of(feature: Feature, chosen: list[Any]) -> OwnBins:
    where = f"{PARAMETER} of {feature.name}"
    if feature.part != "value" or feature.kind == "boolean":
        raise TableError(f"{where}: only levels of a category can be merged: leave it out.")
    place = {level: k for k, level in enumerate(feature.levels)}
    merged: dict[str, tuple[str, ...]] = {}
    taken: set[str] = set()
    for group in chosen:
        if isinstance(group, str | bytes) or not isinstance(group, Sequence):
            raise TableError(f"{where}: {group!r} is no list: give a list of the levels of each merged bin.")
        levels = [level_name(level) for level in group]
        twice = next((level for k, level in enumerate(levels) if level in taken or level in levels[:k]), None)
        if twice is not None:
            raise TableError(f"{where}: {twice!r} is named twice: a level has one bin.")
        taken.update(levels)
        first, *others = sorted(levels, key=lambda level: place.get(level, len(place))) or [""]
        if others and first in place:
            merged[first] = tuple(others)
    return OwnBins(merged=merged)
