"""What to do with marked cells: the operation, its value, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from gamcore.additions.editing.edits import (
    FREEDOM,
    IN_ORDER,
    LEAST_FREEDOM,
    MOST_FREEDOM,
    MOST_REASON,
    OF_CURVES,
    OPERATIONS,
    WITH_VALUE,
    Edit,
    EditError,
    Operation,
    Where,
)
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale, no_effect
from shapewise.ui.session.words import md
from shapewise.ui.widgets.columns import EXACT

LABELS: dict[str, str] = {
    "set": "Set to a value", "add": "Move by a value", "equal": "Make equal", "straight": "Draw a straight line",
    "smooth": "Smooth", "rising": "Let it only rise", "falling": "Let it only fall", "at_most": "Cap at a value",
    "at_least": "Raise to a value", "centre": "Move the curve to a mean of 0", "remove": "Remove it",
}  # fmt: skip
HELP = (
    "On what is marked above; with nothing marked, on all values. Make equal: to the mean over training rows. "
    "Straight: between the ends. Only rise or fall: the nearest such curve. The mean of 0 keeps the mean score. "
    "Remove: no effect at all, missing and new values included."
)


@dataclass(frozen=True)
class Target:
    """What is edited: a curve or a pair. key : of its widgets. on : its features. where : the marked cells of each.
    base : score of the base rate. start : the value of what is marked, on the scale of the page. in_order : whether its
    cells have an order."""

    key: str
    on: tuple[str, ...]
    where: tuple[Where, ...]
    loss: str
    scale: Scale
    base: float
    start: float = float("nan")
    in_order: bool = True


def possible(target: Target) -> list[Operation]:
    """Return the operations that a target allows."""
    if len(target.on) == 2:
        return [name for name in OPERATIONS if name not in OF_CURVES]
    return [name for name in OPERATIONS if target.in_order or name not in IN_ORDER]


def choose(target: Target) -> Edit | None:
    """Show the operation and its value, and return the edit without a reason; None until it is complete."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        operation = st.selectbox(
            "What to do", possible(target), index=None, format_func=LABELS.__getitem__, key=f"operation-{target.key}",
            placeholder="Choose", help=HELP, width=260,
        )  # fmt: skip
        if operation is None:
            return None
        value: float | None = None
        if operation in WITH_VALUE:
            value = _value(target, operation)
            if value is None:
                return None
        elif operation == "smooth":
            value = float(st.slider(
                "Degrees of freedom", int(LEAST_FREEDOM), int(MOST_FREEDOM), int(FREEDOM), key=f"freedom-{target.key}",
                help="2 is a straight line; more follow the curve more closely.", width=260,
            ))  # fmt: skip
    where = target.where if operation not in ("centre", "remove") else tuple(Where() for _ in target.on)
    return Edit(target.on, operation, where, value)


def _value(target: Target, operation: Operation) -> float | None:
    """Return a value on the link scale, typed on the scale of the page; None (with a message) where it is none."""
    unit = LOSSES[target.loss].unit(target.scale, "") or "in units of the target"
    nothing = no_effect(target.scale)
    start = nothing if operation == "add" or not math.isfinite(target.start) else target.start
    typed_before = st.session_state.get(f"typed-{operation}-{target.key}")
    if typed_before is not None:  # on another scale
        start = float(LOSSES[target.loss].effect(np.array(typed_before), target.scale, target.base))
    label = "By (a factor)" if operation == "add" and target.scale == "ratio" else f"Value ({unit})"
    typed = st.number_input(
        label, value=_rounded(start), key=f"value-{operation}-{target.scale}-{target.key}", format=EXACT,
        width=260,
    )  # fmt: skip
    score = LOSSES[target.loss].score_of(float(typed), target.scale, target.base)
    if math.isnan(score):
        st.error("No prediction has this effect: type one nearer to no effect.", icon=":material/error:")
        return None
    st.session_state[f"typed-{operation}-{target.key}"] = score
    return score


def _rounded(value: float) -> float:
    """Return a value to four significant digits."""
    return float(np.format_float_positional(value, 4, fractional=False))


def reason(target: Target) -> str:
    """Show the field for the reason, and return it."""
    return st.text_input(
        "Why", key=f"reason-{target.key}", max_chars=MOST_REASON,
        placeholder="Few rows; the tariff asks for it; a known error in the data",
        help="It is kept with the edit: in the model's card, in reports and in its file.",
    ).strip()  # fmt: skip


def clear(target: Target) -> None:
    """Empty the form."""
    for name in ("operation", "reason"):
        st.session_state[f"{name}-{target.key}"] = None if name == "operation" else ""
    for operation in WITH_VALUE:
        st.session_state.pop(f"typed-{operation}-{target.key}", None)


def keep_button(target: Target, edit: Edit, why: str, take: Any) -> None:
    """Show the button that keeps an edit, once it has a reason."""

    def keep() -> None:
        take(edit.because(why))
        clear(target)

    st.button(
        "Keep this edit", icon=":material/check:", type="primary", disabled=not why, on_click=keep,
        key=f"keep-{target.key}", help=None if why else "Say why first.",
    )  # fmt: skip


def refused(error: EditError) -> None:
    """Say why an edit does not fit."""
    st.error(md(str(error)), icon=":material/error:")
