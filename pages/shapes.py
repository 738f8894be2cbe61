"""One shape function at a time."""

from __future__ import annotations

import streamlit as st

from gamcore import figures
from pages.shared import cards, state
from pages.shared.frame import begin
from pages.shared.words import count

begin("Shapes", "What the model learned about each feature: its effect on the prediction, all else equal.")
model = cards.pick_model()
estimator = state.estimator(model.id)
names = estimator.importance().frame()["feature"].tolist()

asked = st.query_params.get("feature")
if asked in names and st.session_state.get("asked_feature") != asked:
    st.session_state["asked_feature"] = st.session_state["feature"] = asked
if st.session_state.get("feature") not in names:
    st.session_state["feature"] = names[0]


def move(step: int) -> None:
    """Go to the next or the previous feature by importance."""
    place = (names.index(st.session_state["feature"]) + step) % len(names)
    st.session_state["feature"] = names[place]


with st.container(horizontal=True, vertical_alignment="bottom"):
    feature = st.selectbox("Feature, by importance", names, key="feature", persist_state="session")
    st.button("Previous", icon=":material/chevron_left:", on_click=move, args=(-1,))
    st.button("Next", icon=":material/chevron_right:", on_click=move, args=(1,))
st.query_params["feature"] = st.session_state["asked_feature"] = feature

curve = estimator.explain_shape(feature)
goal = state.goal(model)
detail = state.detail(model, curve)
with st.container(border=True):
    cards.figure(
        figures.shape(curve, goal, detail, state.mode()),
        f"shape-{model.id}-{names.index(feature)}",
        curve.words(),
        curve.frame(),
        cards.file_name(model.name, feature),
        lambda: figures.shape(curve, goal, detail, "light"),
    )
few = int((curve.counts < figures.FEW_ROWS).sum())
st.caption(
    (
        f"Missing cells ({count(curve.missing[3])} training rows) have an effect of their own; "
        if curve.missing[3]
        else "No cell was missing in training, so a missing one gets the average effect, 0; so does "
    )
    + ("a value never seen in training gets the average effect, 0." if curve.missing[3] else "a value never seen.")
    + (" The axis opens on the middle 99% of rows: drag it to see the rest." if figures.is_cut(curve) else "")
    + (f" {few} of {curve.scores.size} bins have under {figures.FEW_ROWS} rows and are grey." if few else "")
)
