"""What a first visitor sees: what this is for, the way to bring a table, a tour, and a curve of a real model."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from gamcore.data.column_names import ColumnNames, Names
from gamcore.estimators.additive import AdditiveEstimator
from gamcore.estimators.saved import from_saved
from gamcore.explain.sentences import read_curve
from gamcore.explain.shown import shown
from gamcore.io import gamx
from shapewise.decisions import guided_example
from shapewise.ui.data import loading
from shapewise.ui.session import state
from shapewise.ui.widgets import cards, drawn, guide

PROMISE: Final = "Load a table. See what drives the outcome, decide whom to treat, and prove that it worked."
MODEL: Final = Path(__file__).parents[1] / "assets" / "first_curves.gamx"
"""The model of `guided_example.first_spec`, written by `python -m benchmarks.app.first_curves`."""

NAMES: Final = Names(
    {"position_clicks": ColumnNames("Clicks"), "age": ColumnNames("Age"), "balance": ColumnNames("Balance")}
)
HEIGHT: Final = 360
DETAIL: Final = (
    "A curve of the sample renewal: what moves a customer to renew, in percentage points, with its 95% band. Point at "
    "it."
)


def show() -> None:
    """Show the first screen."""
    with st.container(horizontal=True, gap="large"):  # the curve below the words where it is narrow
        words, curve = st.container(width=400, key="promise"), st.container(width="stretch", key="first-curve")
    with words:
        st.title(PROMISE, anchor=False)
        loading.upload("")
        if not st.session_state.get(guide.TOUR):
            guide.offer()
    with curve:
        _curve()
    loading.from_server()
    loading.samples()


@state.shared("Reading the first curves", max_entries=1)
def _model() -> AdditiveEstimator:
    fitted = from_saved(gamx.load(MODEL))
    assert isinstance(fitted, AdditiveEstimator)
    return fitted


@st.fragment
def _curve() -> None:
    """Show a curve of a sample, and the choice of its feature."""
    feature = st.segmented_control(
        "A curve of", guided_example.FIRST_FEATURES, default="age", required=True, format_func=NAMES.column,
        key="first-feature", label_visibility="collapsed",
    )  # fmt: skip
    curve = shown(_model().explain_shape(feature).on("points"), NAMES)
    plot = curve.describe("renewing", DETAIL, title=read_curve(curve), height=HEIGHT)
    cards.headline(plot, "first")
    st.plotly_chart(drawn.figure(plot, titled=False), key="first-plot", theme=None, config={"displayModeBar": False},
                    alt=plot.words)  # fmt: skip
