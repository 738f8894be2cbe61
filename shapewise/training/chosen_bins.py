"""Bins of one's own in a specification: cuts of numbers and dates, and levels that count as one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from gamcore.common.numbers import exact
from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.data.columns import TableError
from gamcore.data.labels import set_apart
from shapewise.training.by_feature import BINS, values_of


def is_merging(chosen: Sequence[Any]) -> bool:
    """Return whether chosen bins are lists of levels, not cuts."""
    return bool(chosen) and isinstance(chosen[0], list)


def cuts_in(text: str, is_date: bool) -> list[Any]:
    """Return the cuts that were typed, dates as text; TableError names what cannot be read."""
    cuts: list[Any] = []
    for word in filter(None, re.split(r"[,;\s]+", text)):
        try:
            cuts.append(str(date.fromisoformat(word)) if is_date else float(word))
        except ValueError as error:
            example = "a date such as 2024-06-30" if is_date else "a number"
            raise TableError(f"{word!r} is not {example}: give the values at which bins begin.") from error
        if len(cuts) > 1 and cuts[-2] >= cuts[-1]:
            raise TableError(f"{word} comes after a larger or equal value: give them in order, a comma between two.")
    if not is_date and not all(map(math.isfinite, cuts)):
        raise TableError("A bin begins at a finite number: leave out nan and inf.")
    return cuts


def text_of(cuts: Sequence[Any]) -> str:
    """Return cuts as they are typed."""
    return ", ".join(cut if isinstance(cut, str) else exact(cut) for cut in cuts)


def words(changes: dict[str, Any], names: Names = AS_THEY_ARE) -> str:
    """Return the chosen bins in words; empty if there are none."""
    bins = values_of(changes, BINS).items()
    return "; ".join(f"{names.term(feature)} {_choice_words(feature, chosen, names)}" for feature, chosen in bins)


def _choice_words(feature: str, chosen: Sequence[Any], names: Names) -> str:
    if is_merging(chosen):
        groups = [" with ".join(set_apart(names.level(feature, level)) for level in group) for group in chosen]
        return f"takes {', and '.join(groups)}"
    return f"cut at {text_of(chosen)}"
