"""The registry of models."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from gamcore import ModelFileError
from gamcore.viz import files as export
from shapewise.store.workspace import ModelAbout, Workspace
from shapewise.training import runs
from shapewise.training.spec import Spec
from shapewise.ui.data import retrained as renewed
from shapewise.ui.explain import score as elsewhere
from shapewise.ui.session import state
from shapewise.ui.session.frame import begin
from shapewise.ui.session.words import date, duration, md, metric
from shapewise.ui.widgets import cards, downloads, sharing


@st.dialog("Delete this model?")
def confirm_delete(model: ModelAbout) -> None:
    """Ask once."""
    st.markdown(f"**{md(model.name)}**, trained {date(model.created)}. This cannot be undone.")
    if st.button("Delete model", icon=":material/delete:"):
        state.workspace().delete("models", model.id)
        st.query_params.pop("model", None)
        st.session_state.pop("model_id", None)
        st.rerun()


@st.dialog("Rename this model")
def rename(model: ModelAbout) -> None:
    """Ask for another name."""
    name = st.text_input("Name", model.name, max_chars=120)
    if st.button("Rename", type="primary", disabled=not name.strip()):
        state.workspace().models.rename(model.id, name)
        st.rerun()


def _file(space: Workspace, identifier: str) -> bytes:
    """Return a model's file, for those who may see it at the press of the button."""
    return space.models.path(identifier).read_bytes()


def bring_in() -> None:
    """Store an uploaded model file."""
    version = st.session_state.setdefault("model_upload", 0)
    file = st.file_uploader("A model file (.gamx)", type="gamx", key=f"model-upload-{version}")
    if file is None:
        return
    try:
        model = state.workspace().models.bring_in(file.getvalue(), file.name.removesuffix(".gamx"))
    except ModelFileError as error:
        st.error(md(error), icon=":material/error:")
        return
    st.session_state["model_upload"] = version + 1
    state.choose("model", model.id)
    st.rerun()


begin("Models", "Every model trained or imported here.")
models = state.workspace().models.listed()
if not models:
    with st.expander("Bring in a model file"):
        bring_in()
    cards.no_model()

listing = pd.DataFrame(
    {
        "Name": [m.name for m in models],
        "Target": [m.target for m in models],
        "Table": [m.table_name for m in models],
        "Kind": [m.kind.replace("_", " ") for m in models],
        "Pairs": [m.n_pairs for m in models],
        "Held-out metric": [metric(m) for m in models],
        "Preset": [m.spec.get("preset", "") for m in models],
        "Trained in": [duration(m.seconds) if m.seconds else "" for m in models],
        "Date": [date(m.created) for m in models],
    }
)
current = state.current_model()
# By id: since the list was read it may have got its bands or a note, or have gone.
shown = next((place for place, one in enumerate(models) if current and one.id == current.id), 0)
event = st.dataframe(
    listing,
    hide_index=True,
    on_select="rerun",
    selection_mode="single-row",
    key=f"models-{hash(tuple(m.id for m in models))}",  # another list: rows mean other models
    selection_default={"selection": {"rows": [shown], "columns": [], "cells": []}},
    alt="One row per model; select one to act on it.",
)
picked = event["selection"]["rows"]
model = models[picked[0] if picked else shown]
state.choose("model", model.id)

st.subheader(md(model.name), anchor=False)
st.caption(
    f"{md(model.target)} from {md(model.table_name)} · {date(model.created)}. Select a row above for another model."
)
cards.metrics(model)
with st.container(horizontal=True):
    if st.button("Explore", type="primary", icon=":material/stacked_line_chart:"):
        page = "tasks" if model.of_tasks else "shapes"
        st.switch_page(f"pages/{page}.py", query_params={"model": model.id})
    name = export.file_name(model.name, "model", "gamx")
    downloads.button(
        "Download", partial(_file, state.workspace(), model.id), name, f"model-file-{model.id}", ":material/download:"
    )
    sharing.button("models", model.id, model.name, [model.table, *model.spec.get("tables", {}).values()])
    if state.mine("models", model.id) and st.button("Rename", icon=":material/edit:"):
        rename(model)
    tables = set(model.spec.get("tables", {}).values()) or {model.table}
    there = tables <= {t.id for t in state.workspace().tables.listed()}
    why = "Train again with the same settings." if there else "Its table has been deleted."
    if st.button("Retrain", icon=":material/refresh:", disabled=not there, help=why):
        run = runs.start(state.workspace(), Spec.from_dict(model.spec), state.n_jobs())
        st.switch_page("pages/train.py", query_params={"table": model.table, "run": run})
    renewed.retrain(model)
    if state.mine("models", model.id, "delete") and st.button("Delete", icon=":material/delete:"):
        confirm_delete(model)
sharing.of_whom("models", model.id)
if model.spec.get("conditions"):
    st.caption("Only rows where " + md(state.row_filter(model)) + ".")
if not model.of_tasks:
    box = st.expander("Score a table", key="score", on_change="rerun")
    if box.open:  # a table is only read for those who ask
        with box:
            elsewhere.score(model)
box = st.expander("Use it in other programs", key="elsewhere", on_change="rerun")
if box.open:
    with box:
        elsewhere.code(model)
with st.expander("Settings"):
    st.json(model.spec)
with st.expander("Bring in a model file"):
    bring_in()
