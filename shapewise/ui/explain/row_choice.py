"""The choice of a held-out row: by number, by prediction, or by text in its cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gamcore.common.types import Bools
from shapewise.ui.explain.row_model import RowModel, row_model
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md


def choose(model: RowModel, options: DeltaGenerator) -> int:
    """Show the number of a row, and in some options which rows are numbered and how; return its place in the table."""
    known = _held_out(model.about.id)
    with options:
        search = st.text_input("Find a row", placeholder="Text in any of its cells", key=f"find-{model.about.id}")
        orders = "table", f"highest {model.predicted}", f"lowest {model.predicted}", "largest error"
        order = st.selectbox("In order of", orders, key=f"by-{model.about.id}")
    if search:
        known = known[_holding(model.data.X.iloc[known["place"]], search)]
        if known.empty:
            st.caption(f"No held-out row has {md(search)} in a cell.")
            st.stop()
    known = _ordered(known, order)
    place = st.number_input(f"Held-out row, of {count(len(known))}", 1, len(known), key=f"row-{model.about.id}")
    return int(known["place"].iloc[min(place, len(known)) - 1])


@state.kept(show_spinner="Predicting the held-out rows", max_entries=8)
def _held_out(model: str) -> pd.DataFrame:
    """Return the place, prediction, expected total and actual target of each held-out row of a model."""
    explained = row_model(state.workspace().models.about(model))
    assert explained is not None  # the page has its rows
    places = np.flatnonzero(explained.data.held_out)
    predicted = explained.predict(explained.data.X.iloc[places])
    total = predicted if explained.data.exposure is None else predicted * explained.data.exposure[places]
    return pd.DataFrame({"place": places, "predicted": predicted, "total": total, "was": explained.data.y.iloc[places]})


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
