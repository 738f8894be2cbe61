"""Load a table and inspect its columns."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

import streamlit as st

from shapewise.ui.data import columns, keeping, loading, names, profile, queries, steps, versions
from shapewise.ui.session import current, state
from shapewise.ui.session.words import count, counted, md, size
from shapewise.ui.widgets import cards, panels, sharing

begin("Data", "Load a table and check its columns before you train a model.")

st.session_state.pop(keeping.LOADED, None)
state.warn_of_sweep()
now = current.in_view()
if now.table is None and now.missing is None:
    loading.upload()
    loading.samples()
    loading.from_server()
    st.stop()
table = cards.table_in_view()
versions.choose(now)
with st.container(horizontal=True):
    if st.button("Train on this table", type="primary", icon=":material/model_training:"):
        st.switch_page("pages/train.py", query_params={"table": table.id})
    if st.button("Load another", icon=":material/add:"):
        loading.dialog()
    if st.button("Newer version", icon=":material/update:", help="Load a newer version of this table."):
        versions.dialog(table)
    sharing.button("tables", table.id, table.name)
    if state.mine("tables", table.id, "delete") and st.button("Delete", icon=":material/delete:"):
        loading.confirm_delete(table)

sharing.of_whom("tables", table.id)
row = st.container(horizontal=True)  # wraps where the window is narrow
row.metric("Rows", count(table.rows), border=True)
row.metric("Columns", count(table.columns), border=True)
row.metric(
    "Sample" if table.sampled else "Memory", size(state.frame(table.id).memory_usage(deep=True).sum()), border=True
)
row.metric("On disk", size(table.bytes), border=True)

queries.show(table)
if table.dataset:
    st.caption(
        f":material/hub: The rows stay in {md(table.dataset)}, where the workers of the cluster read them. Training, "
        "a model's rows per bin and base rate, what strategies reach, and experiments use all rows; this page, "
        f"held-out metrics and all else use a sample of {counted(table.sampled, 'row')}."
    )
elif table.sampled:
    st.caption(
        f":material/info: The table is larger than memory: pages show a sample of {counted(table.sampled, 'row')}. An "
        "additive model learns from all rows, as many at a time as memory holds; boards and experiments count them, "
        "and all are scored."
    )
if table.notes:
    with st.container(border=True):
        st.markdown(":material/info: **Changed while reading**")
        st.markdown("\n".join(f"- {md(note)}" for note in table.notes))

st.subheader("Columns", anchor=False)
columns.edit(table)
names.show(table)
profile.show(table)
steps.show(table)
versions.show(table)
panels.show("data")
