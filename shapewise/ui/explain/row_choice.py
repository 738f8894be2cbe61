"""The choice of a held-out row: by number, by prediction, or by text in its cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gamcore.types import Bools
from shapewise.ui.explain.row_model import RowModel, row_model
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md


def choose(of: RowModel, options: DeltaGenerator) -> int:
    """Show the number of a row, and in some options which rows are numbered and how; return its place in the table."""
    known = _held_out(of.about.id)
    with options:
        search = st.text_input("Find a row", placeholder="Text in any of its cells", key=f"find-{of.about.id}")
        orders = "table", f"highest {of.predicted}", f"lowest {of.predicted}", "largest error"
        order = st.selectbox("In order of", orders, key=f"by-{of.about.id}")
    if search:
        known = known[_holding(of.data.X.iloc[known["place"]], search)]
        if known.empty:
            st.caption(f"No held-out row has {md(search)} in a cell.")
            st.stop()
    known = _ordered(known, order)
    place = st.number_input(f"Held-out row, of {count(len(known))}", 1, len(known), key=f"row-{of.about.id}")
    return int(known["place"].iloc[min(place, len(known)) - 1])


@state.kept(show_spinner="Predicting the held-out rows", max_entries=8)
def _held_out(model: str) -> pd.DataFrame:
    """Return the place, prediction, expected total and actual target of each held-out row of a model."""
    of = row_model(state.workspace().models.about(model))
    assert of is not None  # the page has its rows
    places = np.flatnonzero(of.data.held_out)
    predicted = of.predict(of.data.X.iloc[places])
    total = predicted if of.data.exposure is None else predicted * of.data.exposure[places]
    return pd.DataFrame({"place": places, "predicted": predicted, "total": total, "was": of.data.y.iloc[places]})


def _holding(rows: pd.DataFrame, text: str) -> Bools:
    """Return which rows have a text in a cell."""
    cells = rows.astype("string").fillna("")
    hits: Bools = np.any([cells[c].str.contains(text, case=False, regex=False) for c in cells.columns], axis=0)
    return hits


def _ordered(known: pd.DataFrame, order: str) -> pd.DataFrame:
    if order == "table":
        return known
    by = {"highest": -known["predicted"], "lowest": known["predicted"]}
    key = by.get(order.split()[0], -(known["total"] - known["was"]).abs())
    return known.iloc[np.argsort(key.to_numpy(), kind="stable")]
