"""Which features act together: the ranking of all pairs, and the joint effect of those in the model."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.boosting.pair_ranking import elbow
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.viz import plots
from shapewise.store.workspace import ModelAbout
from shapewise.training.spec import Spec
from shapewise.ui.explain import pair as joint
from shapewise.ui.session import state
from shapewise.ui.session.frame import begin
from shapewise.ui.session.words import count
from shapewise.ui.train import live
from shapewise.ui.widgets import cards

MOST_FITTED = 60
MOST_LISTED = 500
MOST_ADDS = 3e9  # rows of all pairs together that are ranked at once here
FEWEST_ROWS = 2_000  # that are ranked on at least
WAYS = {"auto": "As many as help", "number": "The strongest", "chosen": "Chosen ones"}


@state.kept(show_spinner="Ranking all pairs", max_entries=16)
def ranked(model: str) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Return all pairs on the training rows, what the model's are worth on the held-out rows, and how many rows were
    ranked on: all, unless the table is so wide and long that somebody would wait."""
    data, estimator = state.data(state.workspace().models.about(model)), state.estimator(model)
    assert data is not None
    rows, held = np.flatnonzero(~data.held_out), data.held_out
    n_pairs = max(math.comb(len(estimator.model_.bins), 2), 1)
    most = max(round(MOST_ADDS / n_pairs), FEWEST_ROWS)
    if rows.size > most:
        rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    weight = [None if data.weight is None else data.weight[part] for part in (rows, held)]
    threaded = copy.copy(estimator).set_params(n_jobs=state.n_jobs())  # the other is everybody's
    ranking = threaded.rank_pairs(data.X.iloc[rows], data.y.iloc[rows], weight[0])
    worth = estimator.pair_worth(data.X[held], data.y[held], weight[1])
    return ranking, worth, rows.size


def choice(about: ModelAbout, spec: Spec, ranking: pd.DataFrame) -> tuple[int | str | list[list[str]], bool]:
    """Return how many pairs, or which; and whether these are the model's. At first they are, or those that stand out
    where it has none."""
    fitted = [list(pair) for pair in joint.names(state.estimator(about.id))]
    own = spec.parameters().get("interactions", 0)
    strong = elbow(ranking["strength"].to_numpy())
    usual = "auto" if own == "auto" else "number" if isinstance(own, int) else "chosen"
    way = st.radio(
        "Pairs in the model", list(WAYS), list(WAYS).index(usual), format_func=WAYS.__getitem__, key=f"way-{about.id}",
        help="As many as help: their number doubles while the validation loss falls; those of no use are dropped.",
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
        "Which", list(labels), default=list(labels)[: len(fitted) or strong], key=f"chosen-{about.id}"
    )
    return [labels[label] for label in kept], len(kept) == len(fitted) and all(
        labels[label] in fitted for label in kept
    )


def panel(about: ModelAbout, spec: Spec, ranking: pd.DataFrame) -> live.Shown | None:
    """Choose pairs and refit; the refit where it is live and not the model itself."""
    wanted, is_own = choice(about, spec, ranking)
    key = f"pairs-{about.id}"
    changed = spec if is_own else replace(spec, changes={**spec.changes, "interactions": wanted})
    n_features = len(state.estimator(about.id).model_.bins)
    on = live.switch(key, live.rows_of(about), n_features, changed)
    draft = live.shown(key, changed) if on else None
    if draft is not None:
        live.metric(draft)
    if is_own:
        return None
    live.full_model(key, replace(changed, name=f"{about.name} · pairs"))
    return draft


def ranking_card(about: ModelAbout, ranking: pd.DataFrame, worth: pd.DataFrame, rows: int) -> None:
    """Show the bars, and what they say in words."""
    loss = state.estimator(about.id).model_.loss.name
    beyond = int((ranking["strength"] > ranking.attrs["chance"]).sum())
    strong = elbow(ranking["strength"].to_numpy())
    plot = replace(
        plots.pair_ranking(ranking, worth, loss), words=f"All {len(ranking)} pairs by strength; {strong} stand out.",
        numbers=ranking.merge(worth, on=["feature_1", "feature_2"], how="left"),
    )  # fmt: skip
    cards.figure(plot, f"ranking-{about.id}", about.name, state.card(about), titled=False)
    of = " of the sample" if "sample" in about.rows else ""
    path = getattr(state.estimator(about.id), "pair_path_", ())
    tried = ""
    if len(path) > 2:
        steps = ", ".join(f"{n} ({mean_loss:.4g})" for n, mean_loss in path)
        tried = f" Numbers of pairs that were tried, with their validation loss (the last in all refits): {steps}."
    st.caption(
        f"{count(len(ranking))} pairs, ranked on {count(rows)} training rows{of} by what acting together explains "
        f"beyond each alone; the bars level off after {strong}, and {count(beyond)} are above what chance gives "
        "(dotted)."
        + (
            " The right side shows how much each pair lowers the loss on rows the model never saw."
            if len(worth)
            else ""
        )
        + tried
    )


begin("Pairs", "Which features interact, and what they do together beyond their separate effects.")
model, scale = cards.pick_effects()
estimator: GAMRegressor | GAMClassifier = state.estimator(model.id)
spec = live.base_spec(model.spec, estimator)
shown: Any = estimator
if len(estimator.model_.bins) < 2:
    st.info("The model has one feature: a pair needs two.", icon=":material/grid_on:")
    st.stop()
if spec is None:
    st.caption("The ranking of all pairs needs the table that the model was trained on.")
else:
    ranking, worth, rows = ranked(model.id)
    if ranking.empty:
        st.info("Fewer than two features of the model vary: there is no pair to rank.", icon=":material/grid_on:")
        st.stop()
    drawing, side = st.columns([3, 1])
    with side.container(border=True):
        tried = panel(model, spec, ranking)
    if tried is not None:
        shown = tried.now.estimator
    with drawing.container(border=True):
        ranking_card(model, ranking, worth, rows)
if not shown.model_.pairs:
    st.info("This model has no pairs: choose how many above, and train.", icon=":material/grid_on:")
    st.stop()
joint.show(model, shown, state.data(model) if spec else None, shown is estimator, scale)
