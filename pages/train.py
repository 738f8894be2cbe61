"""Train a model on a table."""

from __future__ import annotations

import streamlit as st
from pandas.api.types import is_datetime64_any_dtype

from gamcore import PRESETS
from gamcore.data.table import TableError
from shapewise.store.workspace import clean_name
from shapewise.training import runs
from shapewise.training.cost import WORKER_SECONDS, estimate, estimate_tasks
from shapewise.training.dataset import HELD_OUT
from shapewise.training.large import check_kind
from shapewise.training.spec import Spec
from shapewise.training.task_dataset import read_rows
from shapewise.training.train import train
from shapewise.ui.session import state
from shapewise.ui.session.frame import begin
from shapewise.ui.session.words import count, duration, md, size
from shapewise.ui.train import live, settings, tuning
from shapewise.ui.train import progress as running
from shapewise.ui.train import task_settings as tasking
from shapewise.ui.widgets import cards

AT_ONCE_SECONDS = 0.5

begin(
    "Train",
    "Choose what to predict, and train a model: curves and heat maps of one question, or trees of several tasks.",
)
table = cards.pick_table()
frame = state.frame(table.id)

going = runs.active(state.workspace())
shown = st.query_params.get("run")
if shown and not running.belongs(shown, table.id):
    st.query_params.pop("run", None)
    shown = None
busy = bool(shown) and running.show(shown)
if not busy and st.session_state.get("trained_on") == table.id and st.session_state.get("trained"):
    busy = True
    running.result(st.session_state["trained"])
for run in going:
    does = "waits" if run.state == "queued" else "is training"
    if (
        run.id != shown
        and not run.model
        and st.button(f"Watch {md(run.spec.name)}, which {does}", key=f"watch-{run.id}", icon=":material/visibility:")
    ):
        st.query_params["run"] = run.id
        st.rerun()

with st.container(border=True):
    st.subheader("Scenario", anchor=False)
    scenario = settings.scenario(table, frame)
if scenario is None:
    st.stop()
with st.container(border=True):
    st.subheader("Features", anchor=False)
    features, categories = settings.features(table, scenario)
form, look = st.columns(2)
with form.container(border=True):
    st.subheader("Settings", anchor=False)
    tasks, compare = scenario.tasks, True
    if tasks.several:
        preset, changes, compare = tasking.settings(table)
    else:
        preset, changes = settings.settings(table, scenario.positive is not None)

    measured = 0 if tasks.several else settings.bands(table, {**PRESETS[preset], **changes})

roles = {role: name for name, role in table.roles.items() if role in ("weight", "group", "time")}
spec = Spec(
    table=table.id,
    target=scenario.target,
    name=clean_name(f"{scenario.words} · {table.name}"),
    features=features,
    positive=scenario.positive,
    negative=scenario.negative,
    conditions=scenario.conditions,
    categories=categories,
    weight=roles.get("weight"),
    group=roles.get("group"),
    time=roles.get("time"),
    preset=preset,
    changes=changes,
    kind="tasks" if tasks.several else "additive",
    task=tasks.column,
    outcomes=tasks.outcomes,
    tables=tasks.tables,
    compare=compare,
    bands=measured,
)
of = " of the sample" if table.sampled else ""
try:
    if table.sampled:
        check_kind(spec)
    data = read_rows(spec, state.frame, lambda identifier: state.workspace().tables.about(identifier).held_out_by)
except TableError as error:
    st.error(md(f"{error}{f' (This form knows {count(table.sampled)} rows.)' * bool(of)}"), icon=":material/error:")
    st.stop()

rows = int((~data.held_out).sum())
n_dates = sum(is_datetime64_any_dtype(dtype) for dtype in data.X.dtypes) if changes.get("date_parts") else 0
n_features = len(features) + 2 * n_dates
if data.task is None:
    cost = estimate(rows, n_features, spec.parameters() | {"bands": spec.bands}, state.n_jobs())
else:
    n_tasks = len(set(data.task.tolist()))
    cost = estimate_tasks(
        rows, n_features, n_tasks=n_tasks, parameters=spec.parameters(), n_jobs=state.n_jobs(), compare=compare
    )
at_once = cost.seconds < AT_ONCE_SECONDS and not table.sampled
basis = table.held_out_by
by_time, by_group = (spec.time, spec.group) if basis is None else (basis.get("time"), basis.get("group"))
held_how = "the latest" if by_time else "whole groups of" if by_group else "a seeded"
fixed = ", as at its first training" if basis is not None and (by_time, by_group) != (spec.time, spec.group) else ""
rest = data.dropped if data.task is not None else len(frame) - len(data.X)
left_out = f"{count(rest)} rows are left out by levels, filter or missing targets. " if rest else ""
takes = (
    f"About {duration(cost.seconds + (0 if at_once else WORKER_SECONDS))}, at most {duration(cost.most)} if early "
    f"stopping never stops it, and {size(cost.memory)} on {state.n_jobs()} threads."
)
if table.sampled:
    takes = (
        f"The model learns from all {count(table.rows)} rows but those held out, as many at a time as memory holds: "
        "that takes longer than the estimate for its sample."
    )
with form:  # below the settings, beside the preview
    kind = "secondary" if busy else "primary"  # the way on is then the page's one primary button
    with st.container(horizontal=True):
        pressed = st.button("Train", type=kind, icon=":material/play_arrow:")
        if data.task is None:
            tuning.form(spec)
    st.caption(
        f"{count(rows)} training rows{of}, {n_features} features; {count(data.held_out.sum())} more rows stay held "
        f"out ({held_how} {HELD_OUT:.0%} of the {'sample' if table.sampled else 'table'}{fixed}). {left_out}{takes}"
    )
with look:
    if data.task is None:
        live.preview(table.id, spec, rows, n_features)
    else:
        with st.container(border=True):
            tasking.summary(data.task, data.held_out, data.y.to_numpy(), data.binary)
if pressed:
    st.query_params.pop("run", None)
    st.session_state.pop("trained", None)
    if at_once:
        try:
            with st.spinner("Training"):
                model = train(state.workspace(), spec, state.n_jobs())
        except TableError as error:
            st.error(md(error), icon=":material/error:")
            st.stop()
        state.choose("model", model.id)
        st.session_state["trained"], st.session_state["trained_on"] = model.id, table.id
        if spec.bands:
            runs.start(state.workspace(), spec, state.n_jobs(), model.id)
    else:
        st.query_params["run"] = runs.start(state.workspace(), spec, state.n_jobs(), cost=cost)
    st.rerun()
