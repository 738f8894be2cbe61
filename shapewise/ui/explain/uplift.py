"""What following an effect model is worth, on a page: the measured effect by predicted effect, and the gain."""

from __future__ import annotations

from functools import partial

import streamlit as st

from gamcore.decide import plots
from gamcore.decide.uplift import Uplift
from gamcore.viz.spec import Plot
from shapewise.reports.card import measured_by
from shapewise.store.workspace import ModelAbout
from shapewise.training import effects
from shapewise.training.task_dataset import predicted
from shapewise.ui.session import state
from shapewise.ui.widgets import cards, tabs


@state.kept(show_spinner="Measuring the effect", max_entries=8)
def measured(model: str) -> Uplift:
    """Return what following a stored effect model is worth, in all rows by models that have not seen them; of older
    models, in the held-out rows."""
    data = state.data(state.workspace().models.about(model))
    assert data is not None
    unseen = state.workspace().models.unseen(model)
    if unseen is not None and unseen.predicted.size == len(data.y):
        return effects.uplift(data, unseen.predicted)
    return effects.uplift(data, predicted(state.estimator(model), data.X[data.held_out]))


def show(model: ModelAbout) -> None:
    """Show the effect by tenth, and the gain."""
    unit, read = state.effect_unit(model) or "", measured(model.id)
    drawn = {"By predicted effect": read.describe(unit), "Gain": plots.gain(read, unit)}
    tabs.show({name: partial(_draw, model, plot) for name, plot in drawn.items()}, f"worth-of-{model.id}")
    st.caption(
        f"Outcomes of both arms in {measured_by(model)}, beside what was expected of each row whatever its arm; "
        "the model only puts the rows in order."
    )


def _draw(model: ModelAbout, plot: Plot) -> None:
    cards.figure(plot, f"{plot.name}-{model.id}", model.name, state.card(model))
