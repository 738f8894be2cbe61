"""Any plot as one SVG: its panels on shared axes, with a legend and a colour bar above them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate
from typing import Final

import numpy as np

from gamcore.common.numbers import number
from gamcore.data.labels import cut
from gamcore.viz.palette import FONT, PALETTES, Palette, clean
from gamcore.viz.ranges import Limits, limits
from gamcore.viz.spec import Axis, Bars, Cells, ColorScale, Mark, Panel, Path, Plot, Points, Ribbon, Steps
from gamcore.viz.svg.axes import (
    LETTER,
    MOST_TURNED,
    TEXT,
    Box,
    are_turned,
    text,
    ticks,
    x_ticks,
    y_ticks,
)
from gamcore.viz.svg.marks import DOTS, drawn, shade

WIDTH: Final = 720
GAP: Final = 14
"""Pixels between panels."""
LINE: Final = 20
"""Height of a line of text."""
NARROW: Final = 24
LEAST_LEFT, MOST_LEFT = 36, 230
ENDS: Final = 70
"""Room at the right for what is written at the ends of bars."""
PIXELS_A_TICK: Final = 90
TURNED: Final = 0.6
"""Height of turned text, as a share of its length."""
MARGIN: Final = 0.05
STEPS: Final = 24
"""Rectangles of a colour bar."""


def picture(plot: Plot, color: Palette = PALETTES["light"], width: int = WIDTH) -> str:
    """Return a plot as the text of an SVG, without its title and detail. color : its colours, maybe of a theme."""
    left, right, width = _left(plot), ENDS if _has_texts(plot) else GAP, min(plot.width or width, width)
    columns = _spans([share * (width - left - right) for share in plot.widths], left)
    head = [*_keys(plot, left, width, color)]
    top = LINE * len(head) + 8
    rows, bottom = _rows(plot, top)
    ends = _shared(plot)
    parts = [part for k, line in enumerate(head) for part in line]
    deepest = bottom
    for row, column, panel in plot.each():
        box = Box.of((columns[column][0], rows[row][0], columns[column][1], rows[row][1]),
                     (panel.x, ends["x"][column]), (panel.y, ends["y"][row]))  # fmt: skip
        below, drawn_panel = _panel(panel, box, (ends["x"][column], ends["y"][row]), color)
        parts += drawn_panel
        deepest = max(deepest, below)
    height = f"{deepest + 4:.0f}"
    return "".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(clean(plot.words))}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" font-family="{escape(FONT)}" font-size="{TEXT}" '
        'style="max-width:100%;height:auto">', *parts, "</svg>",
    ])  # fmt: skip


def _left(plot: Plot) -> float:
    """Return the room that the names of the y ticks need."""
    axes = [panel.y for _, column, panel in plot.each() if column == 0 and panel.y.named]
    longest = max((len(name) for axis in axes for _, name in axis.ticks or ()), default=0)
    ends = 2 * GAP if _has_texts(plot) else 0  # what is written at the left ends of bars
    return float(np.clip(LETTER * longest + 10, LEAST_LEFT + GAP, MOST_LEFT)) + ends


def _has_texts(plot: Plot) -> bool:
    return any(isinstance(mark, Bars) and len(mark.texts) for mark in plot.main.marks)


def _spans(sizes: Sequence[float], start: float) -> list[Limits]:
    """Return the first and last pixel of panels side by side."""
    shrink = (sum(sizes) - GAP * (len(sizes) - 1)) / sum(sizes)
    ends = accumulate(size * shrink for size in sizes)
    return [(start + end - size * shrink + k * GAP, start + end + k * GAP)
            for k, (end, size) in enumerate(zip(ends, sizes, strict=True))]  # fmt: skip


def _rows(plot: Plot, top: float) -> tuple[list[Limits], float]:
    """Return the top and bottom of each row of panels, and the last bottom; above a row is the title of its y axis."""
    spans: list[Limits] = []
    whole = (plot.height - 3 * LINE) / sum(plot.heights)
    for line, share in zip(plot.panels, plot.heights, strict=True):
        titled = any(panel is not None and panel.y.title and panel.y.ticks is None for panel in line)
        top += LINE if titled else 0
        spans.append((top, top + share * whole))
        top += share * whole + GAP
    return spans, top - GAP


def _shared(plot: Plot) -> dict[str, list[Limits]]:
    """Return the limits of the x axis of each column and of the y axis of each row."""
    columns = [[row[k] for row in plot.panels] for k in range(len(plot.widths))]
    return {"x": [_ends(some[::-1], along=True) for some in columns],
            "y": [_ends(some, along=False) for some in plot.panels]}  # fmt: skip


def _ends(panels: Sequence[Panel | None], along: bool) -> Limits:
    """Return the limits that panels share: those of the first axis that has any, or those of all marks, and a margin
    but for a zero at the end."""
    known = [panel for panel in panels if panel is not None]
    axes: list[Axis] = [panel.x if along else panel.y for panel in known]
    if not axes:
        return 0.0, 1.0
    axis = next((own for own in axes if own.limits is not None), axes[0])
    low, high = limits(axis, [mark for panel in known for mark in panel.marks], along)
    if axis.limits is not None or axis.kind == "log" or any(isinstance(m, Cells) for p in known for m in p.marks):
        return low, high
    margin = MARGIN * (high - low)
    levels = axis.ticks is not None  # which have no zero
    return low - margin * (levels or low != 0), high + margin * (levels or high != 0)


def _panel(panel: Panel, box: Box, ends: tuple[Limits, Limits], color: Palette) -> tuple[float, list[str]]:
    """Return how far down a panel reaches with its axes, and its elements."""
    width, height = box.right - box.left, box.bottom - box.top
    most_x = max(int(width / PIXELS_A_TICK), 2)
    most_y = max(int(height / 40), 2)
    view = f"{box.left:.1f} {box.top:.1f} {width:.1f} {height:.1f}"
    place = f'x="{box.left:.1f}" y="{box.top:.1f}" width="{width:.1f}" height="{height:.1f}"'
    blank = [f'<rect {place} fill="{color.hairline}"/>'] if panel.blank else []
    inner = [part for mark in panel.marks for part in drawn(mark, panel, box, color)]
    free = any(isinstance(mark, Bars) and len(mark.texts) for mark in panel.marks)
    parts = [
        *blank, *y_ticks(panel.y, ends[1], box, most_y, color), *x_ticks(panel.x, ends[0], box, most_x, color),
        f'<svg {place} viewBox="{view}" overflow="{"visible" if free else "hidden"}">', *inner, "</svg>",
    ]  # fmt: skip
    if panel.y.title and panel.y.ticks is None:
        parts.append(text(box.left, box.top - 6, cut(panel.y.title, 70), "start", color))
    below = box.bottom
    if panel.x.named:
        names = ticks(panel.x, ends[0], most_x)
        longest = min(max((len(name) for _, name in names), default=0), MOST_TURNED)
        below += TURNED * LETTER * longest + LINE if are_turned(names, width) else LINE if names else 0
    if panel.x.title:
        below += LINE
        parts.append(text((box.left + box.right) / 2, below - 4, cut(panel.x.title, 70), "middle", color))
    if panel.note:
        parts.append(text(box.right, box.top + TEXT, panel.note, "end", color))
    return below, parts


def _keys(plot: Plot, left: float, width: int, color: Palette) -> Iterator[list[str]]:
    """Yield the lines of the legend: a sample and the name of each mark that has one, then the colour bar."""
    named = {getattr(mark, "name", ""): mark for mark in reversed(plot.named())}
    line: list[str] = []
    at, n_lines = left, 0
    for name, mark in reversed(named.items()):
        words = cut(name, 60)
        size = LETTER * len(words) + 40
        if line and at + size > width:
            yield line
            line, at, n_lines = [], left, n_lines + 1
        middle = LINE * n_lines + LINE / 2
        line += [_sample(mark, at, middle, color), text(at + 22, middle + 4, words, "start", color)]
        at += size
    if line:
        yield line
    scales = [mark.scale for mark in plot.main.marks if isinstance(mark, Cells) and mark.scale.shown]
    if scales:
        yield _bar(scales[0], left, LINE * (n_lines + bool(line)) + LINE / 2, color)


def _sample(mark: Mark, x: float, y: float, color: Palette) -> str:
    """Return what a mark looks like."""
    match mark:
        case Ribbon(role=role, wide=wide):
            opacity = color.wide if wide else color.band
            return (
                f'<rect x="{x}" y="{y - 5}" width="16" height="10" fill="{color.of(role)}" fill-opacity="{opacity}"/>'
            )
        case Bars():
            fill = color.of(mark.role(0)) if mark.at.size else color.primary
            edge = f' stroke="{color.zero}"' if mark.outlined else ""
            return f'<rect x="{x}" y="{y - 5}" width="16" height="10" fill="{fill}"{edge}/>'
        case Points(role=role, symbol="dot"):
            return f'<circle cx="{x + 8}" cy="{y}" r="4" fill="{color.of(role)}"/>'
        case Steps(role=role, dotted=True) | Path(role=role, dash="dot" | "dash"):
            return f'<path d="M{x} {y}h16" stroke="{color.of(role)}" stroke-width="2"{DOTS}/>'
    return f'<path d="M{x} {y}h16" stroke="{color.of(getattr(mark, "role", "ink"))}" stroke-width="2"/>'


def _bar(scale: ColorScale, x: float, y: float, color: Palette) -> list[str]:
    """Return a colour bar between its ends in words."""
    named = scale.ticks or ((scale.low, number(scale.low, 2)), (scale.high, number(scale.high, 2)))
    low, high, size = named[0][1], named[-1][1], 5
    start = x + LETTER * len(low) + 6
    values = scale.low + (np.arange(STEPS) + 0.5) / STEPS * (scale.high - scale.low)
    cells = [f'<rect x="{start + k * size:.1f}" y="{y - 5}" width="{size + 0.5}" height="10" '
             f'fill="{shade(scale, float(value), color)}"/>' for k, value in enumerate(values)]  # fmt: skip
    end = start + STEPS * size + 6
    title = [text(end + LETTER * len(high) + 14, y + 4, cut(scale.title, 50), "start", color)] if scale.title else []
    return [text(x, y + 4, low, "start", color), *cells, text(end, y + 4, high, "start", color), *title]
