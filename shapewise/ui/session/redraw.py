"""A page that is drawn again because of what one of its fragments waits for.

A run of the whole page may be the answer to a press, which Streamlit forgets if that run is cut short before it comes
to the button. So such a run is never cut short by what came to its end meanwhile: the fragment draws nothing, and its
timer asks again in a moment. Nor is it drawn behind an open dialog, which that would close, with what was typed there.
"""

from __future__ import annotations

from typing import Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from shapewise.ui.session import dialogs

SECONDS: Final = 1.0
"""Between two looks at work that goes on: each costs a browser .1 s of a core or more, which the work itself lacks on a
laptop."""


def by_timer() -> None:
    """Draw the whole page again, where a fragment looks by its timer; return in a run of the whole page, and while a
    dialog is open."""
    run = get_script_run_ctx()
    if run is not None and run.fragment_ids_this_run and not dialogs.is_open():
        st.rerun()
