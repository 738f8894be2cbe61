"""Bins of one's own in a specification: cuts of numbers and dates, and levels that count as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.numbers import exact
from shapewise.training.by_feature import BINS, values_of


def is_merging(chosen: Sequence[Any]) -> bool:
    """Return whether chosen bins are lists of levels, not cuts."""
    return bool(chosen) and isinstance(chosen[0], list)


def words(changes: dict[str, Any], names: Names = AS_THEY_ARE) -> str:
    """Return the chosen bins in words; empty if there are none."""
    return "; ".join(f"{names.term(of)} {_said(of, chosen, names)}" for of, chosen in values_of(changes, BINS).items())


def _said(feature: str, chosen: Sequence[Any], names: Names) -> str:
    if is_merging(chosen):
        groups = [" with ".join(names.level(feature, level) for level in group) for group in chosen]
        return f"takes {', and '.join(groups)}"
    return f"cut at {', '.join(cut if isinstance(cut, str) else exact(cut) for cut in chosen)}"
