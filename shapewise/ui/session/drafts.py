"""What a person has set and not stored yet, kept by the server: it outlives a reload, and another tab finds it. The
server forgets it when it ends, and the longest unused first."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from shapewise.ui.session import state

VALUE: Final = "value"


@st.cache_resource(show_spinner=False, max_entries=1_000)
def _kept(root: str, person: str, name: str) -> dict[str, Any]:
    """Return the place for a draft: the same at each call."""
    return {}


def _place(name: str) -> dict[str, Any]:
    space = state.workspace()
    return _kept(str(space.root), space.person.id, name)


def read(name: str) -> Any:
    """Return what this person has set under a name, in whatever tab last; None where there is nothing. Never change
    it."""
    return _place(name).get(VALUE)


def keep(name: str, value: Any) -> None:
    """Keep what this person has set under a name."""
    _place(name)[VALUE] = value
