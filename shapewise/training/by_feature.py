"""Settings that have a value per feature: the directions of curves, and bins of one's own."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

MONOTONE: Final = "monotone"
BINS: Final = "bins"


def values_of(changes: dict[str, Any], setting: str) -> dict[str, Any]:
    """Return the value of each feature that has one, in the changes to a preset."""
    return dict(changes.get(setting) or {})


def with_values(changes: dict[str, Any], setting: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the changes with these values instead of theirs; an empty value leaves its feature out."""
    others = {name: value for name, value in changes.items() if name != setting}
    kept = {feature: value for feature, value in values.items() if value}
    return others | ({setting: kept} if kept else {})


def among(changes: dict[str, Any], features: Collection[str]) -> dict[str, Any]:
    """Return the changes without values of other features."""
    for setting in (MONOTONE, BINS):
        kept = {feature: value for feature, value in values_of(changes, setting).items() if feature in features}
        changes = with_values(changes, setting, kept)
    return changes
