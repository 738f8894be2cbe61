"""A model at a glance: quality, importance, strongest shapes on one scale, and drift over time."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.common.numbers import fixed
from gamcore.estimators.additive_parameters import GREEDY
from gamcore.estimators.reading import NOTHING_LEARNED, learned_nothing
from gamcore.explain.importance import Importance
from shapewise.ui.explain import curves, fewer, outside, over_time, quality
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import bands as sureness
from shapewise.ui.widgets import cards, panels

BARS = 10
"""Shown at first: as many as leave the chart in the upper half of a screen."""

MULTIPLES = 9
COLUMNS = 3
MOST_TRADES = 3
MEASURES = {"mean_abs": "Mean effect", "range": "Range", "permutation": "Permutation"}

begin("Overview", "How good the model is, and what moves its predictions.")
model, scale, first = cards.effects_in_view()
estimator = state.additive(model.id)


def ranking(measure: str) -> tuple[Importance, pd.DataFrame]:
    """Return the importances to draw, and a table of all known measures."""
    ranking = curves.importance(model, scale)
    table = ranking.frame()
    if measure != "permutation":
        return ranking, table.sort_values(measure, ascending=False, ignore_index=True)
    shuffled = quality.permutation(model.id)
    columns = {bins.feature.name: bins.feature.column for bins in estimator.model_.bins}
    known = [name for name in ranking.features if name in columns]
    losses = np.array([shuffled.get(columns[name], 0.0) for name in known])
    drawn = Importance(tuple(known), losses, losses, "squared")
    table["permutation"] = [shuffled.get(columns.get(name, ""), np.nan) for name in table["feature"]]
    return drawn, table.sort_values("permutation", ascending=False, ignore_index=True)


def _say_nothing_learned() -> None:
    """Say where training kept no round, and what may find more."""
    if not learned_nothing(estimator):
        return
    fits = not state.class_names(model.id) and estimator.order != GREEDY
    advice = " Where few of many features count, *Only features that beat chance* on **Train** may find them." * fits
    st.warning(f"{NOTHING_LEARNED}.{advice}", icon=":material/remove:")


def importance() -> list[str]:
    """Show the importance bars, and return the names of the listed features, most important first."""
    with first.options:
        there = list(MEASURES) if state.data(model) is not None else list(MEASURES)[:2]
        measure = st.segmented_control(
            "Importance", there, default="mean_abs", required=True, format_func=MEASURES.__getitem__,
            help="Mean effect: mean absolute effect over the training rows. Range: from the lowest to the highest "
            "effect. Permutation: what the loss on held-out rows rises by when a column is shuffled among them, pairs "
            "included; low for features that another feature can replace.",
        )  # fmt: skip
        search = st.text_input("Find a feature", placeholder="Part of a name")
    measured, table = ranking(measure)
    table = table[~table["feature"].isin(outside.features(estimator)["feature"])]
    if search:
        texts = table["feature"] + "\n" + table["feature"].map(state.names_of(model).term)
        table = table[texts.str.contains(search, case=False, regex=False)]
        if table.empty:
            first.drawing.caption(f"No feature has {md(search)} in its name.")
            return []
    most = len(table)
    shown = first.options.slider("Features", 5, most, BARS) if most > BARS else most
    part = measured.only(set(table["feature"]))
    unit = "rise of the loss" if measure == "permutation" else state.effect_unit(model) or None
    drawn = measure if measure != "permutation" else "mean_abs"
    named = state.names_of(model)
    table_shown = table.assign(feature=table["feature"].map(named.term))
    plot = state.seen(model, part).describe(
        most=shown, measure=drawn, axis=unit, detail=f"effects on {state.goal(model)}"
    )
    plot = replace(plot, numbers=table_shown)
    cards.figure(plot, f"importance-{model.id}-{measure}", model.name, state.card(model), at=first)
    cards.metrics(model)
    _say_nothing_learned()
    outside.show(model, estimator)
    fewer.show(model, estimator)
    return [str(name) for name in table.loc[~table["pair"], "feature"]]


def warn() -> None:
    """Show the features whose curves trade off, by name."""
    tradeoffs = curves.trade_offs(model.id, model.bands)
    if not tradeoffs:
        return
    named = state.names_of(model)
    pairs = "; ".join(
        f"**{md(named.term(pair.first))}** and **{md(named.term(pair.second))}** ({fixed(pair.correlation, 2)})"
        for pair in tradeoffs[:MOST_TRADES]
    )
    more = f", and {len(tradeoffs) - MOST_TRADES} more" if len(tradeoffs) > MOST_TRADES else ""
    st.warning(
        f"Curves that trade off: {pairs}{more}. These features go together, and refits disagree which of the two has "
        "the effect: where one curve is higher, the other is lower. Their sum is more certain than either alone.",
        icon=":material/swap_vert:",
    )


def multiples(names: list[str]) -> None:
    """Show the strongest shapes, small and on one scale."""
    st.subheader("Strongest shapes", anchor=False)
    shown = curves.multiples(model, names[:MULTIPLES], scale)
    beyond = " Where few rows are, a curve may go beyond it." if any(multiple.leaves for multiple in shown) else ""
    st.caption(f"All on one scale, so that heights can be compared.{beyond}")
    sureness.line(model, shown[0].band)
    grid = [st.columns(COLUMNS) for _ in range(0, len(shown), COLUMNS)]
    for k, multiple in enumerate(shown):
        with grid[k // COLUMNS][k % COLUMNS].container(border=True, height="stretch"):
            cards.small(multiple.plot, f"small-{model.id}-{k}")
            st.caption(md(model.headlines.get(multiple.feature) or multiple.sentence))
            if st.button("Open", key=f"open-{k}", icon=":material/open_in_full:", type="tertiary"):
                st.switch_page("pages/shapes.py", query_params={"model": model.id, "feature": multiple.feature})


names = importance()
warn()
if names:
    multiples(names)
quality.show(model)
over_time.show(model)
panels.show("overview")
