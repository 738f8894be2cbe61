"""Questions about the roles of a table's columns, answered with one press and kept with the table."""

from __future__ import annotations

from typing import Final

import streamlit as st

from shapewise.columns.roles import ONCE, Role
from shapewise.store.workspace import TableAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import md

ASKED: Final[dict[str, str]] = {
    "target": "Which column is to be predicted?",
    "arm": "Which column says who got what?",
    "exposure": "Is one of these how much there was to observe in each row?",
}


def ask(table: TableAbout, role: Role, field: str = "") -> bool:
    """Show the question about a role with its likeliest answers; return whether there is one.

    field : key of the field beside it, which gets the answer.
    """
    question = state.roles(table.id).question(role)
    if question is None:
        return False
    names, may = state.names(table.id), state.mine("tables", table.id)
    st.markdown(f":material/help: **{ASKED[role]}**")
    for guess in question.answers:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                names.column(guess.column), key=f"ask-{role}-{table.id}-{guess.column}", disabled=not may,
                on_click=_answer, args=(table, guess.column, role, field),
            )  # fmt: skip
            st.caption(md(guess.why[:1].upper() + guess.why[1:]))
    return True


def _answer(table: TableAbout, column: str, role: Role, field: str) -> None:
    """Keep an answer with the table. A role that only one column can have moves to it."""
    before = [name for name, own in table.roles.items() if own == role and role in ONCE and name != column]
    state.workspace().tables.change_roles(table.id, {**dict.fromkeys(before), column: role})
    if field:
        st.session_state[field] = column
