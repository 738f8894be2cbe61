"""Settings about single features: how curves are learnt, their directions, bins of one's own, and which features
interact."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from gamcore.data.column_names import parts_of_date
from gamcore.estimators.additive_parameters import GREEDY

MONOTONE: Final = "monotone"
BINS: Final = "bins"
SHAPES: Final = "shapes"
SETTINGS: Final = (MONOTONE, BINS, SHAPES)
OF_TRIPLES: Final = ("binary", "number")
"""Goals of models that may have triples."""

TERMS: Final = ("interactions", "triples")
"""Settings that may list features which interact."""


def values_of(changes: dict[str, Any], setting: str) -> dict[str, Any]:
    """Return the value of each feature that has one, in the changes to a preset."""
    values = changes.get(setting)
    return dict(values) if isinstance(values, dict) else {}


def with_values(changes: dict[str, Any], setting: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the changes with these values instead of theirs; an empty value leaves its feature out."""
    others = {name: value for name, value in changes.items() if name != setting}
    kept = {feature: value for feature, value in values.items() if value}
    return others | ({setting: kept} if kept else {})


def features_among(columns: Collection[str]) -> set[str]:
    """Return the names of all features of some columns, any of which may be a date with its month and weekday."""
    return {name for column in columns for name in (column, *parts_of_date(column, columns))}


def among(changes: dict[str, Any], columns: Collection[str]) -> dict[str, Any]:
    """Return the changes without values of features of other columns."""
    known = features_among(columns)
    for setting in SETTINGS:
        if values := values_of(changes, setting):
            kept = {feature: value for feature, value in values.items() if feature in known}
            changes = with_values(changes, setting, kept)
    return changes


def terms_among(changes: dict[str, Any], columns: Collection[str]) -> dict[str, Any]:
    """Return the changes without listed pairs and triples that have features of other columns."""
    known = features_among(columns)
    listed = {name: changes[name] for name in TERMS if isinstance(changes.get(name), list | tuple)}
    return changes | {name: [term for term in terms if set(term) <= known] for name, terms in listed.items()}


def lacking_for_triples(goal: str, parameters: dict[str, Any], is_large: bool = False) -> list[str]:
    """Return what a training with these parameters lacks to have triples, in words. is_large : whether its rows do not
    fit in memory."""
    needs = {
        "a target of yes and no, or a number whose effects add up": goal in OF_TRIPLES,
        "rows that fit in memory": not is_large,
        "all features, not only those that beat chance": parameters.get("order") != GREEDY,
        "features without directions": not parameters.get(MONOTONE),
        "curves in steps": not parameters.get(SHAPES),
    }
    return [need for need, is_met in needs.items() if not is_met]
