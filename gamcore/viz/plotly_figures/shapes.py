"""Marks that are not data (lines, areas, frames) and notes as plotly shapes and annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gamcore.viz.palette import Palette
from gamcore.viz.plotly_figures.style import Options, escape
from gamcore.viz.plotly_figures.traces import places
from gamcore.viz.spec import Area, Axis, Frame, Line, Mark, Panel

NAME_ABOVE = 0.23
"""How far above the middle of its step the name of a bar stands, in steps."""


@dataclass(frozen=True)
class PanelPlace:
    """The axes of a panel, such as "x3" and "y3": a mark is placed at their values or spans their domains."""

    x: str
    y: str

    def at(self, x: bool = False, y: bool = False) -> Options:
        """Return the references of coordinates: values on axes that are True, shares of the panel on the others."""
        return {"xref": self.x if x else f"{self.x} domain", "yref": self.y if y else f"{self.y} domain"}

    def upright(self, at: Any, line: Options) -> Options:
        """Return a vertical line across the panel at a value of its x axis."""
        return {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "line": line, **self.at(x=True)}

    def lying(self, at: Any, line: Options) -> Options:
        """Return a horizontal line across the panel at a value of its y axis."""
        return {"type": "line", "x0": 0, "x1": 1, "y0": at, "y1": at, "line": line, **self.at(y=True)}


def shapes(mark: Mark, panel: Panel, place: PanelPlace, color: Palette) -> list[Options]:
    """Return the shapes of a mark; none if the mark is drawn by traces."""
    match mark:
        case Line():
            line = {"color": color.of(mark.role), "width": mark.width, "dash": "dot" if mark.dotted else "solid"}
            return [place.upright(mark.at, line) if mark.upright else place.lying(mark.at, line)]
        case Frame():
            x, y = places(np.array(mark.x), panel.x.kind), places(np.array(mark.y), panel.y.kind)
            line = {"color": color.of(mark.role), "width": 2}
            corners = {"x0": x[0], "x1": x[1], "y0": y[0], "y1": y[1]}
            return [{"type": "rect", **corners, "line": line, **place.at(x=True, y=True)}]
        case Area():
            return _area(mark, panel, place, color.of(mark.role))
    return []


def _area(mark: Area, panel: Panel, place: PanelPlace, paint: str) -> list[Options]:
    low, high = places(np.array([mark.low, mark.high]), panel.x.kind)
    filled = {"type": "rect", "x0": low, "x1": high, "y0": 0, "y1": 1, "fillcolor": paint, "opacity": mark.opacity,
              "line": {"width": 0}, "layer": "below", **place.at(x=True)}  # fmt: skip
    ends = (low, high) if mark.lined else ()
    return [filled, *(place.upright(end, {"color": paint, "width": 1}) for end in ends)]


def backdrop(place: PanelPlace, paint: str) -> Options:
    """Return a rectangle that fills a panel with a colour."""
    return {"type": "rect", "x0": 0, "x1": 1, "y0": 0, "y1": 1, "layer": "below", "fillcolor": paint,
            "line": {"width": 0}, **place.at()}  # fmt: skip


def above(axis: Axis, place: PanelPlace, color: Palette) -> list[Options]:
    """Return the names of an upright axis whose bars lie below them, from the left edge of the panel; lines of
    the grid stop at a name."""
    style = {"showarrow": False, "x": 0, "xanchor": "left", "yanchor": "middle", **place.at(y=True)}
    style |= {"font": {"color": color.muted, "size": 12}, "bgcolor": color.background, "borderpad": 0}
    named = axis.ticks or () if axis.above else ()
    return [style | {"text": escape(name, 60), "y": at - NAME_ABOVE} for at, name in named]


def label(mark: Mark, panel: Panel, place: PanelPlace, color: Palette) -> list[Options]:
    """Return the label of a line or an area."""
    if not isinstance(mark, Line | Area) or not mark.text:
        return []
    style = {"text": escape(mark.text), "showarrow": False}
    if isinstance(mark, Area):
        quiet = color.muted if mark.role == "density" else color.of(mark.role)
        # At the foot of the panel: its head is the legend's.
        at = {"x": places(np.array([mark.low]), panel.x.kind)[0], "y": 0, "xanchor": "left", "yanchor": "bottom"}
        return [{**style, **at, **place.at(x=True), "font": {"color": quiet, "size": 12}, "xshift": 4}]
    at = {"x": mark.at, "y": 1, "xanchor": "left"} if mark.upright else {"x": 1, "y": mark.at, "xanchor": "right"}
    font = {"size": 11, "color": color.muted}
    return [{**style, **at, "yanchor": "bottom", "font": font, **place.at(x=mark.upright, y=not mark.upright)}]


def note(text: str, place: PanelPlace, color: Palette) -> Options:
    """Return a note in the corner of a panel."""
    return {"text": escape(text), "x": 1, "y": 1, "xanchor": "right", "yanchor": "top", "showarrow": False,
            "font": {"size": 11, "color": color.muted}, **place.at()}  # fmt: skip
