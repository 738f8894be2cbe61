"""What a person has set and not stored yet: it outlives a reload and the server, and another tab finds it."""

from __future__ import annotations

import contextlib
import json
from typing import Any, Final

import streamlit as st

from shapewise.store.workspace import StoreError
from shapewise.ui.session import state

KEPT: Final = "drafts-kept"


def read(kind: str, identifier: str) -> Any:
    """Return what this person has set of a thing, in whatever tab last; None where there is nothing, or no such
    thing."""
    with contextlib.suppress(StoreError):
        return state.workspace().drafts.read(kind, identifier)
    return None


def keep(kind: str, identifier: str, value: Any) -> None:
    """Keep what this person has set of a thing, a plain value, or forget it (None).

    Each run of a page may call this: only what differs from what this session last kept is written. What cannot be
    kept, as on a full disk, stops nobody."""
    text, kept = json.dumps(value), st.session_state.get(KEPT, {})
    if kept.get(identifier) == text:
        return
    with contextlib.suppress(StoreError):
        state.workspace().drafts.keep(kind, identifier, value)
        st.session_state[KEPT] = {**kept, identifier: text}
