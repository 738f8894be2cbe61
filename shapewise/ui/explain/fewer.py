"""How many curves a trained model needs, and a model of fewer."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.store.workspace import ModelAbout, clean_name
from shapewise.ui.session import state
from shapewise.ui.session.words import counted
from shapewise.ui.train import fewer, live


@state.kept(show_spinner="Leaving curves out", max_entries=8)
def path_of(identifier: str) -> pd.DataFrame | str:
    """Return the path of models with fewer curves, or why there is none."""
    data = state.data(state.workspace().models.about(identifier))
    assert data is not None
    return fewer.path_of(state.additive(identifier), data)


def show(model: ModelAbout, estimator: GAMRegressor | GAMClassifier) -> None:
    """Show the loss by the number of curves, which curves stay, and offer a model of them."""
    learnt_elsewhere = {"sample", "added"} & set(model.rows or {})
    spec = live.base_spec(model.spec, estimator)
    is_possible = len(estimator.model_.bins) >= fewer.FEWEST and not learnt_elsewhere
    if not is_possible or spec is None or state.class_names(model.id) or state.data(model) is None:
        return
    box = st.expander(
        "How many curves?", icon=":material/filter_list:", key=f"fewer-open-{model.id}", on_change="rerun"
    )
    if not box.open:
        return
    with box:
        off = fewer.choose(path_of(model.id), estimator, model.id, state.names_of(model), state.card(model))
        if off:
            smaller = replace(live.without(spec, off), name=clean_name(model.name))
            live.full_model(f"{model.id}-fewer", smaller, f"Train with {counted(len(smaller.features), 'feature')}")
