"""Train a model on a table."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

from typing import Literal

import streamlit as st
from pandas.api.types import is_datetime64_any_dtype

from gamcore import PRESETS
from gamcore.common.numbers import percent
from gamcore.data.columns import TableError
from gamcore.estimators.additive_parameters import AUTO
from shapewise.store.workspace import clean_name
from shapewise.training import runs
from shapewise.training.by_feature import BINS, MONOTONE, SHAPES, with_values
from shapewise.training.cost import WORKER_SECONDS, estimate, estimate_tasks
from shapewise.training.dataset import HELD_OUT
from shapewise.training.large import check_kind
from shapewise.training.spec import Spec
from shapewise.training.task_dataset import read_rows
from shapewise.training.train import train
from shapewise.ui.session import current, followed, state
from shapewise.ui.session.words import count, counted, md, size
from shapewise.ui.train import begun as beginning
from shapewise.ui.train import bin_fields, feature_fields, fewer, live, settings, tuning, where
from shapewise.ui.train import features as inputs
from shapewise.ui.train import progress as running
from shapewise.ui.train import target as goals
from shapewise.ui.train import task_settings as tasking
from shapewise.ui.widgets import cards

AT_ONCE_SECONDS = 0.5

begin("Train")
table = cards.table_in_view()
loaded = state.table(table.id)
begun = beginning.form(table, loaded, current.in_view().model)
form, look = st.columns([6, 7])
with form:
    target = goals.choose(table, loaded)
    if target is None:
        st.stop()
    chosen = inputs.choose(table, target, begun)
    tasks, compare, codes, measured, kept = target.tasks, True, [], 0, False
    if tasks.several:
        preset, changes, compare = tasking.settings(table)
    else:
        preset, changes = settings.preset(table, target.goal), settings.pairs(table)
        changes |= settings.few(table, target.goal, changes)
        with st.expander("All settings"):
            parameters = {**PRESETS[preset], **changes}
            measured = settings.bands(table, parameters, target.n_scores)
            kept = settings.counts(table, target.goal, parameters)
            codes = inputs.categories(table, chosen, begun)
            changes |= settings.more(table, preset, target.goal in ("binary", "classes"))
            if target.goal != "classes":
                ordered = [
                    column.name for column in chosen if column.kind in ("number", "date") and column.name not in codes
                ]
                changes = with_values(changes, MONOTONE, feature_fields.directions(table, ordered))
                leveled = [column.name for column in chosen if column.kind == "category" or column.name in codes]
                changes = with_values(changes, SHAPES, feature_fields.shapes(table, preset, ordered, leveled))
            changes |= settings.triples(table, target.goal, {**PRESETS[preset], **changes})
            cuttable = bin_fields.of_table(loaded, [column.name for column in chosen], codes)
            changes = with_values(changes, BINS, bin_fields.choose(table, cuttable))

roles = state.roles(table.id)
spec = Spec(
    table=table.id,
    target=target.target,
    name=clean_name(target.words),
    features=[report.name for report in chosen],
    goal=target.goal,
    positive=target.positive,
    negative=target.negative,
    classes=target.classes,
    exposure=target.exposure,
    quantile=target.quantile,
    conditions=target.conditions,
    categories=codes,
    weight=roles.column("weight"),
    group=roles.column("group"),
    time=roles.column("time"),
    preset=preset,
    changes=changes,
    kind="tasks" if tasks.several else "additive",
    task=tasks.column,
    outcomes=tasks.outcomes,
    tables=tasks.tables,
    compare=compare,
    bands=measured,
    keep_counts=kept,
)
with form:
    place = where.choose(table, spec)
whose = " of the sample" if table.sampled else ""
try:
    if table.sampled:
        check_kind(spec)
    data = read_rows(spec, state.frame, lambda identifier: state.workspace().tables.about(identifier).held_out_by)
except TableError as error:
    st.error(md(f"{error}{f' (This form knows {count(table.sampled)} rows.)' * bool(whose)}"), icon=":material/error:")
    st.stop()

run = running.of_table(st.query_params.get("run"), table.id)
going = running.is_on(run)
model = None if going else running.trained(run, spec)
rows = int((~data.held_out).sum())
n_dates = sum(is_datetime64_any_dtype(dtype) for dtype in data.X.dtypes) if changes.get("date_parts") else 0
n_features = len(chosen) + 2 * n_dates
if data.task is None:
    n_scores = max(len(data.classes), 1)
    cost = estimate(
        rows, n_features, spec.parameters() | {"bands": spec.bands}, state.n_jobs(), loss=spec.loss, n_scores=n_scores,
        levels=max((report.distinct for report in chosen if report.kind == "category"), default=0),
    )  # fmt: skip
else:
    n_tasks = len(set(data.task.tolist()))
    cost = estimate_tasks(
        rows, n_features, n_tasks=n_tasks, parameters=spec.parameters(), n_jobs=state.n_jobs(), compare=compare
    )
at_once = cost.seconds < AT_ONCE_SECONDS and not (table.sampled or kept or place.workers)


def what_it_takes() -> tuple[str, str]:
    """Return in words how long a training takes on how many rows, and the details."""
    basis = table.held_out_by
    by_time, by_group = (spec.time, spec.group) if basis is None else (basis.get("time"), basis.get("group"))
    how = "the latest" if by_time else "whole groups of" if by_group else "a seeded"
    fixed = ", as at its first training" if basis is not None and (by_time, by_group) != (spec.time, spec.group) else ""
    rest = data.dropped if data.task is not None else len(loaded) - len(data.X)
    left_out = f" {counted(rest, 'row', 'is', 'are')} left out by levels, filter or missing targets." if rest else ""
    seconds = cost.words(0 if at_once else WORKER_SECONDS).capitalize()
    short = (
        f"{seconds} · {counted(rows, 'row')}{whose} to learn from, {counted(n_features, 'feature')} · "
        f"{counted(data.held_out.sum(), 'row')} held out"
    )
    long = (
        f"Held out: {how} {percent(HELD_OUT, 0)} of the {'sample' if table.sampled else 'table'}{fixed}. {left_out} "
        f"On {state.n_jobs()} threads with {size(cost.memory)} of memory; on a busy machine it takes longer."
    )
    if place.workers:
        short = f"The cluster trains on all {counted(table.rows, 'row')} but those held out."
    elif table.sampled:
        short = (
            f"Trains on all {counted(table.rows, 'row')} but those held out, as many at a time as fit in memory: this "
            "takes longer than the estimate for the sample"
        )
    return short, long


with look:
    if going and run is not None:
        running.curves(run.id)
    elif model is not None:
        running.result(model)
    elif run is not None and run.tuned:
        tuning.result(run)
    elif data.task is None:
        if (draft := live.preview(table.id, spec, rows, n_features, n_scores=n_scores)) is not None:
            if not table.sampled and changes.get("max_bins") != AUTO:
                cost = cost.after(draft.seconds, spec.parameters(), state.n_jobs())
            fewer.of_draft(table, target, spec, draft)
    else:
        with st.container(border=True):
            tasking.summary(data.task, data.held_out, data.y.to_numpy(), data.binary)
with st.bottom:
    act, tell = st.columns([2, 7], vertical_alignment="center")
    with act.container(horizontal=True):
        kind: Literal["primary", "secondary"] = "secondary" if going or model is not None else "primary"
        short, long = what_it_takes()
        pressed = st.button(
            "Train", type=kind, icon=":material/play_arrow:", help=long, disabled=place.nowhere, key=f"train-{table.id}"
        )
        if data.task is None:
            tuning.form(spec)
    with tell:
        if going and run is not None:
            running.bar(run.id)
        elif model is not None:
            running.done(model)
        elif run is not None and not run.tuned:
            running.ended(run)
        else:
            st.caption(short)
if pressed:
    st.query_params.pop("run", None)
    st.session_state.pop(running.TRAINED, None)
    if at_once:
        try:
            with st.spinner("Training"):
                trained = train(state.workspace(), spec, state.n_jobs())
        except TableError as error:
            st.error(md(error), icon=":material/error:")
            st.stop()
        current.open_model(trained.id)
        st.session_state[running.TRAINED] = trained.id
        if spec.bands:
            runs.start(state.workspace(), spec, state.n_jobs(), trained.id)
    else:
        started = runs.start(state.workspace(), spec, state.n_jobs(), cost=cost, cluster_threads=place.threads)
        st.query_params["run"] = followed.follow(started)
    st.rerun()
