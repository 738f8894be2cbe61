"""Interactions: a heat map between the curves of its two features, and slices through it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gamcore.explain.curves import FEW_ROWS, Curve
from gamcore.explain.sentences import read_surface
from gamcore.explain.surfaces import Axis as Side
from gamcore.explain.surfaces import Rectangle, Surface
from gamcore.model.losses import LOSSES
from gamcore.model.scales import say
from gamcore.viz.plots.curves import effect_axis, view
from gamcore.viz.plots.palette import shorten
from gamcore.viz.plots.spec import Axis, Cells, Floats, Frame, Line, Mark, Panel, Plot, Points, Scale, Steps

MOST_SLICES = 5


def surface(
    found: Surface, target: str, detail: str, chosen: Rectangle | None = None, title: str | None = None,
    height: int = 532,
) -> Plot:  # fmt: skip
    """The joint effect as a heat map, grey where no row is, pale where few are; the curves of the two features in the
    margins, each with its own scale. `chosen` is framed; title : None for what the surface says (`reading`)."""
    limit = found.reach or 1.0
    units = LOSSES[found.margins[0].loss].unit(found.scale, target)
    colors = Scale(-limit, limit, ("primary", "background", "accent"), units, _factors(limit, found.scale == "ratio"))
    seen = found.counts > 0
    logs = np.log(found.scores) if found.scale == "ratio" else found.scores
    few = seen & (found.counts < FEW_ROWS)
    x, y = borders(found.first), borders(found.second)
    marks: list[Mark] = [
        Cells(x, y, values=np.where(seen, logs, np.nan).T, scale=colors, pale=few.T, told=_told(found))
    ]
    if chosen is not None:
        marks.append(
            Frame((x[chosen.rows[0]], x[chosen.rows[1]]), (y[chosen.columns[0]], y[chosen.columns[1]]))
        )  # fmt: skip
    along, beside = _axis(found.first, found.margins[0]), _axis(found.second, found.margins[1])
    quiet_x, quiet_y = (replace(axis, title="", named=False) for axis in (along, beside))
    effects = [effect_axis("", curve.scale) for curve in found.margins]
    return Plot(
        name=f"{found.names[0]} x {found.names[1]}",
        title=title or read_surface(found),
        detail=detail,
        panels=(
            (Panel(quiet_x, effects[0], _margin(found, 0)), None),
            (
                Panel(along, beside, tuple(marks), blank=True),
                Panel(replace(effects[1], grid=False), quiet_y, _margin(found, 1)),
            ),
        ),
        widths=(0.84, 0.16),
        heights=(0.2, 0.8),
        height=height,
        words=title or read_surface(found),
        numbers=found.frame(),
    )


def slices(found: Surface, places: list[int], target: str, detail: str) -> Plot:
    """The joint effect along the first feature, a line for each of these bins of the second."""
    marks: list[Mark] = []
    for k, place in enumerate(places[:MOST_SLICES]):
        scores = np.where(found.counts[:, place] > 0, found.scores[:, place], np.nan)
        name = f"{found.names[1]} {found.second.place(place)}"
        told = [f"{found.first.place(i)}\n{say(score, found.scale)}" for i, score in enumerate(scores)]
        if found.first.labels:
            marks.append(Points(np.arange(scores.size, dtype=np.float64), scores, k, 9, name=name, told=told))
        else:
            marks.append(Steps(found.first.edges.astype(np.float64), scores, k, 2.0, name=name, told=told))
    units = LOSSES[found.margins[0].loss].unit(found.scale, target)
    panel = Panel(_axis(found.first, found.margins[0]), effect_axis(units, found.scale), (*marks, Line(found.zero)))
    shown = [found.second.place(place) for place in places[:MOST_SLICES]]
    numbers = found.frame()
    return Plot(
        f"{found.names[0]} by {found.names[1]}",
        f"Along {found.names[0]}",
        detail=detail,
        panels=((panel,),),
        words=found.words(),
        numbers=numbers[numbers[found.names[1]].isin(shown)],
        height=312,
        legend="list",
    )


def borders(side: Side) -> Floats:
    """Borders of the cells along an axis."""
    if side.labels:
        return np.arange(len(side.labels) + 1, dtype=np.float64) - 0.5
    edges = side.edges.astype(np.float64).copy()
    if edges.size > 2:  # an outer bin may be a single value
        edges[0] = min(edges[0], edges[1] - (edges[2] - edges[1]) / 2)
        edges[-1] = max(edges[-1], edges[-2] + (edges[-2] - edges[-3]) / 2)
    return edges


def centres(side: Side) -> Floats:
    """The middle of each cell along an axis."""
    return np.arange(len(side.labels), dtype=np.float64) if side.labels else (side.edges[:-1] + side.edges[1:]) / 2


def _axis(side: Side, curve: Curve) -> Axis:
    """Levels as they are named; of numbers, the middle 99% of rows, where a long tail would squeeze them."""
    if side.labels:
        ticks = tuple((float(k), shorten(label, len(side.labels))) for k, label in enumerate(side.labels))
        return Axis(side.feature, ticks=ticks, limits=(-0.5, len(side.labels) - 0.5))
    ends = borders(side)
    whole = (float(ends[0]), float(ends[-1])) if ends.size else None
    return Axis(side.feature, "date" if side.kind == "date" else "number", view(curve) or whole if ends.size else None)


def _told(found: Surface) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    """What a cell says where somebody points at it, (K_2, K_1)."""
    told = np.empty(found.scores.T.shape, object)
    for i, j in np.ndindex(*found.scores.shape):
        low, high, score = (float(values[i, j]) for values in (found.lower, found.upper, found.scores))
        ends = f" ({say(low, found.scale)} to {say(high, found.scale)})"
        told[j, i] = (
            f"{found.first.place(i)}\n{found.second.place(j)}\n{say(score, found.scale)}"
            f"{ends if found.margins[0].has_band else ''}\n{found.counts[i, j]:,.0f} rows"
        )
    return told


def _factors(limit: float, ratio: bool) -> tuple[tuple[float, str], ...] | None:
    """Ticks of a colour bar that is drawn by the logs of ratios."""
    if not ratio:
        return None
    return tuple((float(value), f"×{np.exp(value):.2g}") for value in np.linspace(-limit, limit, 5))


def _margin(found: Surface, side: int) -> tuple[Mark, ...]:
    """A feature's own curve along its side of the heat map: above it (side 0) or beside it (1)."""
    axis, curve, alone = (found.first, found.second)[side], found.margins[side], found.alone[side]
    upright = side == 1
    zero = Line(curve.zero, upright=upright)
    if axis.labels:
        at = np.arange(len(axis.labels), dtype=np.float64)
        return (Points(alone if upright else at, at if upright else alone, size=6), zero)
    return (Steps(curve.edges.astype(np.float64), curve.scores, width=1.6, upright=upright), zero)
