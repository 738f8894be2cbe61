"""A plot's description as a plotly figure: drawing only, nothing is computed here.

The figure is assembled as plain mappings and created once: plotly validates again at every change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate
from textwrap import wrap
from typing import Final

import numpy as np
import plotly.graph_objects as go

from gamcore.common.numbers import exact
from gamcore.viz.palette import PALETTES, Mode, Palette
from gamcore.viz.plotly_figures.shapes import PanelPlace, above, backdrop, label, note, shapes
from gamcore.viz.plotly_figures.style import Options, escape, heading, more_pixels, template
from gamcore.viz.plotly_figures.traces import colors, places, traces
from gamcore.viz.ranges import FEWEST_RATIOS, MOST_RATIOS, TINY, limits, ratio_ticks, round_ratios
from gamcore.viz.spec import Axis, Bars, Cells, ColorScale, Line, Mark, Panel, Plot, Points, Steps

FORMATS = {
    "plain": None,
    "amount": None,
    "percent": ".2~%",
    "signed percent": "+.2~%",
    "count": ",",
    "factor": "~g",
    "small": None,
}
LEGEND_PIXELS = 20
BARE = 12
"""Pixels above a plot that has neither title nor legend."""
SMALL_X, SMALL_Y = 4, 5
"""Numbers of ticks of a small plot."""
NARROW, FEWEST = 0.3, 2
"""A panel with less than this share of the width has that many ticks."""
LYING = 5
"""The same of an axis of amounts along lying bars, whose names leave it little room."""
COLOR_BAR = 52
"""Pixels of a colour bar, which lies above its plot, as legends do: beside it, a phone has no room for the plot, and
below it, how far away it would be is up to the names on the axis."""
STANDING = 60
"""Pixels for labels of an axis that stand."""
MOST_LYING = 60
"""Letters on an axis beyond which its labels stand."""
TICK = 22
"""Pixels of a number on an upright axis, with some room."""
STANDOFF = 5
"""Pixels between an axis and its labels, so that those of x and y do not meet in the corner."""
LOWERED, THIN = 0.27, 0.36
"""By how much bars below their names are lower than others, and how wide, in steps from bar to bar."""
AROUND, LINE, LETTER, SHORTEST = 80, 16, 6.5, 12
"""Pixels of a plot above and below its panels, of a line and of a letter; letters of a line of an upright title, at
least."""
SAID: Final = frozenset({"effect", "few rows"})
"""Names of lines that need no legend where they are alone: the sentence above a page's plot says what the line is, and
the notes below it what is grey."""

BETWEEN_ROWS, BETWEEN_COLUMNS = 0.03, 0.02
"""Gaps between panels, as shares of the plot."""


def draw(plot: Plot, mode: Mode = "light", titled: bool = True, flat: bool = False) -> go.Figure:
    """Return the figure of a plot in a theme. titled : False where the page shows the title.

    flat : never use WebGL, which needs the browser's permission to generate code.
    """
    color = PALETTES[mode]
    layout: Options = {"template": template(mode), "width": plot.width, "hovermode": "closest"}
    layout |= _grid(plot) | {"shapes": [], "annotations": []}
    data: list[Options] = []
    for row, column, panel in plot.each():
        number = _number(plot, row, column)
        place, panel = PanelPlace(f"x{number}", f"y{number}"), _below_names(panel)
        axes = {"xaxis": place.x, "yaxis": place.y}
        data += [trace | axes for mark in panel.marks for trace in traces(mark, panel, color, flat)]
        _panel(layout, panel, place, color)
        narrow = plot.widths[column] < NARROW * sum(plot.widths)
        most = SMALL_X if plot.small else FEWEST if narrow else None
        if most is None and panel.x.grid and panel.x.format == "amount":
            most = LYING
        layout[f"xaxis{number}"] |= _axis(panel.x, color, most) | {"ticklabelstandoff": STANDOFF}
        if panel.x.ticks is None and panel.x.kind == "number":
            layout[f"xaxis{number}"]["tickangle"] = 0
        layout[f"yaxis{number}"] |= _axis(panel.y, color, SMALL_Y if plot.small and panel.y.kind != "log" else None)
        layout[f"yaxis{number}"]["title"] = {"text": _upright(panel.y.title, plot, row)}
        room = FEWEST_RATIOS if narrow else MOST_RATIOS
        layout[f"xaxis{number}"] |= _round_ratios(panel.x, panel.marks, room, along=True)
        room = min(int(_pixels(plot, row) / TICK), MOST_RATIOS)
        layout[f"yaxis{number}"] |= _round_ratios(panel.y, panel.marks, max(room, FEWEST_RATIOS), along=False)
    if not titled and {mark.name for mark in plot.named() if isinstance(mark, Steps)} <= SAID:
        data = [trace | {"showlegend": False} if trace.get("name") in SAID else trace for trace in data]
    return go.Figure({"data": data, "layout": layout | _around(plot, titled, color)})


def _number(plot: Plot, row: int, column: int) -> str:
    """Return plotly's suffix for the names of a panel's axes."""
    number = 1 + row * len(plot.panels[0]) + column
    return str(number) if number > 1 else ""


def _grid(plot: Plot) -> Options:
    """Return the axes of all panels with their domains: a column follows its lowest x axis, a row its first y axis."""
    rows, columns = len(plot.panels), len(plot.panels[0])
    if rows * columns == 1:
        return {"xaxis": {}, "yaxis": {}}
    apart = max(
        BETWEEN_ROWS, LINE / max(plot.height - AROUND, 4 * LINE)
    )  # numbers at the ends of both axes do not touch
    across, down = _domains(plot.widths, BETWEEN_COLUMNS), _domains(plot.heights, apart)
    axes: Options = {}
    for row in range(rows):
        for column in range(columns):
            number = _number(plot, row, column)
            x: Options = {"anchor": f"y{number}", "domain": across[column]}
            low, high = down[row]
            y: Options = {"anchor": f"x{number}", "domain": [1 - high, 1 - low]}
            if row < rows - 1:
                x |= {"matches": f"x{_number(plot, rows - 1, column)}", "showticklabels": False}
            if column:
                y |= {"matches": f"y{_number(plot, row, 0)}", "showticklabels": False}
            axes |= {f"xaxis{number}": x, f"yaxis{number}": y}
    return axes


def _domains(sizes: tuple[float, ...], between: float) -> list[list[float]]:
    """Return the start and end of panels of some sizes, side by side from 0 to 1."""
    room = (1 - between * (len(sizes) - 1)) / sum(sizes)
    ends = [end * room + k * between for k, end in enumerate(accumulate(sizes))]
    return [[end - size * room, end] for end, size in zip(ends, sizes, strict=True)]


def _panel(layout: Options, panel: Panel, place: PanelPlace, color: Palette) -> None:
    """Add the parts of a panel that are not traces to a layout."""
    for mark in panel.marks:
        layout["shapes"] += shapes(mark, panel, place, color)
        layout["annotations"] += label(mark, panel, place, color)
        if isinstance(mark, Cells) and mark.scale.shown:
            layout["coloraxis"] = _coloraxis(mark.scale, color)
        if isinstance(mark, Bars):
            layout |= {"bargap": 0, "barmode": "overlay"}
    if panel.note:
        layout["annotations"].append(note(panel.note, place, color))
    layout["annotations"] += above(panel.y, place, color)
    if panel.blank:  # zero has the page's colour: cells without rows need another
        layout["shapes"].append(backdrop(place, color.hairline))


def _below_names(panel: Panel) -> Panel:
    """Return a panel whose bars and dots make room for names above them, where its axis has them there."""
    if not panel.y.above:
        return panel
    marks: list[Mark] = []
    for mark in panel.marks:
        if isinstance(mark, Bars):
            mark = replace(mark, at=mark.at + LOWERED, width=THIN)
        marks.append(replace(mark, y=mark.y + LOWERED) if isinstance(mark, Points) else mark)
    return replace(panel, y=replace(panel.y, named=False), marks=tuple(marks))


def _around(plot: Plot, titled: bool, color: Palette) -> Options:
    """Return the height, margins, title and legend."""
    named = len(plot.named())
    layout: Options = {"showlegend": named > 0, "legend": {}, "dragmode": "pan"}
    over = any(isinstance(mark, Line) and mark.upright and mark.text for mark in plot.main.marks)
    top = 100 if titled else 34 if named else 2 * BARE if over else BARE
    if plot.legend != "right":
        layout["legend"] = {"x": 0, "xanchor": "left", "y": 1.01, "yanchor": "bottom"}
        top += 50 if titled else 0
    if plot.legend == "list":
        layout["legend"]["orientation"] = "v"
        top += LEGEND_PIXELS * named - 70
    if plot.small:
        title = {"text": escape(plot.title, 40), "font": {"size": 13}, "x": 0, "xref": "paper", "y": 0.96}
        margin = {"l": 36, "r": 8, "t": 30, "b": 24}
        return layout | {"title": title, "showlegend": False, "margin": margin, "height": plot.height}
    top += more_pixels(plot.title) if titled else 0
    top += COLOR_BAR * any(isinstance(mark, Cells) and mark.scale.shown for mark in plot.main.marks)
    standing = any(panel is not None and _is_tall(panel.x) for panel in plot.panels[-1])
    layout["height"] = plot.height + top - BARE + STANDING * standing
    if titled:
        return layout | {"title": heading(plot.title, plot.detail, color), "margin": {"t": top}}
    left = {"l": 16} if plot.main.y.above else {}
    return layout | {"margin": {"t": top, "r": 60 if any(_texts(plot)) else 16, "b": 44} | left}


def _texts(plot: Plot) -> list[str]:
    return [text for mark in plot.main.marks if isinstance(mark, Bars) and mark.lying for text in mark.texts]


def _upright(title: str, plot: Plot, row: int) -> str:
    """Return the title of an upright axis in lines that are no longer than its row of panels is high."""
    return "<br>".join(escape(line, 60) for line in wrap(title, max(int(_pixels(plot, row) / LETTER), SHORTEST)))


def _pixels(plot: Plot, row: int) -> float:
    """Return how high a row of panels is."""
    return (plot.height - AROUND) * plot.heights[row] / sum(plot.heights)


def _axis(axis: Axis, color: Palette, most: int | None) -> Options:
    """Return an axis. most : approximate number of ticks; None for plotly's choice."""
    drawn: Options = {"title": {"text": escape(axis.title, 60)}, "showticklabels": axis.named}
    drawn["showgrid"] = axis.grid
    if axis.grid:
        drawn["gridcolor"] = color.hairline
    if axis.ticks is not None:
        drawn |= {"tickmode": "array", "tickvals": [at for at, _ in axis.ticks],
                  "ticktext": [escape(name, 60) for _, name in axis.ticks]}  # fmt: skip
    if FORMATS[axis.format]:
        drawn["tickformat"] = FORMATS[axis.format]
    if axis.format == "amount":
        drawn["separatethousands"] = True
    if axis.format == "small":
        drawn |= {"exponentformat": "none", "nticks": 3, "tickangle": 0}
    if axis.kind == "log":
        drawn |= {"type": "log", "tickformat": "~g", "minor": {"showgrid": False}}
    ends = axis.limits
    if ends is not None and axis.kind == "log":
        ends = math.log10(max(ends[0], TINY)), math.log10(max(ends[1], TINY))
    if ends is not None:
        shown = places(np.array(ends), axis.kind)
        drawn["range"] = [*shown[::-1]] if axis.flipped else [*shown]
    elif axis.flipped:
        drawn["autorange"] = "reversed"
    if axis.from_zero:
        drawn["rangemode"] = "tozero"
    if most is not None:
        drawn["nticks"] = most
    return drawn


def _round_ratios(axis: Axis, marks: Iterable[Mark], most: int, along: bool) -> Options:
    """Return the steps of a logarithmic axis: 1, 2, 5, 10, plotly's even ones where the range is narrow and there is
    room for them, and powers of ten, written in full, where it is wide. most : numbers that there is room for."""
    if axis.kind != "log":
        return {}
    ends = limits(axis, marks, along)
    n_round = len(round_ratios(ends))
    if n_round <= most and (n_round >= FEWEST_RATIOS or along or most == MOST_RATIOS):
        return {"dtick": "D2"} if n_round >= FEWEST_RATIOS else {}
    at = ratio_ticks(ends, most)
    return {"tickmode": "array", "tickvals": at, "ticktext": [exact(value) for value in at]}


def _is_tall(axis: Axis) -> bool:
    """Return whether the labels of an axis will stand: many, or long ones."""
    return sum(len(text) for _, text in axis.ticks or ()) > MOST_LYING


def _coloraxis(scale: ColorScale, color: Palette) -> Options:
    bar: Options = {"orientation": "h", "thickness": 12, "len": 0.84, "x": 0, "xanchor": "left", "tickangle": 0}
    title: Options = {"text": escape(scale.title, 40), "side": "top", "font": {"size": 13, "color": color.muted}}
    bar |= {"y": 1, "yanchor": "bottom", "ypad": 0, "title": title}
    if scale.ticks:
        bar |= {"tickvals": [at for at, _ in scale.ticks], "ticktext": [name for _, name in scale.ticks]}
    return {"cmin": scale.low, "cmax": scale.high, "colorscale": colors(scale, color), "colorbar": bar}
