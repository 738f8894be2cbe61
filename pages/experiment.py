"""An A/B test of a board's strategies: plan it, then read what it measured."""

from __future__ import annotations

import streamlit as st

from gamcore.data.table import TableError
from gamcore.decide.rules import RuleError
from shapewise.decisions import boards as stored
from shapewise.ui.decide import plan as planning
from shapewise.ui.decide import readout
from shapewise.ui.session import state
from shapewise.ui.session.frame import begin
from shapewise.ui.session.words import date, md, told_apart
from shapewise.ui.widgets import cards, guide, reach

VIEWS = {"plan": "Plan", "read": "Read-out"}

begin("Experiment", "How long to test, and what the test measured. This is the only place where a lift is measured.")
tables = state.workspace().tables.listed()
here = {table.id for table in tables}
boards = {board.id: board for board in stored.boards(state.workspace()) if board.table in here}
if not boards:
    guide.show(True)
    page, words, label = ("strategies", "There is no board of strategies yet.", "Make one")
    if not tables:
        page, words, label = ("data", "There is no board of strategies yet, and no table.", "Load a table")
    cards.empty("science", words, label, page)
opened, first = st.session_state.get("experiment-opened", (0, "plan"))  # another opening has a control of its own
now = state.current("board", list(reversed(boards))) or next(reversed(boards))
with st.container(horizontal=True, vertical_alignment="bottom"):
    chosen = st.selectbox(
        "Board", list(boards), list(boards).index(now),
        format_func=told_apart({i: f"{b.name} ({date(b.created)})" for i, b in boards.items()}).__getitem__,
    )  # fmt: skip
    state.choose("board", chosen)
    view = st.segmented_control(
        "Show", list(VIEWS), default=first, required=True, format_func=VIEWS.__getitem__,
        key=f"experiment-view-{opened}",
        persist_state="session", label_visibility="collapsed",
    )  # fmt: skip
board = boards[chosen]
made = board.read()
for place, strategy in enumerate(made.strategies, 1):
    st.caption(f"{place} · **{md(strategy.name)}** {md(strategy.action)}: {md(strategy.rule.words())}")
if view == "plan":
    if not made.strategies:
        st.caption("The board has no strategy yet: add one on the page Strategies.")
        st.stop()
    try:
        ledger = reach.ledger(board.table, made)
    except (TableError, RuleError) as error:
        st.error(md(error), icon=":material/error:")
        st.stop()
    planning.show(board, made, ledger)
else:
    readout.show(board, made)
guide.show(False)
