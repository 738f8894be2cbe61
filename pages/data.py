"""Load a table, and see what is in it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from shapewise.ui.data import loading, versions
from shapewise.ui.session import state
from shapewise.ui.session.frame import begin
from shapewise.ui.session.words import count, date, md, size, told_apart
from shapewise.ui.widgets import sharing

ONCE = ("target", "task", "weight", "group", "time")

begin("Data", "Load a table and check its columns before you train a model.")

state.warn_of_sweep()
table = state.current_table()
if table is None:
    loading.samples()
    loading.upload()
    loading.from_folder()
    st.stop()

tables = {t.id: t for t in state.workspace().tables.listed()}
chosen = st.selectbox(
    "Table",
    list(tables),
    index=list(tables).index(table.id),
    format_func=told_apart({i: f"{t.name} ({date(t.created)})" for i, t in tables.items()}).__getitem__,
)
if chosen != table.id:
    state.choose("table", chosen)
    st.rerun()
with st.container(horizontal=True):
    if st.button("Load another", icon=":material/add:"):
        loading.dialog()
    if st.button("Newer version", icon=":material/update:", help="Load a newer version of this table."):
        versions.dialog(table)
    sharing.button("tables", table.id, table.name)
    if state.mine("tables", table.id, "delete") and st.button("Delete", icon=":material/delete:"):
        loading.confirm_delete(table)
    if st.button("Train on this table", type="primary", icon=":material/model_training:"):
        st.switch_page("pages/train.py", query_params={"table": table.id})

sharing.of_whom("tables", table.id)
versions.newer(table)
row = st.container(horizontal=True)  # wraps where the window is narrow
row.metric("Rows", count(table.rows), border=True)
row.metric("Columns", count(table.columns), border=True)
row.metric(
    "Sample" if table.sampled else "Memory", size(state.frame(table.id).memory_usage(deep=True).sum()), border=True
)
row.metric("On disk", size(table.bytes), border=True)

if table.sampled:
    st.caption(
        f":material/info: The table is larger than memory: pages show a sample of {count(table.sampled)} rows. An "
        "additive model learns from all rows, as many at a time as memory holds; boards and experiments count them, "
        "and all are scored."
    )
if table.notes:
    with st.container(border=True):
        st.markdown(":material/info: **Changed while reading**")
        st.markdown("\n".join(f"- {md(note)}" for note in table.notes))

st.subheader("Columns", anchor=False)
reports = state.reports(table.id)
editor = f"doctor-{table.id}"
if editor not in st.session_state:
    # The editor keeps its edits as changes to the data it began with: other data would make it lose them.
    st.session_state[f"{editor}-began"] = table.roles
shown_roles = st.session_state[f"{editor}-began"]
doctor = pd.DataFrame(
    {
        "Column": [r.name for r in reports],
        "Type": [r.kind or "unusable" for r in reports],
        "Role": [shown_roles.get(r.name, r.role) for r in reports],
        "Missing": [r.missing for r in reports],
        "Distinct": [r.distinct for r in reports],
        "Distribution": [r.histogram for r in reports],
        "To know": ["; ".join(r.warnings) for r in reports],
        "Examples": [r.example for r in reports],
        "Type because": [r.why for r in reports],
    }
)
edited = st.data_editor(
    doctor,
    key=editor,
    hide_index=True,
    height=min(38 + 35 * len(doctor), 600),
    disabled=[c for c in doctor.columns if c != "Role" or not state.mine("tables", table.id)],
    column_config={
        "Missing": st.column_config.NumberColumn(format="percent", width="small"),
        "Distinct": st.column_config.NumberColumn(format="localized", width="small"),
        "Distribution": st.column_config.BarChartColumn(
            width="small", y_min=0, help="Rows over the range, or a bar per level."
        ),
        "Role": st.column_config.SelectboxColumn(
            options=["feature", "target", "ignore", "task", "weight", "group", "time"],
            required=True,
            help="What the column is for. Task: each value is a task of its own, learned with the others. Group: "
            "rows that belong together, such as one customer's, are held out together. Time: the latest rows are held "
            "out. What is held out is fixed by a table's first training.",
        ),
        "To know": st.column_config.TextColumn(width="medium", help="Possible problems with the column."),
    },
    alt="One row per column: its type, missing share, distinct values, distribution, role and warnings.",
)
# Only what was changed here since: somebody else may have changed other roles meanwhile.
edits = {r.name: role for r, role, was in zip(reports, edited["Role"], doctor["Role"], strict=True) if role != was}
applied = st.session_state.get(f"{editor}-applied", {})
if edits != applied:
    usual = {r.name: r.role for r in reports}
    began = dict(zip(usual, doctor["Role"], strict=True))
    changed = {name: edits.get(name, began[name]) for name in {*applied, *edits}}
    once = [role for role in (usual | table.roles | changed).values() if role in ONCE]
    if len(once) != len(set(once)):
        st.error(
            f"Two columns have the same role, and only one can be the {', '.join(ONCE[:-1])} or {ONCE[-1]}: change one."
        )
    else:
        state.workspace().tables.change_roles(
            table.id, {name: None if role == usual[name] else role for name, role in changed.items()}
        )
        st.session_state[f"{editor}-applied"] = edits

versions.show(table)

with st.expander("First rows"):
    st.dataframe(state.frame(table.id).head(200), hide_index=True)
