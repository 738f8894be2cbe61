"""The same feature in several models, or in parts of one model's rows, and how sure the difference is."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from gamcore import ModelFileError
from gamcore.data.table import TableError
from gamcore.explain.curve_difference import CompareError, difference
from gamcore.explain.curves import Curve
from gamcore.explain.sentences import NO_CLEAR_EFFECT, read_curve
from gamcore.model.scales import Scale
from gamcore.viz import plots
from shapewise.store.workspace import ModelAbout
from shapewise.training import runs
from shapewise.training.partitions import split
from shapewise.training.spec import Spec
from shapewise.training.train import BANDS
from shapewise.ui.session import state
from shapewise.ui.session.frame import begin
from shapewise.ui.session.words import count, date, md, metric, told_apart
from shapewise.ui.widgets import cards

MOST_MODELS = 6
WAYS = {"models": "Models", "parts": "Parts of the rows"}

begin(
    "Compare",
    "The same feature in several models, periods or segments: where the curves differ, and how certain that is.",
)
model, scale = cards.pick_effects()
estimator = state.estimator(model.id)


def comparable(other: ModelAbout) -> bool:
    """Return whether another model's effects are in the same units, and of a column that this one has."""
    if other.of_tasks or other.id == model.id or other.kind != model.kind:
        return False
    columns = {bins.feature.column for bins in estimator.model_.bins}
    return not other.spec or bool(columns & set(other.spec.get("features", [])))


def named(models: list[ModelAbout]) -> dict[str, ModelAbout]:
    """Return the models by names that tell them apart."""
    chosen: dict[str, ModelAbout] = {}
    for about in models:
        same = sum(other.name == about.name for other in models) > 1
        label = f"{about.name} ({date(about.created)})" if same else about.name
        chosen[label if label not in chosen else f"{label} {about.id[:4]}"] = about
    return chosen


def others() -> dict[str, ModelAbout]:
    """This model and others to hold it against, by name."""
    known = {other.id: other for other in state.workspace().models.listed() if comparable(other)}
    if not known:
        st.info("No other model shares a feature with this one: train another, or compare parts of the rows.",
                icon=":material/compare_arrows:")  # fmt: skip
        return {}
    asked = st.query_params.get("with")
    picked = st.multiselect(
        "With", list(known), default=[asked] if asked in known else list(known)[:1], max_selections=MOST_MODELS - 1,
        key=f"others-{model.id}",
        format_func=told_apart({i: f"{m.name} · {metric(m)} · {date(m.created)}" for i, m in known.items()}).get,
    )  # fmt: skip
    return named([model, *[known[identifier] for identifier in picked]])


def parts() -> dict[str, ModelAbout]:
    """Return the model refitted to each part of its rows by a column."""
    data = state.data(model)
    if data is None:
        st.info("Parts of the rows need the table that the model was trained on.", icon=":material/table:")
        return {}
    spec = Spec.from_dict(model.spec)
    busy = runs.working_on(state.workspace(), model.id, "")  # before the parts: those that it makes are there after it
    there = state.workspace().models.parts(model.id)
    made_by = Spec.from_dict(there[0].spec).filter_columns()[-1] if there else None
    columns = [name for name in state.columns(model.table) if name != spec.target]
    usual = made_by or spec.time or next(iter(columns))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column = st.selectbox(
            "Parts by", columns, columns.index(usual), key=f"parts-by-{model.id}",
            help="A date gives periods, a category its levels, a number ranges of equal numbers of rows.",
        )  # fmt: skip
        if column != made_by and st.button(
            "Fit the parts", type="primary", icon=":material/play_arrow:", disabled=bool(busy)
        ):
            runs.start(state.workspace(), spec, state.n_jobs(), model.id, column)
            st.rerun()
    if busy:
        watch(busy.id)
        return {}
    if column != made_by:
        preview(column)
        return {}
    return {part.part: part for part in there}


def training_rows() -> pd.DataFrame:
    """Return the table's rows that the model was trained on."""
    data = state.data(model)
    assert data is not None
    return state.frame(model.table).loc[data.X.index[~data.held_out]]


def preview(column: str) -> None:
    """Show which parts a column gives."""
    try:
        parts = split(training_rows(), column)
    except TableError as error:
        st.caption(md(error))
        return
    of = " They are fitted to the sample only." if "sample" in model.rows else ""
    st.caption(f"{count(len(parts))} parts: {'; '.join(md(label) for label, _ in parts)}.{of}")


@st.fragment(run_every=1.0)
def watch(identifier: str) -> None:
    """Show how far the parts are."""
    run = runs.read(state.workspace(), identifier)
    if not run.goes_on:
        if run.message:
            st.session_state[f"parts-failed-{model.id}"] = run.message
        st.rerun()
    st.caption(f":material/progress_activity: Fitting the parts by {md(run.column)}: {run.standing.stage}.")
    if st.button("Cancel", icon=":material/cancel:"):
        runs.cancel(state.workspace(), identifier)


def curves(shown: dict[str, ModelAbout], feature: str) -> dict[str, Curve]:
    """Return the feature's curve in each model, as far as they can be drawn on one axis; who is left out is said."""
    curves: dict[str, Curve] = {}
    left = []
    for name, about in shown.items():
        try:
            made = state.estimator(about.id).explain_shape(feature)
        except (KeyError, ModelFileError):
            left.append(name)
            continue
        first = next(iter(curves.values()), made)
        apart = bool(made.labels) and not set(made.labels) & set(first.labels)
        if made.kind != first.kind or not made.scores.size or apart:
            left.append(name)
        else:
            curves[name] = made
    if left:
        st.caption(f"Without a curve of {md(feature)} to compare: {'; '.join(md(name) for name in left)}.")
    return curves


def metrics_of(shown: dict[str, ModelAbout]) -> pd.DataFrame:
    """Return the held-out metrics side by side."""
    rounded = {name: {key: round(value, 4) for key, value in about.metrics.items()} for name, about in shown.items()}
    rows = {name: {"training rows": about.rows.get("training")} for name, about in shown.items()}
    return pd.DataFrame([{"model": name, **rounded[name], **rows[name]} for name in shown])


def said(minus: Curve, first: str, second: str) -> str:
    """Return the difference in a sentence."""
    if not minus.has_whole:
        return f"{second} minus {first}: no band yet"
    words = read_curve(minus).removeprefix(f"{minus.feature}: ")
    if words == NO_CLEAR_EFFECT:
        return f"no clear difference between {first} and {second}"
    return f"{second} minus {first} {words}"


def show(shown: dict[str, ModelAbout], feature: str, scale: Scale) -> None:
    """Show the curves of a feature over each other, and a difference."""
    shown_curves = curves(shown, feature)
    if len(shown_curves) < 2:
        st.caption(f"Fewer than two of them have a curve of {md(feature)}: choose another feature.")
        return
    listed = list(shown_curves)
    first, second = listed[0], listed[1]
    if len(listed) > 2:
        with st.container(horizontal=True):
            first = st.selectbox("Difference of", listed, 0, key=f"first-{model.id}")
            second = st.selectbox("to", listed, len(listed) - 1, key=f"second-{model.id}")
    minus = None
    try:
        minus = difference(shown_curves[first], shown_curves[second], scale) if first != second else None
    except CompareError as error:
        st.caption(md(error))
    title = f"{feature}: {said(minus, first, second)}" if minus else f"{feature} in {len(shown_curves)} models"
    words = (title, f"effects · difference: {second} minus {first}", state.goal(model))
    drawn = {name: made.on(scale) for name, made in shown_curves.items()}
    plot = plots.comparison(drawn, minus, words)
    cards.figure(plot, f"compare-{model.id}-{feature}", f"{model.name} compared", state.card(model))
    st.caption(
        "Each curve is centred on its own rows; for the difference both are centred on the rows of the two. Its band "
        "takes refits of both: fitted to the same rows, shared noise cancels; fitted to different rows, the "
        "variances add up."
    )


names = estimator.importance().ranked_features()
way = st.segmented_control(
    "Compare", list(WAYS), default="models", required=True, format_func=WAYS.__getitem__, key="compare-way",
    persist_state="session",
)  # fmt: skip
failed = st.session_state.pop(f"parts-failed-{model.id}", None)
if failed:
    st.error(md(failed), icon=":material/error:")
chosen = others() if way == "models" else parts()
if not chosen:
    st.stop()
without = [about for about in chosen.values() if not about.bands]
if without:
    st.caption(
        f"No bands yet: {'; '.join(md(about.name) for about in without)}. Open it on Shapes and measure them "
        f"({BANDS} refits), and the difference gets a band as well."
    )
with st.container(border=True):
    feature = st.selectbox("Feature, by importance", names, key="feature", persist_state="session")
    show(chosen, feature, scale)
with st.container(border=True):
    st.subheader("Held-out metrics", anchor=False)
    st.dataframe(metrics_of(chosen), hide_index=True, alt="Metrics of each model on its held-out rows.")
