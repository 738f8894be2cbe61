"""A monitor of a scorecard on a page: how far its features, and its points, have moved in a newer table."""

from __future__ import annotations

import json
import math
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from gamcore.common.numbers import counted, fixed, p_value
from gamcore.data.columns import TableError
from gamcore.decide.rules import All, RuleError
from gamcore.estimators.scorecard import SCORE, monitor
from gamcore.stats.column_drift import VERDICTS
from gamcore.viz import files as export
from gamcore.viz.files.spreadsheets import to_xlsx
from shapewise.store.workspace import ModelAbout
from shapewise.training.spec import Spec
from shapewise.ui.explain.scorecard import Scale, card_of
from shapewise.ui.session import state
from shapewise.ui.session.words import md, told_apart
from shapewise.ui.widgets import downloads


def show(model: ModelAbout, scale: Scale) -> None:
    """Show how far a newer table has moved from the rows of the model."""
    st.markdown("**Monitor**")
    tables = {table.id: table for table in state.workspace().tables.listed() if not table.dataset}
    if state.data(model) is None:
        st.caption("A monitor compares with the table that the model was trained on, which has been deleted.")
        return
    others = {i: f"{table.name} ({counted(table.rows, 'row')})" for i, table in tables.items() if i != model.table}
    chosen = st.selectbox("A newer table", list(others), None, key=f"card-newer-{model.id}",
                          format_func=told_apart(others).__getitem__, placeholder="With the same columns")  # fmt: skip
    if chosen is None:
        return
    shown_names = json.dumps(state.names_of(model).to_dict())
    try:
        moved = _moved(model.id, model.bands, chosen, shown_names, *scale)
    except (TableError, RuleError, KeyError) as error:
        st.error(f"This table does not have the card's columns: {md(error)}", icon=":material/error:")
        return
    shown = pd.DataFrame({
        "Part": ["All points" if name == SCORE else name for name in moved["part"]],
        "Verdict": [VERDICTS.get(verdict, "") if verdict else "" for verdict in moved["verdict"]],
        "Stability index": [fixed(value, 3) for value in moved["psi"]],
        "By chance": [fixed(value, 3) for value in moved["by chance"]],
        "p": [_p(p) for p in moved["p"]],
        "Mean points then": [fixed(value, 1) for value in moved["points then"]],
        "Mean points now": [fixed(value, 1) for value in moved["points now"]],
    })  # fmt: skip
    st.dataframe(shown, hide_index=True, alt="How far each feature of the card, and its points, have moved.")
    st.caption(
        "The population stability index is over the card's bins; above .1 is worth a look, above .25 is much, but with "
        "few rows chance alone brings as much as the column beside it says. The verdict is that of our test, adjusted "
        "for all columns."
    )
    name = export.file_name(model.name, "monitor", "xlsx")
    downloads.button("Workbook", partial(bytes, to_xlsx({"monitor": moved})), name, f"monitor-{model.id}",
                     ":material/download:")  # fmt: skip


def _p(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "-"
    return p_value(value).removeprefix("p ").removeprefix("= ")


@state.kept(show_spinner="Comparing the tables", max_entries=16)
def _moved(identifier: str, bands: int, table: str, names: str, *scale: Any) -> pd.DataFrame:
    """Return how far the rows of a newer table that the model is about have moved from those it knows."""
    model = state.workspace().models.about(identifier)
    data, newer = state.data(model), state.table(table)
    assert data is not None
    inside = All(tuple(Spec.from_dict(model.spec).conditions)).holds(newer)
    return monitor(card_of(identifier, bands, names, *scale), data.X, newer.frame[inside])
