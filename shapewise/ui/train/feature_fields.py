"""Form fields for directions and for how curves are learnt: on Train for all features, beside a curve for its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from gamcore.data.table import Feature
from gamcore.model.shapes import Shape
from shapewise.store.workspace import TableAbout
from shapewise.training.by_feature import (
    MONOTONE,
    SHAPES,
    SHAPES_OF_CATEGORIES,
    SHAPES_OF_DATE_PARTS,
    SHAPES_OF_NUMBERS,
    reshaped,
    shapes_of,
    turned,
    values_of,
)
from shapewise.training.spec import Spec
from shapewise.ui.session import state

DIRECTIONS: Final = {0: "Free", 1: "May only rise", -1: "May only fall"}
ABOUT_DIRECTIONS: Final = (
    "Predictions then keep this order for all rows, with all pairs of the feature; missing cells are free. Live shows "
    "what it costs in held-out rows."
)
LABELS: Final[dict[Shape, str]] = {
    "steps": "Steps", "smooth": "Smooth", "cyclic": "Cyclic", "linear": "Straight", "levels": "Drawn to the mean",
}  # fmt: skip
ABOUT_SHAPES: Final = (
    "Steps follow jumps. A smooth line needs fewer rows where there are none. A cyclic one ends where it begins, as "
    "hours and months do. A straight line has one coefficient. Levels are drawn to their mean the more, the fewer rows "
    "they have."
)


def keys(table: str) -> dict[str, dict[Any, str]]:
    """Return the keys of the fields of a table's form, by setting and value."""
    shapes = {shape: f"shape-{shape}-{table}" for shape in LABELS if shape != "steps"}
    return {MONOTONE: {1: f"rising-{table}", -1: f"falling-{table}"}, SHAPES: shapes}


def take(table: str, changes: dict[str, Any]) -> None:
    """Put directions and shapes into the form. Call it in a callback, before the fields are drawn."""
    for setting, by_value in keys(table).items():
        chosen = values_of(changes, setting)
        for value, key in by_value.items():
            st.session_state[key] = [feature for feature, own in chosen.items() if own == value]


def directions(table: TableAbout, features: list[str]) -> dict[str, int]:
    """Show the fields of a form, and return the directions. features : those of numbers and dates."""
    labels = {sign: f"{DIRECTIONS[sign]} along" for sign in (1, -1)}
    return _choose(table, MONOTONE, labels, dict.fromkeys(labels, features), ABOUT_DIRECTIONS) if features else {}


def shapes(table: TableAbout, preset: str, numbers: Sequence[str], categories: Sequence[str]) -> dict[str, Shape]:
    """Show the fields of a form, and return the shapes of those that are not steps. numbers : and dates."""
    if preset == "smooth":
        st.caption("All numbers and dates are smooth lines, and all levels are drawn to their mean.")
        return {}
    features = {shape: categories if shape == "levels" else numbers for shape in LABELS}
    return _choose(table, SHAPES, LABELS, features, ABOUT_SHAPES)


def _choose(
    table: TableAbout, setting: str, labels: Mapping[Any, str], features: Mapping[Any, Sequence[str]], about: str
) -> dict[str, Any]:
    """Show a field for each value of a setting, and return the value of each feature that has one. features : that may
    have each value."""
    named, chosen, columns = state.names(table.id), dict[str, Any](), st.columns(2)
    for k, (value, key) in enumerate(keys(table.id)[setting].items()):
        free = [name for name in features[value] if name not in chosen]
        st.session_state[key] = [name for name in st.session_state.get(key, []) if name in free]
        with columns[k % 2]:
            taken = st.multiselect(labels[value], free, key=key, format_func=named.column, help=about)
        chosen |= dict.fromkeys(taken, value)
    return chosen


def direction_of_curve(key: str, spec: Spec, feature: str) -> Spec:
    """Show the direction of one feature, and return the specification with it."""
    own = values_of(spec.changes, MONOTONE).get(feature, 0)
    sign = st.segmented_control(
        "This curve", list(DIRECTIONS), default=own, required=True, format_func=DIRECTIONS.__getitem__,
        key=f"direction-{key}-{feature}", help=ABOUT_DIRECTIONS,
    )  # fmt: skip
    return turned(spec, feature, sign) if sign != own else spec


def shape_of_curve(key: str, spec: Spec, feature: Feature, categories: Mapping[str, bool]) -> Spec:
    """Show how one curve is learnt, and return the specification with it. categories : whether features have levels."""
    of_levels = SHAPES_OF_CATEGORIES if feature.part == "value" else SHAPES_OF_DATE_PARTS
    own = shapes_of(spec, categories).get(feature.name, "steps")
    shape = st.segmented_control(
        "Learnt as", of_levels if feature.is_category else SHAPES_OF_NUMBERS, default=own, required=True,
        format_func=LABELS.__getitem__, key=f"shape-{key}-{feature.name}", help=ABOUT_SHAPES,
    )  # fmt: skip
    return reshaped(spec, feature.name, shape, categories) if shape != own else spec
