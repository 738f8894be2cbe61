"""Where values lie in pixels: limits, scales and ticks of axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import numpy as np

from gamcore.data.dates import as_date
from gamcore.data.labels import cut
from gamcore.numbers import exact, factor, tick
from gamcore.types import Floats
from gamcore.viz.plots.palette import Palette, clean
from gamcore.viz.plots.spec import Axis, Bars, Cells, Line, Mark, Path, Points, Ribbon, Steps, Whiskers

TEXT: Final = 12
"""Size of letters in pixels."""
LETTER: Final = 6.4
"""Mean width of a letter in pixels."""
MOST_X, MOST_DATES, MOST_Y = 4, 3, 5
"""Numbers of ticks of a small plot."""
MOST_NAME: Final = 32
MOST_TURNED: Final = 18
LEVEL: Final = 0.6
"""Half the space of a level on an axis."""
TINY: Final = 1e-12
"""The least value of a logarithmic axis."""
Place = Callable[[Any], Floats]
Limits = tuple[float, float]


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


def limits(axis: Axis, marks: Iterable[Mark], along: bool) -> Limits:
    """Return the range of an axis: its own, or that of the marks. along : of the x axis."""
    if axis.limits is not None:
        return axis.limits
    values = [np.zeros(int(axis.from_zero))]
    for mark in marks:
        values += _values(mark, along, LEVEL if axis.ticks is not None else 0.0)
    known = np.concatenate([np.zeros(0), *(np.asarray(one, np.float64).ravel() for one in values)])
    known = known[np.isfinite(known) & ((known > 0) | (axis.kind != "log"))]
    return (float(known.min()), float(known.max())) if known.size and known.min() < known.max() else (0.0, 1.0)


def _values(mark: Mark, along: bool, room: float) -> list[Floats]:
    """Return the values of a mark on one axis. room : least space on either side of a bar's middle."""
    match mark:
        case Steps():
            return [mark.values if along == mark.upright else mark.edges]
        case Ribbon():
            return [mark.edges] if along else [mark.lower, mark.upper]
        case Bars():
            half = np.maximum(np.asarray(mark.width) / 2, room)
            return [mark.bases, mark.bases + mark.sizes] if along == mark.lying else [mark.at - half, mark.at + half]
        case Whiskers():
            return [mark.lower, mark.upper] if along == mark.lying else [mark.at]
        case Points() | Path() | Cells():
            return [mark.x if along else mark.y]
        case Line():
            return [np.array([mark.at])] if along == mark.upright and mark.text else []
    return []


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
        return [(at, cut(name, MOST_NAME)) for at, name in axis.ticks]
    low, high = ends
    if axis.kind == "log":
        lows = math.floor(math.log10(max(low, TINY)))
        rounds = [step * 10.0**power for power in range(lows, lows + 9) for step in (1, 2, 5)]
        inside = [at for at in rounds if low <= at <= high]
        return [(at, tick(at)) for at in inside[:: math.ceil(len(inside) / (2 * most)) or 1]]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * (1 - 1e-9))
    at = step * np.arange(math.ceil(low / step), math.floor(high / step) + 1)
    if axis.kind == "date":
        return [(float(day), as_date(float(day)).strftime("%b %Y" if step > 27 else "%d %b")) for day in at]
    return [(float(one), _written(float(one), axis)) for one in at]


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
    return tick(value)


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
