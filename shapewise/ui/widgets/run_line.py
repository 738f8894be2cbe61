"""A run that a page waits for, in one line."""

from __future__ import annotations

import streamlit as st

from shapewise.store.workspace import StoreError
from shapewise.training import runs
from shapewise.ui.session import redraw, state


@st.fragment(run_every=redraw.SECONDS)
def show(identifier: str, what: str, failed: str) -> None:
    """Show how far a run is, and rerun the page when it has its model, or its parts, or has ended.

    what : the run does, in Markdown. failed : the key of the session under which why it failed is left for the page.
    """
    try:
        run = runs.read(state.workspace(), identifier)
    except StoreError:
        redraw.by_timer()
        return
    is_trained = bool(run.model) and not run.column  # parts have the model that they are of from the start
    if is_trained or not run.goes_on:
        if run.message and not is_trained:
            st.session_state[failed] = run.message[:600]
        redraw.by_timer()
        return
    stage = "waiting" if run.state == "queued" else run.standing.stage
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/progress_activity: {what}: {stage}.")
        if st.button("Cancel", icon=":material/cancel:", type="tertiary", key=f"cancel-{identifier}"):
            runs.cancel(state.workspace(), identifier)
