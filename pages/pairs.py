"""Interactions: the ranking of all pairs, and the joint effects of the pairs and triples in the model."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from gamcore.boosting.pairs.ranking import elbow
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.explain import plots
from gamcore.model.losses import LOSSES
from shapewise.store.workspace import ModelAbout
from shapewise.training.spec import Spec
from shapewise.ui.explain import pair as joint
from shapewise.ui.explain import triple as three
from shapewise.ui.explain.pair_ranking import ranked_pairs
from shapewise.ui.session import engine, state
from shapewise.ui.session.words import count, counted, md
from shapewise.ui.train import live
from shapewise.ui.widgets import cards
from shapewise.ui.widgets.chart import MOST_BARS, Place

MOST_FITTED = 60
MOST_LISTED = 500
WAYS = {"auto": "Automatic", "number": "The strongest", "chosen": "Chosen ones"}


def choice(about: ModelAbout, spec: Spec, ranking: pd.DataFrame) -> tuple[int | str | list[list[str]], bool]:
    """Return the number of pairs or the chosen pairs, and whether they are the model's own. The default is the model's
    pairs, or the strongest ones if it has none."""
    fitted = [list(pair) for pair in joint.names(state.estimator(about.id))]
    own = spec.parameters().get("interactions", 0)
    strong = elbow(ranking["strength"].to_numpy())
    usual = "auto" if own == "auto" else "number" if isinstance(own, int) else "chosen"
    way = st.radio(
        "Pairs in the model", list(WAYS), list(WAYS).index(usual), format_func=WAYS.__getitem__, key=f"way-{about.id}",
        help="Automatic: their number doubles while the validation loss falls; those of no use are dropped.",
    )  # fmt: skip
    if way == "auto":
        return "auto", own == "auto"
    if way == "number":
        most = max(min(len(ranking), MOST_FITTED), len(fitted))
        number = st.slider("How many", 0, most, min(len(fitted) or strong, most), key=f"number-{about.id}")
        return number, number == len(fitted) and way == usual
    first = ranking[["feature_1", "feature_2"]].head(MOST_LISTED).to_numpy().tolist()
    labels = {f"{a} × {b}": [a, b] for a, b in [*fitted, *first]}
    kept = st.multiselect(
        "Which",
        list(labels),
        default=list(labels)[: len(fitted) or strong],
        key=f"chosen-{about.id}",
        format_func=state.names_of(about).term,
    )
    return [labels[label] for label in kept], len(kept) == len(fitted) and all(
        labels[label] in fitted for label in kept
    )


def panel(about: ModelAbout, spec: Spec, ranking: pd.DataFrame) -> tuple[live.Shown | None, bool]:
    """Choose pairs and refit; return the refit, None where the choice is the model's own, and whether it is awaited."""
    wanted, is_own = choice(about, spec, ranking)
    key = f"pairs-{about.id}"
    changed = spec if is_own else replace(spec, changes={**spec.changes, "interactions": wanted})
    n_features = len(state.estimator(about.id).model_.bins)
    on = live.switch(key, live.rows_of(about), n_features, changed)
    if is_own:  # nothing is tried, so nothing is refitted
        return None, False
    draft = live.shown(key, changed, spec) if on else None
    if draft is not None:
        live.metric(draft, about)
    live.full_model(key, replace(changed, name=f"{about.name} · pairs"))
    return draft, on and draft is None


def ranking_card(about: ModelAbout, ranking: pd.DataFrame, worth: pd.DataFrame, rows: int, place: Place) -> None:
    """Show the ranking as bars, with a caption."""
    loss = state.estimator(about.id).model_.loss.name
    beyond = int((ranking["strength"] > ranking.attrs["chance"]).sum())
    strong = elbow(ranking["strength"].to_numpy())
    term = state.names_of(about).term
    ranking, worth = (
        table.assign(feature_1=table["feature_1"].map(term), feature_2=table["feature_2"].map(term))
        for table in (ranking, worth)
    )
    plot = replace(
        plots.pair_ranking(ranking, worth, loss, most=MOST_BARS),
        words=f"{counted(len(ranking), 'pair')} by strength; {strong} {'stands' if strong == 1 else 'stand'} out.",
        numbers=ranking.merge(worth, on=["feature_1", "feature_2"], how="left"),
    )  # fmt: skip
    cards.figure(plot, f"ranking-{about.id}", about.name, state.card(about), at=place)
    whose = " of the sample" if "sample" in about.rows else ""
    error = LOSSES[loss].error
    place.drawing.caption(
        f"{count(beyond)} of {counted(len(ranking), 'pair')} interact more than chance would produce (dotted line), "
        f"by how much a split on both features lowers the {error} of {counted(rows, 'training row')}{whose}."
        + (" The dots say what pairs in the model gain on held-out rows." if len(worth) else "")
        + _for_accuracy(ranking, worth)
        + _useless(worth)
    )


def _useless(worth: pd.DataFrame) -> str:
    """Say which of the model's pairs do not help on held-out rows."""
    bad = [f"{row.feature_1} × {row.feature_2}" for row in worth.itertuples() if row.worth <= 0]
    if not bad:
        return ""
    does, them = ("does", "it") if len(bad) == 1 else ("do", "them")
    return f" **{md(', '.join(bad))}** {does} not help there: leave {them} out."


def _for_accuracy(ranking: pd.DataFrame, worth: pd.DataFrame) -> str:
    """Say which of the model's pairs do not interact more than chance, but may be kept for what they gain."""
    both = ranking.merge(worth, on=["feature_1", "feature_2"])
    weak = both[(both["strength"] <= ranking.attrs["chance"]) & (both["worth"] > 0)]
    if not len(weak):
        return ""
    names = ", ".join(f"{row.feature_1} × {row.feature_2}" for row in weak.itertuples())
    n = "1 is" if len(weak) == 1 else f"{count(len(weak))} are"
    return f" Of the model's {counted(len(worth), 'pair')}, {n} not beyond chance and kept for accuracy: {md(names)}."


begin("Pairs", "Which features interact, and what they do together beyond their separate effects.")
model, scale, first = cards.effects_in_view()
estimator: GAMRegressor | GAMClassifier = state.estimator(model.id)
spec = live.base_spec(model.spec, estimator)
shown: Any = estimator
gains: dict[tuple[str, str], bool] = {}
if len(estimator.model_.bins) < 2:
    st.info("The model has one feature: a pair needs two.", icon=":material/grid_on:")
    st.stop()
if spec is None:
    st.caption("The ranking of all pairs needs the table that the model was trained on.")
elif engine.prepared():  # if not, it says so, and the model's pairs are shown meanwhile
    ranking, worth, rows = ranked_pairs(model.id)
    gains = {(row.feature_1, row.feature_2): row.low > 0 for row in worth.itertuples()}
    if ranking.empty:
        st.info("Fewer than two features of the model vary: there is no pair to rank.", icon=":material/grid_on:")
        st.stop()
    ranking_card(model, ranking, worth, rows, first)
    with st.expander("Try other pairs", icon=":material/tune:", expanded=not estimator.model_.pairs):
        tried, waiting = panel(model, spec, ranking)
    if tried is not None:
        shown = tried.now.estimator
    if waiting:
        st.caption(":material/progress_activity: The heat map is being redrawn with these pairs.")
        st.stop()
if not shown.model_.pairs:
    st.info("This model has no pairs: choose how many above, and train.", icon=":material/grid_on:")
    st.stop()
joint.show(model, shown, state.data(model) if spec else None, is_model=shown is estimator, scale=scale, gains=gains)
if shown.model_.triples:
    three.show(model, shown, is_model=shown is estimator, scale=scale)
