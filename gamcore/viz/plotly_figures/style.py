"""The house style in plotly's terms: the template of both themes, titles, and names from data as plotly text."""

from __future__ import annotations

from functools import cache
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from gamcore.data.labels import cut
from gamcore.viz.palette import FONT, PALETTES, Mode, Palette

Options = dict[str, Any]
"""A part of a figure, as plotly takes it."""

LINE, MOST_LINES, LINE_PIXELS = 56, 2, 24
"""Characters per line of a headline, most lines, and the height of a line in pixels."""


@cache
def template(mode: Mode) -> go.layout.Template:
    """Return the house template: horizontal grid only, no frame, quiet axes."""
    color = PALETTES[mode]
    axis = {"showgrid": False, "zeroline": False, "showline": False, "linecolor": color.hairline,
            "tickfont": {"color": color.muted}, "title": {"font": {"color": color.muted, "size": 13}}, "ticks": "",
            "automargin": True}  # fmt: skip
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 13, "color": color.ink},
            "paper_bgcolor": color.background,
            "plot_bgcolor": color.background,
            "colorway": [color.primary, color.accent],
            "xaxis": {**axis, "autotickangles": [0, -35, -90]},  # rising labels end at their tick, inside the plot
            "yaxis": {**axis, "gridcolor": color.hairline},
            "hoverlabel": {"bgcolor": color.background, "bordercolor": color.hairline, "font": {"color": color.ink}},
            "legend": {
                "orientation": "h",
                "x": 1,
                "xanchor": "right",
                "y": 1.0,
                "yanchor": "bottom",
                "traceorder": "normal",
            },
            "margin": {"l": 60, "r": 16, "t": 100, "b": 48},
        }
    )


def escape(text: str, most: int = 80) -> str:
    """Return a name as plotly text: no markup, no formula, not too long."""
    return cut(text, most).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


def lines_of(headline: str) -> list[str]:
    """Return a headline in lines that fit beside a menu on a small screen: plotly does not wrap."""
    return wrap(headline, LINE, max_lines=MOST_LINES, placeholder="…") or [""]


def more_pixels(headline: str) -> int:
    """Return the height of a headline's lines beyond the first."""
    return LINE_PIXELS * (len(lines_of(headline)) - 1)


def heading(headline: str, detail: str, color: Palette) -> dict[str, Any]:
    """Return the title of a figure, and the grey line under it."""
    return {
        "text": f"<b>{'<br>'.join(escape(line) for line in lines_of(headline))}</b>",
        "pad": {"t": more_pixels(headline) // 2},  # plotly centres the lines where a single line would be
        "subtitle": {"text": escape(detail, 160), "font": {"color": color.muted, "size": 13}},
        "x": 0, "xref": "paper", "xanchor": "left", "y": 0.98, "yanchor": "top", "font": {"size": 18},
    }  # fmt: skip
