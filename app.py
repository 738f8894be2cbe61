"""Shapewise: `streamlit run app.py`, or `python app.py` for a server."""

import importlib
import sys

import streamlit as st

from shapewise.ui.session import deployment

FRAME = "shapewise.ui.session.frame"
"""It brings all libraries with it: the first visitor after a start waits for them, and is told so."""

if deployment.is_launched_bare():
    deployment.launch(__file__, sys.argv[1:])
else:
    if FRAME not in sys.modules:
        with st.spinner("Starting: the first page after a start of the server takes a few seconds."):
            importlib.import_module(FRAME)
    from shapewise.ui.session.frame import configure, navigation

    configure()
    navigation().run()
