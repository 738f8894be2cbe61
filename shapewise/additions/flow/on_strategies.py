"""The panel on Strategies: which table has the steps, their flow, and the edge to learn."""

from __future__ import annotations

import streamlit as st

from gamcore import Edge, Flow, read_flow
from gamcore.additions.flow.reading import MOST_STEPS
from gamcore.data.columns import TableError
from gamcore.data.table import Table
from shapewise.additions.flow.scenario import scenario_of
from shapewise.errors import StoreError
from shapewise.places import PAGES
from shapewise.store.workspace import TableAbout, clean_name
from shapewise.ui.session import state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import md
from shapewise.ui.widgets import cards

Columns = tuple[str, str, str | None]


def others(table: TableAbout) -> list[TableAbout]:
    """Return the tables that may have the steps of the customers of a table: with a column of its own name, which says
    whose step it is, and with others that it lacks, unlike its versions."""
    mine = set(state.columns(table.id))
    listed = [other for other in state.workspace().tables.listed() if other.id != table.id]
    return [other for other in listed if mine & (theirs := set(state.columns(other.id))) and theirs - mine]


@state.kept(copies=True, show_spinner="Reading the steps", max_entries=16)
def flow_of(table: str, case: str, step: str, time: str | None) -> Flow | str:
    """Return the flow of a table of events, or why there is none."""
    try:
        return read_flow(state.table(table), case, step, time)
    except TableError as error:
        return str(error)


def draw(now: InView) -> None:
    """Show the flow of a table of events, and what makes a scenario of one of its edges."""
    assert now.table is not None
    tables = {table.id: table for table in others(now.table)}
    events = st.selectbox("Table of steps", list(tables), format_func=lambda key: tables[key].name,
                          key=f"flow-table-{now.table.id}", help="A row per step that somebody took.")  # fmt: skip
    columns = _columns(state.table(events), state.table(now.table.id), events)
    if columns is None:
        st.caption("This table has no column of steps: one with a few values that many rows share.")
        return
    flow = flow_of(events, *columns)
    if isinstance(flow, str):
        st.caption(md(flow))
        return
    key = f"flow-{events}"
    cards.figure(flow.describe(), key, f"{tables[events].name} flow", on_point=lambda: _pick(key, flow))
    _offer(now.table, events, columns, flow)


def _columns(events: Table, customers: Table, key: str) -> Columns | None:
    """Show the choice of the columns; return them, or None where there is no column of steps."""
    kinds = {name: events.usable_kind(name) for name in events.names}
    steps = [name for name, kind in kinds.items() if kind == "category" and len(events.texts(name)[1]) <= MOST_STEPS]
    times = [name for name, kind in kinds.items() if kind in ("date", "number")]
    whose = [name for name in events.names if name not in steps] or events.names
    if not steps:
        return None
    shared = next((name for name in whose if name in customers), whose[0])
    with st.container(horizontal=True):
        case = st.selectbox("Whose step", whose, whose.index(shared), key=f"flow-case-{key}")
        step = st.selectbox("Step", steps, key=f"flow-step-{key}")
        dates = [name for name in times if kinds[name] == "date"]
        time = st.selectbox("When", times, times.index(dates[0]) if dates else None, key=f"flow-time-{key}",
                            placeholder="In the order of the rows")  # fmt: skip
    return case, step, time


def _pick(key: str, flow: Flow) -> None:
    """Choose the edge whose bar was clicked."""
    points = st.session_state[key]["selection"]["points"]
    if points:
        st.session_state[f"{key}-edge"] = round(points[0]["y"])


def _offer(table: TableAbout, events: str, columns: Columns, flow: Flow) -> None:
    """Show what makes a table of those at a step, with whether they took an edge, and opens it on Train."""
    customers = state.table(table.id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        place = st.selectbox("Scenario", range(len(flow.edges)), key=f"flow-{events}-edge",
                             format_func=lambda k: flow.edges[k].name(), help="Or press a bar.")  # fmt: skip
        names = customers.names
        who = st.selectbox("Who, in this table", names, names.index(columns[0]) if columns[0] in names else 0,
                           key=f"flow-key-{table.id}-{events}")  # fmt: skip
        if st.button("Learn who takes it", key=f"flow-learn-{events}", icon=":material/play_arrow:",
                     help="Makes a table of those who reach the step, and opens it on Train."):  # fmt: skip
            _learn(table, who, events, columns, flow.edges[place])


def _learn(table: TableAbout, who: str, events: str, columns: Columns, edge: Edge) -> None:
    try:
        rows = scenario_of(state.table(table.id), who, state.table(events), columns, edge)
        stored = state.workspace().tables.add(rows, clean_name(f"{table.name}, {edge.name()}"))
    except (TableError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    st.switch_page(PAGES / "train.py", query_params={"table": stored.id})
