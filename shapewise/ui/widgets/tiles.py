"""A number with its name above and a note below, as pages show them side by side."""

from __future__ import annotations

from math import ceil
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gamcore.decide.results import Result
from shapewise.ui.session.words import md

LEAST: Final = 160
"""Pixels of a tile."""

ROOMY: Final = 190
"""Pixels of a tile from which on its number is as large as the theme has it."""

GAP: Final = 16
"""Pixels between two tiles."""

MOST: Final = 5
"""Tiles in a row."""

FIRST: Final = "> .stElementContainer:first-child > .stMetric"
ROW: Final = f".stHorizontalBlock:has({FIRST})"
"""What begins with a tile is a row of them."""


def _style() -> str:
    """Return the styles by which tiles fill each row, as evenly as there is room: five stand as five, three and two, or
    two, two and one, four never as three and one."""
    rules = [
        f"[data-testid='stLayoutWrapper']:has(> .stHorizontalBlock {FIRST}) "
        "{ container-type: inline-size; width: 100%; }",
        f"{ROW} {{ align-items: stretch; gap: {GAP}px; }}",
        f"{ROW} > * {{ min-width: 0; }}",
        f"{ROW} [data-testid='stMetricValue'] {{ font-size: var(--figure, 1.75rem); }}",
        f"{ROW} [data-testid='stMetricDelta'] * {{ white-space: normal; }}",
    ]
    for n in range(1, MOST + 1):
        of_n = f"{ROW}:has(> :nth-child({n}):last-child) > *"
        for room in range(n, 0, -1):
            columns = ceil(n / ceil(n / room))
            share = f"calc((100% - {(columns - 1) * GAP}px) / {columns} - 0.5px)"
            rule = f"{of_n} {{ flex: 1 1 {share}; --figure: initial; }}"
            rules.append(rule if room == n else _below(room + 1, LEAST, rule))
            rules.append(_below(columns, ROOMY, f"{of_n} {{ --figure: 1.375rem; }}"))
    return "\n".join(rules)


def _below(n: int, width: int, rule: str) -> str:
    """Return a rule for where there is no room for n tiles of a width side by side."""
    return f"@container (max-width: {n * width + (n - 1) * GAP - 1}px) {{ {rule} }}"


STYLE: Final = _style()


def row() -> DeltaGenerator:
    """Make room for tiles side by side, as far as there is any."""
    return st.container(horizontal=True)


def tile(at: DeltaGenerator, name: str, value: str, note: str, hint: str | None = None, border: bool = True) -> None:
    """Show a number. note : a grey line below it. hint : what it means, on hover."""
    at.metric(
        name, value, note, delta_color="off", delta_arrow="off", help=hint, border=border, height="stretch"
    )  # fmt: skip


def result(at: DeltaGenerator, name: str, shown: Result, hint: str | None = None, border: bool = True) -> None:
    """Show a result: the number and its interval; where it comes from begins the hint, as a tile is narrow."""
    note = (shown.ends or shown.grounds) if shown.is_known else ""
    grounds = f"{shown.grounds[:1].upper()}{shown.grounds[1:]}." if shown.is_known else ""
    tile(at, name, md(shown.text), md(note), hint=f"{md(grounds)} {hint or ''}".strip() or None, border=border)
