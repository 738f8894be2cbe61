"""From curves to decisions: segments, strategies in their order, and whom each reaches."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import streamlit as st

from gamcore.data.table import TableError
from gamcore.decide.rules import RuleError
from gamcore.decide.strategies import StrategySet
from shapewise.decisions import boards as stored
from shapewise.decisions.boards import Board
from shapewise.store.workspace import StoreError, TableAbout
from shapewise.ui.decide import board as deck
from shapewise.ui.decide import export as handover
from shapewise.ui.decide import segments as library
from shapewise.ui.explain import scenarios
from shapewise.ui.session import state
from shapewise.ui.session.frame import begin
from shapewise.ui.session.words import date, md, told_apart
from shapewise.ui.widgets import cards, guide, reach, sharing

VIEWS = {
    "segments": "Segments", "overlap": "Overlap", "scenarios": "Across scenarios", "alike": "Reach by group",
    "files": "Export",
}  # fmt: skip

begin("Strategies", "Who gets which message, in what order, and how many customers that reaches.")
if not state.workspace().tables.listed():
    guide.show(True)
    cards.empty("table", "There is no table yet.", "Load a table", "data")


def pick_board(table: TableAbout) -> Board | None:
    """Return the board in hand, changeable; new ones and imports."""
    known = {board.id: board for board in stored.boards(state.workspace(), table.id)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = None
        if known:
            now = state.current("board", list(reversed(known))) or next(reversed(known))
            chosen = st.selectbox(
                "Board", list(known), list(known).index(now),
                format_func=told_apart({i: f"{b.name} ({date(b.created)})" for i, b in known.items()}).__getitem__,
            )  # fmt: skip
            state.choose("board", chosen)
        if st.button("New board", icon=":material/add:", type="secondary" if known else "primary"):
            made = stored.add_board(state.workspace(), StrategySet(f"Strategies for {table.name}"), table.id)
            state.choose("board", made.id)
            st.rerun()
        if st.button("Import", icon=":material/upload:"):
            handover.bring(table.id)
        if chosen:
            with st.popover("Rename", icon=":material/edit:"):
                st.text_input(
                    "Name of the board", known[chosen].name, key=f"rename-{chosen}", max_chars=120, on_change=rename,
                    args=(chosen,),
                )  # fmt: skip
            sharing.button("boards", chosen, known[chosen].name, [table.id])
            if state.mine("boards", chosen, "delete") and st.button("Delete", icon=":material/delete:"):
                confirm_delete(known[chosen])
    return known.get(chosen)


def rename(identifier: str) -> None:
    """Give a board another name."""
    name = st.session_state[f"rename-{identifier}"].strip()
    if name:
        deck.act(identifier, lambda made: replace(made, name=name))


@st.dialog("Delete this board?")
def confirm_delete(board: Board) -> None:
    """Ask once."""
    st.markdown(f"**{md(board.name)}**, its order, plan and read-out. Segments and models stay.")
    if st.button("Delete board", icon=":material/delete:"):
        with contextlib.suppress(StoreError):  # gone already
            state.workspace().delete("boards", board.id)
        st.query_params.pop("board", None)
        st.session_state.pop("board_id", None)
        st.rerun()


def go_to_a_board() -> None:
    """Show where nobody asked for a table: the one of the board that is asked for, or of the newest one."""
    if "table" in st.query_params or ("table_id" in st.session_state and "board" not in st.query_params):
        return
    known = {board.id: board for board in stored.boards(state.workspace())}
    asked = st.query_params.get("board")
    if known:
        state.choose("table", known[asked if asked in known else next(reversed(known))].table)


go_to_a_board()
table = cards.pick_table()
board = pick_board(table)
refused = st.session_state.pop("board-refused", None)
if refused:
    st.error(md(refused), icon=":material/error:")
if board is None:
    guide.show(True)
    with st.container(border=True):
        st.subheader("Segments", anchor=False)
        library.show(table)
    st.stop()

made = board.read()
try:
    ledger = reach.ledger(table.id, made)
except (TableError, RuleError) as error:
    st.error(md(error), icon=":material/error:")
    st.stop()
deck.funnel(board, made, ledger)
with st.container(horizontal=True, vertical_alignment="center"):
    st.subheader("In this order", anchor=False)
    if st.button("Add a strategy", icon=":material/add:", type="primary"):
        st.session_state.pop("strategy-shown", None)
        deck.add(board)
    if made.strategies and st.button("Plan the experiment", icon=":material/science:"):
        st.switch_page("pages/experiment.py", query_params={"board": board.id})
deck.show(board, made, ledger)
view = st.segmented_control(
    "More", list(VIEWS), default="segments", required=True, format_func=VIEWS.__getitem__, key="strategies-view",
    persist_state="session", label_visibility="collapsed",
)  # fmt: skip
with st.container(border=True):
    if view == "segments":
        library.show(table)
    elif view == "overlap":
        deck.overlaps(board, made, ledger)
    elif view == "scenarios":
        scenarios.show(table, made)
    elif view == "alike":
        handover.alike(board, made)
    else:
        handover.warn(made)
        handover.files(board, made)
guide.show(False)
