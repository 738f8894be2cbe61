"""What was edited by hand, on the Models page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from gamcore.additions.editing.edits import edit_of
from gamcore.estimators.base import loss_of
from shapewise.additions.editing.words import in_words
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import md


def draw(model: ModelAbout) -> None:
    """Show the edits of a model, and why each was made."""
    around = ", and what was not edited was refit around it" if model.learnt_around else ""
    origin = f", from **{md(model.edited_from_name)}**" if model.edited_from_name else ""
    st.markdown(f":material/edit: Edited by hand{origin}{around}:")
    edits = [edit_of(plain) for plain in model.edits]
    words, unit = in_words(edits, loss_of(state.estimator(model.id)), state.names_of(model))
    st.dataframe(
        pd.DataFrame({f"Edit ({unit})" if unit else "Edit": words, "Why": [edit.reason for edit in edits]}),
        hide_index=True, alt="The edits of the model, the first one first.",
    )  # fmt: skip
