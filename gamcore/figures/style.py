"""The house style: palettes of both themes, plotly's template, and names from data as plotly text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

import plotly.graph_objects as go

from gamcore.explain import FEW_ROWS as FEW_ROWS
from gamcore.scales import Scale

Mode = Literal["light", "dark"]
FONT: Final = '"Source Sans", "Source Sans Pro", "Source Sans 3", sans-serif'
MOST_LABEL: Final = 28
OKABE_ITO: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Colours of things side by side, in a fixed order (Okabe and Ito 2008)."""


@dataclass(frozen=True)
class Palette:
    """The colours of one theme."""

    background: str
    ink: str
    muted: str
    hairline: str
    primary: str
    band: str
    wide: str
    accent: str
    density: str
    zero: str
    few: str


PALETTES: Final[dict[str, Palette]] = {
    "light": Palette(
        "#FFFFFF", "#17212B", "#5E6B78", "#E6EAEE", "#1F5FA8", "rgba(31,95,168,0.16)", "rgba(31,95,168,0.09)",
        "#C2571A", "#C9D3DD", "#8A96A3",
        "#A9B4BF",
    ),
    "dark": Palette(
        "#0F151B", "#E8EDF2", "#9AA7B4", "#26313B", "#6FB1FF", "rgba(111,177,255,0.20)", "rgba(111,177,255,0.11)",
        "#FF9A5C", "#33424F",
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


def effect_axis(scale: Scale, limits: tuple[float, float] | None = None) -> dict[str, Any]:
    """How an axis of effects is drawn: ratios on a logarithmic one; within limits, where there are some."""
    if scale != "ratio":
        return {"range": limits} if limits else {}
    ticks = {"type": "log", "tickformat": "~g", "dtick": "D2", "minor": {"showgrid": False}}
    return ticks | ({"range": [math.log10(max(limit, 1e-12)) for limit in limits]} if limits else {})


def widened(low: float, high: float, scale: Scale) -> tuple[float, float]:
    """Limits with a margin."""
    if scale == "ratio":
        margin = (high / low) ** 0.06 if high > low > 0 else 1.1
        return low / margin, high * margin
    margin = 0.06 * (high - low or 1.0)
    return low - margin, high + margin


def hover(scale: Scale, name: str = "y", signed: bool = True) -> str:
    """An effect in a hover text."""
    points = "%{N:+.1f} points" if signed else "%{N:.1f} points"
    return {"link": "%{N:.3f}", "ratio": "×%{N:.3g}", "points": points}[scale].replace("N", name)
