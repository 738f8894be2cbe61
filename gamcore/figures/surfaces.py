"""Interactions: a heat map between the curves of its two features, and slices through it."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from gamcore.explain import Curve
from gamcore.figures.shapes import numbers, steps, view
from gamcore.figures.style import (
    FEW_ROWS,
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
from gamcore.reading import read_surface
from gamcore.scales import Scale, unit
from gamcore.surface import Axis, Rectangle, Surface

FEW_OPACITY = 0.45
MOST_SLICES = 5
LEGEND_PIXELS = 20


def surface(
    found: Surface,
    target: str,
    detail: str,
    mode: Mode = "light",
    height: int = 620,
    chosen: Rectangle | None = None,
    title: str | None = None,
) -> go.Figure:
    """The joint effect as a heat map, grey where no row is, pale where few are; the curves of the two features in the
    margins, each with its own scale. `chosen` is framed; title : None for what the surface says (`reading`)."""
    color = PALETTES[mode]
    figure = make_subplots(
        rows=2, cols=2, row_heights=[0.2, 0.8], column_widths=[0.84, 0.16], vertical_spacing=0.02,
        horizontal_spacing=0.015, shared_xaxes="columns", shared_yaxes="rows",
    )  # fmt: skip
    limit, colors = found.reach or 1.0, (color.primary, color.background, color.accent)
    units = escape(unit(found.margins[0].loss, found.scale, target), 40)
    for few in (False, True):
        figure.add_trace(_cells(found, few), row=2, col=1)
    figure.add_trace(_handles(found), row=2, col=1)
    figure.add_shape(  # zero has the colour of the page: what is no row at all must not
        type="rect", xref="x3 domain", yref="y3 domain", x0=0, x1=1, y0=0, y1=1, layer="below",
        fillcolor=color.hairline, line={"width": 0},
    )  # fmt: skip
    if chosen is not None:
        _add_frame(figure, found, chosen, color)
    for side in range(2):
        _add_margin(figure, found, side, color)
    first, second = found.names
    figure.update_layout(
        template=template(mode), height=height, showlegend=False, dragmode="select", hovermode="closest",
        title=heading(title or read_surface(found), detail, color),
        coloraxis={
            "cmin": -limit, "cmax": limit, "colorscale": list(zip((0.0, 0.5, 1.0), colors, strict=True)),
            "colorbar": {
                "title": {"text": units, "side": "top"}, "thickness": 12, "len": 0.8, "y": 0.4, "x": 1.02,
                **_factors(limit, found.scale),
            },
        },
    )  # fmt: skip
    figure.update_xaxes(title_text=escape(first), row=2, col=1, **_ticks(found.first))
    figure.update_yaxes(title_text=escape(second), showgrid=False, row=2, col=1, **_ticks(found.second))
    figure.update_xaxes(showticklabels=False, row=1, col=1)
    figure.update_yaxes(showticklabels=False, showgrid=False, row=2, col=2)
    # plotly.js loses the ranges of axes that match each other, so all are set
    figure.update_xaxes(range=_opening(found.first, found.margins[0]), col=1)
    figure.update_yaxes(range=_opening(found.second, found.margins[1]), row=2)
    return figure


def _factors(limit: float, scale: Scale) -> dict[str, Any]:
    """Ticks of a colour bar that is drawn by the logs of ratios."""
    if scale != "ratio":
        return {}
    at = np.linspace(-limit, limit, 5)
    return {"tickvals": at, "ticktext": [f"×{np.exp(value):.2g}" for value in at]}


def _opening(axis: Axis, curve: Curve) -> Any:
    """The range that an axis opens with: the middle 99% of rows, where a long tail would squeeze it."""
    if axis.labels:
        return [-0.5, len(axis.labels) - 0.5]
    part = view(curve)
    if part is None:
        borders = _edges(axis)
        part = float(borders[0]), float(borders[-1])
    return numbers(np.array(part), axis.kind)


def _centres(axis: Axis) -> NDArray[np.float64]:
    return np.arange(len(axis.labels), dtype=np.float64) if axis.labels else (axis.edges[:-1] + axis.edges[1:]) / 2


def _handles(found: Surface) -> go.Scatter:
    """An unseen point in each cell: a heat map alone cannot be selected on."""
    first, second = np.meshgrid(_centres(found.first), _centres(found.second))
    return go.Scatter(
        x=numbers(first.ravel(), found.first.kind), y=numbers(second.ravel(), found.second.kind), mode="markers",
        marker={"opacity": 0, "size": 1}, hoverinfo="skip", showlegend=False, name="handles",
        selected={"marker": {"opacity": 0}}, unselected={"marker": {"opacity": 0}},
    )  # fmt: skip


def _add_frame(figure: go.Figure, found: Surface, chosen: Rectangle, color: Palette) -> None:
    x, y = _borders(found.first), _borders(found.second)
    figure.add_shape(
        type="rect", x0=x[chosen.rows[0]], x1=x[chosen.rows[1]], y0=y[chosen.columns[0]], y1=y[chosen.columns[1]],
        line={"color": color.ink, "width": 2}, row=2, col=1,
    )  # fmt: skip


def _ticks(axis: Axis) -> dict[str, Any]:
    """Levels as they are named; numbers and dates by plotly."""
    if not axis.labels:
        return {}
    places = np.arange(len(axis.labels))
    names = [escape(shorten(label, len(axis.labels))) for label in axis.labels]
    return {"tickmode": "array", "tickvals": places, "ticktext": names}


def _borders(axis: Axis) -> Any:
    """Borders of the cells along an axis."""
    if axis.labels:
        return np.arange(len(axis.labels) + 1) - 0.5
    return numbers(_edges(axis), axis.kind)


def _edges(axis: Axis) -> NDArray[np.float64]:
    edges = axis.edges.astype(np.float64).copy()
    if edges.size > 2:  # an outer bin may be a single value
        edges[0] = min(edges[0], edges[1] - (edges[2] - edges[1]) / 2)
        edges[-1] = max(edges[-1], edges[-2] + (edges[-2] - edges[-3]) / 2)
    return edges


def _cells(found: Surface, few: bool) -> go.Heatmap:
    """The cells with few rows, or the others."""
    seen = (found.counts > 0) & ((found.counts < FEW_ROWS) == few)
    firsts = np.array([escape(found.first.place(i)) for i in range(found.scores.shape[0])], object)
    seconds = np.array([escape(found.second.place(j)) for j in range(found.scores.shape[1])], object)
    height = np.log(found.scores) if found.scale == "ratio" else found.scores
    shown = np.where(seen, height, np.nan)
    told = np.empty((*found.scores.T.shape, 6), object)
    told[..., 0], told[..., 1] = firsts[None, :], seconds[:, None]
    for k, values in enumerate((found.counts, found.lower, found.upper, found.scores)):
        told[..., 2 + k] = values.T
    score, low, high = (hover(found.scale, f"customdata[{k}]") for k in (5, 3, 4))
    band = f" ({low} to {high})" if found.margins[0].has_band else ""
    return go.Heatmap(
        x=_borders(found.first), y=_borders(found.second), z=shown.T, customdata=told, coloraxis="coloraxis",
        hoverongaps=False, opacity=FEW_OPACITY if few else 1.0, name="few rows" if few else "cells",
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}<br>" + score + band
        + "<br>%{customdata[2]:,.0f} rows<extra></extra>",
    )  # fmt: skip


def _add_margin(figure: go.Figure, found: Surface, side: int, color: Palette) -> None:
    """A feature's own curve along its side of the heat map: above it (side 0) or beside it (1)."""
    axis, curve, alone = (found.first, found.second)[side], found.margins[side], found.alone[side]
    row, col = (1, 1) if side == 0 else (2, 2)
    at: Any
    line: dict[str, Any] = {"mode": "lines", "line": {"color": color.primary, "width": 1.6}, "hoverinfo": "skip"}
    if axis.labels:
        at, along = np.arange(len(axis.labels)), alone
        line |= {"mode": "markers", "marker": {"color": color.primary, "size": 6}}
    else:
        at, along = steps(numbers(curve.edges, curve.kind), curve.scores)
    upright = side == 0
    figure.add_trace(go.Scatter(x=at if upright else along, y=along if upright else at, **line), row=row, col=col)
    zero = figure.add_hline if upright else figure.add_vline
    zero(curve.zero, line={"color": color.zero, "width": 1, "dash": "dot"}, row=row, col=col)
    (figure.update_yaxes if upright else figure.update_xaxes)(row=row, col=col, **effect_axis(curve.scale))


def slices(found: Surface, places: list[int], target: str, detail: str, mode: Mode = "light") -> go.Figure:
    """The joint effect along the first feature, a line for each of these bins of the second."""
    color = PALETTES[mode]
    figure = go.Figure()
    for k, place in enumerate(places[:MOST_SLICES]):
        scores = np.where(found.counts[:, place] > 0, found.scores[:, place], np.nan)
        name = f"{found.names[1]} {found.second.place(place)}"
        figure.add_trace(_slice(found.first, scores, escape(name, 40), OKABE_ITO[k]))
    figure.add_hline(y=found.zero, line={"color": color.zero, "width": 1, "dash": "dot"})
    figure.update_layout(
        template=template(mode), height=380 + LEGEND_PIXELS * len(places), showlegend=True, hovermode="closest",
        legend={"x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom", "orientation": "v"},
        margin={"t": 80 + LEGEND_PIXELS * len(places)},
        title=heading(f"Along {found.names[0]}", detail, color),
    )  # fmt: skip
    figure.update_xaxes(title_text=escape(found.names[0]), **_ticks(found.first))
    figure.update_xaxes(range=_opening(found.first, found.margins[0]))
    units = escape(unit(found.margins[0].loss, found.scale, target), 40)
    figure.update_yaxes(title_text=units, **effect_axis(found.scale))
    return figure


def _slice(axis: Axis, scores: NDArray[np.float64], name: str, color: str) -> go.Scatter:
    if axis.labels:
        marker = {"color": color, "size": 9}
        return go.Scatter(x=np.arange(len(axis.labels)), y=scores, mode="markers", marker=marker, name=name)
    x, y = steps(numbers(axis.edges, axis.kind), scores)
    return go.Scatter(x=x, y=y, mode="lines", line={"color": color, "width": 2}, name=name)
