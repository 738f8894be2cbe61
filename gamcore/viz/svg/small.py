"""Small pictures as SVG: a page shows many of them, and a browser needs a moment for each interactive figure.

A plot is one panel of marks, as `plots.small` describes them; colours, limits and names are those of the description,
so it looks as plotly and the files draw it.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Final

from gamcore.data.labels import FEWEST, cut, cut_apart
from gamcore.viz.palette import FONT, PALETTES, Mode, Palette, clean
from gamcore.viz.ranges import limits
from gamcore.viz.spec import Axis, ColorRole, Plot
from gamcore.viz.svg.axes import LETTER, MOST_DATES, MOST_X, MOST_Y, TEXT, Box, text, ticks, x_ticks, y_ticks
from gamcore.viz.svg.marks import drawn

WIDTH = 320
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 28, 22
CELL_WIDTH, CELL_HEIGHT = 180, 24
MARGIN: Final = 6.0
"""Of the cell of a table that shows an interval."""


def small_svg(plot: Plot, mode: Mode = "light", color: Palette | None = None) -> str:
    """Return a small plot of one panel as the text of an SVG file, WIDTH pixels wide.

    color : the colours, if not those of the theme.
    """
    color, panel = color or PALETTES[mode], plot.main
    ends = limits(panel.x, panel.marks, along=True), limits(panel.y, panel.marks, along=False)
    y_axis = replace(panel.y, grid=True)
    longest = max((len(name) for _, name in ticks(y_axis, ends[1], MOST_Y)), default=0)
    left = max(LEFT, round(LETTER * longest) + 10)
    sides = float(left), float(TOP), float(WIDTH - RIGHT), float(plot.height - BOTTOM)
    box = Box.of(sides, (panel.x, ends[0]), (y_axis, ends[1]))
    width, height = WIDTH - left - RIGHT, plot.height - TOP - BOTTOM
    most = MOST_DATES if panel.x.kind == "date" else MOST_X
    words = f'role="img" aria-label="{escape(clean(plot.words))}"'
    title = escape(clean(cut(plot.title, 22 if panel.note else 40)))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{plot.height}" viewBox="0 0 {WIDTH} '
        f'{plot.height}" font-family="{escape(FONT)}" font-size="{TEXT}" {words}>',
        f'<text x="{left}" y="15" font-size="13" fill="{color.ink}">{title}</text>',
        *y_ticks(y_axis, ends[1], box, MOST_Y, color),
        *x_ticks(_named_within(panel.x, width), ends[0], box, most, color),
        f'<svg x="{left}" y="{TOP}" width="{width}" height="{height}" viewBox="{left} {TOP} {width} {height}">',
        *(part for mark in panel.marks for part in drawn(mark, panel, box, color)),
        "</svg>",
    ]
    if panel.note:
        parts.append(text(WIDTH - RIGHT, 15, panel.note, "end", color))
    return "".join([*parts, "</svg>"])


def _named_within(axis: Axis, width: float) -> Axis:
    """Return an axis whose names have room beside each other: below a small plot is none for names that are turned."""
    if not axis.ticks:
        return axis
    most = max(int(width / len(axis.ticks) / LETTER), FEWEST)
    names = cut_apart([name for _, name in axis.ticks], most)
    return replace(axis, ticks=tuple(zip([at for at, _ in axis.ticks], names, strict=True)))


def interval_svg(
    value: float, interval: tuple[float, float], limits: tuple[float, float], role: ColorRole = "primary",
    mode: Mode = "light",
) -> str:  # fmt: skip
    """Return an estimate with its interval as the text of an SVG file; a thin line marks 0 where it is inside.

    limits : the ends of the axis, the same for all cells that are to be compared; what lies beyond is cut off.
    """
    low, high = limits
    color, middle = PALETTES[mode], CELL_HEIGHT / 2

    def place(at: float) -> float:
        inside = min(max((at - low) / (high - low), 0.0), 1.0) if high > low else 0.5
        return round(MARGIN + inside * (CELL_WIDTH - 2 * MARGIN), 1)

    start, end, dot = place(interval[0]), place(interval[1]), place(value)
    zero = f'<path d="M{place(0.0)} 1V{CELL_HEIGHT - 1}" stroke="{color.zero}" stroke-dasharray="3 2"/>'
    shade = color.of(role)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{CELL_WIDTH}" height="{CELL_HEIGHT}" '
        f'viewBox="0 0 {CELL_WIDTH} {CELL_HEIGHT}">'
        f"{zero if low <= 0 <= high else ''}"
        f'<path d="M{start} {middle}H{end}" stroke="{shade}" stroke-width="4" stroke-linecap="round" opacity="0.55"/>'
        f'<circle cx="{dot}" cy="{middle}" r="5" fill="{shade}"/></svg>'
    )
