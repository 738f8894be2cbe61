"""The panel on Overview: all columns ranked by where the model is wrong, and one of them in groups."""

from __future__ import annotations

from typing import Final

import streamlit as st

from gamcore import CalibrationByGroup
from gamcore.data.columns import TableError
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.additions.by_group.asked import HEADS, asked_of, is_measurable, ranking, shown
from shapewise.ui.session import state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import md
from shapewise.ui.widgets import cards
from shapewise.ui.widgets.columns import PERCENT, WHOLE_PERCENT, hundredfold, measured

METRICS: Final = {"explained": "Share explained"}
NARROW: Final = "It is no error if it differs: within a narrow group there is less to tell apart."


def draw(now: InView) -> None:
    """Show the ranking of columns, and observed against predicted by the one that is chosen."""
    model = now.model
    assert model is not None  # the panel is offered for models
    if not is_measurable(model, state.whole_data(model)):
        st.caption("This needs rows of the model's table that are held out, and all that it was trained on.")
        return
    answer = answer_of(model.id, state.class_in_view(model.id))
    if isinstance(answer, str):
        st.error(md(answer), icon=":material/error:")
        return
    answer = shown(answer, state.names_of(model))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column = st.selectbox(
            "By", answer.ranked, key=f"by-group-{model.id}",
            help="All columns of the table, also those that the model does not read; that with the clearest error "
            "first.",
        )  # fmt: skip
        shows = {"means": "Observed and predicted", "metric": METRICS.get(answer.metric, answer.metric)}
        view = st.segmented_control("Show", list(shows), default="means", required=True,
                                    format_func=shows.__getitem__, key=f"by-group-show-{model.id}")  # fmt: skip
    if column is None:
        st.caption("No column of the table has more than one group.")
        return
    plot = answer.describe(column, target=state.goal(model), metric=view == "metric")
    cards.figure(plot, f"by-group-figure-{model.id}-{view}", f"{model.name} by {column}", state.card(model))
    if view == "metric":
        st.caption(md(f"{answer.metric_words(column)} {NARROW}"))
        return
    st.caption(md(answer.words()))
    _ranking(answer)


def _ranking(answer: CalibrationByGroup) -> None:
    """Show the columns as a table."""
    table, means, ratio = ranking(answer), [HEADS["observed"], HEADS["predicted"]], HEADS["ratio"]
    table, form = (hundredfold(table, means), PERCENT) if answer.is_share else measured(table, *means)
    table = hundredfold(table, [ratio])
    forms = {**dict.fromkeys(means, form), ratio: WHOLE_PERCENT}
    st.dataframe(
        table, hide_index=True, alt="Columns, that with the clearest error of the model first.",
        column_config={name: st.column_config.NumberColumn(format=of_name) for name, of_name in forms.items()},
    )  # fmt: skip


@state.kept(show_spinner="Comparing with the held-out rows", max_entries=16)
def answer_of(identifier: str, of_class: str) -> CalibrationByGroup | str:
    """Return where a model is wrong on its held-out rows, or why that cannot be said."""
    model = state.workspace().models.about(identifier)
    data, estimator = state.whole_data(model), state.whole(identifier)
    assert data is not None
    assert isinstance(estimator, GAMRegressor | GAMClassifier)
    try:
        return asked_of(estimator, model, state.as_read(model).frame, data, of_class)
    except TableError as error:
        return str(error)
