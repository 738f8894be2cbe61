"""Strategies beside each other: who is reached, what is lost to whom, and how rules overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gamcore.experiments import Effect, ReadOut
from gamcore.figures.style import MOST_LABEL, PALETTES, Mode, escape, template
from gamcore.strategies import Ledger

ROW = 46
PALE = 1.8
"""What would have the full colour of a matrix of shares: text has to be read on all of them."""


def reach(found: Ledger, names: Sequence[str], mode: Mode = "light") -> go.Figure:
    """A bar a strategy, the highest first: exclusive reach, then what higher ones take; at the end who is left."""
    color, k = PALETTES[mode], len(names)
    places, labels = np.arange(k + 1), [*(escape(name, MOST_LABEL) for name in names), "nobody's"]
    taken = [[escape(names[j], 40) for j in range(k) if found.lost_to[i, j]] for i in range(k)]
    whole = max(found.eligible, 1)
    figure = go.Figure()
    told = [f"{n:,} · {n / whole:.0%}" for n in found.exclusive]
    figure.add_trace(
        go.Bar(
            y=places[:k], x=found.exclusive, orientation="h", name="exclusive reach", marker={"color": color.primary},
            text=told, textposition="auto", hovertemplate="%{x:,} rows reached<extra></extra>", width=0.62,
            insidetextfont={"color": color.background}, outsidetextfont={"color": color.ink},
        )
    )  # fmt: skip
    figure.add_trace(
        go.Bar(
            y=places[:k], x=found.lost, orientation="h", name="lost to higher ones", width=0.62,
            marker={"color": color.density}, customdata=[", ".join(each) for each in taken],
            hovertemplate="%{x:,} rows go to %{customdata}<extra></extra>",
        )
    )  # fmt: skip
    figure.add_trace(
        go.Bar(
            y=places[k:], x=[found.remainder], orientation="h", name="remainder", width=0.62,
            marker={"color": color.background, "line": {"color": color.zero, "width": 1}},
            text=[f"{found.remainder:,} · {found.remainder / whole:.0%}"], textposition="auto",
            hovertemplate="%{x:,} eligible rows get nothing<extra></extra>", textfont={"color": color.ink},
        )
    )  # fmt: skip
    figure.update_layout(
        template=template(mode), barmode="stack", height=90 + ROW * (k + 1), margin={"l": 8, "r": 16, "t": 34, "b": 44},
        legend={"x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom"},
    )  # fmt: skip
    figure.update_yaxes(tickvals=places, ticktext=labels, autorange="reversed", showgrid=False)
    figure.update_xaxes(title_text="eligible rows", showgrid=True, gridcolor=color.hairline, rangemode="tozero")
    return figure


def overlap(found: Ledger, names: Sequence[str], mode: Mode = "light") -> go.Figure:
    """How many eligible rows each two rules match, and their share of the row's rule."""
    color, k = PALETTES[mode], len(names)
    labels = [escape(name, MOST_LABEL) for name in names]
    share = found.overlap / np.maximum(found.raw, 1)[:, None]
    text = [[f"{found.overlap[i, j]:,}<br>{share[i, j]:.0%}" for j in range(k)] for i in range(k)]
    figure = go.Figure(
        go.Heatmap(
            z=share, x=np.arange(k), y=np.arange(k), zmin=0, zmax=PALE, xgap=2, ygap=2, text=text,
            texttemplate="%{text}", textfont={"color": color.ink},
            colorscale=[(0.0, color.background), (1.0, color.primary)], showscale=False, hoverinfo="skip",
        )
    )  # fmt: skip
    axis: dict[str, Any] = {"tickvals": np.arange(k), "ticktext": labels, "showgrid": False}
    figure.update_layout(
        template=template(mode), height=110 + 64 * k, width=220 + 110 * k, margin={"l": 8, "r": 8, "t": 40, "b": 8}
    )
    figure.update_xaxes(**axis, side="top")
    figure.update_yaxes(**axis, autorange="reversed")
    return figure


def lifts(found: ReadOut, mode: Mode = "light") -> go.Figure:
    """Measured lifts with their intervals, a row a comparison, and what was planned."""
    color = PALETTES[mode]
    listed = [effect for effect in found.effects if np.isfinite([effect.lift, *effect.lift_interval]).all()]
    places = np.arange(len(listed))
    figure = go.Figure()
    for held, name, paint in ((True, "found", color.primary), (False, "not told from chance", color.few)):
        some = [(k, effect) for k, effect in enumerate(listed) if effect.found == held]
        if some:
            figure.add_trace(_intervals(some, name, paint))
    hoped = [(k, e.planned) for k, e in enumerate(listed) if e.role == "primary"]
    planned = [(k, lift) for k, lift in hoped if np.isfinite(lift)]
    if planned:
        figure.add_trace(
            go.Scatter(
                x=[lift for _, lift in planned], y=[k for k, _ in planned], mode="markers", name="planned",
                marker={"symbol": "line-ns", "size": 16, "line": {"width": 2, "color": color.accent}},
                hovertemplate="%{x:+.0%} planned<extra></extra>",
            )
        )  # fmt: skip
    figure.add_vline(x=0, line={"color": color.zero, "width": 1, "dash": "dot"})
    figure.update_layout(
        template=template(mode), height=110 + 30 * max(len(listed), 3), margin={"l": 8, "r": 16, "t": 34, "b": 44},
        legend={"x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom"},
    )  # fmt: skip
    names = [
        escape(f"{e.strategy} · {e.metric}" + (" (expected null)" if e.role == "expected null" else ""), 44)
        for e in listed
    ]
    figure.update_yaxes(tickvals=places, ticktext=names, autorange="reversed", showgrid=False)
    figure.update_xaxes(
        title_text="measured lift, relative", tickformat="+.0%", showgrid=True, gridcolor=color.hairline
    )
    return figure


def _intervals(some: list[tuple[int, Effect]], name: str, paint: str) -> go.Scatter:
    lift = np.array([effect.lift for _, effect in some])
    low, high = np.array([effect.lift_interval for _, effect in some]).T
    return go.Scatter(
        x=lift, y=[k for k, _ in some], mode="markers", name=name, marker={"size": 9, "color": paint},
        error_x={"type": "data", "symmetric": False, "array": high - lift, "arrayminus": lift - low, "color": paint,
                 "thickness": 2.2, "width": 0},
        customdata=np.stack([low, high], axis=1),
        hovertemplate="%{x:+.1%} (%{customdata[0]:+.1%} to %{customdata[1]:+.1%})<extra></extra>",
    )  # fmt: skip
