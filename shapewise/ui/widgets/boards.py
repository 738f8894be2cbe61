"""The board in view, on the pages that work on one."""

from __future__ import annotations

from typing import Final, NoReturn

import streamlit as st

from shapewise.decisions import boards as stored
from shapewise.decisions.boards import Board
from shapewise.store.history import departed
from shapewise.ui.session import current, state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import date, md, told_apart
from shapewise.ui.widgets import cards, meanwhile

BOARD: Final = "board_id"


def no_strategy() -> NoReturn:
    """Show that the board in view is empty, and where it gets its first strategy. Ends the page."""
    cards.empty("low_priority", "The board has no strategy yet.", "Add one", "strategies")


def open_board(identifier: str) -> None:
    """Put a board in view."""
    st.session_state[BOARD] = identifier
    if st.query_params.get("board") != identifier:
        st.query_params["board"] = identifier


def boards_in_view() -> tuple[InView, dict[str, Board]]:
    """Return what is in view, and the boards of the project by id, the newest last; a link to a board opens its
    project. Ends the page where what was asked for is not there."""
    every = {board.id: board for board in stored.boards(state.workspace())}
    asked = st.query_params.get("board")
    if asked and asked != st.session_state.get(BOARD):
        if asked not in every:
            cards.missing(current.in_view(), departed(state.workspace(), "boards", asked))
        open_board(asked)
        now = current.in_view()
        if now.project is None or now.project.table(every[asked].table) is None:
            current.open_table(every[asked].table)
            st.rerun()  # the sidebar is drawn already
    elif asked and asked not in every:  # deleted in another tab while this one had it in view
        meanwhile.gone("boards", asked)
        del st.query_params["board"], st.session_state[BOARD]
    now = current.in_view()
    if now.missing is not None:
        cards.missing(now)
    here = {table.id for table in now.project.tables} if now.project else set()
    return now, {board.id: board for board in every.values() if board.table in here}


def pick(boards: dict[str, Board]) -> Board:
    """Choose among the boards of a project, of which there is at least one; one alone is named, and no choice."""
    kept = st.session_state.get(BOARD)
    last = kept if kept in boards else next(reversed(boards))
    labels = told_apart({i: f"{board.name} ({date(board.created)})" for i, board in boards.items()})
    if len(boards) == 1:
        st.markdown(f"**{md(boards[last].name)}**", width="content")
        open_board(last)
        return boards[last]
    chosen = st.selectbox("Board", list(boards), list(boards).index(last), format_func=labels.__getitem__)
    open_board(chosen)
    return boards[chosen]
