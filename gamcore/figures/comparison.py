"""The same feature in several models: their curves over each other, and one minus another below."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from gamcore.explain import WHOLE, Curve
from gamcore.figures.shapes import common_limits, level_order, numbers, steps, view, visible_edges
from gamcore.figures.style import (
    OKABE_ITO,
    PALETTES,
    Mode,
    Palette,
    effect_axis,
    escape,
    heading,
    hover,
    shorten,
    template,
)
from gamcore.scales import unit

WIDTH = 0.7
"""Of a level, shared by the marks of all curves."""


def comparison(
    curves: dict[str, Curve], minus: Curve | None, words: tuple[str, str, str], mode: Mode = "light", height: int = 640
) -> go.Figure:
    """Curves by name, all on one scale, and below them a difference with its band.

    words : title, line under it, and the unit of effects in the target's own terms.
    """
    color, first = PALETTES[mode], next(iter(curves.values()))
    title, detail, target = words
    heights = [0.6, 0.4] if minus else [1.0]
    figure = make_subplots(rows=len(heights), shared_xaxes=True, vertical_spacing=0.06, row_heights=heights)
    order = level_order(first)
    labels = tuple(first.labels[k] for k in order) if first.labels else ()
    for k, (name, curve) in enumerate(curves.items()):
        paint = OKABE_ITO[k % len(OKABE_ITO)]
        shift = WIDTH * ((k + 0.5) / len(curves) - 0.5)
        draw = _marks(curve, labels, shift, name, paint) if labels else _line(curve, name, paint, len(curves) <= 2)
        figure.add_traces(draw, rows=1, cols=1)
    figure.add_hline(y=first.zero, line={"color": color.zero, "width": 1, "dash": "dot"}, row=1, col=1)
    if minus is not None:
        _add_difference(figure, minus, labels, color)
    figure.update_layout(
        template=template(mode), height=height if minus else 440, title=heading(title, detail, color), showlegend=True,
        hovermode="closest", dragmode="pan", margin={"t": 150},
        legend={"x": 0, "xanchor": "left", "y": 1.01, "yanchor": "bottom"},
    )  # fmt: skip
    units = escape(unit(first.loss, first.scale, target), 40)
    figure.update_yaxes(
        title_text=units, row=1, col=1, **effect_axis(first.scale, common_limits(list(curves.values())))
    )
    if minus is not None:
        figure.update_yaxes(title_text="difference", row=2, col=1, **effect_axis(minus.scale, common_limits([minus])))
    last = {"row": 2 if minus else 1, "col": 1}
    figure.update_xaxes(title_text=escape(first.feature), **last)
    if labels:
        names = [escape(shorten(label, len(labels))) for label in labels]
        figure.update_xaxes(tickvals=np.arange(len(labels)), ticktext=names, range=[-0.6, len(labels) - 0.4])
    elif (opening := view(first)) is not None:
        figure.update_xaxes(range=numbers(np.array(opening), first.kind))
    return figure


def _line(curve: Curve, name: str, paint: str, band: bool) -> list[go.Scatter]:
    """A step line, with its band where there is room for it."""
    x, y = steps(numbers(visible_edges(curve), curve.kind), curve.scores)
    drawn = []
    if band and curve.has_band:
        red, green, blue = (int(paint[k : k + 2], 16) for k in (1, 3, 5))
        quiet: dict[str, Any] = {"x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
        quiet["showlegend"] = False
        drawn.append(go.Scatter(y=np.repeat(curve.lower, 2), **quiet))
        fill = f"rgba({red},{green},{blue},0.15)"
        drawn.append(go.Scatter(y=np.repeat(curve.upper, 2), fill="tonexty", fillcolor=fill, **quiet))
    drawn.append(
        go.Scatter(
            x=x, y=y, mode="lines", line={"color": paint, "width": 2.2}, name=escape(name, 40),
            customdata=np.full(len(y), escape(name), object),
            hovertemplate=f"%{{customdata}}<br>%{{x}}<br>{hover(curve.scale)}<extra></extra>",
        )
    )  # fmt: skip
    return drawn


def _marks(curve: Curve, labels: tuple[str, ...], shift: float, name: str, paint: str) -> list[go.Scatter]:
    """A mark a level, beside those of other curves, with its band as a bar; none for a level that it lacks."""
    known = [(at, curve.labels.index(label)) for at, label in enumerate(labels) if label in curve.labels]
    if not known:
        return []
    at, pick = (np.array(part, np.int64) for part in zip(*known, strict=True))
    scores = curve.scores[pick]
    told = [[escape(name), escape(labels[k])] for k in at]
    return [
        go.Scatter(
            x=at + shift, y=scores, mode="markers", marker={"color": paint, "size": 9}, name=escape(name, 40),
            customdata=told,
            hovertemplate=f"%{{customdata[0]}}<br>%{{customdata[1]}}<br>{hover(curve.scale)}<extra></extra>",
            error_y={
                "type": "data", "symmetric": False, "array": curve.upper[pick] - scores,
                "arrayminus": scores - curve.lower[pick], "color": paint, "thickness": 1.6, "width": 3,
            } if curve.has_band else None,
        )
    ]  # fmt: skip


def _add_difference(figure: go.Figure, minus: Curve, labels: tuple[str, ...], color: Palette) -> None:
    bands: list[tuple[NDArray[np.float64], str, str]] = []
    if minus.has_whole:
        bands.append((minus.whole, color.wide, WHOLE))
    if minus.has_band:
        bands.append((np.stack([minus.lower, minus.upper]), color.band, minus.band))
    if labels:
        figure.add_traces(_marks(minus, labels, 0.0, "difference", color.primary), rows=2, cols=1)
    else:
        x, y = steps(numbers(visible_edges(minus), minus.kind), minus.scores)
        for ends, paint, name in bands:
            quiet: dict[str, Any] = {"x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
            figure.add_trace(go.Scatter(y=np.repeat(ends[0], 2), showlegend=False, **quiet), row=2, col=1)
            upper = go.Scatter(y=np.repeat(ends[1], 2), fill="tonexty", fillcolor=paint, name=name, **quiet)
            figure.add_trace(upper, row=2, col=1)
        figure.add_trace(
            go.Scatter(
                x=x, y=y, mode="lines", line={"color": color.primary, "width": 2}, name="difference",
                hovertemplate=f"%{{x}}<br>{hover(minus.scale)}<extra></extra>",
            ),
            row=2, col=1,
        )  # fmt: skip
    figure.add_hline(y=minus.zero, line={"color": color.zero, "width": 1, "dash": "dot"}, row=2, col=1)
