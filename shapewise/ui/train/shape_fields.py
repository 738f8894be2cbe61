"""Form fields for how curves are learnt: on Train for all features, beside a curve for its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from gamcore.data.table import Feature
from gamcore.model.shapes import Shape
from shapewise.store.workspace import TableAbout
from shapewise.training.by_feature import SHAPES, values_of
from shapewise.training.curve_shapes import OF_CATEGORIES, OF_NUMBERS, OF_PARTS, of_each, reshaped
from shapewise.training.spec import Spec
from shapewise.ui.session import state

LABELS: Final[dict[Shape, str]] = {
    "steps": "Steps", "smooth": "Smooth", "cyclic": "Cyclic", "linear": "Straight", "levels": "Drawn to the mean",
}  # fmt: skip
HELP: Final = (
    "Steps follow jumps. A smooth line needs fewer rows where there are none. A cyclic one ends where it begins, as "
    "hours and months do. A straight line has one coefficient. Levels are drawn to their mean the more, the fewer rows "
    "they have."
)


def keys(table: str) -> dict[Shape, str]:
    """Return the keys of the fields of a table's form, by shape."""
    return {shape: f"shape-{shape}-{table}" for shape in LABELS if shape != "steps"}


def choose(about: TableAbout, preset: str, numbers: Sequence[str], categories: Sequence[str]) -> dict[str, Shape]:
    """Show the fields of a form, and return the shapes of those that are not steps. numbers : and dates."""
    if preset == "smooth":
        st.caption("All numbers and dates are smooth lines, and all levels are drawn to their mean.")
        return {}
    named = state.names(about.id)
    shapes: dict[str, Shape] = {}
    columns = st.columns(2)
    for k, (shape, key) in enumerate(keys(about.id).items()):
        free = [name for name in (categories if shape == "levels" else numbers) if name not in shapes]
        st.session_state[key] = [name for name in st.session_state.get(key, []) if name in free]
        with columns[k % 2]:
            chosen = st.multiselect(LABELS[shape], free, key=key, format_func=named.column, help=HELP)
        shapes |= dict.fromkeys(chosen, shape)
    return shapes


def take(table: str, changes: dict[str, Any]) -> None:
    """Put shapes into the form. Call it in a callback, before the fields are drawn."""
    chosen = values_of(changes, SHAPES)
    for shape, key in keys(table).items():
        st.session_state[key] = [feature for feature, feature_shape in chosen.items() if feature_shape == shape]


def of_curve(key: str, spec: Spec, feature: Feature, categories: Mapping[str, bool]) -> Spec:
    """Show how one curve is learnt, and return the specification with it. categories : whether features have levels."""
    options = OF_NUMBERS if not feature.is_category else OF_CATEGORIES if feature.part == "value" else OF_PARTS
    own = of_each(spec, categories).get(feature.name, "steps")
    shape = st.segmented_control(
        "Learnt as", options, default=own, required=True, format_func=LABELS.__getitem__,
        key=f"shape-{key}-{feature.name}", help=HELP,
    )  # fmt: skip
    return reshaped(spec, feature.name, shape, categories) if shape != own else spec
