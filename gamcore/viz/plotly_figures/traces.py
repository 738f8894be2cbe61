"""Marks of data as plotly traces: plain mappings, validated once when the figure is created."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import numpy as np

from gamcore.common.types import Floats
from gamcore.data.dates import as_date
from gamcore.viz.palette import Palette
from gamcore.viz.plotly_figures.style import Options, escape
from gamcore.viz.spec import (
    Area,
    Bars,
    Cells,
    ColorScale,
    Frame,
    Line,
    Mark,
    Panel,
    Path,
    Points,
    Ribbon,
    Steps,
    Whiskers,
)

SYMBOLS = {"dot": "circle", "dash": "line-ew", "bar": "line-ns"}
PALE = 0.45
MANY = 3_000
"""Points beyond which WebGL draws them."""

DAY_MS = 86_400_000


def places(values: Floats, kind: str) -> Any:
    """Return numbers unchanged, and dates as plotly takes them."""
    return [as_date(v).replace(tzinfo=None) for v in values] if kind == "date" else values


def _hover(texts: Sequence[str]) -> Options:
    """Return the hover options of a mark: names come from data, so they are escaped and never put into a template."""
    if not len(texts):
        return {"hoverinfo": "skip"}
    return {"hovertext": ["<br>".join(escape(line, 400) for line in text.split("\n")) for text in texts],
            "hoverinfo": "text"}  # fmt: skip


def _named(name: str) -> Options:
    if not name:
        return {"showlegend": False}
    return {"name": escape(name, 60), "legendrank": 1 if name == "effect" else 1000}


def traces(mark: Mark, panel: Panel, color: Palette, flat: bool) -> list[Options]:
    """Return the traces of a mark; none if the mark is drawn by shapes. flat : never use WebGL."""
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
            return [_points(mark, panel, color, flat)]
        case Path():
            return [_path(mark, panel, color)]
        case Cells():
            return _cells(mark, panel, color)
        case Line() | Area() | Frame():
            return []
    assert_never(mark)


def _lines(x: Any, y: Any, **options: Any) -> Options:
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, **options}


def _path(mark: Path, panel: Panel, color: Palette) -> Options:
    line = {"color": color.of(mark.role), "width": mark.width, "dash": mark.dash or "solid"}
    style = _named(mark.name) | _hover(mark.hover)
    return _lines(places(mark.x, panel.x.kind), mark.y, line=line, opacity=mark.opacity, **style)


def _corners(edges: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return the corners of a step function whose value k lies between edges k and k + 1."""
    return np.repeat(edges, 2)[1:-1], np.repeat(values, 2)


def _steps(mark: Steps, panel: Panel, color: Palette) -> Options:
    along, across = _corners(mark.edges, mark.values)
    x, y = (across, places(along, panel.y.kind)) if mark.upright else (places(along, panel.x.kind), across)
    line = {"color": color.of(mark.role), "width": mark.width, "dash": "dot" if mark.dotted else "solid"}
    style = _named(mark.name) | _hover([text for text in mark.hover for _ in range(2)])
    return _lines(x, y, line=line, opacity=mark.opacity, **style)


def _ribbon(mark: Ribbon, panel: Panel, color: Palette) -> list[Options]:
    quiet: Options = {"line": {"width": 0}, "hoverinfo": "skip"}
    x, lower = _corners(mark.edges, mark.lower)
    at, fill = places(x, panel.x.kind), color.shade(mark.role, color.wide if mark.wide else color.band)
    upper, together = np.repeat(mark.upper, 2), {"showlegend": False, "legendgroup": mark.name}
    band = [
        _lines(at, lower, **together, **quiet),
        _lines(at, upper, fill="tonexty", fillcolor=fill, **together, **quiet),
    ]
    return [*band, _swatch(mark, fill, color)] if mark.name else band


def _swatch(mark: Ribbon, fill: str, color: Palette) -> Options:
    """Return a band's entry in the legend, with an edge: the band alone is too pale to be seen there."""
    marker = {"symbol": "square", "size": 12, "color": fill, "line": {"color": color.of(mark.role), "width": 1}}
    here: Options = {"type": "scatter", "mode": "markers", "x": [None], "y": [None], "marker": marker}
    return here | {"hoverinfo": "skip", "legendgroup": mark.name} | _named(mark.name)


def _bars(mark: Bars, panel: Panel, color: Palette) -> Options:
    n = len(mark.sizes)
    along, width = places(mark.at, (panel.y if mark.lying else panel.x).kind), mark.width
    if panel.x.kind == "date" and not mark.lying:
        width = np.asarray(mark.width) * DAY_MS
    paint = color.of(mark.roles) if isinstance(mark.roles, str | int) else [color.of(mark.role(k)) for k in range(n)]
    edge = {"color": color.zero, "width": 1} if mark.outlined else {"width": 0}
    drawn: Options = {"type": "bar", "width": width, "base": mark.base, "marker": {"color": paint, "line": edge}}
    if len(mark.texts):
        inside = color.ink if mark.outlined else color.background
        drawn |= {"text": [escape(text) for text in mark.texts], "cliponaxis": False, "textangle": 0,
                  "textposition": "auto" if panel.stacked else "outside",
                  "insidetextfont": {"color": inside}, "outsidetextfont": {"color": color.ink}}  # fmt: skip
    x, y = (mark.sizes, along) if mark.lying else (along, mark.sizes)
    drawn |= {"x": x, "y": y, "orientation": "h" if mark.lying else "v"}
    return drawn | _named(mark.name) | _hover(mark.hover)


def _whiskers(mark: Whiskers, panel: Panel, color: Palette) -> list[Options]:
    """Return an error bar per position, and a trace for the legend, which error bars alone do not get."""
    middle = (mark.lower + mark.upper) / 2
    paint = color.of(mark.role)
    error = {"type": "data", "array": mark.upper - middle, "color": paint, "thickness": mark.width,
             "width": 5 if mark.capped else 0}  # fmt: skip
    at = places(mark.at, (panel.y if mark.lying else panel.x).kind)
    x, y = (middle, at) if mark.lying else (at, middle)
    bars = {"type": "scatter", "x": x, "y": y, "mode": "markers", "marker": {"size": 1, "color": paint},
            "showlegend": False, "hoverinfo": "skip", "error_x" if mark.lying else "error_y": error}  # fmt: skip
    if not mark.name:
        return [bars]
    return [bars, _lines([None], [None], line={"color": paint, "width": mark.width}, **_named(mark.name))]


def _points(mark: Points, panel: Panel, color: Palette, flat: bool) -> Options:
    paint, dot = color.of(mark.role), mark.symbol == "dot"
    marker = {"color": paint, "size": mark.size, "opacity": mark.opacity, "symbol": SYMBOLS[mark.symbol]}
    if not dot:
        marker["line"] = {"width": 2, "color": paint}
    kind: Options = {"type": "scatter", "cliponaxis": False}  # a dot at the end of an axis is seen whole
    if mark.x.size > MANY and not flat:
        kind = {"type": "scattergl"}
    drawn = kind | {"mode": "markers", "marker": marker,
                    "x": places(mark.x, panel.x.kind), "y": places(mark.y, panel.y.kind)}  # fmt: skip
    return drawn | _named(mark.name) | _hover(mark.hover)


def _cells(mark: Cells, panel: Panel, color: Palette) -> list[Options]:
    """Return a heat map of the normal cells and one of the pale cells."""
    shared: Options = {
        "type": "heatmap", "x": places(mark.x, panel.x.kind), "y": places(mark.y, panel.y.kind), "xgap": mark.gap,
        "ygap": mark.gap, "hoverongaps": False, "hoverinfo": "text" if mark.hover.size else "skip",
    }  # fmt: skip
    if mark.hover.size:
        shared["hovertext"] = [_hover(list(row))["hovertext"] for row in mark.hover]
    if mark.texts.size:
        shared["text"] = [[escape(text).replace("\n", "<br>") for text in row] for row in mark.texts]
        shared |= {"texttemplate": "%{text}"}  # light on dark cells, as plotly chooses
    if mark.scale.shown:
        shared["coloraxis"] = "coloraxis"
    else:
        shared |= {"zmin": mark.scale.low, "zmax": mark.scale.high, "colorscale": colors(mark.scale, color)}
        shared["showscale"] = False
    drawn = [{"z": np.where(mark.pale, np.nan, mark.values), "name": "cells", **shared}]
    if mark.pale.any():
        drawn.append({"z": np.where(mark.pale, mark.values, np.nan), "opacity": PALE, "name": "few rows", **shared})
    return drawn


def colors(scale: ColorScale, color: Palette) -> list[tuple[float, str]]:
    """Return the colours along a scale, with positions from 0 to 1."""
    places = np.linspace(0.0, 1.0, len(scale.roles))
    return [(float(at), color.of(role)) for at, role in zip(places, scale.roles, strict=True)]
