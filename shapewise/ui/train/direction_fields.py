"""Form fields for directions: on Train for all features, beside a curve for its own."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from shapewise.store.workspace import TableAbout
from shapewise.training import directions
from shapewise.training.spec import Spec
from shapewise.ui.session import state

HELP: Final = (
    "Predictions then keep this order for all rows, with all pairs of the feature; missing cells are free. Live shows "
    "what it costs in held-out rows."
)
CHOICES: Final = {0: "Free", 1: "May only rise", -1: "May only fall"}


def keys(table: str) -> dict[int, str]:
    """Return the keys of the fields of a table's form, by sign."""
    return {1: f"rising-{table}", -1: f"falling-{table}"}


def choose(table: TableAbout, features: list[str]) -> dict[str, int]:
    """Show the fields of a form, and return the directions. features : those of numbers and dates."""
    if not features:
        return {}
    of_key, named = keys(table.id), state.names(table.id)
    directions_chosen: dict[str, int] = {}
    for column, (sign, label) in zip(st.columns(2), list(CHOICES.items())[1:], strict=True):
        key = of_key[sign]
        st.session_state[key] = [
            name for name in st.session_state.get(key, []) if name in features and name not in directions_chosen
        ]
        free = [name for name in features if name not in directions_chosen]
        with column:
            chosen = st.multiselect(f"{label} along", free, key=key, format_func=named.column, help=HELP)
        directions_chosen |= dict.fromkeys(chosen, sign)
    return directions_chosen


def take(table: str, changes: dict[str, Any]) -> None:
    """Put directions into the form. Call it in a callback, before the fields are drawn."""
    signs = directions.of_changes(changes)
    for sign, key in keys(table).items():
        st.session_state[key] = [feature for feature, feature_sign in signs.items() if feature_sign == sign]


def of_curve(key: str, spec: Spec, feature: str) -> Spec:
    """Show the direction of one feature, and return the specification with it."""
    own = directions.of_changes(spec.changes).get(feature, 0)
    sign = st.segmented_control(
        "This curve", list(CHOICES), default=own, required=True, format_func=CHOICES.__getitem__,
        key=f"direction-{key}-{feature}", help=HELP,
    )  # fmt: skip
    return directions.turned(spec, feature, sign) if sign != own else spec
