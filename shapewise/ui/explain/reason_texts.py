"""What is told of each column as a reason, and which columns are sensitive, on a page."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pandas as pd
import streamlit as st

from gamcore.data.column_names import ColumnNames, Names
from gamcore.data.columns import TableError
from shapewise.scoring.reasons import is_sensitive, texts
from shapewise.store.workspace import StoreError
from shapewise.ui.explain.row_model import RowModel
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import grid

MOST_TEXT: Final = 200
RAISES, LOWERS = "Where it raises", "Where it lowers"


def edit(model: RowModel) -> None:
    """Show what is told of each feature, and which are sensitive; both are kept with the names of the table."""
    columns = list(model.bins())
    may = state.mine("tables", model.about.table)
    st.caption("Written once for the table, for all of its models. A sensitive column is never told as a reason.")
    usual, hidden = texts(model.names, columns), is_sensitive(model.names, columns)
    start = pd.DataFrame({
        "Column": [model.names.column(name) for name in columns], RAISES: [usual[name][0] for name in columns],
        LOWERS: [usual[name][1] for name in columns], "Sensitive": [hidden[name] for name in columns],
    })  # fmt: skip
    edited = grid.edit(
        start, f"reasons-texts-{model.about.id}", hide_index=True, disabled=["Column"] if may else list(start.columns),
        alt="What is told of each column, and whether it is sensitive.",
        column_config={name: st.column_config.TextColumn(max_chars=MOST_TEXT) for name in (RAISES, LOWERS)},
    )  # fmt: skip
    changed_columns: dict[str, ColumnNames] = {}
    for name, (_, line), (_, first) in zip(columns, edited.iterrows(), start.iterrows(), strict=True):
        own = model.names.of(name)
        if line[RAISES] != first[RAISES]:
            own = replace(own, up=str(line[RAISES] or "").strip())
        if line[LOWERS] != first[LOWERS]:
            own = replace(own, down=str(line[LOWERS] or "").strip())
        if bool(line["Sensitive"]) != hidden[name]:
            own = replace(own, sensitive=bool(line["Sensitive"]))
        changed_columns[name] = own
    changed = Names({**model.names.columns, **changed_columns})
    if changed.to_dict() == model.names.to_dict():
        return
    try:
        state.set_names(model.about.table, changed)
    except (TableError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    st.rerun()
