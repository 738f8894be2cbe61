"""A model put to work: a table scored by it, and the model as SQL, Python and JSON for other programs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from gamcore import export, scoring
from gamcore.table import TableError
from gamcore.workspace import packs, scored
from gamcore.workspace.store import ModelAbout
from pages.shared import downloads, packing, state
from pages.shared.words import count, md, told_apart


def score(model: ModelAbout) -> None:
    """Choose a table, see what does not fit, make the file."""
    tables = {table.id: table for table in state.workspace().tables()}
    if not tables:
        st.caption("There is no table here to score: load one on the page Data.")
        return
    labels = told_apart({i: f"{table.name} ({count(table.rows)} rows)" for i, table in tables.items()})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Table", list(tables), format_func=labels.__getitem__, key=f"score-table-{model.id}")
        kind = st.segmented_control("As", list(scored.KINDS), default="parquet", required=True,
                                    format_func=scored.KINDS.__getitem__, key=f"score-kind-{model.id}")  # fmt: skip
        top = st.number_input("Reasons a row", 0, 20, 3, key=f"score-top-{model.id}",
                              help="The parts of the score that are largest, by name and size.")  # fmt: skip
    try:
        found = _fits(model.id, chosen)
    except TableError as error:
        st.error(md(error), icon=":material/error:")
        return
    stops = [one for one in found if one.stops]
    if found:
        frame = pd.DataFrame([{"column": one.column, "problem": one.problem, "rows": one.rows} for one in found])
        st.dataframe(frame, hide_index=True, alt="What of the table does not fit the model.")
    else:
        st.caption(":material/check: Every column is there, with levels and ranges that the model has seen.")
    busy = any(one.state == "running" for one in packs.packs(state.workspace(), "scores"))
    if stops:
        st.error("It cannot be scored as it is: convert the columns above on the page Data.", icon=":material/error:")
    elif st.button("Score the table", icon=":material/play_arrow:", disabled=busy):
        packing.begun(packs.start_scores(state.workspace(), model.id, chosen, kind, int(top)), "scores")
        st.rerun()
    packing.show("scores")


@st.cache_resource(show_spinner="Looking at the table", max_entries=16)
def _fits(model: str, table: str) -> list[scored.Fit]:
    return scored.fits(state.frame(table), state.estimator(model).model_.bins)


def code(model: ModelAbout) -> None:
    """The model as SQL, Python and JSON."""
    estimator = state.estimator(model.id)
    table = model.table_name or "table"
    st.caption(
        "Each predicts as the model does here: a missing cell, a level never seen and a value beyond the ends get what "
        "they get in the app. SQL takes NULL for missing, and dates as timestamps."
    )
    with st.container(horizontal=True):
        if not model.of_tasks:
            downloads.button(
                "SQL", lambda: scoring.to_sql(estimator, table, title=model.name).encode(),
                export.file_name(model.name, "model", "sql"), f"sql-{model.id}", ":material/download:",
            )  # fmt: skip
        downloads.button(
            "Python", lambda: scoring.to_python(estimator, model.name).encode(),
            export.file_name(model.name, "model", "py"), f"py-{model.id}", ":material/download:",
        )  # fmt: skip
        downloads.button(
            "JSON", lambda: scoring.to_json(estimator, 1).encode(), export.file_name(model.name, "model", "json"),
            f"json-{model.id}", ":material/download:",
        )  # fmt: skip
