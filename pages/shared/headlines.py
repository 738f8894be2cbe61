"""What people call a plot instead of what it says by itself."""

from __future__ import annotations

import streamlit as st

from gamcore.workspace.store import MAX_NAME, ModelAbout
from pages.shared import state


def of(model: ModelAbout, plot: str) -> str | None:
    """The title of a plot in somebody's words; None for what it says by itself."""
    return model.headlines.get(plot)


def edit(model: ModelAbout, plot: str, read: str) -> None:
    """A field for the title of a plot; empty for what the plot says by itself."""
    key = f"headline-{model.id}-{plot}"

    def keep() -> None:
        state.workspace().set_headline(model.id, plot, st.session_state[key])

    with st.popover("Headline", icon=":material/title:", type="tertiary"):
        st.text_input(
            "Say it in your own words", of(model, plot) or "", key=key, on_change=keep, max_chars=MAX_NAME,
            placeholder=read[:MAX_NAME], help="The title of this plot, here and in files. Empty: what the curve says.",
        )  # fmt: skip
