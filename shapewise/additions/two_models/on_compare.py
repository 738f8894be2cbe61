"""The way on Compare: which of two models is better on rows that neither has seen, where they differ, and for whom."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gamcore import TwoModels
from gamcore.data.column_names import Names
from gamcore.data.columns import TableError
from shapewise.additions.two_models import rivals
from shapewise.decisions import boards, money
from shapewise.store.workspace import ModelAbout
from shapewise.training.naming import labels
from shapewise.ui.session import state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import count, counted, md
from shapewise.ui.widgets import cards


def draw(now: InView) -> None:
    """Show the choice of another model, the double lift, and who scores more and less."""
    model, project = now.model, now.project
    assert model is not None  # the panel is offered for models with rivals
    assert project is not None
    named, others = labels(project), {rival.id: rival for rival in rivals.rivals_of(model, project.models)}
    other = others[st.selectbox("Beside", list(others), format_func=named.__getitem__, key=f"rival-{model.id}")]
    worth = money.of_table(state.workspace(), model.table).of(model.target)
    changes = (model.bands, other.bands, *(segment.id for segment in boards.segments(state.workspace())))
    answer = answer_of(model.id, other.id, (named[model.id], named[other.id]), worth, changes)
    if isinstance(answer, str):
        st.error(md(answer), icon=":material/error:")
        return
    compared, rows = answer
    compared = shown(compared, state.names_of(model))
    with st.container(border=True):
        cards.figure(compared.describe(target=state.goal(model)), f"rival-{model.id}-{other.id}",
                     f"{named[model.id]} and {named[other.id]}", state.card(model))  # fmt: skip
        st.markdown(md(compared.where() or "Their predictions do not differ."))
        st.caption(md(_which(rows)))
    with st.container(border=True):
        _for_whom(model, other, compared)


def _for_whom(model: ModelAbout, other: ModelAbout, compared: TwoModels) -> None:
    """Show the predictions of both by the groups of a column."""
    column = st.selectbox(
        "For whom, by", [column.name for column in compared.columns], key=f"rival-by-{model.id}",
        help="All columns of the table, and its segments; that first by whose groups the predictions differ most.",
    )  # fmt: skip
    if column is None:
        st.caption("No column of the table has more than one group.")
        return
    plot = compared.describe(target=state.goal(model), column=column)
    cards.figure(plot, f"rival-groups-{model.id}-{other.id}", f"{model.name} by {column}", state.card(model))
    if compared.worth is None:
        st.caption("With a worth of the outcome, given on Experiment or Strategies, changes are also told in money.")


def _which(rows: rivals.SharedRows) -> str:
    """Say which rows are asked."""
    table = state.workspace().tables.about(rows.table)
    again = (f" {count(rows.learned)} more are left out, for the other model has learned from rows like them."
             if rows.learned else "")  # fmt: skip
    return f"{counted(len(rows.data.y), 'held-out row')} of {table.name}, from which neither model has learned.{again}"


@state.kept(show_spinner="Comparing on rows that neither has seen", max_entries=16)
def answer_of(
    model: str, other: str, names: tuple[str, str], worth: float, changes: tuple[int | str, ...]
) -> tuple[TwoModels, rivals.SharedRows] | str:
    """Return how two models compare and on which rows, or why that cannot be said. changes : what else the answer is
    of, the models' bands and the segments that there are."""
    space = state.workspace()
    sources = rivals.Sources(space, state.whole, state.whole_data, state.as_read, state.frame)
    try:
        pair = space.models.about(model), space.models.about(other)
        return rivals.compared(sources, pair, names, worth, state.class_in_view(model))
    except TableError as error:
        return str(error)


def shown(compared: TwoModels, names: Names) -> TwoModels:
    """Return a comparison with columns and levels as people call them."""
    return replace(compared, columns=tuple(replace(column, cut=column.cut.named(names)) for column in compared.columns))
