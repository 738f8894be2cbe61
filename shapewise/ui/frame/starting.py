"""The frame of a page, with a sentence for the first visitor after a start of the server.

The frame brings all libraries with it: seconds, in which a page would be blank; the outline of one stands there. So
`app.py` and the pages import it from here, before anything else: a deep link may be what a fresh server draws first.
Meanwhile the browser loads what draws curves, which keeps it busy for a second: a chart out of sight asks for it.
"""

from importlib import import_module
from typing import Final

import streamlit as st

from shapewise.ui.session import deployment

STARTING: Final = "Starting Shapewise: loading libraries. Only the first visit after a start of the server waits."
UNSEEN: Final = "<style>.st-key-unseen { display: none; }</style>"

deployment.answer_soon()
place, outline, beside = st.empty(), st.empty(), st.sidebar.empty()
with beside.container():
    st.skeleton(40)
    st.skeleton(320)
with outline.container():
    st.skeleton(44, width=420)
    st.skeleton(280)
with st.spinner(STARTING):
    deployment.wait_until_loaded()
    import_module("gamcore.data.table")  # while the sentence appears: a browser that loads a library shows nothing
    with place.container(key="unseen"):
        st.html(UNSEEN)
        st.plotly_chart({"data": [{"type": "scatter"}]}, key="unseen-curve", alt="Not shown.")
    from shapewise.store.database import reading_once
    from shapewise.ui.frame.page import begin, configure, navigation

for slot in (place, outline, beside):
    slot.empty()

__all__ = ["begin", "configure", "navigation", "reading_once"]
