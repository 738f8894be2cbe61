"""What is told about something done, by the run that stays on the screen.

A browser may take a toast and the rerun after it at once, and then never draws the toast. So a page that goes elsewhere
next leaves its sentence here, and the next run that draws a page shows it.
"""

from __future__ import annotations

import streamlit as st

WAITING = "news"


def tell(sentence: str, icon: str = ":material/info:") -> None:
    """Have a sentence shown, in Markdown, when a page is next drawn."""
    st.session_state[WAITING] = [*st.session_state.get(WAITING, []), (sentence, icon)]


def show() -> None:
    """Show what waits, once."""
    for sentence, icon in st.session_state.pop(WAITING, []):
        st.toast(sentence, icon=icon)
