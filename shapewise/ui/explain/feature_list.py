"""The features of a model by importance, each with a small curve: the way from one curve to the next."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.common.types import Floats
from gamcore.explain.curves import Curve
from gamcore.model.scales import Scale
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.widgets.columns import TENTHS, measured

POINTS: Final = 32
"""Points of a small curve: each stands for as many rows as the others."""

SEARCHED: Final = 12
"""Features above which the list can be searched."""

ROW_PIXELS: Final = 35
LIST_WIDTH: Final = 228
"""Pixels of the list, with all of its columns in sight: as many as leave a curve room at 1024."""
TAB_LEAVES: Final = """<script>
window.tabLeaves ??= document.addEventListener("keydown", event => {
  if (event.key === "Tab" && event.target.closest?.(".st-key-feature-list canvas")) event.stopImmediatePropagation();
}, true) ?? true;
</script>"""
"""A grid with a selection takes Tab to its next cell, and in the last one keeps it: no key leaves the list. With this,
arrow keys go from feature to feature, and Tab goes on, as in any list."""

FEATURE: Final = "feature"


def curves(model: ModelAbout, scale: Scale) -> tuple[pd.DataFrame, tuple[float, float]]:
    """Return the features of a model, the most important first: their names, small curves and importance; and the ends
    of all these curves."""
    table, ends = _curves(model.id, model.bands, scale)
    return table.copy(), ends


@state.kept(show_spinner=False, max_entries=32)
def _curves(model: str, bands: int, scale: Scale) -> tuple[pd.DataFrame, tuple[float, float]]:
    estimator = state.additive(model)
    table = estimator.importance(scale).frame()
    table = table[~table["pair"]]
    lines = [_line(estimator.explain_shape(str(name)).on(scale)) for name in table["feature"]]
    listed = pd.DataFrame({"feature": table["feature"].astype(str), "curve": lines, "effect": table["mean_abs"]})
    every = np.stack(lines)
    return listed, (float(every.min()), float(every.max()))


def _line(curve: Curve) -> Floats:
    """Return a curve's effects at equal steps of its training rows, in the order of its axis; levels by effect."""
    if not curve.scores.size or not curve.counts.sum():
        return np.full(POINTS, curve.zero)
    order = np.argsort(curve.scores, kind="stable") if curve.labels else np.arange(curve.scores.size)
    ends = np.cumsum(curve.counts[order])
    at = (np.arange(POINTS) + 0.5) / POINTS * ends[-1]
    effects = curve.scores[order][np.searchsorted(ends, at)]
    return np.asarray(np.log(effects) if curve.scale == "ratio" else effects)


def choose(model: ModelAbout, scale: Scale) -> str:
    """Show the list, and return the chosen feature; a link can name it, and a reload finds it again."""
    table, (low, high) = curves(model, scale)
    named = state.names_of(model)
    table.insert(0, "name", [named.term(name) for name in table["feature"]])
    names = table["feature"].tolist()
    asked = st.query_params.get(FEATURE)
    if asked in names and asked != st.session_state.get("asked_feature"):
        st.session_state[FEATURE] = asked
        st.session_state["feature_list"] = st.session_state.get("feature_list", 0) + 1  # its selection begins anew
    if st.session_state.get(FEATURE) not in names:
        st.session_state[FEATURE] = names[0]
    shown = table
    if len(names) > SEARCHED:
        part = st.text_input("Find a feature", placeholder=f"Search {len(names)} features",
                             label_visibility="collapsed", key=f"find-{model.id}")  # fmt: skip
        has = [name.str.contains(part, case=False, regex=False) for name in (table["feature"], table["name"])]
        shown = table[has[0] | has[1]]
        shown = shown if len(shown) else table
    listed = shown["feature"].tolist()
    now = st.session_state[FEATURE]
    start = listed.index(now) if now in listed else 0
    shown, form = (shown, TENTHS) if scale == "points" else measured(shown, "effect")
    event = st.dataframe(
        shown.assign(feature=shown["name"]).drop(columns="name"), hide_index=True, on_select="rerun",
        selection_mode="single-cell",  # a click or an arrow key moves it
        key=f"features-{model.id}-{hash((*listed, *shown['name']))}-{st.session_state.get('feature_list', 0)}",
        selection_default={"selection": {"rows": [], "columns": [], "cells": [(start, "feature")]}},
        height=min(38 + ROW_PIXELS * len(listed), 700), row_height=ROW_PIXELS,
        column_config={
            "feature": st.column_config.TextColumn("Feature", width=LIST_WIDTH - 52 - 60),
            "curve": st.column_config.LineChartColumn("Effect", y_min=low, y_max=high, width=60,
                                                      help="All on one scale; width is rows."),
            "effect": st.column_config.NumberColumn("Mean", width=52, format=form,
                                                    help="Mean absolute effect over the training rows."),
        },
        alt="Features by importance, each with its curve; select one to read it.",
    )  # fmt: skip
    st.html(TAB_LEAVES, unsafe_allow_javascript=True)
    cells = event["selection"]["cells"]
    feature = str(listed[cells[0][0]]) if cells and cells[0][0] < len(listed) else str(now)
    st.session_state[FEATURE] = st.session_state["asked_feature"] = st.query_params[FEATURE] = feature
    return feature
