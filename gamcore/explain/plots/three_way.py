"""Interactions of three features: a heat map of two for each part of the third, all on one scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gamcore.common.numbers import counted
from gamcore.common.types import Floats
from gamcore.explain.cell_support import around
from gamcore.explain.plots.surfaces import axis_along, borders, factors
from gamcore.explain.sentences import read_surface
from gamcore.explain.support import FEW_ROWS
from gamcore.explain.surfaces import SurfaceAxis
from gamcore.explain.three_way import ThreeWay
from gamcore.model.losses import LOSSES
from gamcore.model.scales import say
from gamcore.viz.spec import Axis, Cells, ColorScale, Panel, Plot

MOST_ACROSS = 3
"""Heat maps side by side: more are unreadable on a narrow page."""

STRIP = 26
"""Pixels of the strip above a heat map that names its part."""

ROW, LEAST = 190, 380
"""Pixels of a row of heat maps, and of all rows at least."""


def three_way(shape: ThreeWay, target: str, detail: str, title: str | None = None) -> Plot:
    """Return a heat map for each part of the third feature with training rows; cells where one of the first two is
    missing are in the numbers only.

    Cells without rows are grey, cells with few rows are pale, in the colour of the cells around them. title : None for
    a sentence about the interaction (`read_surface`).
    """
    parts = shape.parts() or [0]
    shades = {part: _shades(shape, part) for part in parts}
    limit = max(float(np.nanmax(np.abs(each), initial=0.0)) for each in shades.values()) or 1.0
    units = LOSSES[shape.loss].unit(shape.scale, target).removesuffix(" at the base rate")
    ticks = factors(limit, shape.scale == "ratio")
    colors = ColorScale(-limit, limit, ("primary", "background", "accent"), units, ticks)
    across = min(len(parts), 2 if len(parts) == 4 else MOST_ACROSS)
    n_rows = -(-len(parts) // across)
    height = max(ROW * n_rows, LEAST)
    x, y = axis_along(shape.axes[0]), _with_strip(shape.axes[1], STRIP / (height / n_rows - STRIP))
    panels = [_panel(shape, part, shades[part], replace(colors, shown=k == 0), (x, y)) for k, part in enumerate(parts)]
    rows = [panels[k : k + across] for k in range(0, len(panels), across)]
    quiet = [[_quiet(panel, row, column, n_rows) for column, panel in enumerate(line)] for row, line in enumerate(rows)]
    filled = tuple((*line, *[None] * (across - len(line))) for line in quiet)
    read = title or read_surface(shape)
    return Plot(
        name=" x ".join(shape.names),
        title=read,
        detail=detail,
        panels=filled,
        widths=(1.0 / across,) * across,
        heights=(1.0 / n_rows,) * n_rows,
        height=height + 60,
        words=read,
        numbers=shape.frame(),
    )


def _panel(shape: ThreeWay, part: int, shades: Floats, colors: ColorScale, axes: tuple[Axis, Axis]) -> Panel:
    """Return the heat map of one part of the third feature."""
    rows = shape.rows[1:, 1:, part]
    few = (rows > 0) & (rows < FEW_ROWS)
    x, y = borders(shape.axes[0]), borders(shape.axes[1])
    cells = Cells(x, y, values=shades.T, scale=colors, pale=few.T, hover=_hover(shape, part))
    return Panel(*axes, (cells,), blank=True, note=shape.where(2, part))


def _quiet(panel: Panel, row: int, column: int, n_rows: int) -> Panel:
    """Return a panel with the names of its axes only where they are at the edge of the grid."""
    x = panel.x if row == n_rows - 1 else replace(panel.x, title="", named=False)
    y = panel.y if column == 0 else replace(panel.y, title="", named=False)
    return replace(panel, x=x, y=y)


def _shades(shape: ThreeWay, part: int) -> Floats:
    """Return the effects (K_1, K_2) that the cells of one part are coloured by; see `Surface.shades`."""
    scores = shape.cells[1:, 1:, part]
    return around(np.log(scores) if shape.scale == "ratio" else scores, shape.rows[1:, 1:, part])


def _with_strip(side: SurfaceAxis, share: float) -> Axis:
    """Return the upward axis of a heat map with room above it for the name of its part, a share of the map's height."""
    axis, ends = axis_along(side), borders(side)
    low, high = axis.limits or (float(ends[0]), float(ends[-1]))
    return replace(axis, limits=(low, high + share * (high - low)))


def _hover(shape: ThreeWay, part: int) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    """Return the hover text of each cell, (K_2, K_1)."""
    hover = np.empty(shape.scores.shape[1::-1], object)
    for i, j in np.ndindex(*shape.scores.shape[:2]):
        cell = (i + 1, j + 1, part)
        score, low, high = (say(float(values[cell]), shape.scale) for values in (shape.cells, shape.low, shape.high))
        band = f" ({low} to {high})" if (shape.low < shape.high).any() else ""
        places = [shape.where(axis, k) for axis, k in enumerate(cell)]
        hover[j, i] = "\n".join([*places, f"{score}{band}", counted(float(shape.rows[cell]), "row")])
    return hover
