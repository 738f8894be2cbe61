"""Sharing of objects with named users, in a workspace shared by a team."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import streamlit as st

from shapewise.access.permissions import Level
from shapewise.access.quotas import is_shared
from shapewise.errors import StoreError
from shapewise.store.workspace import KINDS
from shapewise.ui.session import dialogs, state
from shapewise.ui.session.words import md

WORDS: dict[Level, str] = {"view": "view it", "edit": "view and change it"}


def button(kind: str, identifier: str, name: str, tables: Sequence[str] = ()) -> None:
    """Show the Share button to users who may share an object.

    tables : of a model, which can be shared with it; of a board, which always are.
    """
    if is_shared() and state.mine(kind, identifier, "share") and st.button("Share", icon=":material/group:"):
        _dialog(kind, identifier, name, tuple(tables))


def of_whom(kind: str, identifier: str) -> None:
    """Show who shared an object with the user, and what the user may do with it."""
    if not is_shared() or state.mine(kind, identifier, "share"):
        return
    may: Literal["change", "view"] = "change" if state.mine(kind, identifier) else "view"
    st.caption(
        f":material/group: Shared with you by {md(state.workspace().sharing.owner_name(kind, identifier))}, to {may}."
    )


@dialogs.dialog("Share")
def _dialog(kind: str, identifier: str, name: str, tables: tuple[str, ...]) -> None:
    space = state.workspace()
    st.markdown(f"**{md(name)}** is visible to you, administrators and the people you add here.")
    shared = space.sharing.people(kind, identifier)
    for who, (called, level) in sorted(shared.items(), key=lambda member: member[1]):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/person: {md(called)} may {WORDS[level]}")
            st.button("Revoke", key=f"unshare-{who}", type="tertiary",
                      on_click=partial(space.sharing.share, kind, identifier, who, None))  # fmt: skip
    own = [table for table in tables if table and state.mine("tables", table, "share")]
    if any(set(shared) & set(space.sharing.people("tables", table)) for table in own):
        st.caption("Revoking access does not unshare its table: do that on the page Data.")
    with st.form("share", border=False, clear_on_submit=True):
        who = st.text_input("With whom", placeholder="The name or e-mail address they sign in with")
        level = st.segmented_control(
            "They may", list(WORDS), default="view", required=True, format_func=WORDS.__getitem__
        )
        with_table = kind == "boards" and bool(own)
        if with_table:
            st.caption("Its table is also shared, for viewing: a board counts its rows.")
        elif own:
            with_table = st.checkbox(
                "With its table", value=True,
                help="Without it, they see only the curves; with it, also its rows and the held-out metrics.",
            )  # fmt: skip
        if not st.form_submit_button(f"Share the {KINDS[kind]}", type="primary"):
            return
    try:
        space.sharing.share(kind, identifier, who, level)
        for table in own if with_table else ():
            space.sharing.share("tables", table, who, "view")
    except StoreError as error:
        st.error(md(error), icon=":material/error:")
        return
    st.rerun(scope="fragment")
