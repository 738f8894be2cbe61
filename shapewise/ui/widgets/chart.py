"""The place of a chart: what it says, one quiet button that has all that can be chosen, and below both the chart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

CONFIG: Final = {"displayModeBar": False}
"""Nothing of plotly's lies on data or legend: what its bar could do is in the options."""

FIRST_HEIGHT: Final = 280
"""Pixels of the first chart of a page, without its legend, at most."""

MOST_BARS: Final = 10
"""Of the first chart of a page, which is then seen whole; its numbers have all."""

Drag = Literal["select", "pan", "zoom"]
DRAGS: Final[dict[Drag, str]] = {"select": "Marks", "pan": "Moves", "zoom": "Enlarges"}


@dataclass(frozen=True)
class Place:
    """Where the parts of a chart are drawn, in any order.

    sentence : above it. options : behind the button; what the page chooses comes before what every chart has.
    drawing : for the chart, and what belongs below it. most : pixels of the chart's height, if there is a limit.
    """

    sentence: DeltaGenerator
    options: DeltaGenerator
    drawing: DeltaGenerator
    most: int | None = None


def first() -> Place:
    """Make room for the chart that a page opens with, which is seen whole in the upper half of a laptop's screen."""
    return replace(place("first"), most=FIRST_HEIGHT)


def place(key: str) -> Place:
    """Make room for a chart, or for what else has a sentence and options. key : of its head, one on its page."""
    with st.container(horizontal=True, wrap=False, vertical_alignment="top", key=f"chart-head-{key}"):
        headline = st.container(gap=None, width="stretch", key=f"headline-{key}")
        options = st.popover("Options", icon=":material/tune:", type="tertiary", key=f"options-{key}")
    return Place(headline, options, st.container())


def pick_drag(key: str, can_mark: bool) -> Drag:
    """Show what a drag on the chart does, and return it. can_mark : whether it may mark a part of the chart."""
    ways = [way for way in DRAGS if can_mark or way != "select"]
    return st.segmented_control(
        "A drag on the chart", ways, default=ways[0], required=True, format_func=DRAGS.__getitem__, key=f"drag-{key}",
        help="A double click or tap shows all of the chart again.",
    )  # fmt: skip
