"""Interactions: a heat map between the curves of its two features, and slices through it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gamcore.common.numbers import counted, factor
from gamcore.common.types import Floats
from gamcore.explain.curves import Curve
from gamcore.explain.plots.curves import effect_axis, view
from gamcore.explain.plots.fine_bins import narrow
from gamcore.explain.sentences import read_surface
from gamcore.explain.support import FEW_ROWS
from gamcore.explain.surfaces import Rectangle, Surface
from gamcore.explain.surfaces import SurfaceAxis as Side
from gamcore.model.losses import LOSSES
from gamcore.model.scales import say
from gamcore.viz.axes import apart, number_axis
from gamcore.viz.palette import shorten
from gamcore.viz.spec import Axis, Cells, ColorScale, Frame, Line, Mark, Panel, Plot, Points, Steps

MOST_SLICES = 5
MOST_NAMED = 12
"""Names along a side of the heat map that stand apart, on a phone, too; the others are seen on hover."""


def surface(
    shape: Surface, target: str, detail: str, chosen: Rectangle | None = None, title: str | None = None,
    height: int = 532,
) -> Plot:  # fmt: skip
    """Return the joint effect as a heat map, with the curves of the two features in the margins, each on its own scale.

    Cells without rows are grey, cells with few rows are pale, in the colour of the cells around them. chosen : a
    rectangle to frame. title : None for a sentence about the surface (`read_surface`).
    """
    limit = shape.reach or 1.0
    units = LOSSES[shape.margins[0].loss].unit(shape.scale, target).removesuffix(" at the base rate")
    colors = ColorScale(
        -limit, limit, ("primary", "background", "accent"), units, factors(limit, shape.scale == "ratio")
    )
    seen = shape.counts > 0
    few = seen & (shape.counts < FEW_ROWS)
    x, y = borders(shape.first), borders(shape.second)
    marks: list[Mark] = [Cells(x, y, values=shape.shades.T, scale=colors, pale=few.T, hover=_hover(shape))]
    if chosen is not None:
        marks.append(
            Frame((x[chosen.rows[0]], x[chosen.rows[1]]), (y[chosen.columns[0]], y[chosen.columns[1]]))
        )  # fmt: skip
    along, beside = _axis(shape.first, shape.margins[0]), _axis(shape.second, shape.margins[1])
    quiet_x, quiet_y = (replace(axis, title="", named=False) for axis in (along, beside))
    effects = [effect_axis("", curve.scale) for curve in shape.margins]
    return Plot(
        name=f"{shape.names[0]} x {shape.names[1]}",
        title=title or read_surface(shape),
        detail=detail,
        panels=(
            (Panel(quiet_x, effects[0], _margin(shape, 0)), None),
            (
                Panel(along, beside, tuple(marks), blank=True),
                Panel(replace(effects[1], grid=False), quiet_y, _margin(shape, 1)),
            ),
        ),
        widths=(0.84, 0.16),
        heights=(0.2, 0.8),
        height=height,
        words=title or read_surface(shape),
        numbers=shape.frame(),
    )


def slices(surface: Surface, places: list[int], target: str, detail: str) -> Plot:
    """Return the joint effect along the first feature, one line for each of the bins `places` of the second."""
    marks: list[Mark] = []
    for k, place in enumerate(places[:MOST_SLICES]):
        scores = np.where(surface.counts[:, place] > 0, surface.scores[:, place], np.nan)
        name = f"{surface.names[1]} {surface.second.place(place)}"
        hover = [f"{surface.first.place(i)}\n{say(score, surface.scale)}" for i, score in enumerate(scores)]
        if surface.first.labels:
            marks.append(Points(np.arange(scores.size, dtype=np.float64), scores, k, 9, name=name, hover=hover))
        else:
            edges = surface.first.edges.astype(np.float64)
            if surface.is_smooth:
                parts, finer = narrow(edges)
                scores = np.interp((finer[:-1] + finer[1:]) / 2, surface.first.display, scores)
                edges, hover = finer, [text for text in hover for _ in range(parts)]
            marks.append(Steps(edges, scores, k, 2.0, name=name, hover=hover))
    units = LOSSES[surface.margins[0].loss].unit(surface.scale, target)
    panel = Panel(
        _axis(surface.first, surface.margins[0]), effect_axis(units, surface.scale), (*marks, Line(surface.zero))
    )
    shown = [surface.second.place(place) for place in places[:MOST_SLICES]]
    numbers = surface.frame()
    return Plot(
        f"{surface.names[0]} by {surface.names[1]}",
        f"Along {surface.names[0]}",
        detail=detail,
        panels=((panel,),),
        words=surface.words(),
        numbers=numbers[numbers[surface.names[1]].isin(shown)],
        height=312,
        legend="list",
    )


def borders(side: Side) -> Floats:
    """Return the borders of the cells along an axis."""
    if side.labels:
        return np.arange(len(side.labels) + 1, dtype=np.float64) - 0.5
    edges = side.edges.astype(np.float64).copy()
    if edges.size > 2:  # an outer bin may be a single value
        edges[0] = min(edges[0], edges[1] - (edges[2] - edges[1]) / 2)
        edges[-1] = max(edges[-1], edges[-2] + (edges[-2] - edges[-3]) / 2)
    return edges


def centres(side: Side) -> Floats:
    """Return the middle of each cell along an axis."""
    return np.arange(len(side.labels), dtype=np.float64) if side.labels else (side.edges[:-1] + side.edges[1:]) / 2


def axis_along(side: Side, opening: tuple[float, float] | None = None) -> Axis:
    """Return the axis of one feature: named levels, or numbers and dates. opening : first limits; None for all."""
    if side.labels:
        ticks = [(float(k), shorten(label, len(side.labels))) for k, label in enumerate(side.labels)]
        ends = -0.5, len(side.labels) - 0.5
        return Axis(side.feature, ticks=apart(ticks, ends, MOST_NAMED), limits=ends)
    edges = borders(side)
    whole = (float(edges[0]), float(edges[-1])) if edges.size else None
    limits = opening or whole if edges.size else None
    if side.kind == "date":
        return Axis(side.feature, "date", limits)
    axis = number_axis(side.feature, side.measure, side.edges, limits)
    if not side.values:
        return axis
    names = [shorten(name, len(side.values)) for name in side.values]
    ticks = list(zip(((edges[:-1] + edges[1:]) / 2).tolist(), names, strict=True))
    return replace(axis, ticks=apart(ticks, limits, MOST_NAMED) if limits else tuple(ticks), scaled=True)


def _axis(side: Side, curve: Curve) -> Axis:
    """Return the axis of one feature, limited to the opening view of its curve (`view`)."""
    return axis_along(side, view(curve) if side.edges.size and not side.labels else None)


def _hover(surface: Surface) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    """Return the hover text of each cell, (K_2, K_1)."""
    hover = np.empty(surface.scores.T.shape, object)
    for i, j in np.ndindex(*surface.scores.shape):
        low, high, score = (float(values[i, j]) for values in (surface.lower, surface.upper, surface.scores))
        ends = f" ({say(low, surface.scale)} to {say(high, surface.scale)})"
        hover[j, i] = (
            f"{surface.first.place(i)}\n{surface.second.place(j)}\n{say(score, surface.scale)}"
            f"{ends if surface.margins[0].has_band else ''}\n{counted(float(surface.counts[i, j]), 'row')}"
        )
    return hover


def factors(limit: float, ratio: bool) -> tuple[tuple[float, str], ...] | None:
    """Return the ticks of a colour bar on the logs of ratios; None for other scales."""
    if not ratio:
        return None
    return tuple((float(value), factor(np.exp(value))) for value in np.linspace(-limit, limit, 5))


def _margin(surface: Surface, side: int) -> tuple[Mark, ...]:
    """Return a feature's own curve along its side of the heat map: above it (side 0) or beside it (1)."""
    axis, curve, alone = (surface.first, surface.second)[side], surface.margins[side], surface.alone[side]
    upright = side == 1
    zero = Line(curve.zero, upright=upright)
    if axis.labels:
        at = np.arange(len(axis.labels), dtype=np.float64)
        return (Points(alone if upright else at, at if upright else alone, size=6), zero)
    return (Steps(curve.edges.astype(np.float64), curve.scores, width=1.6, upright=upright), zero)
