"""Deletions are undone: at once, above the page where something was deleted, and from a list for seven days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from shapewise.errors import StoreError
from shapewise.store.deletions import Deletion, bring_back, deletions
from shapewise.store.items import KINDS
from shapewise.ui.session import state
from shapewise.ui.session.words import date, md

LAST: Final = "last-deleted"
REFUSED: Final = "not-brought-back"
MOST: Final = 50
IN_ADDRESS: Final = {"tables": "table", "models": "model", "boards": "board"}
"""Kinds of things that a page shows by their id in its address."""


@dataclass(frozen=True)
class _Last:
    """What this session deleted last. page : where; empty until a page has offered to undo it."""

    kind: str
    id: str
    name: str
    page: str = ""


def delete(kind: str, identifier: str, name: str) -> None:
    """Delete a thing, which the next page drawn offers to undo; StoreError if that is not allowed or it is gone."""
    state.workspace().delete(kind, identifier)
    deleted(kind, identifier, name)


def deleted(kind: str, identifier: str, name: str) -> None:
    """Let the next page drawn offer to bring a thing back that was deleted."""
    st.session_state[LAST] = _Last(kind, identifier, name)


def offer() -> None:
    """Offer, above the page where something was deleted, to bring it back; until another page is opened."""
    if refused := st.session_state.pop(REFUSED, None):
        st.error(md(refused), icon=":material/error:")
    last: _Last | None = st.session_state.get(LAST)
    if last is None:
        return
    context = get_script_run_ctx()
    page = context.page_script_hash if context else ""
    if last.page not in ("", page):
        del st.session_state[LAST]
        return
    st.session_state[LAST] = replace(last, page=page)
    with st.container(key="undo", border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/delete: {KINDS[last.kind].capitalize()} **{md(last.name)}** was deleted.", width="stretch"
        )
        st.button("Undo", key="undo-last", icon=":material/undo:", on_click=_bring_back, args=(last.kind, last.id))
        st.button("", key="undo-close", icon=":material/close:", type="tertiary", help="Leave it deleted",
                  on_click=_forget)  # fmt: skip


def show(gone: Sequence[Deletion], owners: Mapping[str, str] | None = None) -> None:
    """List what can be brought back, with a button each. owners : names of people by id, where things of several are
    listed."""
    for kept in gone[:MOST]:
        whose = "" if owners is None else f" of {md(owners.get(kept.owner, kept.owner))}"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"{kept.what.capitalize()} **{md(kept.name)}**{whose}, deleted {date(kept.at)}")
            st.button("Restore", key=f"back-{kept.id}", type="tertiary", icon=":material/undo:", on_click=_bring_back,
                      args=(kept.kind, kept.id))  # fmt: skip


def recent() -> None:
    """Show what this person deleted in the last week, if anything, one press away."""
    if gone := deletions(state.workspace()):
        with st.expander("Recently deleted", icon=":material/restore_from_trash:"):
            st.caption("Kept for seven days.")
            show(gone)


def _bring_back(kind: str, identifier: str) -> None:
    try:
        bring_back(state.workspace(), identifier)
    except StoreError as error:
        st.session_state[REFUSED] = str(error)
        return
    _forget()
    if kind in IN_ADDRESS:
        st.query_params[IN_ADDRESS[kind]] = identifier


def _forget() -> None:
    st.session_state.pop(LAST, None)
