"""Users' own titles for plots, and the notes pinned to them."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shapewise.store.models import MAX_NOTE, ModelAbout
from shapewise.store.names import MAX_NAME
from shapewise.ui.session import state
from shapewise.ui.session.words import md


def headline(model: ModelAbout, plot: str) -> str | None:
    """Return the user's title of a plot; None if it has the automatic one."""
    return model.headlines.get(plot)


def edit(model: ModelAbout, plot: str, read: str, options: DeltaGenerator) -> None:
    """Show fields for the title of a plot (empty: the automatic one) and a note in its options, and the note itself."""
    key = f"headline-{model.id}-{plot}"

    def keep() -> None:
        state.workspace().models.set_headline(model.id, plot, st.session_state[key])

    def pin() -> None:
        state.workspace().models.set_note(model.id, plot, st.session_state[f"note-{key}"])

    note = model.notes.get(plot, "")
    with options.expander("Headline and note", icon=":material/sticky_note_2:" if note else ":material/title:"):
        st.text_input(
            "Say it in your own words", headline(model, plot) or "", key=key, on_change=keep, max_chars=MAX_NAME,
            placeholder=read[:MAX_NAME], help="The title of this plot, here and in files. Empty: the automatic title.",
        )  # fmt: skip
        st.text_area(
            "Note", note, key=f"note-{key}", on_change=pin, max_chars=MAX_NOTE, height=120,
            help="Pinned to this plot, and included in reports. Plain text.",
        )  # fmt: skip
    if note:
        st.caption(f":material/sticky_note_2: {md(note)}")
