"""Settings about single features: how curves are learnt, their directions, bins of one's own, and which features
interact."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from gamcore.data.column_names import AS_THEY_ARE, Names, parts_of_date
from gamcore.estimators.additive_parameters import GREEDY
from gamcore.model.shapes import Shape
from shapewise.training.spec import Spec

MONOTONE: Final = "monotone"
BINS: Final = "bins"
SHAPES: Final = "shapes"
SETTINGS: Final = (MONOTONE, BINS, SHAPES)
SHAPES_OF_NUMBERS: Final[tuple[Shape, ...]] = ("steps", "smooth", "cyclic", "linear")
SHAPES_OF_DATE_PARTS: Final[tuple[Shape, ...]] = ("steps", "cyclic", "levels")
SHAPES_OF_CATEGORIES: Final[tuple[Shape, ...]] = ("steps", "levels")
WORDS: Final[dict[str, dict[Any, str]]] = {
    MONOTONE: {1: "rises along", -1: "falls along"},
    SHAPES: {"smooth": "smooth in", "cyclic": "cyclic in", "linear": "straight in", "levels": "drawn to the mean in"},
}
"""How the values of a setting are written before the features that have them."""

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


def words(changes: dict[str, Any], setting: str, names: Names = AS_THEY_ARE) -> str:
    """Return the directions (`MONOTONE`) or the shapes (`SHAPES`) of features in words; empty if there are none."""
    if isinstance(changes.get(setting), str):
        return f"all curves {changes[setting]}"
    chosen = values_of(changes, setting)
    parts = {
        before: [names.term(feature) for feature in chosen if chosen[feature] == value]
        for value, before in WORDS[setting].items()
    }
    return "; ".join(f"{before} {', '.join(features)}" for before, features in parts.items() if features)


def turned(spec: Spec, feature: str, sign: int) -> Spec:
    """Return the specification with another direction for a feature; 0 sets it free."""
    signs = values_of(spec.changes, MONOTONE) | {feature: sign}
    return replace(spec, changes=with_values(spec.changes, MONOTONE, signs))


def shapes_of(spec: Spec, categories: Mapping[str, bool]) -> dict[str, Shape]:
    """Return how the curve of each feature is learnt, those of steps left out. categories : whether it has levels."""
    wanted = spec.parameters().get(SHAPES)
    if isinstance(wanted, str):
        wanted = {name: "levels" if has else wanted for name, has in categories.items()} if wanted != "steps" else {}
    return {name: shape for name, shape in (wanted or {}).items() if shape != "steps"}


def reshaped(spec: Spec, feature: str, shape: Shape, categories: Mapping[str, bool]) -> Spec:
    """Return the specification with another shape for the curve of a feature."""
    shapes = shapes_of(spec, categories) | {feature: shape}
    kept = {name: chosen for name, chosen in shapes.items() if chosen != "steps"}
    changes = with_values(spec.changes, SHAPES, kept)
    return replace(spec, changes=changes if kept or not spec.parameters().get(SHAPES) else changes | {SHAPES: "steps"})


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
