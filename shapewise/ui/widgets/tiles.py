"""A number with its name above and a note below, as pages show them side by side."""

from __future__ import annotations

from streamlit.delta_generator import DeltaGenerator

from gamcore.decide.results import Result
from shapewise.ui.session.words import md


def tile(row: DeltaGenerator, name: str, value: str, note: str, hint: str | None = None, border: bool = True) -> None:
    """Show a number. note : a grey line below it. hint : what it means, on hover."""
    row.metric(
        name, value, note, delta_color="off", delta_arrow="off", help=hint, border=border
    )  # fmt: skip


def result(row: DeltaGenerator, name: str, shown: Result, hint: str | None = None, border: bool = True) -> None:
    """Show a result: the number, its interval, and where it comes from."""
    note = [shown.ends, shown.grounds] if shown.is_known else []
    tile(row, name, md(shown.text), md(" · ".join(text for text in note if text)), hint=hint, border=border)
