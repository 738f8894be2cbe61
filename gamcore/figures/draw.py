"""A plot's description as a plotly figure: drawing only, nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gamcore.explain import as_date
from gamcore.figures.style import escape, heading, template
from gamcore.plots.grammar import (
    Area,
    Axis,
    Bars,
    Cells,
    Floats,
    Frame,
    Line,
    Mark,
    Panel,
    Path,
    Plot,
    Points,
    Ribbon,
    Scale,
    Steps,
    Whiskers,
)
from gamcore.plots.palette import PALETTES, Mode, Palette

FORMATS = {"plain": None, "percent": ".0%", "signed percent": "+.0%", "count": ",", "factor": "~g", "power": None}
SYMBOLS = {"dot": "circle", "dash": "line-ew", "bar": "line-ns"}
PALE = 0.45
LEGEND_PIXELS = 20
BARE = 12
"""Pixels above a plot that has neither title nor legend."""
MANY = 3_000
"""Points from which the browser's graphics card draws them."""

DAY_MS = 86_400_000


def draw(plot: Plot, mode: Mode = "light", titled: bool = True, flat: bool = False) -> go.Figure:
    """The figure of a plot in a theme; without its title where the page says it.

    flat : never by the graphics card, which needs a browser's right to make code.
    """
    color = PALETTES[mode]
    rows, columns = len(plot.panels), len(plot.panels[0])
    figure = go.Figure()
    if rows * columns > 1:
        figure = make_subplots(
            rows=rows, cols=columns, row_heights=list(plot.heights), column_widths=list(plot.widths),
            vertical_spacing=0.03 if rows > 1 else 0.0, horizontal_spacing=0.02 if columns > 1 else 0.0,
            shared_xaxes="columns", shared_yaxes="rows",
        )  # fmt: skip
    for row, column, panel in plot.each():
        place = {"row": row + 1, "col": column + 1} if rows * columns > 1 else {}
        _panel(figure, panel, color, place)
    if flat:
        traces = [{**told, "type": told["type"].removesuffix("gl")} for told in figure.to_plotly_json()["data"]]
        figure = go.Figure(traces, figure.layout)
    figure.update_layout(template=template(mode), width=plot.width, hovermode="closest")
    _layout(figure, plot, color, titled)
    return figure


def _layout(figure: go.Figure, plot: Plot, color: Palette, titled: bool) -> None:
    """Margins, title and legend."""
    named = len(plot.named())
    legend: dict[str, Any] = {}
    top = 100 if titled else 34 if named else BARE
    if plot.legend != "right":
        legend = {"x": 0, "xanchor": "left", "y": 1.01, "yanchor": "bottom"}
        top += 50 if titled else 0
    if plot.legend == "list":
        legend["orientation"] = "v"
        top += LEGEND_PIXELS * named - 70
    height = plot.height if plot.small else plot.height + top - BARE
    figure.update_layout(showlegend=named > 0, legend=legend, dragmode="pan", margin={"t": top}, height=height)
    if any(isinstance(mark, Bars) for _, _, panel in plot.each() for mark in panel.marks):
        figure.update_layout(bargap=0, barmode="overlay")
    if plot.small:
        title = {"text": escape(plot.title, 40), "font": {"size": 13}, "x": 0, "xref": "paper", "y": 0.96}
        figure.update_layout(title=title, showlegend=False, margin={"l": 36, "r": 8, "t": 30, "b": 24})
        figure.update_xaxes(nticks=4)
        if plot.main.y.kind != "log":
            figure.update_yaxes(nticks=4)
    elif titled:
        figure.update_layout(title=heading(plot.title, plot.detail, color))
    else:
        figure.update_layout(margin={"r": 60 if any(_texts(plot)) else 16, "b": 44})


def _texts(plot: Plot) -> list[str]:
    return [text for mark in plot.main.marks if isinstance(mark, Bars) and mark.lying for text in mark.texts]


def _panel(figure: go.Figure, panel: Panel, color: Palette, place: dict[str, int]) -> None:
    for mark in panel.marks:
        if not isinstance(mark, Line | Area | Frame):
            figure.add_traces(_traces(mark, panel, color), **{f"{side}s": at for side, at in place.items()})
        if isinstance(mark, Cells) and mark.scale.shown:
            figure.update_layout(coloraxis=_coloraxis(mark.scale, color))
    for mark in panel.marks:  # plotly adds no shape to a panel that is still empty
        if isinstance(mark, Line | Area | Frame):
            _shape(figure, mark, panel, color, place)
    figure.update_xaxes(**_axis(panel.x, color, "x"), **place)
    figure.update_yaxes(**_axis(panel.y, color, "y"), **place)
    if panel.note:
        figure.add_annotation(
            text=escape(panel.note), x=1, y=0, xref="x domain", yref="y domain", xanchor="right", yanchor="bottom",
            showarrow=False, font={"size": 11, "color": color.muted}, **place,
        )  # fmt: skip
    if panel.blank:  # zero has the colour of the page: what is no row at all must not
        figure.add_shape(
            type="rect", xref="x domain", yref="y domain", x0=0, x1=1, y0=0, y1=1, layer="below",
            fillcolor=color.hairline, line={"width": 0}, **place,
        )  # fmt: skip


def _axis(axis: Axis, color: Palette, side: str) -> dict[str, Any]:
    drawn: dict[str, Any] = {"title": {"text": escape(axis.title, 60)}, "showticklabels": axis.named}
    drawn["showgrid"] = axis.grid
    if axis.grid:
        drawn["gridcolor"] = color.hairline
    if axis.ticks is not None:
        drawn |= {"tickmode": "array", "tickvals": [at for at, _ in axis.ticks],
                  "ticktext": [escape(name, 60) for _, name in axis.ticks]}  # fmt: skip
    if FORMATS[axis.format]:
        drawn["tickformat"] = FORMATS[axis.format]
    if axis.format == "power":
        drawn |= {"exponentformat": "power", "nticks": 5, "tickangle": 0}
    if axis.kind == "log":
        drawn |= {"type": "log", "tickformat": "~g", "dtick": "D2", "minor": {"showgrid": False}}
    limits = axis.limits
    if limits is not None and axis.kind == "log":
        limits = math.log10(max(limits[0], 1e-12)), math.log10(max(limits[1], 1e-12))
    if limits is not None:
        shown = places(np.array(limits), axis.kind)
        drawn["range"] = [*shown[::-1]] if axis.flipped else [*shown]
    elif axis.flipped:
        drawn["autorange"] = "reversed"
    if axis.from_zero:
        drawn["rangemode"] = "tozero"
    return drawn


def places(values: Floats, kind: str) -> Any:
    """Numbers, or dates as plotly takes them."""
    return [as_date(v).replace(tzinfo=None) for v in values] if kind == "date" else values


def _hover(told: Sequence[str]) -> dict[str, Any]:
    """What a mark says where somebody points at it: names are data, so they are escaped, and in no template."""
    if not len(told):
        return {"hoverinfo": "skip"}
    return {"hovertext": ["<br>".join(escape(line, 400) for line in text.split("\n")) for text in told],
            "hoverinfo": "text"}  # fmt: skip


def _named(name: str) -> dict[str, Any]:
    if not name:
        return {"showlegend": False}
    return {"name": escape(name, 60), "legendrank": 1 if name == "effect" else 1000}


def _traces(mark: Mark, panel: Panel, color: Palette) -> list[Any]:
    match mark:
        case Steps():
            return [_steps(mark, panel, color)]
        case Ribbon():
            return _ribbon(mark, panel, color)
        case Bars():
            return [_bars(mark, panel, color)]
        case Whiskers():
            return _whiskers(mark, panel, color)
        case Points():
            return [_points(mark, panel, color)]
        case Path():
            line = {"color": color.of(mark.role), "width": mark.width, "dash": mark.dash or "solid"}
            return [go.Scatter(
                x=places(mark.x, panel.x.kind), y=mark.y, mode="lines", line=line, opacity=mark.opacity,
                **_named(mark.name), **_hover(mark.told),
            )]  # fmt: skip
        case Cells():
            return _cells(mark, panel, color)
    raise TypeError(f"No trace for {type(mark).__name__}.")


def _corners(edges: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Points of a step function whose value k stands between edges k and k + 1."""
    return np.repeat(edges, 2)[1:-1], np.repeat(values, 2)


def _steps(mark: Steps, panel: Panel, color: Palette) -> go.Scatter:
    along, across = _corners(mark.edges, mark.values)
    x, y = (across, places(along, panel.y.kind)) if mark.upright else (places(along, panel.x.kind), across)
    line = {"color": color.of(mark.role), "width": mark.width, "dash": "dot" if mark.dotted else "solid"}
    told = [text for text in mark.told for _ in range(2)]
    return go.Scatter(
        x=x, y=y, mode="lines", line=line, opacity=mark.opacity, **_named(mark.name), **_hover(told)
    )  # fmt: skip


def _ribbon(mark: Ribbon, panel: Panel, color: Palette) -> list[go.Scatter]:
    quiet: dict[str, Any] = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    x, lower = _corners(mark.edges, mark.lower)
    at, fill = places(x, panel.x.kind), color.shade(mark.role, color.wide if mark.wide else color.band)
    upper = np.repeat(mark.upper, 2)
    return [
        go.Scatter(x=at, y=lower, showlegend=False, **quiet),
        go.Scatter(x=at, y=upper, fill="tonexty", fillcolor=fill, **_named(mark.name), **quiet),
    ]


def _bars(mark: Bars, panel: Panel, color: Palette) -> go.Bar:
    n = len(mark.sizes)
    along, width = places(mark.at, (panel.y if mark.lying else panel.x).kind), mark.width
    if panel.x.kind == "date" and not mark.lying:
        width = np.asarray(mark.width) * DAY_MS
    paint = color.of(mark.roles) if isinstance(mark.roles, str | int) else [color.of(mark.role(k)) for k in range(n)]
    edge = {"color": color.zero, "width": 1} if mark.outlined else {"width": 0}
    drawn: dict[str, Any] = {"width": width, "base": mark.base, "marker": {"color": paint, "line": edge}}
    if len(mark.texts):
        inside = color.ink if mark.outlined else color.background
        drawn |= {"text": [escape(text) for text in mark.texts], "cliponaxis": False, "textangle": 0,
                  "textposition": "auto" if panel.stacked else "outside",
                  "insidetextfont": {"color": inside}, "outsidetextfont": {"color": color.ink}}  # fmt: skip
    x, y = (mark.sizes, along) if mark.lying else (along, mark.sizes)
    orientation = "h" if mark.lying else "v"
    return go.Bar(x=x, y=y, orientation=orientation, **drawn, **_named(mark.name), **_hover(mark.told))


def _whiskers(mark: Whiskers, panel: Panel, color: Palette) -> list[go.Scatter]:
    """An error bar a place, and an entry in the legend, which error bars alone do not get."""
    middle = (mark.lower + mark.upper) / 2
    paint = color.of(mark.role)
    error = {"type": "data", "array": mark.upper - middle, "color": paint, "thickness": mark.width,
             "width": 5 if mark.capped else 0}  # fmt: skip
    at = places(mark.at, (panel.y if mark.lying else panel.x).kind)
    x, y = (middle, at) if mark.lying else (at, middle)
    bars = go.Scatter(
        x=x, y=y, mode="markers", marker={"size": 1, "color": paint}, showlegend=False, hoverinfo="skip",
        **{"error_x" if mark.lying else "error_y": error},
    )  # fmt: skip
    if not mark.name:
        return [bars]
    line = {"color": paint, "width": mark.width}
    return [bars, go.Scatter(x=[None], y=[None], mode="lines", line=line, **_named(mark.name))]


def _points(mark: Points, panel: Panel, color: Palette) -> Any:
    paint, dot = color.of(mark.role), mark.symbol == "dot"
    marker = {"color": paint, "size": mark.size, "opacity": mark.opacity, "symbol": SYMBOLS[mark.symbol]}
    if not dot:
        marker["line"] = {"width": 2, "color": paint}
    kind = go.Scattergl if mark.x.size > MANY else go.Scatter
    return kind(
        x=places(mark.x, panel.x.kind), y=places(mark.y, panel.y.kind), mode="markers", marker=marker,
        **_named(mark.name), **_hover(mark.told),
    )  # fmt: skip


def _cells(mark: Cells, panel: Panel, color: Palette) -> list[go.Heatmap]:
    """The cells that many rows are behind, and the pale ones."""
    shared: dict[str, Any] = {
        "x": places(mark.x, panel.x.kind), "y": places(mark.y, panel.y.kind), "hoverongaps": False, "xgap": mark.gap,
        "ygap": mark.gap, "hoverinfo": "text" if mark.told.size else "skip",
    }  # fmt: skip
    if mark.told.size:
        shared["hovertext"] = [_hover(list(row))["hovertext"] for row in mark.told]
    if mark.texts.size:
        shared["text"] = [[escape(text).replace("\n", "<br>") for text in row] for row in mark.texts]
        shared |= {"texttemplate": "%{text}", "textfont": {"color": color.ink}}
    if mark.scale.shown:
        shared["coloraxis"] = "coloraxis"
    else:
        shared |= {"zmin": mark.scale.low, "zmax": mark.scale.high, "colorscale": _colors(mark.scale, color)}
        shared["showscale"] = False
    drawn = [go.Heatmap(z=np.where(mark.pale, np.nan, mark.values), name="cells", **shared)]
    if mark.pale.any():
        drawn.append(
            go.Heatmap(z=np.where(mark.pale, mark.values, np.nan), opacity=PALE, name="few rows", **shared)
        )  # fmt: skip
    return drawn


def _colors(scale: Scale, color: Palette) -> list[tuple[float, str]]:
    places = np.linspace(0.0, 1.0, len(scale.roles))
    return [(float(at), color.of(role)) for at, role in zip(places, scale.roles, strict=True)]


def _coloraxis(scale: Scale, color: Palette) -> dict[str, Any]:
    bar: dict[str, Any] = {"thickness": 12, "len": 0.8, "y": 0.4, "x": 1.02}
    bar["title"] = {"text": escape(scale.title, 40), "side": "top"}
    if scale.ticks:
        bar |= {"tickvals": [at for at, _ in scale.ticks], "ticktext": [name for _, name in scale.ticks]}
    return {"cmin": scale.low, "cmax": scale.high, "colorscale": _colors(scale, color), "colorbar": bar}


def _shape(figure: go.Figure, mark: Line | Area | Frame, panel: Panel, color: Palette, place: dict[str, int]) -> None:
    paint = color.of(mark.role)
    if isinstance(mark, Line):
        line = {"color": paint, "width": mark.width, "dash": "dot" if mark.dotted else "solid"}
        note: dict[str, Any] = {}
        if mark.text:
            note = {"annotation": {"text": escape(mark.text), "font": {"size": 11, "color": color.muted},
                                   "yanchor": "bottom"}, "annotation_position": "top right"}  # fmt: skip
        add = figure.add_vline if mark.upright else figure.add_hline
        add(mark.at, line=line, **note, **place)
        return
    if isinstance(mark, Frame):
        x, y = places(np.array(mark.x), panel.x.kind), places(np.array(mark.y), panel.y.kind)
        line = {"color": paint, "width": 2}
        figure.add_shape(type="rect", x0=x[0], x1=x[1], y0=y[0], y1=y[1], line=line, **(place or {}))
        return
    low, high = places(np.array([mark.low, mark.high]), panel.x.kind)
    figure.add_vrect(
        x0=low, x1=high, fillcolor=paint, opacity=mark.opacity, line={"width": 0}, layer="below", **place
    )  # fmt: skip
    for end in (low, high) if mark.lined else ():
        figure.add_vline(x=end, line={"color": paint, "width": 1}, **place)
    if mark.text:
        quiet = color.muted if mark.role == "density" else paint
        figure.add_annotation(
            x=low, y=1, yref="y domain", text=escape(mark.text), showarrow=False, xanchor="left", yanchor="top",
            font={"color": quiet, "size": 12}, xshift=4, **place,
        )  # fmt: skip
