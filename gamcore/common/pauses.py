"""Where work on a whole table may end early: between two columns, rows or pieces of it, never within one.

Whoever waits for it says when, by a function that raises; so nothing stays locked or half made.
"""

from __future__ import annotations

from collections.abc import Callable


def _go_on() -> None:
    """Go on: nobody has said otherwise."""


_look: Callable[[], None] = _go_on


def call(look: Callable[[], None] = _go_on) -> None:
    """From now on, call this at every pause, in whichever thread works; it raises where the work is to end."""
    global _look
    _look = look


def pause() -> None:
    """Say that work may end here."""
    _look()
