"""What a page says when something fails: a refusal in its own words, anything else by a number found in the log."""

from __future__ import annotations

import logging
import secrets

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from gamcore.data.columns import TableError
from gamcore.io.checks import ModelFileError
from shapewise.errors import StoreError, in_words
from shapewise.ui.session.words import md

log = logging.getLogger(__name__)
REFUSED = (StoreError, TableError, ModelFileError)


def tell(error: Exception) -> bool:
    """Show what failed on the page; return True, so that Streamlit adds nothing."""
    refusal = in_words(error) or error
    if isinstance(refusal, REFUSED):
        st.error(md(str(refusal)), icon=":material/error:")
        return True
    number = secrets.token_hex(4)
    log.error("error %s", number, exc_info=error)
    st.error(
        f"Something went wrong (error {number}). Stored data is unchanged; reload the page. "
        "If it fails again, give this number to whoever runs the server: the log has the details.",
        icon=":material/error:",
    )
    return True


def watch() -> None:
    """Route this session's errors to `tell`: those of the page script, and of callbacks and fragments outside it."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return
    serving = runtime.get_instance() if runtime.exists() else None
    if type(serving) is not runtime.Runtime:  # a page test, which needs the exception itself
        return
    # Streamlit accepts a handler only from apps started as its App; the session passes it to each of its runs.
    session = serving._session_mgr.get_session_info(context.session_id)
    if session is not None:
        context.on_script_error = session.session._on_script_error = tell
