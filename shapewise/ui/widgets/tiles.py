"""A number with its name above and a note below, as pages show them side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gamcore.decide.results import Result
from shapewise.ui.session.words import md

GAP: Final = 16
"""Pixels between two tiles."""


def places(n: int, least: int) -> Iterator[DeltaGenerator]:
    """Yield where each of n tiles goes, side by side as far as there is room. Four stand in one row, in two rows of
    two, or one below another: three and one would leave a gap. least : pixels of a tile."""
    if n != 4:
        row = st.grid(n, min_column_width=least)
        yield from [row] * n
        return
    pairs = st.grid(2, min_column_width=2 * least + GAP, gap=GAP)
    for _ in range(2):
        pair = pairs.grid(2, min_column_width=least, gap=GAP, height="stretch")
        yield from (pair, pair)


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
