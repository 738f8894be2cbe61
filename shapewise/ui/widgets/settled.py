"""Stored values in widgets: what somebody else has changed reaches the widget, which never writes an old value back."""

from __future__ import annotations

from typing import TypeVar

import streamlit as st

Value = TypeVar("Value")


def begin(key: str, stored: Value) -> str:
    """Give a widget that is about to be drawn the stored value where it has none, or where somebody else has changed
    that since this session saw it; return its key. The widget must have no default of its own.

    What is stored changed elsewhere if it is neither what it was in the last run nor what the widget had then, which
    the last run may have stored.
    """
    seen, had = f"{key}-stored", f"{key}-had"
    session = st.session_state
    if key not in session or stored not in (session.get(seen, stored), session.get(had, stored)):
        session[key] = stored
    session[seen], session[had] = stored, session[key]
    return key
