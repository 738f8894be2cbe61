"""One shape function at a time."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go
import streamlit as st

from gamcore.explain.curves import FEW_ROWS, Curve
from gamcore.explain.sentences import read_curve
from gamcore.model.scales import say
from gamcore.viz import plotly_figures as figures
from gamcore.viz import plots
from shapewise.store.workspace import ModelAbout
from shapewise.training.spec import Spec
from shapewise.ui.explain import brush
from shapewise.ui.session import state
from shapewise.ui.session.frame import begin
from shapewise.ui.session.words import count, md
from shapewise.ui.train import live
from shapewise.ui.widgets import bands as sureness
from shapewise.ui.widgets import cards, headlines

begin("Shapes", "What the model learned about each feature: its effect on the prediction, all else equal.")
model, scale = cards.pick_effects()
estimator = state.estimator(model.id)
names = estimator.importance().ranked_features()

asked = st.query_params.get("feature")
if asked in names and st.session_state.get("asked_feature") != asked:
    st.session_state["asked_feature"] = st.session_state["feature"] = asked
if st.session_state.get("feature") not in names:
    st.session_state["feature"] = names[0]


def move(step: int) -> None:
    """Go to the next or the previous feature by importance."""
    place = (names.index(st.session_state["feature"]) + step) % len(names)
    st.session_state["feature"] = names[place]


def notes(curve: Curve) -> str:
    """Return what the plot alone does not say."""
    few = int((curve.counts < FEW_ROWS).sum())
    nothing = f"the average effect, {say(curve.zero, curve.scale).lstrip('+')}"
    value = "level" if curve.labels else "value"
    missing = (
        f"Missing cells ({count(curve.missing[3])} training rows) have an effect of their own; a {value} never seen in "
        f"training gets {nothing}."
        if curve.missing[3]
        else f"No cell was missing in training, so a missing one gets {nothing}; so does a {value} never seen."
    )
    if curve.rare:
        missing += f" {count(len(curve.rare))} levels with few rows share one bar, and one effect: (rare)."
    cut = " The axis opens on the middle 99% of rows: drag it to see the rest." if plots.is_cut(curve) else ""
    thin = f" {few} of {curve.scores.size} bins have under {FEW_ROWS} rows and are grey." if few else ""
    return missing + cut + thin


def panel(about: ModelAbout, spec: Spec, changed: Spec) -> live.Shown | None:
    """Return the Live panel: what its settings give, where they are not the model's own."""
    place = st.container()
    changed = live.knobs(about.id, changed)
    if not changed.features:
        place.error("Turn on at least one feature.", icon=":material/error:")
        return None
    n_features = sum(bins.feature.column in changed.features for bins in estimator.model_.bins)
    with place:
        on = live.switch(about.id, live.rows_of(about), n_features, changed)
        draft = live.shown(about.id, changed) if on else None
        if draft is not None:
            live.metric(draft)
    if changed == spec:
        return None
    live.full_model(about.id, replace(changed, name=f"{about.name} · tried"))
    return draft


with st.container(horizontal=True, vertical_alignment="bottom"):
    feature = st.selectbox("Feature, by importance", names, key="feature", persist_state="session")
    st.button("Previous", icon=":material/chevron_left:", on_click=move, args=(-1,))
    st.button("Next", icon=":material/chevron_right:", on_click=move, args=(1,))
st.query_params["feature"] = st.session_state["asked_feature"] = feature

spec, tried = live.base_spec(model.spec, estimator), None
if spec is None:
    drawing = st.container()
    st.caption("Live training needs the table that the model was trained on.")
else:
    changed = live.switches(model.id, spec)
    drawing, side = st.columns([7, 2])
    with side.container(border=True):
        tried = panel(model, spec, changed)
with drawing, st.container(border=True):
    curve = live.curve_of(tried.now, feature) if tried else estimator.explain_shape(feature)
    if curve is None:
        st.caption(f"{md(feature)} is turned off: this is its curve in the model.")
        tried, curve = None, estimator.explain_shape(feature)
    goal, curve = state.goal(model), curve.on(scale)
    before = tried.curve_before(feature) if tried else None
    before = before.on(scale) if before else None
    detail = state.detail(model, curve, draft=tried is not None)
    title = headlines.of(model, feature) if tried is None else f"{feature}, one refit with these settings"
    place = next(k for k, of in enumerate(estimator.model_.bins) if of.feature.name == feature)
    bins, element = estimator.model_.bins[place], f"shape-{model.id}-{place}"
    markable = tried is None and bins.feature.part == "value" and state.data(model) is not None
    rule = brush.marked(model, curve) if markable else None

    plot = plots.curve(curve, goal, detail, before=before, title=title)
    if rule is not None:
        plot = plots.marked(plot, curve, rule, brush.label(model, rule))
    drawn: go.Figure | None = None
    if markable:
        drawn = figures.draw(plot, state.mode())
        figures.brushable(drawn, curve, state.mode())
    take = (lambda: brush.take(model, curve, bins, element)) if markable else None
    cards.figure(plot, element, model.name, state.card(model), drawn=drawn, on_box=take)
    if tried is None:
        sureness.line(model, curve.band)
        headlines.edit(model, feature, read_curve(curve))
    st.caption(notes(curve))
if markable:
    with drawing, st.container(border=True):
        brush.panel(model, estimator.explain_shape(feature), bins)
elif tried is None and bins.feature.part != "value":
    st.caption("Months and weekdays are read off a date: use a range of the date itself in a segment.")
