"""A small plot as SVG: a page shows many of them, and a browser needs a moment for each interactive figure.

One panel of curves, bands, bars, whiskers and short lines, as `plots.small` describes them; colours, limits and names
are those of the description, so it looks as plotly and the files draw it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape

import numpy as np

from gamcore.data.dates import as_date
from gamcore.data.labels import cut
from gamcore.types import Floats
from gamcore.viz.plots.palette import FONT, PALETTES, Mode, Palette
from gamcore.viz.plots.spec import Area, Axis, Bars, Line, Mark, Plot, Points, Ribbon, Steps, Whiskers

WIDTH = 320
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 28, 22
TEXT = 12
MOST_X, MOST_DATES, MOST_Y = 4, 3, 5
"""Numbers of ticks."""
Place = Callable[[Floats | float], Floats]


def small_svg(plot: Plot, mode: Mode = "light") -> str:
    """Return a small plot of one panel as the text of an SVG file, WIDTH pixels wide."""
    color, panel = PALETTES[mode], plot.main
    x_limits, y_limits = _limits(panel.x, panel.marks, along=True), _limits(panel.y, panel.marks, along=False)
    x = _scale(x_limits, (LEFT, WIDTH - RIGHT), panel.x)
    y = _scale(y_limits, (plot.height - BOTTOM, TOP), panel.y)
    box = f'x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{plot.height - TOP - BOTTOM}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{plot.height}" viewBox="0 0 {WIDTH} '
        f'{plot.height}" font-family="{escape(FONT)}" font-size="{TEXT}">',
        f'<clipPath id="c"><rect {box}/></clipPath>',
        f'<text x="{LEFT}" y="15" font-size="13" fill="{color.ink}">{escape(cut(plot.title, 40))}</text>',
        *_y_ticks(panel.y, y_limits, y, color),
        *_x_ticks(panel.x, x_limits, x, plot.height - 6, color),
        '<g clip-path="url(#c)">',
        *(part for mark in panel.marks for part in _drawn(mark, x, y, color)),
        "</g>",
    ]
    if panel.note:
        parts.append(_text(WIDTH - RIGHT, plot.height - BOTTOM - 4, panel.note, "end", color))
    return "".join([*parts, "</svg>"])


def _drawn(mark: Mark, x: Place, y: Place, color: Palette) -> Iterator[str]:
    """Yield the elements of a mark."""
    match mark:
        case Ribbon():
            yield _ribbon(mark, x, y, color)
        case Steps():
            style = f'stroke="{color.of(mark.role)}" stroke-width="{mark.width}" stroke-opacity="{mark.opacity:g}"'
            dots = ' stroke-dasharray="2 3"' if mark.dotted else ""
            yield f'<path d="{_steps(x(mark.edges), y(mark.values))}" fill="none" {style}{dots}/>'
        case Bars():
            half, ends = np.broadcast_to(np.asarray(mark.width) / 2, mark.at.shape), y(mark.bases + mark.sizes)
            left, right, bases = x(mark.at - half), x(mark.at + half), y(mark.bases)
            for k in range(mark.at.size):
                low, high = sorted((ends[k], bases[k]))
                place = f'x="{left[k]:.1f}" y="{low:.1f}" width="{right[k] - left[k]:.1f}" height="{high - low:.1f}"'
                yield f'<rect {place} fill="{color.of(mark.role(k))}"/>'
        case Whiskers():
            style = f'stroke="{color.of(mark.role)}" stroke-width="{mark.width}"'
            for at, low, high in zip(x(mark.at), y(mark.lower), y(mark.upper), strict=True):
                yield f'<path d="M{at:.1f} {low:.1f}V{high:.1f}" {style}/>'
        case Points():
            style = f'stroke="{color.of(mark.role)}" stroke-width="2"'
            for at, height in zip(x(mark.x), y(mark.y), strict=True):
                if np.isfinite(height):
                    yield f'<path d="M{at - mark.size / 2:.1f} {height:.1f}h{mark.size:g}" {style}/>'
        case Line(upright=False):
            dots = ' stroke-dasharray="2 3"' if mark.dotted else ""
            place = f"M{LEFT} {float(y(mark.at)):.1f}H{WIDTH - RIGHT}"
            yield f'<path d="{place}" stroke="{color.of(mark.role)}" stroke-width="{mark.width:g}"{dots}/>'
        case Area():
            yield from _area(mark, x, color)
        case _:
            raise ValueError(f"A small plot has no {type(mark).__name__}.")


def _steps(edges: Floats, heights: Floats) -> str:
    """Return the path of a step function, with a gap where a height is not a number."""
    parts, before = [], False
    for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
        if np.isfinite(height):
            parts.append(f"{'V' if before else f'M{left:.1f} '}{height:.1f}H{right:.1f}")
        before = bool(np.isfinite(height))
    return "".join(parts)


def _ribbon(mark: Ribbon, x: Place, y: Place, color: Palette) -> str:
    along = np.repeat(x(mark.edges), 2)[1:-1]
    across = [np.repeat(y(side), 2) for side in (mark.upper, mark.lower)]
    points = [*zip(along, across[0], strict=True), *zip(along[::-1], across[1][::-1], strict=True)]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points if np.isfinite(b))
    opacity = color.wide if mark.wide else color.band
    return f'<polygon points="{path}" fill="{color.of(mark.role)}" fill-opacity="{opacity:g}"/>'


def _area(mark: Area, x: Place, color: Palette) -> Iterator[str]:
    """Yield a shaded part of the x axis, with its lines and its name."""
    low, high = (float(np.clip(x(end), LEFT, WIDTH - RIGHT)) for end in (mark.low, mark.high))
    fill = color.of(mark.role)
    place = f'x="{low:.1f}" y="0" width="{high - low:.1f}" height="100%"'
    yield f'<rect {place} fill="{fill}" fill-opacity="{mark.opacity:g}"/>'
    for end in (low, high) if mark.lined else ():
        yield f'<path d="M{end:.1f} 0V1000" stroke="{fill}"/>'
    if mark.text:
        yield _text((low + high) / 2, TOP + TEXT, cut(mark.text, 24), "middle", color)


def _limits(axis: Axis, marks: tuple[Mark, ...], along: bool) -> tuple[float, float]:
    """Return the range of an axis: its own, or that of the marks. along : of the x axis."""
    if axis.limits is not None:
        return axis.limits
    values = [np.zeros(0)]
    for mark in marks:
        match mark:
            case Steps() | Ribbon():
                values.append(mark.edges if along else mark.values if isinstance(mark, Steps) else mark.upper)
            case Bars():
                values += [mark.at - 0.6, mark.at + 0.6] if along else [mark.bases, mark.bases + mark.sizes]
    known = np.concatenate([np.asarray(one, np.float64).ravel() for one in values])
    known = known[np.isfinite(known)]
    return (float(known.min()), float(known.max())) if known.size and known.min() < known.max() else (0.0, 1.0)


def _scale(limits: tuple[float, float], pixels: tuple[float, float], axis: Axis) -> Place:
    """Return a function from values to pixels."""
    ends = np.array(limits, np.float64)
    logs = axis.kind == "log"
    low, high = np.log(np.maximum(ends, 1e-12)) if logs else ends

    def place(values: Floats | float) -> Floats:
        at = np.asarray(values, np.float64)
        at = np.log(np.maximum(at, 1e-12)) if logs else at
        return np.asarray(pixels[0] + (at - low) / (high - low) * (pixels[1] - pixels[0]))

    return place


def _ticks(axis: Axis, limits: tuple[float, float], most: int) -> list[tuple[float, str]]:
    """Return positions and names of ticks."""
    if axis.ticks is not None:
        return list(axis.ticks)
    low, high = limits
    if axis.kind == "log":
        lows = math.floor(math.log10(max(low, 1e-12)))
        rounds = [step * 10.0**power for power in range(lows, lows + 9) for step in (1, 2, 5)]
        return [(at, f"{at:g}") for at in rounds if low <= at <= high][: 2 * most]
    rough = (high - low) / (MOST_DATES if axis.kind == "date" else most)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough)
    at = step * np.arange(math.ceil(low / step), math.floor(high / step) + 1)
    if axis.kind == "date":
        return [(float(day), as_date(float(day)).strftime("%b %Y" if step > 27 else "%d %b")) for day in at]
    return [(float(one), _number(float(one))) for one in at]


def _number(value: float) -> str:
    """Return a round number, as short as it can be told."""
    unit, name = next(((unit, name) for unit, name in ((1e9, "B"), (1e6, "M")) if abs(value) >= unit), (1.0, ""))
    if unit == 1.0 and abs(value) >= 1e4:
        unit, name = 1e3, "k"
    return f"{round(value / unit, 10):g}{name}".replace("-", "−")


def _y_ticks(axis: Axis, limits: tuple[float, float], y: Place, color: Palette) -> Iterator[str]:
    for at, name in _ticks(axis, limits, MOST_Y):
        height = float(y(at))
        yield f'<path d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}" stroke="{color.hairline}"/>'
        yield _text(LEFT - 6, height + 4, name, "end", color)


def _x_ticks(axis: Axis, limits: tuple[float, float], x: Place, height: float, color: Palette) -> Iterator[str]:
    if not axis.named:
        return
    for at, name in _ticks(axis, limits, MOST_X):
        place = float(x(at))
        anchor = "start" if place < LEFT + 12 else "end" if place > WIDTH - RIGHT - 12 else "middle"
        yield _text(place, height, name, "middle" if axis.ticks is not None else anchor, color)


def _text(x: float, y: float, text: str, anchor: str, color: Palette) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color.muted}">{escape(text)}</text>'
