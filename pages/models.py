"""The registry of models."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

import contextlib
import json
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from gamcore import ModelFileError
from gamcore.data.column_names import Names
from gamcore.data.labels import levels_in_words
from gamcore.viz import files as export
from shapewise.reports.card import target_words
from shapewise.store.workspace import ModelAbout, StoreError, Workspace
from shapewise.training import runs
from shapewise.training.goals import GOALS, GoalKind
from shapewise.training.naming import labels
from shapewise.training.spec import Spec
from shapewise.ui.data import retrained as renewed
from shapewise.ui.explain import card_monitor, elsewhere, score, scorecard
from shapewise.ui.session import current, dialogs, followed, state
from shapewise.ui.session.words import count, date, duration, md, metric
from shapewise.ui.train import settings
from shapewise.ui.widgets import cards, downloads, meanwhile, panels, retrain_button, sharing, undo


@dialogs.dialog("Delete this model?")
def confirm_delete(model: ModelAbout) -> None:
    """Confirm before deleting."""
    st.markdown(f"**{md(model.name)}**, trained {date(model.created)}. It can be brought back for seven days.")
    if st.button("Delete model", icon=":material/delete:"):
        with contextlib.suppress(StoreError):  # gone already
            state.workspace().models.delete(model.id)
            undo.deleted("models", model.id, model.name)
        current.leave(model)
        st.rerun()


@dialogs.dialog("Rename this model")
def rename(model: ModelAbout) -> None:
    """Ask for another name."""
    name = st.text_input("Name", model.name, max_chars=120)
    if st.button("Rename", type="primary", disabled=not name.strip()):
        if state.workspace().models.about(model.id).name == model.name:  # else the page says what it is called now
            state.workspace().models.rename(model.id, name)
        st.rerun()


def _file(space: Workspace, identifier: str) -> bytes:
    """Return a model's file, checking access when the button is pressed."""
    return space.models.path(identifier).read_bytes()


def setting_table(plain: dict[str, Any], named: Names) -> pd.DataFrame:
    """Return how a model was trained, in words: one row per setting, the changes to the preset last."""
    if not plain:
        return pd.DataFrame({"Setting": ["Trained elsewhere"], "Value": ["its file does not say how"]})
    spec = Spec.from_dict(plain)
    roles = {"Weight": spec.weight, "Group": spec.group, "Time": spec.time, "Task": spec.task}
    rows = {
        "Target": target_words(spec.target, spec.positive, named),
        "Held against":
        levels_in_words([named.level(spec.target, level) for level in spec.negative], "or") if spec.negative else
        "all other levels" if spec.positive else "",
        "Rows": spec.filter_words(named) if spec.conditions else "all",
        "Features": ", ".join(map(named.column, spec.features)),
        "Read as categories": ", ".join(map(named.column, spec.categories)),
        **{role: named.column(column) for role, column in roles.items() if column}, "Preset": spec.preset,
        "Refits for bands": count(spec.bands), "Seed": str(spec.seed),
        **{settings.label(name): str(value) for name, value in spec.changes.items()},
    }  # fmt: skip
    return pd.DataFrame([(name, value) for name, value in rows.items() if value], columns=["Setting", "Value"])


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
    current.open_model(model.id)
    st.rerun()


def acts(model: ModelAbout) -> None:
    """Show what is done with a model now and then, how it was trained, and the way in for others."""
    with st.container(horizontal=True):
        name = export.file_name(model.name, "model", "gamx")
        file = partial(_file, state.workspace(), model.id)
        downloads.button("Download", file, name, f"model-file-{model.id}", ":material/download:")
        sharing.button("models", model.id, model.name, [model.table, *model.spec.get("tables", {}).values()])
        if state.mine("models", model.id) and st.button("Rename", icon=":material/edit:"):
            rename(model)
        if state.mine("models", model.id, "delete") and st.button("Delete", icon=":material/delete:"):
            confirm_delete(model)
    with st.expander("Settings"):
        how = setting_table(model.spec, state.names_of(model))
        st.dataframe(how, hide_index=True, alt="One row per setting of the training.")
        st.download_button("As JSON", json.dumps(model.spec, indent=2),
                           export.file_name(model.name, "settings", "json"), "application/json",
                           icon=":material/download:")  # fmt: skip
    with st.expander("Import a model file"):
        bring_in()


def select() -> None:
    """Put the model of the chosen row in view."""
    rows = st.session_state[LISTING]["selection"]["rows"]
    if rows and rows[0] < len(models):
        current.open_model(models[rows[0]].id)


begin("Models", "The models of this project, and what to do with them.")


def kind(about: ModelAbout) -> str:
    """Return what a model predicts, as Train calls it."""
    if about.spec.get("treatment"):
        return "The effect of a treatment"
    usual: GoalKind = "binary" if about.kind.endswith("classifier") else "number"
    label = GOALS[about.spec.get("goal") or usual].label
    return f"{label}, by task" if about.of_tasks else label


now = current.in_view()
models = now.project.models if now.project else ()
if not models and now.missing is None:
    with st.expander("Import a model file"):
        bring_in()
model = cards.any_model_in_view()
names = labels(now.project) if now.project else {}
meanwhile.look("models", {"id": model.id, "name": model.name}, ("name",))
listing = pd.DataFrame(
    {
        "Model": [names[m.id] for m in models],
        "Target": [state.names_of(m).column(m.target) for m in models],
        "Held-out metric": [metric(m) for m in models],
        "Pairs": [m.n_pairs for m in models],
        "Preset": [m.spec.get("preset", "") for m in models],
        "Kind": [kind(m) for m in models],
        "Trained in": [duration(m.seconds) if m.seconds else "" for m in models],
        "Date": [date(m.created) for m in models],
    }
)
# Another list, or another model in view, is another table: rows then mean other models.
LISTING = f"models-{hash((model.id, *(m.id for m in models)))}"
st.dataframe(
    listing,
    hide_index=True,
    on_select=select,
    selection_mode="single-row-required",
    key=LISTING,
    selection_default={"selection": {"rows": [models.index(model)], "columns": [], "cells": []}},
    alt="One row per model; the selected one is in view.",
)

st.subheader(md(names[model.id]), anchor=False)
st.caption(
    f"{md(model.target)} from {md(model.table_name)} · {date(model.created)}. Select a row above for another model."
)
panels.show("models")
cards.metrics(model)
with st.container(horizontal=True):
    if st.button("Explore", type="primary", icon=":material/stacked_line_chart:"):
        page = "tasks" if model.of_tasks else "shapes"
        st.switch_page(f"pages/{page}.py", query_params={"model": model.id})
    tables = set(model.spec.get("tables", {}).values()) or {model.table}
    there = tables <= {t.id for t in state.workspace().tables.listed()}
    why = "Train again with the same settings." if there else "Its table has been deleted."
    if asked := retrain_button.button(
        model, "Retrain", f"retrain-{model.id}", ":material/refresh:", tip=why, disabled=not there
    ):
        edited = model.id if asked == "with edits" else ""
        run = followed.follow(runs.start(state.workspace(), Spec.from_dict(model.spec), state.n_jobs(), edits=edited))
        st.switch_page("pages/train.py", query_params={"table": model.table, "run": run})
    renewed.retrain(model)
    with st.popover("Model", icon=":material/more_horiz:", key=f"acts-{model.id}"):
        acts(model)
sharing.of_whom("models", model.id)
if model.edits_left:
    left = md("; ".join(model.edits_left))
    st.caption(f":material/help: Edits of the earlier model that do not fit this one: {left}.")
if model.spec.get("conditions"):
    st.caption("Only rows where " + md(state.row_filter(model)) + ".")
if not model.of_tasks:
    box = st.expander("Score a table or a file", key="score", on_change="rerun")
    if box.open:  # a table is only read for those who ask
        with box:
            score.score(model)
if scorecard.is_possible(model):
    box = st.expander("Scorecard", key="scorecard", on_change="rerun")
    if box.open:
        with box:
            scale = scorecard.show(model)
            if scale is not None:
                card_monitor.show(model, scale)
box = st.expander("Use it in other programs", key="elsewhere", on_change="rerun")
if box.open:
    with box:
        elsewhere.code(model)
