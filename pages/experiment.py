"""An A/B test of a board's strategies: plan it, then read what it measured."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

from dataclasses import asdict

import streamlit as st

from gamcore.data.columns import TableError
from gamcore.decide.rules import RuleError
from shapewise.ui.decide import arms, readout
from shapewise.ui.decide import plan as planning
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import boards, cards, guide, meanwhile, panels, reach

VIEWS = {"plan": "Plan", "read": "Read-out"}
SOURCES = {"plan": "A test to plan", "test": "A test that has run", "board": "A board of strategies"}

bar = begin(
    "Experiment", "How long to test, and what the test measured. This is the only place where a lift is measured.",
    choices=True,
)  # fmt: skip
now, known = boards.boards_in_view()
source = "test"
if now.table is not None:
    source = bar.segmented_control(
        "Begin with", list(SOURCES), label_visibility="collapsed", default="board" if known else "test", required=True,
        format_func=SOURCES.__getitem__, key=f"experiment-source-{now.project.id if now.project else ''}-{bool(known)}",
        help="A test that has run needs only its table: one row per customer, with the arm and the outcomes. A test of "
        "strategies begins with their board.",
    )  # fmt: skip
if source == "plan" and now.table is not None:
    planning.show_table(now.table, state.table(now.table.id))
    st.stop()
if source == "test" and now.table is not None:
    arms.show(now.table)
    panels.show("experiment")
    st.stop()
if not known:
    guide.show(True)
    page, words, label = ("strategies", "There is no board of strategies in this project yet.", "Make one")
    if now.table is None:
        page, words, label = ("home", "There is no board of strategies yet, and no table.", "Load a table")
    cards.empty("science", words, label, page)
opened, first = st.session_state.get("experiment-opened", (0, "plan"))  # each opening has its own control
with bar:
    board = boards.pick(known)
    view = st.pills(  # another look than the choice before it, since on a phone they are two rows
        "Show", list(VIEWS), default=first, required=True, format_func=VIEWS.__getitem__,
        key=f"experiment-view-{opened}",
        persist_state="session", label_visibility="collapsed",
    )  # fmt: skip
is_new = meanwhile.look("boards", asdict(board), ("name", "strategies"))
strategy_set = board.read()
if view == "plan":
    if not strategy_set.strategies:
        boards.no_strategy()
    try:
        ledger = reach.ledger(board.table, strategy_set)
    except (TableError, RuleError) as error:
        st.error(md(error), icon=":material/error:")
        st.stop()
    planning.show(board, strategy_set, ledger, is_new)
else:
    readout.show(board, strategy_set)
for place, strategy in enumerate(strategy_set.strategies, 1):
    st.caption(
        f"{place} · **{md(strategy.name)}** {md(strategy.action)}: {md(strategy.rule.words(state.names(board.table)))}"
    )
guide.show(False)
