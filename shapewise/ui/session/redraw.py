"""A page that is drawn again because of what one of its fragments waits for.

A run of the whole page may be the answer to a press, which Streamlit forgets if that run is cut short before it comes
to the button. So such a run is never cut short by what came to its end meanwhile: the fragment draws nothing, and its
timer asks again in a moment.
"""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


def by_timer() -> None:
    """Draw the whole page again, where a fragment looks by its timer; in a run of the whole page, return."""
    run = get_script_run_ctx()
    if run is not None and run.fragment_ids_this_run:
        st.rerun()
