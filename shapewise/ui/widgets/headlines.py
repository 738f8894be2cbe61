"""What people call a plot instead of what it says by itself, and the notes that they pin to it."""

from __future__ import annotations

import streamlit as st

from shapewise.store.models import MAX_NOTE, ModelAbout
from shapewise.store.names import MAX_NAME
from shapewise.ui.session import state
from shapewise.ui.session.words import md


def of(model: ModelAbout, plot: str) -> str | None:
    """Return the title that a person gave a plot; None where it has its own."""
    return model.headlines.get(plot)


def edit(model: ModelAbout, plot: str, read: str) -> None:
    """Fields for the title of a plot, empty for what it says by itself, and for a note; the note that there is."""
    key = f"headline-{model.id}-{plot}"

    def keep() -> None:
        state.workspace().models.set_headline(model.id, plot, st.session_state[key])

    def pin() -> None:
        state.workspace().models.set_note(model.id, plot, st.session_state[f"note-{key}"])

    note = model.notes.get(plot, "")
    with st.popover(
        "Headline and note", icon=":material/sticky_note_2:" if note else ":material/title:", type="tertiary"
    ):
        st.text_input(
            "Say it in your own words", of(model, plot) or "", key=key, on_change=keep, max_chars=MAX_NAME,
            placeholder=read[:MAX_NAME], help="The title of this plot, here and in files. Empty: the automatic title.",
        )  # fmt: skip
        st.text_area(
            "Note", note, key=f"note-{key}", on_change=pin, max_chars=MAX_NOTE, height=120,
            help="Pinned to this plot: it stands here and goes into reports, as plain text.",
        )  # fmt: skip
    if note:
        st.caption(f":material/sticky_note_2: {md(note)}")
