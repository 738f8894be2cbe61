"""The user of this session: the only user of a single-user app, or whom the sign-in or the proxy names."""

from __future__ import annotations

import hmac
import os
import time
from typing import Final, NoReturn

import streamlit as st

from shapewise.access.permissions import Person
from shapewise.store import people
from shapewise.store.workspace import Workspace
from shapewise.ui.session import deployment
from shapewise.ui.session.words import md

FRESH_SECONDS: Final = 2.0
"""How long a revoked role stays valid at most."""


def person(space: Workspace) -> Person:
    """Return the user; one who has not signed in sees only how to, and the page stops."""
    alone = people.alone()
    if alone is not None:
        return alone
    known = _id_and_name()
    if known is None:
        _ask()
    identifier, name = known
    seen = st.session_state.get("_person")
    if seen is not None and seen[0] == identifier and time.monotonic() - seen[2] < FRESH_SECONDS:
        return Person(identifier, seen[1], seen[3])
    if seen is None or seen[0] != identifier:
        member = people.arrive(space, identifier, name)
    else:
        member = people.now(space, identifier) or people.arrive(space, identifier, name)
    st.session_state["_person"] = (member.id, member.name, time.monotonic(), member.role)
    return member


def _id_and_name() -> tuple[str, str] | None:
    """Return id and name from the sign-in or the proxy; None without either, or without the proxy's secret."""
    if not is_from_proxy(st.context.headers.get("X-Proxy-Secret", "")):
        return None
    claims = st.user.to_dict()
    if claims.get("is_logged_in") is False:
        return None
    return people.told_by(claims)


def is_from_proxy(sent: str) -> bool:
    """Return whether a request carries the proxy's secret; True if none is configured."""
    secret = os.environ.get("GAMCORE_PROXY_SECRET", "")
    return not secret or hmac.compare_digest(sent.encode(errors="replace"), secret.encode())


def _ask() -> NoReturn:
    """Show how to sign in: a button if this server handles sign-in itself."""
    with st.container(border=True, horizontal_alignment="center"):
        st.markdown(
            ":material/lock: &nbsp; This workspace is shared by a team. Sign in to see your work.", width="content"
        )
        if deployment.auth():
            st.button("Sign in", type="primary", on_click=st.login)
        else:
            st.caption(
                "You are not signed in: the proxy in front of this server passed no user. Use the address that "
                "you were given."
            )
    st.stop()


def menu(member: Person) -> None:
    """Show the user below the menu, with the sign-out button."""
    with st.sidebar:
        st.caption(f":material/person: {md(member.name)} · {member.role}")
        if "is_logged_in" in st.user.to_dict():
            st.button("Sign out", on_click=st.logout, type="tertiary", icon=":material/logout:")
