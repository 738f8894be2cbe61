"""A model at a glance: how good it is, what matters, and its strongest shapes on one scale."""

from __future__ import annotations

import streamlit as st

from gamcore import figures
from pages.shared import cards, state
from pages.shared.frame import begin
from pages.shared.words import md

MULTIPLES = 9

begin("Overview", "How good the model is, and what moves its predictions.")
model = cards.pick_model()
estimator = state.estimator(model.id)
mode = state.mode()
cards.metrics(model)

st.subheader("What matters", anchor=False)
found = estimator.importance()
ranked = found.frame()
with st.container(horizontal=True, vertical_alignment="bottom"):
    measure = st.segmented_control(
        "Importance",
        ["mean_abs", "range"],
        default="mean_abs",
        required=True,
        format_func={"mean_abs": "Mean effect", "range": "Range"}.__getitem__,
        help="Mean effect: mean absolute effect over the training rows. Range: from the lowest to the highest effect.",
    )
    search = st.text_input("Find a feature", placeholder="Part of a name")
if search:
    ranked = ranked[ranked["feature"].str.contains(search, case=False, regex=False)]
    if ranked.empty:
        st.caption(f"No feature has {md(search)} in its name.")
shown = st.slider("Features", 5, max(len(ranked), 6), min(20, max(len(ranked), 6))) if len(ranked) > 20 else len(ranked)
if len(ranked):
    part = found.only(set(ranked["feature"]))
    top = ranked.iloc[0]["feature"]
    cards.figure(
        figures.importance(part, mode, shown, measure),
        f"importance-{model.id}",
        f"Bars of feature importance; {top} is the most important.",
        ranked,
        cards.file_name(model.name, "importance"),
        lambda: figures.importance(part, "light", shown, measure),
    )

if ranked.empty:
    st.stop()
st.subheader("Strongest shapes", anchor=False)
first = estimator.explain_shape(0)
about_band = f" The band is the {first.band}." if first.has_band else ""
st.caption("All on one scale, so that heights can be compared." + about_band)
curves = [estimator.explain_shape(name) for name in ranked.loc[~ranked["pair"], "feature"].head(MULTIPLES)]
if curves:
    low, high = figures.common_limits(curves)
    margin = 0.06 * (high - low or 1)
    columns = st.columns(3)
    for k, curve in enumerate(curves):
        with columns[k % 3].container(border=True):
            st.plotly_chart(
                figures.small(curve, (low - margin, high + margin), mode),
                key=f"small-{model.id}-{k}",
                theme=None,
                config={"displayModeBar": False},
                alt=curve.words(),
            )
            if st.button("Open", key=f"open-{k}", icon=":material/open_in_full:", type="tertiary"):
                st.switch_page("pages/shapes.py", query_params={"model": model.id, "feature": curve.feature})
