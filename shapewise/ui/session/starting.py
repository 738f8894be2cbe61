"""The frame of a page, with a sentence for the first visitor after a start of the server.

The frame brings all libraries with it: seconds, in which a page would be blank. So `app.py` and the pages import it
from here, before anything else: a deep link may be what a fresh server draws first.
"""

from typing import Final

import streamlit as st

STARTING: Final = "Starting Shapewise: loading libraries. Only the first visit after a start of the server waits."

with st.spinner(STARTING):
    from shapewise.ui.session.frame import begin, configure, navigation

__all__ = ["begin", "configure", "navigation"]
