"""The features that have no curve, since they did not beat chance."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from gamcore.estimators.additive import single_model
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import count
from shapewise.ui.widgets.columns import PERCENT, hundredfold

CHANCE = "As much by chance"


def features(estimator: GAMRegressor | GAMClassifier) -> pd.DataFrame:
    """Return the features without a curve, with their chances; none where every feature has one.

    A pair that was asked for may give one to a feature that has not entered.
    """
    if not hasattr(estimator, "entries_"):
        return pd.DataFrame({"feature": [], "entered": [], "chance": []})
    entries, model = estimator.entries_, single_model(estimator)
    flat = {model.bins[term.feature].feature.name for term in model.terms if not term.refits.any()}
    return entries[(entries["entered"] == 0) & entries["feature"].isin(flat)]


def show(model: ModelAbout, estimator: GAMRegressor | GAMClassifier) -> None:
    """Tell which features have no curve, and how often chance alone does as much."""
    left = features(estimator)
    if left.empty:
        return
    with st.expander(f"{count(len(left))} feature{'s' * (len(left) > 1)} did not beat chance"):
        st.caption(
            "They have no curve. Features without any effect stand out as much as they do in this share of trainings. "
            "An effect that is weak, or that other features have, too, may be among them."
        )
        named = state.names_of(model)
        table = pd.DataFrame({"Feature": left["feature"].map(named.term), CHANCE: left["chance"]})
        st.dataframe(
            hundredfold(table, [CHANCE]), hide_index=True, alt="Features without a curve.",
            column_config={CHANCE: st.column_config.NumberColumn(format=PERCENT)},
        )  # fmt: skip
