"""The quality of a model of several classes on a page: confusion, and each class against the rest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.numbers import percent
from gamcore.stats.classes import class_confusion, class_losses, class_rankings
from gamcore.types import Floats, Ints
from gamcore.viz import plots
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md, number
from shapewise.ui.widgets import cards, tabs

Held = tuple[Ints, Floats, Floats | None, Floats]


@state.kept(show_spinner="Predicting the held-out rows", max_entries=8)
def held_out(model: str) -> Held:
    """Return the classes (n,) of the held-out rows, their chances (n, K), weights, and the training rows' shares."""
    about, fitted = state.workspace().models.about(model), state.whole(model)
    data = state.whole_data(about)
    assert data is not None
    codes = pd.Index(data.classes).get_indexer(pd.Index(data.y))
    weight = np.ones(codes.size) if data.weight is None else data.weight
    held, train = data.held_out, ~data.held_out
    shares = np.bincount(codes[train], weight[train], len(data.classes)) / weight[train].sum()
    chances = np.asarray(fitted.predict_proba(data.X[held]))
    return codes[held].astype(np.int64), chances, None if data.weight is None else weight[held], shares


def show(model: ModelAbout) -> None:
    """Show the section."""
    codes, chances, weight, shares = held_out(model.id)
    named = state.names_of(model)
    names = [named.level(model.target, name) for name in state.class_names(model.id)]
    table = class_losses(codes, chances, shares, weight)
    st.caption(
        f"On {count(codes.size)} held-out rows, never used for fitting or early stopping: log-loss "
        f"{number(table.loc['log-loss', 'model'], 4)} per row, {percent(table.loc['log-loss', 'explained'])} less than "
        f"with the classes' shares; the likeliest class is right in {percent(table.loc['accuracy', 'model'])}."
    )

    def confusion() -> None:
        cards.of_model(plots.class_confusion(class_confusion(codes, chances, names, weight)), model)
        st.caption("Recall: of the rows of a class, those for which it is said. Precision: of those said, the right.")

    def ranking() -> None:
        cards.of_model(plots.class_rankings(class_rankings(codes, chances, weight), names), model)
        st.caption(f"ROC curves of {md(named.column(model.target))}. AUC 0.5 is guessing.")

    tabs.show({"Confusion": confusion, "Each class against the rest": ranking}, f"quality-{model.id}")
