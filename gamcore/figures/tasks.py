"""Several tasks: what is common and what is specific, one feature over all of them, how alike they are; and one row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from gamcore.explain import Curve
from gamcore.figures.shapes import level_order, numbers, small, steps, visible_edges
from gamcore.figures.style import MOST_LABEL, PALETTES, Mode, Palette, escape, shorten, template
from gamcore.taskexplain import TaskImportance

ROW_PIXELS = 26
MOST_NAMED = 30
"""Tasks beyond which a matrix has no room for their names."""


def task_importance(found: TaskImportance, mode: Mode = "light", most: int = 20) -> go.Figure:
    """Bars of all gain by feature, the common part beside the specific one, the most important on top."""
    color = PALETTES[mode]
    frame = found.frame().head(most).iloc[::-1]
    places, names = np.arange(len(frame)), [escape(name, MOST_LABEL) for name in frame["feature"]]
    figure = go.Figure()
    for part, label, fill in (
        ("common", "in the trees that tasks share", color.primary),
        ("specific", "in trees of one task", color.accent),
    ):
        figure.add_trace(
            go.Bar(
                x=frame[part].to_numpy(), y=places, orientation="h", name=label, marker={"color": fill}, width=0.62,
                customdata=[[escape(name, 400)] for name in frame["feature"]],
                hovertemplate="%{customdata[0]}<br>%{x:.1%} " + label + "<extra></extra>",
            )
        )  # fmt: skip
    figure.update_layout(
        template=template(mode), barmode="stack", height=90 + ROW_PIXELS * max(len(frame), 3),
        margin={"l": 8, "r": 16, "t": 34, "b": 44}, legend={"x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom"},
    )  # fmt: skip
    figure.update_yaxes(tickvals=places, ticktext=names, showgrid=False)
    figure.update_xaxes(title_text="share of all gain", tickformat=".0%", showgrid=True, gridcolor=color.hairline)
    return figure


def small_beside(
    curve: Curve, other: Curve, limits: tuple[float, float], title: str, mode: Mode = "light"
) -> go.Figure:
    """A small multiple of a task's curve, with the common one dotted behind it."""
    color = PALETTES[mode]
    figure = small(curve, limits, mode)
    figure.add_trace(_dotted(curve, other, color))
    figure.update_layout(title={"text": escape(title, 40)}, height=190)
    return figure


def _dotted(curve: Curve, other: Curve, color: Palette) -> go.Scatter:
    """Another curve of the same bins: a dotted line, or marks at levels."""
    style = {"name": "common", "hoverinfo": "skip", "showlegend": False}
    if curve.kind in ("category", "boolean"):
        order = level_order(curve)
        marker = {"symbol": "line-ew", "size": 16, "line": {"width": 2, "color": color.ink}}
        return go.Scatter(x=np.arange(order.size), y=other.scores[order], mode="markers", marker=marker, **style)
    x, y = steps(numbers(visible_edges(curve), curve.kind), other.scores)
    return go.Scatter(x=x, y=y, mode="lines", line={"color": color.muted, "width": 1.4, "dash": "dot"}, **style)


def similarity(found: pd.DataFrame, mode: Mode = "light") -> go.Figure:
    """How alike the curves of each two tasks are: a matrix, alike blue, reversed orange."""
    color = PALETTES[mode]
    n = len(found)
    names = [escape(shorten(str(name), n)) for name in found.index]
    values = found.to_numpy()
    tall = n <= MOST_NAMED
    text = np.where(np.isnan(values), "", np.char.mod("%.2f", np.nan_to_num(values))) if n <= 12 else None
    figure = go.Figure(
        go.Heatmap(
            z=values, x=np.arange(n), y=np.arange(n), zmin=-1, zmax=1, xgap=1, ygap=1, text=text,
            texttemplate="%{text}",
            customdata=np.array([[[a, b] for b in names] for a in names], object),
            hovertemplate="%{customdata[0]}, %{customdata[1]}: %{z:.2f}<extra></extra>",
            colorscale=[(0.0, color.accent), (0.5, color.background), (1.0, color.primary)],
            colorbar={"thickness": 12, "len": 0.8, "tickvals": [-1, 0, 1], "ticktext": ["reversed", "unlike", "alike"]},
        )
    )  # fmt: skip
    side = min(max(44 * n, 160), 640)
    figure.update_layout(
        template=template(mode), height=side + 90, margin={"l": 8, "r": 8, "t": 12, "b": 60}, showlegend=False
    )
    ticks = {"tickvals": np.arange(n), "ticktext": names} if tall else {"showticklabels": False}
    figure.update_xaxes(**ticks, showgrid=False)
    figure.update_yaxes(**ticks, showgrid=False, autorange="reversed")
    return figure
