"""From curves to decisions: segments, ordered strategies, and the rows that each reaches."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

import contextlib
from dataclasses import asdict, replace

import streamlit as st

from gamcore.data.columns import TableError
from gamcore.decide.rules import RuleError
from gamcore.decide.strategies import StrategySet
from shapewise.decisions import boards as stored
from shapewise.decisions.boards import Board
from shapewise.store.workspace import StoreError
from shapewise.ui.decide import board as deck
from shapewise.ui.decide import export as handover
from shapewise.ui.decide import prices
from shapewise.ui.decide import segments as library
from shapewise.ui.explain import scenarios
from shapewise.ui.session import dialogs, state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import boards, cards, guide, meanwhile, panels, reach, sharing, undo

VIEWS = {
    "segments": "Segments", "overlap": "Overlap", "scenarios": "Across models", "alike": "Reach by group",
    "files": "Export",
}  # fmt: skip

bar = begin("Strategies", "Who gets which message, in what order, and how many customers that reaches.", choices=True)
now, known = boards.boards_in_view()
if now.table is None:
    guide.show(True)
table = cards.table_in_view()


def acts(board: Board | None) -> None:
    """Show what can be done with the board in view, and how another is made."""
    if st.button("New board", icon=":material/add:", type="secondary" if board else "primary", key="new-board"):
        new_board = stored.add_board(state.workspace(), StrategySet(f"Strategies for {table.name}"), table.id)
        boards.open_board(new_board.id)
        st.rerun()
    if st.button("Import", icon=":material/upload:"):
        handover.bring(table.id)
    if board is None:
        return
    with st.popover("Rename", icon=":material/edit:"):
        st.text_input(
            "Name of the board", board.name, key=f"rename-{board.id}", max_chars=120, on_change=rename,
            args=(board,),
        )  # fmt: skip
    with st.popover("Money", icon=":material/payments:"):
        outcomes = list(dict.fromkeys(strategy.metric for strategy in board.read().strategies))
        prices.edit(board.table, outcomes, f"board-{board.id}")
        st.caption("Kept with the project. A strategy with a value or a cost of its own keeps that.")
    sharing.button("boards", board.id, board.name, [board.table])
    if state.mine("boards", board.id, "delete") and st.button("Delete", icon=":material/delete:"):
        confirm_delete(board)


def rename(board: Board) -> None:
    """Give a board another name, unless somebody else has done so since it was shown."""
    name = st.session_state[f"rename-{board.id}"].strip()

    def renamed(current_set: StrategySet) -> StrategySet:
        if current_set.name != board.name:
            raise StoreError(f"The board was renamed elsewhere: it is called {current_set.name} now.")
        return replace(current_set, name=name)

    if name:
        deck.act(board.id, renamed)


@dialogs.dialog("Delete this board?")
def confirm_delete(board: Board) -> None:
    """Confirm before deleting."""
    st.markdown(
        f"**{md(board.name)}**, its order, plan and read-out. Segments and models stay. It can be brought back for "
        "seven days."
    )
    if st.button("Delete board", icon=":material/delete:"):
        with contextlib.suppress(StoreError):  # gone already
            undo.delete("boards", board.id, board.name)
        st.query_params.pop("board", None)
        st.session_state.pop("board_id", None)
        st.rerun()


with bar:
    board = boards.pick(known) if known else None
    if board is None:
        acts(board)
refused = st.session_state.pop("board-refused", None)
if refused:
    st.error(md(refused), icon=":material/error:")
if board is not None:
    meanwhile.look("boards", asdict(board), ("name", "strategies"))
if board is None:
    guide.show(True)
    with st.container(border=True):
        st.subheader("Segments", anchor=False)
        library.show(table)
    panels.show("strategies")
    st.stop()

strategy_set = board.read()
try:
    ledger = reach.ledger(board.table, strategy_set)
except (TableError, RuleError) as error:
    st.error(md(error), icon=":material/error:")
    st.stop()
with bar:
    if st.button("Add a strategy", icon=":material/add:", type="primary"):
        st.session_state.pop("strategy-shown", None)
        deck.add(board)
    if stored.recent(board):
        st.button(
            "Undo last change", key=f"undo-{board.id}", icon=":material/undo:", on_click=deck.undo,
            args=(board.id, stored.recent(board)[-1]["changed"]),
            help="Of the name, the order or a strategy, for seven days",
        )  # fmt: skip
    if strategy_set.strategies and st.button("Plan the experiment", icon=":material/science:"):
        st.switch_page("pages/experiment.py", query_params={"board": board.id})
    with st.popover("Board", icon=":material/more_horiz:"):
        deck.change_gate(board, strategy_set)
        acts(board)
deck.funnel(board, strategy_set, ledger)
deck.show(board, strategy_set, ledger)
if st.query_params.pop("segment", None):  # a link leads to one
    st.session_state.pop("strategies-view", None)
view = st.segmented_control(
    "More", list(VIEWS), default="segments", required=True, format_func=VIEWS.__getitem__, key="strategies-view",
    persist_state="session", label_visibility="collapsed",
)  # fmt: skip
with st.container(border=True):
    if view == "segments":
        library.show(table)
    elif view == "overlap":
        deck.overlaps(board, strategy_set, ledger)
    elif view == "scenarios":
        scenarios.show(table, strategy_set)
    elif view == "alike":
        handover.alike(board, strategy_set)
    else:
        handover.warn(strategy_set, state.names(board.table))
        handover.files(board, strategy_set)
panels.show("strategies")
guide.show(False)
