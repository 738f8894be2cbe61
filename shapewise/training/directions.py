"""Directions: the features of a specification along which predictions may only rise, or only fall."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from gamcore.data.column_names import AS_THEY_ARE, Names
from shapewise.training.by_feature import MONOTONE, values_of, with_values
from shapewise.training.spec import Spec

WORDS: Final = {1: "rises along", -1: "falls along"}


def of_changes(changes: dict[str, Any]) -> dict[str, int]:
    """Return 1 or -1 for each feature that has a direction."""
    return values_of(changes, MONOTONE)


def with_directions(changes: dict[str, Any], directions: dict[str, int]) -> dict[str, Any]:
    """Return the changes to a preset with these directions instead of theirs; 0 sets a feature free."""
    return with_values(changes, MONOTONE, directions)


def turned(spec: Spec, feature: str, sign: int) -> Spec:
    """Return the specification with another direction for a feature; 0 sets it free."""
    return replace(spec, changes=with_directions(spec.changes, of_changes(spec.changes) | {feature: sign}))


def words(changes: dict[str, Any], names: Names = AS_THEY_ARE) -> str:
    """Return the directions in words; empty if there are none."""
    signs = of_changes(changes)
    parts = {sign: [names.term(feature) for feature in signs if signs[feature] == sign] for sign in WORDS}
    return "; ".join(f"{WORDS[sign]} {', '.join(features)}" for sign, features in parts.items() if features)
