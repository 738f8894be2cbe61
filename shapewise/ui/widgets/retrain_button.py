"""The button that trains a model again; of one that was edited by hand it asks whether the edits are to be kept."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from shapewise.store.workspace import ModelAbout
from shapewise.ui.session.words import counted

Asked = Literal["", "plain", "with edits"]


def button(model: ModelAbout, label: str, key: str, icon: str, tip: str = "", disabled: bool = False) -> Asked:
    """Show the button, and return what was pressed; "" for nothing. tip : what it does, on hover."""
    if not model.edits:
        pressed = st.button(label, key=key, icon=icon, help=tip or None, disabled=disabled)
        return "plain" if pressed else ""
    with st.popover(label, icon=icon, help=tip or None, disabled=disabled, key=f"{key}-asked"):
        edits = counted(len(model.edits), "edit")
        st.markdown(f"This model has {edits} by hand. Retrain it:")
        kept = st.button("With its edits", key=f"{key}-edits", type="primary", width="stretch",
                         help="Trains the model, then makes the same edits on a copy of it. Those that no longer fit "
                         "are named.")  # fmt: skip
        plain = st.button("Without edits", key=f"{key}-plain", width="stretch")
    return "with edits" if kept else "plain" if plain else ""
