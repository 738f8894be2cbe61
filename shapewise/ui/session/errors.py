"""What a page says when something fails: refusals in their own words, all else by a number that the log knows, too."""

from __future__ import annotations

import logging
import secrets

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from gamcore.data.table import TableError
from gamcore.io.manifest import ModelFileError
from shapewise.errors import StoreError
from shapewise.ui.session.words import md

log = logging.getLogger(__name__)
REFUSED = (StoreError, TableError, ModelFileError)


def tell(error: Exception) -> bool:
    """Say on the page what failed; True, so that streamlit adds nothing of its own."""
    if isinstance(error, REFUSED):
        st.error(md(str(error)), icon=":material/error:")
        return True
    number = secrets.token_hex(4)
    log.error("error %s", number, exc_info=error)
    st.error(
        f"Something went wrong (error {number}). What was stored is as it was; load the page again. "
        "If it fails again, tell whoever runs this server the number: its log has the rest.",
        icon=":material/error:",
    )
    return True


def watch() -> None:
    """Let `tell` speak in this session: of the page's script, and of callbacks and fragments, which run without it."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return
    serving = runtime.get_instance() if runtime.exists() else None
    if type(serving) is not runtime.Runtime:  # a test of a page, which wants to see what was raised
        return
    # Streamlit takes a handler only from apps that are started as its App; the session hands it to each of its runs.
    session = serving._session_mgr.get_session_info(context.session_id)
    if session is not None:
        context.on_script_error = session.session._on_script_error = tell
