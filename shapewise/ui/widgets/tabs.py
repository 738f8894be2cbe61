"""Tabs of which only the open one is drawn."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st


@st.fragment
def show(pages: dict[str, Callable[[], None]], key: str) -> None:
    """Show tabs by their labels; a change of tab draws the one that is opened, and nothing else of the page."""
    for tab, draw in zip(st.tabs(list(pages), key=key, on_change="rerun"), pages.values(), strict=True):
        if tab.open:
            with tab:
                draw()
