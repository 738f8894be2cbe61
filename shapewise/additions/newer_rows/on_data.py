"""A model on the newer version of its table, before anybody trains it again: its metric, its calibration, and where it
is off otherwise than on its own held-out rows."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gamcore import OnNewerRows, TableError
from shapewise.additions.newer_rows import asked
from shapewise.store.workspace import ModelAbout, TableAbout
from shapewise.ui.session import state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import count, md
from shapewise.ui.widgets import cards, versions


def draw(now: InView) -> None:
    """Show how a model does on the newer version, beside its own held-out rows."""
    if chosen := versions.choose(now, "still-model"):
        show(*chosen)


def show(model: ModelAbout, version: TableAbout) -> None:
    """Show the sentence, what is observed by bins of the prediction, and by how much the model is off by a column."""
    answer = answer_of(model.id, version.id)
    if isinstance(answer, str):
        st.error(md(answer), icon=":material/error:")
        return
    on, known = answer
    names, goal = state.names_of(model), state.goal(model)
    with st.container(border=True):
        plot = on.describe(target=goal)
        cards.figure(plot, f"still-{model.id}-{version.id}", f"{model.name} on newer rows",
                     state.card(model))  # fmt: skip
        st.markdown(md(on.words().removeprefix(f"{plot.title}. ")))
        st.caption(
            f"Newer are the rows that the older version has not{f': {count(known)} are left out' if known else ''}."
        )
    columns = [name for name in on.columns if name != next(iter(on.columns))]
    with st.container(border=True):
        column = st.selectbox("Off by how much, by", sorted(columns, key=lambda name: -int(on.changed(name).sum())),
                              format_func=names.column, key=f"still-by-{model.id}",
                              help="Columns by which the model is off otherwise than before come first.")  # fmt: skip
        if column is None:
            st.caption("No column of both versions has more than one group.")
            return
        plot = on.describe(column=column, target=goal)
        title = f"{names.column(column)}{plot.title.removeprefix(column)}"
        cards.figure(replace(plot, title=title), f"still-groups-{model.id}-{version.id}", f"{model.name} by {column}",
                     state.card(model))  # fmt: skip


@state.kept(show_spinner="Asking the model about the newer rows", max_entries=16)
def answer_of(identifier: str, version: str) -> tuple[OnNewerRows, int] | str:
    """Return how a model does on a newer version and how many of its rows the older one has, too, or why that cannot
    be said."""
    model = state.workspace().models.about(identifier)
    try:
        return asked.asked_of(
            model, state.whole(identifier), version, versions.rows_of, state.class_in_view(identifier)
        )
    except TableError as error:
        return str(error)
