"""A number with its name above and a note below, as pages show them side by side."""

from __future__ import annotations

from streamlit.delta_generator import DeltaGenerator

from gamcore.decide.results import Result
from shapewise.ui.session.words import md


def tile(row: DeltaGenerator, name: str, value: str, note: str, hint: str | None = None, border: bool = True) -> None:
    """Show a number. note : a grey line below it. hint : what it means, on hover."""
    row.metric(
        name, value, note, delta_color="off", delta_arrow="off", help=hint, border=border, height="stretch"
    )  # fmt: skip


def result(row: DeltaGenerator, name: str, shown: Result, hint: str | None = None, border: bool = True) -> None:
    """Show a result: the number and its interval; where it comes from begins the hint, as a tile is narrow."""
    note = (shown.ends or shown.grounds) if shown.is_known else ""
    grounds = f"{shown.grounds[:1].upper()}{shown.grounds[1:]}. " if shown.is_known else ""
    tile(row, name, md(shown.text), md(note), hint=f"{md(grounds)}{hint or ''}".strip() or None, border=border)
