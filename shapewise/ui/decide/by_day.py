"""How a test went, on a page: the lift of an outcome after each day, with an interval that holds on all of them."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gamcore.data.columns import TableError
from gamcore.decide.arms import ArmsTest
from gamcore.decide.by_day import ByDay
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.results import Scale
from gamcore.decide.shown import shown_by_day
from shapewise.decisions import arm_tests as stored
from shapewise.store.workspace import TableAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import cards


@state.kept(show_spinner="Reading the days", max_entries=16)
def _read(table: str, test: str, metric: str, day: str) -> ByDay:
    asked = stored.from_text(test)
    return stored.read_by_day(asked, metric, day, lambda columns: state.rows_of(table, columns), n_jobs=state.n_jobs())


def show(table: TableAbout, asked: ArmsTest, scale: Scale) -> None:
    """Show the lift of an outcome by day, where the table says when each row came."""
    rows, names = state.table(table.id), state.names(table.id)
    dates = [name for name in rows.names if rows.usable_kind(name) == "date"]
    if not dates:
        return
    with st.container(border=True):
        st.subheader("By day", anchor=False)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            metric = st.selectbox("Outcome", list(asked.metrics), key=f"by-day-metric-{table.id}",
                                  format_func=lambda outcome: asked.outcome(outcome).called(names))  # fmt: skip
            day = st.selectbox("Day on which they came", dates, 0 if len(dates) == 1 else None,
                               key=f"by-day-column-{table.id}", format_func=names.column,
                               placeholder="A column of dates")  # fmt: skip
        if day is None:
            return
        own = stored.to_text(replace(asked, metrics={metric: asked.metrics[metric]}))
        try:
            by_day = shown_by_day(_read(table.id, own, metric, day), names, asked)
        except (ExperimentError, TableError) as error:
            st.error(md(error), icon=":material/error:")
            return
        cards.figure(by_day.describe(scale=scale), f"by-day-{table.id}-{metric}-{day}-{scale}", table.name)
        if not asked.customers:
            st.caption(
                "This test was to be read once, at its end, so only the last day of the table above decides. These "
                "intervals are wider: they would have allowed a look a day, had that been planned."
            )
