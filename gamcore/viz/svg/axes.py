"""Where values lie in pixels: scales and ticks of axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import numpy as np

from gamcore.common.numbers import exact, factor, tick
from gamcore.common.types import Floats
from gamcore.data.dates import as_date
from gamcore.data.labels import cut, cut_apart
from gamcore.viz.palette import Palette, clean
from gamcore.viz.ranges import TINY, Limits, even_ticks, ratio_ticks
from gamcore.viz.spec import AMOUNTS, Axis

TEXT: Final = 12
"""Size of letters in pixels."""
LETTER: Final = 6.4
"""Mean width of a letter in pixels."""
MOST_X, MOST_DATES, MOST_Y = 4, 3, 5
"""Numbers of ticks of a small plot."""
MOST_NAME: Final = 32
MOST_TURNED: Final = 18
Place = Callable[[Any], Floats]


@dataclass(frozen=True)
class Box:
    """The rectangle of a panel in pixels, and where values of its axes lie."""

    left: float
    top: float
    right: float
    bottom: float
    x: Place
    y: Place

    @classmethod
    def of(cls, sides: tuple[float, float, float, float], x: tuple[Axis, Limits], y: tuple[Axis, Limits]) -> Box:
        """Return the box with these sides (left, top, right, bottom) for two axes and their limits."""
        left, top, right, bottom = sides
        return cls(
            left, top, right=right, bottom=bottom, x=scale(x[1], (left, right), x[0]),
            y=scale(y[1], (top, bottom) if y[0].flipped else (bottom, top), y[0]),
        )  # fmt: skip


def scale(ends: Limits, pixels: Limits, axis: Axis) -> Place:
    """Return a function from values to pixels."""
    logs = axis.kind == "log"
    low, high = np.log(np.maximum(ends, TINY)) if logs else np.array(ends, np.float64)

    def place(values: Any) -> Floats:
        at = np.asarray(values, np.float64)
        at = np.log(np.maximum(at, TINY)) if logs else at
        return np.asarray(pixels[0] + (at - low) / (high - low) * (pixels[1] - pixels[0]))

    return place


def ticks(axis: Axis, ends: Limits, most: int) -> list[tuple[float, str]]:
    """Return positions and names of ticks."""
    if axis.ticks is not None:
        return list(
            zip([at for at, _ in axis.ticks], cut_apart([name for _, name in axis.ticks], MOST_NAME), strict=True)
        )
    if axis.kind == "log":
        return [(at, tick(at)) for at in ratio_ticks(ends, most)]
    step, at = even_ticks(ends, most)
    if axis.kind == "date":
        return [(float(day), as_date(float(day)).strftime("%b %Y" if step > 27 else "%d %b")) for day in at]
    return [(float(place), _written(float(place), axis)) for place in at]


def _written(value: float, axis: Axis) -> str:
    """Return a round number as an axis writes it, as short as it can be."""
    value = round(value, 10)
    match axis.format:
        case "percent":
            return f"{tick(100 * value)}%"
        case "signed percent":
            return f"{'+' if value > 0 else ''}{tick(100 * value)}%"
        case "factor":
            return factor(value)
        case "small":
            return exact(value, 4)
    return tick(value, commas=axis.format in AMOUNTS)


def y_ticks(axis: Axis, ends: Limits, box: Box, most: int, color: Palette) -> Iterator[str]:
    """Yield the ticks of a y axis, with lines across the panel where it has a grid."""
    for at, name in ticks(axis, ends, most):
        height = float(box.y(at))
        if axis.ticks is None and axis.grid:
            yield f'<path d="M{box.left:.1f} {height:.1f}H{box.right:.1f}" stroke="{color.hairline}"/>'
        if axis.named:
            yield text(box.left - 6, height + 4, name, "end", color)


def x_ticks(axis: Axis, ends: Limits, box: Box, most: int, color: Palette) -> Iterator[str]:
    """Yield the ticks of an x axis; names that would meet are turned."""
    if not axis.named and not axis.grid:
        return
    names = ticks(axis, ends, most)
    turned = are_turned(names, box.right - box.left)
    for at, name in names:
        place = float(box.x(at))
        if axis.grid and axis.ticks is None:
            yield f'<path d="M{place:.1f} {box.top:.1f}V{box.bottom:.1f}" stroke="{color.hairline}"/>'
        if axis.named and turned:
            yield text(place + 4, box.bottom + 13, cut(name, MOST_TURNED), "end", color, turn=-35)
        elif axis.named:
            anchor = "start" if place < box.left + 12 else "end" if place > box.right - 12 else "middle"
            yield text(place, box.bottom + 16, name, "middle" if axis.ticks is not None else anchor, color)


def are_turned(names: list[tuple[float, str]], width: float) -> bool:
    """Return whether the names of ticks would meet if they were written along the axis."""
    return len(names) > 1 and max(len(name) for _, name in names) * LETTER > width / len(names)


def text(x: float, y: float, words: str, anchor: str, color: Palette, ink: str = "", turn: int = 0) -> str:
    """Return a line of text. ink : its colour, by default that of quiet text; turn : in degrees."""
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    fill = ink or color.muted
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}"{turned}>{escape(clean(words))}</text>'
