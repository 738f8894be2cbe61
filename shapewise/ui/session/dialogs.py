"""Dialogs, for which the page behind them waits: to draw it again would close them, with what was typed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, Literal, ParamSpec

import streamlit as st

IS_OPEN: Final = "_dialog_is_open"

P = ParamSpec("P")


def dialog(title: str, width: Literal["small", "large"] = "small") -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Return a decorator: what a function draws is in a dialog, which is open until it is dismissed or the whole page
    runs."""

    def decorate(body: Callable[P, None]) -> Callable[P, None]:
        draw = st.dialog(title, width=width, on_dismiss=closed)(body)

        @wraps(body)
        def show(*args: P.args, **kwargs: P.kwargs) -> None:
            st.session_state[IS_OPEN] = True
            draw(*args, **kwargs)

        return show

    return decorate


def closed() -> None:
    """Note that no dialog is open: it was dismissed, or the whole page runs."""
    st.session_state.pop(IS_OPEN, None)


def is_open() -> bool:
    """Return whether a dialog is open."""
    return IS_OPEN in st.session_state
