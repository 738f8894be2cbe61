"""A multi-task model: what the tasks share, how each differs, and one row."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.common.numbers import counted, fixed, percent
from gamcore.common.numbers import number as measured
from gamcore.common.types import Ints
from gamcore.data.column_names import PLAIN
from gamcore.explain import plots
from gamcore.explain.curves import Curve
from gamcore.explain.tasks import TASK, Agreement, levels_there
from gamcore.model.losses import LOSSES
from gamcore.model.scales import say
from gamcore.viz import files as export
from shapewise.ui.explain import task_curves
from shapewise.ui.session import engine, state
from shapewise.ui.session.words import count, md
from shapewise.ui.widgets import cards, downloads, linked
from shapewise.ui.widgets import task_table as tables
from shapewise.ui.widgets.chart import MOST_BARS

MULTIPLES = 9
MOST_ALIKE = 40
FEATURES_ALIKE = 12
PARTS = {"whole": "All trees", "common": "Trees that tasks share", "specific": "Trees of the task alone"}
FLAGS = {
    "agrees": "agrees with the common curve",
    "reverses": "reverses it, in every refit",
    "differs": "differs from it",
    "flat": "has little effect here",
    "absent": "is not a column of this task",
}
FIRST = ("reverses", "differs", "agrees", "flat", "absent")

begin("Tasks", "One model of several tasks: what they share and how each differs.")
model, scale, first = cards.effects_in_view(of_tasks=True)
estimator = state.trees(model.id)
tasks = [str(task) for task in estimator.tasks_]
mode = state.mode()
if not engine.prepared():
    st.stop()


def importance() -> list[str]:
    """Show common and specific importance; return the features, most important first."""
    ranking = state.seen(model, estimator.importance())
    ranked = ranking.frame()
    most = ranked[ranked["feature"] != TASK].iloc[0]
    words = f"Bars of importance in common and in specific trees; {most['feature']} matters most."
    plot = replace(ranking.describe(most=MOST_BARS), words=words, numbers=ranked)
    cards.figure(plot, f"task-importance-{model.id}", model.name, state.card(model), at=first)
    first.drawing.caption("The share of the reduction in training loss that comes from splits on each feature.")
    return [name for name in estimator.importance().frame()["feature"] if name != TASK]


def multiples(names: list[str]) -> None:
    """Show one feature across the tasks on one scale, and flag the tasks that reverse the common curve."""
    st.subheader("One feature over the tasks", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shared, named = _shared(names), state.names_of(model)
        options = [*shared[:1], *(name for name in names if name not in shared[:1])]
        key = linked.begin("feature", options, f"task-feature-{model.id}")
        feature = st.selectbox("Feature", names, key=key, format_func=named.term)
        linked.write("feature", key)
        part = st.segmented_control(
            "Of",
            list(PARTS),
            default="whole",
            required=True,
            format_func=PARTS.__getitem__,
            key=f"task-part-{model.id}",
        )
    compared_curves = task_curves.agreement(model.id, feature)
    likeness_of = np.nan_to_num(compared_curves.correlation, nan=1.0)
    order = sorted(range(len(tasks)), key=lambda t: (FIRST.index(compared_curves.verdict[t]), likeness_of[t]))
    present = [t for t in order if compared_curves.verdict[t] != "absent"]
    _say(compared_curves)
    shown = present
    if len(present) > MULTIPLES:
        last = int(np.ceil(len(present) / MULTIPLES))
        page = st.number_input(f"Page, of {last}", 1, last, key=f"task-page-{model.id}-{feature}") - 1
        shown = present[page * MULTIPLES : (page + 1) * MULTIPLES]
    common = state.seen(model, task_curves.task_curve(model.id, feature, None, "common"))
    own = [state.seen(model, task_curves.task_curve(model.id, feature, t, part)) for t in shown]
    there = [levels_there(curve) for curve in own]
    curves = [_of(curve, places).on(scale) for curve, places in zip(own, there, strict=True)]
    beside = [
        replace(_of(common, places), base=curve.base).on(scale)  # in points: both at the task's base rate
        for curve, places in zip(own, there, strict=True)
    ]
    limits = plots.common_limits([*beside, *curves])
    columns = st.columns(3)
    for k, (t, curve, other) in enumerate(zip(shown, curves, beside, strict=True)):
        with columns[k % 3].container(border=True):
            cards.small(plots.small(curve, limits, other, tasks[t], 190), f"multiple-{model.id}-{t}")
            mark = ":material/warning: " if compared_curves.verdict[t] == "reverses" else ""
            words = _apart(compared_curves, t, own[k]) or FLAGS[compared_curves.verdict[t]]
            of_all = "" if part == "whole" else "With all trees: "
            st.caption(f"{mark}{of_all}{md(named.term(feature))} {words}")
    everything = pd.concat([curve.frame().assign(task=tasks[t]) for t, curve in zip(shown, curves, strict=True)])
    downloads.button(
        "CSV", lambda: export.safe_csv(everything), export.file_name(model.name, feature, "csv"),
        f"multiples-csv-{model.id}", ":material/download:",
    )  # fmt: skip


def _of(curve: Curve, places: Ints) -> Curve:
    """Return a curve with some of its levels; one of a number as it is."""
    return curve.of_levels(places) if curve.labels else curve


def _apart(agreement: Agreement, t: int, own: Curve) -> str:
    """Say by how much a task's curve lies above or below the common one of the same shape, on the scale that is drawn;
    nothing where it does not."""
    if not agreement.apart(t):
        return ""
    by = float(agreement.shift[t])
    way = "higher" if by > 0 else "lower"
    loss = LOSSES[own.loss]
    if scale not in loss.scales or scale == "link":
        measure = PLAIN if own.unit else state.names_of(model).of(model.target).measure
        return f"has the common shape, {measure.say(abs(by), measured(abs(by), 2))} {way}"
    value = float(loss.effect(np.array(by), scale, own.base))
    if scale == "ratio":
        return f"has the common shape, {way}: {say(value, scale)}"
    return f"has the common shape, {fixed(abs(value), 1)} points {way}"


def _say(agreement: Agreement) -> None:
    """Show how many tasks agree, in a sentence."""
    counts = {verdict: agreement.verdict.count(verdict) for verdict in FIRST}
    words = {
        "agrees": ("agrees with the common curve", "agree with the common curve"),
        "reverses": ("reverses the common curve", "reverse the common curve"),
        "differs": ("differs from the common curve", "differ from the common curve"),
        "flat": ("shows little effect", "show little effect"), "absent": ("lacks the column", "lack the column"),
    }  # fmt: skip
    parts = [f"{counts[v]} {few if counts[v] == 1 else many}" for v, (few, many) in words.items() if counts[v]]
    exact = "" if model.spec.get("changes", {}).get("additive") else " Curves are means over the other features."
    band = task_curves.task_curve(model.id, agreement.feature, None, "common").band
    dotted = "The common curve is dotted."
    st.caption(f"Of {len(agreement.tasks)} tasks, {', '.join(parts)}. {dotted} Bands: {band}.{exact}")


def _shared(names: list[str]) -> list[str]:
    """Return those of some features that every task has."""
    model = estimator.model_
    shared = {model.bins[j].feature.name for j in np.flatnonzero(model.owned.all(axis=0))}
    return [name for name in names if name in shared]


def likeness(names: list[str]) -> None:
    """Show which tasks are outliers, and a matrix of how alike tasks are."""
    features = tuple(_shared(names)[:FEATURES_ALIKE])
    if not features:
        return
    st.subheader("How alike the tasks are", anchor=False)
    largest = tables.frame(model)["name"].tolist()[:MOST_ALIKE] if model.tasks else tasks[:MOST_ALIKE]
    cosines = task_curves.similarity(model.id, features).loc[largest, largest]
    if len(cosines) == 2:
        st.caption(_pair_words(cosines, len(features)))
        return
    plot = task_curves.outliers(model.id, features).describe()
    cards.figure(plot, f"outliers-{model.id}", model.name, state.card(model))
    cards.figure(plots.similarity(cosines), f"alike-{model.id}", model.name, state.card(model), titled=False)
    more = f" The {MOST_ALIKE} tasks with the most rows are shown." if len(tasks) > MOST_ALIKE else ""
    st.caption(
        f"Based on the curves of {counted(len(features), 'feature')} that all tasks have; 1 is the same shape, "
        f"-1 reversed.{more}"
    )


def _pair_words(cosines: pd.DataFrame, n_features: int) -> str:
    """Return a sentence for two tasks, which need no matrix."""
    value, (a, b) = float(cosines.iloc[0, 1]), cosines.index
    return (
        f"Similarity of the curves of {md(a)} and {md(b)} over the {counted(n_features, 'feature')} that both have: "
        f"{fixed(value, 2)} (1: same shape, 0: unrelated, -1: reversed)."
    )


def one_row() -> None:
    """Show the parts of one held-out row's score."""
    st.subheader("One row", anchor=False)
    if not task_curves.has_rows(model):
        st.caption("The table of this model is no longer here, so rows cannot be shown.")
        return
    data = task_curves.rows(model.id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        task = st.selectbox("Task", tasks, key=f"row-task-{model.id}")
        places = np.flatnonzero(data.held_out & (data.task == task))
        if not places.size:
            st.caption("No row of this task is held out.")
            return
        number = st.number_input(
            f"Held-out row, of {count(places.size)}", 1, int(places.size), key=f"row-{model.id}-{task}"
        )
    row = data.X.iloc[[places[number - 1]]]
    breakdown, named = state.seen(model, estimator.explain_rows(row, task)), state.names_of(model)
    cells = {
        named.column(str(name)): named.level(str(name), str(row.iloc[0][name]).removesuffix(" 00:00:00"))
        for name in row.columns
    }
    plot = breakdown.describe(0, state.goal(model), scale, cells=cells)
    plot = replace(
        plot,
        name=f"{task} row {number}",
        numbers=breakdown.parts(0, cells),
    )
    cards.figure(plot, f"row-chart-{model.id}", model.name, state.card(model), titled=False)
    score, truth = float(breakdown.scores[0]), data.y.iloc[places[number - 1]]
    words = f"a chance of {percent(1 / (1 + np.exp(-score)))}" if data.binary else measured(score, 4)
    was = ("yes" if truth else "no") if data.binary else measured(float(truth), 4)
    st.caption(
        f"Predicted: {words}; it was {was}. The parts add up exactly: each is what "
        "the splits on a feature change on the row's way through the trees."
    )


ranked = importance()
cards.metrics(model)
st.subheader("The tasks", anchor=False)
if model.tasks:
    tables.show(model)
else:
    st.dataframe(estimator.rounds(), hide_index=True, alt="One row per task: common rounds it kept, and own trees.")
multiples(ranked)
likeness(ranked)
one_row()
