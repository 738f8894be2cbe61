"""The panel on Overview: all columns ranked by where the model is wrong, and one of them in groups."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gamcore import CalibrationByGroup, calibration_by_group
from gamcore.data.columns import TableError
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import md
from shapewise.ui.widgets import cards

GIVEN = ("weight", "exposure", "group")
"""Columns of a specification that are no groups of rows."""


def draw(now: InView) -> None:
    """Show the ranking of columns, and observed against predicted by the one that is chosen."""
    model = now.model
    assert model is not None  # the panel is offered for models
    data = state.whole_data(model)
    if data is None or not data.measurable or {"sample", "added"} & set(model.rows or {}):
        st.caption("This needs rows of the model's table that are held out, and all that it was trained on.")
        return
    groups = found_of(model.id, state.class_in_view(model.id))
    if isinstance(groups, str):
        st.error(md(groups), icon=":material/error:")
        return
    named = state.names_of(model)
    shown = {name: named.column(name) for name in groups.ranked}
    column = st.selectbox(
        "By", list(shown), format_func=shown.__getitem__, key=f"by-group-{model.id}",
        help="All columns of the table, also those that the model does not read; that with the clearest error first.",
    )  # fmt: skip
    if column is None:
        st.caption("No column of the table has more than one group.")
        return
    plot = groups.describe(column, target=state.goal(model))
    title = f"{shown[column]}{plot.title.removeprefix(column)}"
    cards.figure(replace(plot, title=title), f"by-group-figure-{model.id}", f"{model.name} by {shown[column]}",
                 state.card(model))  # fmt: skip
    st.caption(md(groups.words()))
    ranking = groups.by_column().assign(column=lambda table: table["column"].map(shown))
    st.dataframe(ranking, hide_index=True, alt="Columns, that with the clearest error of the model first.")


@state.kept(show_spinner="Comparing with the held-out rows", max_entries=16)
def found_of(identifier: str, of_class: str) -> CalibrationByGroup | str:
    """Return where a model is wrong on its held-out rows, or why that cannot be said."""
    model = state.workspace().models.about(identifier)
    data, estimator = state.whole_data(model), state.whole(identifier)
    assert data is not None
    assert isinstance(estimator, GAMRegressor | GAMClassifier)
    spec = Spec.from_dict(model.spec)
    apart = {spec.target, *(getattr(spec, name, None) for name in GIVEN)}
    rows = state.as_read(model).frame
    beside = [name for name in rows.columns if name not in data.X.columns and name not in apart]
    try:
        return asked_of(estimator, replace(data, X=data.X.join(rows[beside])), of_class)
    except TableError as error:
        return str(error)


def asked_of(estimator: GAMRegressor | GAMClassifier, data: Data, of_class: str) -> CalibrationByGroup:
    """Return where a model is wrong on held-out rows. of_class : of several classes the one that is asked about."""
    given = {"sample_weight": data.weight, "groups": data.groups, "exposure": data.exposure}
    known = {name: values for name, values in given.items() if values is not None}
    label = next((one for one in data.classes if str(one) == of_class), None)
    return calibration_by_group(estimator, data.X, data.y, **known, held_out=data.held_out, of_class=label)
