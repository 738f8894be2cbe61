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
    value = None
    with contextlib.suppress(StoreError):
        value = state.workspace().drafts.read(kind, identifier)
    _remember(identifier, json.dumps(value))
    return value


def keep(kind: str, identifier: str, value: Any) -> bool:
    """Keep what this person has set of a thing, a plain value, or forget it (None); return whether it is kept: what
    cannot be, as on a full disk, stops nobody.

    Each run of a page may call this: only what differs from what this session last read or kept is written."""
    text = json.dumps(value)
    if st.session_state.get(KEPT, {}).get(identifier) == text:
        return True
    try:
        state.workspace().drafts.keep(kind, identifier, value)
    except StoreError:
        return False
    _remember(identifier, text)
    return True


def _remember(identifier: str, text: str) -> None:
    st.session_state[KEPT] = {**st.session_state.get(KEPT, {}), identifier: text}
