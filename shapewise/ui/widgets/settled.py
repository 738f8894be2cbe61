"""Stored values in widgets: what somebody else has changed reaches the widget, which never writes an old value back."""

from __future__ import annotations

from typing import TypeVar

import streamlit as st

Value = TypeVar("Value")


def begin(key: str, stored: Value) -> str:
    """Give a widget that is about to be drawn the stored value where it has none, or where that has changed since this
    session saw it; return its key. The widget must have no default of its own."""
    seen = f"{key}-stored"
    if key not in st.session_state or st.session_state.get(seen) != stored:
        st.session_state[key] = stored
    st.session_state[seen] = stored
    return key
