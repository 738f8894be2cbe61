"""The line of a model from which a row is decided on as yes: one for all that is said about its decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import streamlit as st

from gamcore.estimators.base import loss_of
from shapewise.scoring.reasons import ANSWERS, Telling, telling, usual_line
from shapewise.ui.explain.row_model import RowModel
from shapewise.ui.session import state
from shapewise.ui.widgets import settled
from shapewise.ui.widgets.columns import WHOLE_PERCENT

LEAST: Final = 1e-9
"""Of predictions that are never 0."""


def choose(model: RowModel) -> Telling:
    """Show the line, and return how reasons are told with it; a change is kept with the model."""
    how, key = telling(model.about, usual_line(model.about, model.estimator)), f"line-{model.about.id}"
    if model.is_binary:
        percent = st.slider(
            "Decide yes from a chance of", 1, 99, format=WHOLE_PERCENT, key=settled.begin(key, _percent(how)),
            help="Starts at the base rate: yes if a row is more likely than average.",
        )  # fmt: skip
        return keep(model, how, line=how.line if percent == _percent(how) else percent / 100)
    least = LEAST if loss_of(model.estimator).has_log_link else None
    line = st.number_input("Decide yes from a prediction of", least, key=settled.begin(key, how.line))
    return keep(model, how, line=how.line if line is None else line)


def choose_good(model: RowModel, how: Telling, place: str) -> Telling:
    """Show which answer is good for the person, asked wherever it first matters; return how reasons are told with it.

    place : a word for where it is shown."""
    good = st.segmented_control(
        "Which answer is good for the person?", list(ANSWERS), required=how.helps is not None,
        key=settled.begin(f"good-{place}-{model.about.id}", how.helps),
        help="Asked once and kept with the model: letters open with it, and changes lead to it.",
    )  # fmt: skip
    return keep(model, how, helps=good)


def _percent(how: Telling) -> int:
    return min(max(round(100 * how.line), 1), 99)


def keep(model: RowModel, how: Telling, **changes: Any) -> Telling:
    """Return how reasons are told with some changes, which are kept with the model where they are new and may be."""
    now = replace(how, **changes)
    new = {name: value for name, value in now.to_dict().items() if value != how.to_dict()[name]}
    if new and state.mine("models", model.about.id):
        state.workspace().models.set_reasons(model.about.id, new)
    return now
