"""The house style: palettes of both themes, plotly's template, and names from data as plotly text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import plotly.graph_objects as go

Mode = Literal["light", "dark"]
FONT: Final = '"Source Sans", "Source Sans Pro", "Source Sans 3", sans-serif'
FEW_ROWS: Final = 30
MOST_LABEL: Final = 28


@dataclass(frozen=True)
class Palette:
    """The colours of one theme."""

    background: str
    ink: str
    muted: str
    hairline: str
    primary: str
    band: str
    accent: str
    density: str
    zero: str
    few: str


PALETTES: Final[dict[str, Palette]] = {
    "light": Palette(
        "#FFFFFF", "#17212B", "#5E6B78", "#E6EAEE", "#1F5FA8", "rgba(31,95,168,0.16)", "#C2571A", "#C9D3DD", "#8A96A3",
        "#A9B4BF",
    ),
    "dark": Palette(
        "#0F151B", "#E8EDF2", "#9AA7B4", "#26313B", "#6FB1FF", "rgba(111,177,255,0.20)", "#FF9A5C", "#33424F",
        "#71808E", "#55636F",
    ),
}  # fmt: skip


def template(mode: Mode) -> go.layout.Template:
    """The house template: horizontal grid only, no frame, quiet axes."""
    color = PALETTES[mode]
    axis = {"showgrid": False, "zeroline": False, "linecolor": color.hairline, "tickfont": {"color": color.muted},
            "title": {"font": {"color": color.muted, "size": 13}}, "ticks": "", "automargin": True}  # fmt: skip
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 13, "color": color.ink},
            "paper_bgcolor": color.background,
            "plot_bgcolor": color.background,
            "colorway": [color.primary, color.accent],
            "xaxis": axis,
            "yaxis": {**axis, "showgrid": True, "gridcolor": color.hairline},
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
    """A name as plotly text: no markup, no formula, not too long."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


def shorten(text: str, n_labels: int) -> str:
    """A label that leaves room for its neighbours: cut in the middle, since names often differ at their end."""
    most = MOST_LABEL if n_labels <= 8 else MOST_LABEL // 2
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{text[-(most - most // 2 - 1) :]}"


def heading(headline: str, detail: str, color: Palette) -> dict[str, Any]:
    return {
        "text": f"<b>{escape(headline, 100)}</b>",
        "subtitle": {"text": escape(detail, 160), "font": {"color": color.muted, "size": 13}},
        "x": 0, "xref": "paper", "xanchor": "left", "y": 0.98, "yanchor": "top", "font": {"size": 18},
    }  # fmt: skip


def unit(loss: str, target: str) -> str:
    """The unit of a score."""
    return "log-odds" if loss == "logistic" else target
