"""Numbers and names in reports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from gamcore.decide.results import Result
from gamcore.viz.files.parts import KeyFigure


def figure(result: Result, label: str) -> KeyFigure:
    """Return a number in large print, with its interval below: of 95%, or of what is assumed."""
    ends = f"{result.ends} if the assumed lifts hold" if result.source == "assumed" else f"95% interval {result.ends}"
    return KeyFigure(result.text, ends, label)


def in_order(names: Sequence[str]) -> str:
    """Return names in words, where the order counts."""
    return ", then ".join(names)


def day(when: date) -> str:
    """Return a day: 1 December 2026."""
    return f"{when.day} {when:%B %Y}"
