"""A table to edit that stays in its place while one types, though each edit is stored: only what was changed elsewhere
begins it anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st


@dataclass(frozen=True)
class Begun:
    """An editor on a page.

    first : what it began with, which has to stay as it is, as a browser keeps the edits of it. stored, edited : what
    was stored and what it showed when the page was last drawn. number : of the editor, of all that began here.
    """

    first: pd.DataFrame
    stored: pd.DataFrame
    edited: pd.DataFrame
    number: int


def edit(stored: pd.DataFrame, key: str, **how: Any) -> pd.DataFrame:
    """Show an editor of what is stored, and return it as edited. how : as `st.data_editor` takes it."""
    begun: Begun | None = st.session_state.get(f"{key}-begun")
    if begun is None:
        first, number = stored, 0
    elif widget(key, begun) not in st.session_state:  # it was out of sight, and its edits are gone
        first, number = stored, begun.number
    elif _alike(stored, begun.stored) or _alike(stored, begun.edited):
        first, number = begun.first, begun.number
    else:
        first, number = stored, begun.number + 1
    edited: pd.DataFrame = st.data_editor(first, key=f"{key}-{number}", **how)
    st.session_state[f"{key}-begun"] = Begun(first, stored, edited, number)
    return edited


def widget(key: str, begun: Begun) -> str:
    """Return the key of the editor itself."""
    return f"{key}-{begun.number}"


def _alike(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Return whether two tables show the same: an empty cell is an empty text."""
    shown = [column.astype(object).where(column.notna(), "") for column in (first, second)]
    return bool(shown[0].equals(shown[1]))
