"""The quality of a model of several classes on a page: confusion, and each class against the rest."""

from __future__ import annotations

import numpy as np
import streamlit as st

from gamcore.common.numbers import percent
from gamcore.stats import plots
from gamcore.stats.classes import class_confusion, class_losses, class_rankings
from shapewise.scoring.held_out import HeldOutClasses, of_classes
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import counted, less, md, number
from shapewise.ui.widgets import cards, tabs


@state.kept(show_spinner="Predicting the held-out rows", max_entries=8)
def held_out(model: str) -> HeldOutClasses:
    """Return the held-out rows of a stored model with their chances."""
    data = state.whole_data(state.workspace().models.about(model))
    assert data is not None
    return of_classes(data, np.asarray(state.whole(model).predict_proba(data.X[data.held_out])))


def show(model: ModelAbout) -> None:
    """Show the section."""
    held = held_out(model.id)
    named = state.names_of(model)
    names = [named.level(model.target, name) for name in state.class_names(model.id)]
    table = class_losses(held.codes, held.chances, held.shares, held.weight)
    st.caption(
        f"On {counted(held.codes.size, 'held-out row')}, never used for fitting or early stopping: log-loss "
        f"{number(table.loc['log-loss', 'model'], 4)} per row, {less(table.loc['log-loss', 'explained'])} with the "
        f"classes' shares; the likeliest class is right in {percent(table.loc['accuracy', 'model'])}."
    )

    def confusion() -> None:
        cards.of_model(plots.class_confusion(class_confusion(held.codes, held.chances, names, held.weight)), model)
        st.caption("Recall: how many rows of a class are predicted as it. Precision: how many predicted as it are.")

    def ranking() -> None:
        cards.of_model(plots.class_rankings(class_rankings(held.codes, held.chances, held.weight), names), model)
        st.caption(f"ROC curves of {md(named.column(model.target))}. AUC 0.5 is guessing.")

    tabs.show({"Confusion": confusion, "Each class against the rest": ranking}, f"quality-{model.id}")
