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


def ask(table: TableAbout, role: Role) -> bool:
    """Show the question about a role with its likeliest answers; return whether there is one."""
    question = state.roles(table.id).question(role)
    if question is None:
        return False
    names, may = state.names(table.id), state.mine("tables", table.id)
    st.markdown(f":material/help: **{ASKED[role]}**")
    for guess in question.answers:
        with st.container(horizontal=True, vertical_alignment="center"):
            pressed = st.button(
                names.column(guess.column), key=f"ask-{role}-{table.id}-{guess.column}", disabled=not may
            )
            st.caption(f"{md(guess.why)}".capitalize() if guess.why else "")
        if pressed:
            choose(table, guess.column, role)
            st.rerun()
    return True


def choose(table: TableAbout, column: str, role: Role | None) -> None:
    """Keep a column's role with the table, None for what is guessed. One that only one column can have moves to it."""
    before = [name for name, one in table.roles.items() if one == role and one in ONCE and name != column]
    state.workspace().tables.change_roles(table.id, {**dict.fromkeys(before), column: role})
