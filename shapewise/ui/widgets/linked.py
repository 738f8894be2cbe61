"""A choice that the address holds: a link can make it, and a reload finds it again."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st


def begin(name: str, options: Sequence[str], key: str) -> str:
    """Give a widget that is about to be drawn what the address asks for, if this session has not written that itself;
    the first option where it has none of them. Return its key. The widget must have no default of its own."""
    session, asked = st.session_state, st.query_params.get(name)
    if asked in options and asked != session.get(f"{key}-written"):
        session[key] = asked
    elif session.get(key) not in options:
        session[key] = options[0]
    return key


def write(name: str, key: str) -> None:
    """Write into the address what has been chosen."""
    st.query_params[name] = st.session_state[f"{key}-written"] = st.session_state[key]
