"""Marks as elements of an SVG."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gamcore.common.types import Floats
from gamcore.data.labels import cut
from gamcore.viz.palette import Palette
from gamcore.viz.spec import (
    Area,
    Bars,
    Cells,
    ColorScale,
    Frame,
    Line,
    Mark,
    Panel,
    Path,
    Points,
    Ribbon,
    Steps,
    Whiskers,
)
from gamcore.viz.svg.axes import LETTER, TEXT, Box, text

DOTS, DASHES = ' stroke-dasharray="2 3"', ' stroke-dasharray="6 4"'
CAP = 3
"""Half the width of a whisker's end, in pixels."""
PALE = 0.45


def drawn(mark: Mark, panel: Panel, box: Box, color: Palette) -> Iterator[str]:
    """Yield the elements of a mark."""
    match mark:
        case Steps():
            yield _steps(mark, box, color)
        case Ribbon():
            yield _ribbon(mark, box, color)
        case Bars():
            yield from _bars(mark, panel, box, color)
        case Whiskers():
            yield from _whiskers(mark, box, color)
        case Points():
            yield from _points(mark, box, color)
        case Path():
            yield _path(mark, box, color)
        case Cells():
            yield from _cells(mark, box, color)
        case Line():
            yield from _line(mark, box, color)
        case Area():
            yield from _area(mark, box, color)
        case Frame():
            yield _rect(box.x(np.array(mark.x)), box.y(np.array(mark.y)), "none", color.of(mark.role))


def _rect(x: Floats, y: Floats, fill: str, edge: str = "", style: str = "") -> str:
    """Return a rectangle between two places on each axis."""
    place = f'x="{x.min():.1f}" y="{y.min():.1f}" width="{np.ptp(x):.1f}" height="{np.ptp(y):.1f}"'
    return f'<rect {place} fill="{fill}"{f" stroke={edge!r}" if edge else ""}{style}/>'


def _steps(mark: Steps, box: Box, color: Palette) -> str:
    style = f'stroke="{color.of(mark.role)}" stroke-width="{mark.width:g}" stroke-opacity="{mark.opacity:g}"'
    dots = DOTS if mark.dotted else ""
    places, heights = (
        (box.y(mark.edges), box.x(mark.values)) if mark.upright else (box.x(mark.edges), box.y(mark.values))
    )
    return f'<path d="{_stairs(places, heights, mark.upright)}" fill="none" {style}{dots}/>'


def _stairs(edges: Floats, heights: Floats, upright: bool) -> str:
    """Return the path of a step function, with a gap where a height is not a number. upright : edges along y."""
    along, across = ("V", "H") if upright else ("H", "V")
    parts, before = [], False
    for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
        if np.isfinite(height):
            start = f"M{height:.1f} {left:.1f}" if upright else f"M{left:.1f} {height:.1f}"
            parts.append(f"{f'{across}{height:.1f}' if before else start}{along}{right:.1f}")
        before = bool(np.isfinite(height))
    return "".join(parts)


def _ribbon(mark: Ribbon, box: Box, color: Palette) -> str:
    along = np.repeat(box.x(mark.edges), 2)[1:-1]
    across = [np.repeat(box.y(side), 2) for side in (mark.upper, mark.lower)]
    points = [*zip(along, across[0], strict=True), *zip(along[::-1], across[1][::-1], strict=True)]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points if np.isfinite(b))
    opacity = color.wide if mark.wide else color.band
    return f'<polygon points="{path}" fill="{color.of(mark.role)}" fill-opacity="{opacity:g}"/>'


def _bars(mark: Bars, panel: Panel, box: Box, color: Palette) -> Iterator[str]:
    """Yield bars, and what is written at their ends; inside them where bars follow each other."""
    along, across = (box.y, box.x) if mark.lying else (box.x, box.y)
    half = np.broadcast_to(np.asarray(mark.width) / 2, mark.at.shape)
    sides = np.stack([along(mark.at - half), along(mark.at + half)])
    ends = np.stack([across(mark.bases), across(mark.bases + mark.sizes)])
    edge = color.zero if mark.outlined else ""
    for k in range(mark.at.size):
        if np.isfinite(ends[:, k]).all():
            x, y = (ends[:, k], sides[:, k]) if mark.lying else (sides[:, k], ends[:, k])
            yield _rect(x, y, color.of(mark.role(k)), edge)
    for k, words in enumerate(mark.texts if mark.lying else ()):
        (base, end), height = ends[:, k], float(sides[:, k].mean()) + 4
        if panel.stacked and abs(end - base) > len(words) * LETTER + 12:
            inside = color.ink if mark.outlined else color.background
            yield text(float(base + end) / 2, height, words, "middle", color, ink=inside)
        else:
            anchor = "start" if end >= base else "end"
            yield text(float(end) + (5 if end >= base else -5), height, words, anchor, color, ink=color.ink)


def _whiskers(mark: Whiskers, box: Box, color: Palette) -> Iterator[str]:
    along, across = (box.y, box.x) if mark.lying else (box.x, box.y)
    style = f'stroke="{color.of(mark.role)}" stroke-width="{mark.width:g}"'
    for at, low, high in zip(along(mark.at), across(mark.lower), across(mark.upper), strict=True):
        if not np.isfinite([low, high]).all():
            continue
        path = f"M{low:.1f} {at:.1f}H{high:.1f}" if mark.lying else f"M{at:.1f} {low:.1f}V{high:.1f}"
        for end in (low, high) if mark.capped else ():
            path += f"M{end:.1f} {at - CAP:.1f}v{2 * CAP}" if mark.lying else f"M{at - CAP:.1f} {end:.1f}h{2 * CAP}"
        yield f'<path d="{path}" {style}/>'


def _points(mark: Points, box: Box, color: Palette) -> Iterator[str]:
    paint, half = color.of(mark.role), mark.size / 2
    faint = f' opacity="{mark.opacity:g}"' if mark.opacity < 1 else ""
    for x, y in zip(box.x(mark.x), box.y(mark.y), strict=True):
        if not np.isfinite([x, y]).all():
            continue
        if mark.symbol == "dot":
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{half:g}" fill="{paint}"{faint}/>'
        else:
            path = (
                f"M{x - half:.1f} {y:.1f}h{mark.size:g}"
                if mark.symbol == "dash"
                else f"M{x:.1f} {y - half:.1f}v{mark.size:g}"
            )
            yield f'<path d="{path}" stroke="{paint}" stroke-width="2"{faint}/>'


def _path(mark: Path, box: Box, color: Palette) -> str:
    points = zip(box.x(mark.x), box.y(mark.y), strict=True)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points if np.isfinite([x, y]).all())
    style = f'stroke="{color.of(mark.role)}" stroke-width="{mark.width:g}" stroke-opacity="{mark.opacity:g}"'
    dashes = {"": "", "dot": DOTS, "dash": DASHES}[mark.dash]
    return f'<polyline points="{path}" fill="none" {style}{dashes}/>'


def _cells(mark: Cells, box: Box, color: Palette) -> Iterator[str]:
    x, y = box.x(mark.x), box.y(mark.y)
    gap = np.array([mark.gap, -mark.gap]) / 2
    for i, j in np.argwhere(np.isfinite(mark.values)):
        place = np.sort(x[j : j + 2]) + gap, np.sort(y[i : i + 2]) + gap
        faint = f' opacity="{PALE:g}"' if mark.pale[i, j] else ""
        yield _rect(*place, shade(mark.scale, float(mark.values[i, j]), color), style=faint)
        for k, line in enumerate(str(mark.texts[i, j]).split("\n") if mark.texts.size else ()):
            yield text(
                float(place[0].mean()), float(place[1].mean()) + 4 + k * TEXT, line, "middle", color, ink=color.ink
            )


def shade(scale: ColorScale, value: float, color: Palette) -> str:
    """Return the colour of a value, mixed by whoever shows the picture: its colours may be those of a theme."""
    share = (value - scale.low) / ((scale.high - scale.low) or 1.0) * (len(scale.roles) - 1)
    first = int(np.clip(np.floor(share), 0, len(scale.roles) - 2))
    low, high = (color.of(role) for role in scale.roles[first : first + 2])
    return f"color-mix(in srgb,{high} {np.clip(100 * (share - first), 0, 100):.0f}%,{low})"


def _line(mark: Line, box: Box, color: Palette) -> Iterator[str]:
    at = float((box.x if mark.upright else box.y)(mark.at))
    path = f"M{at:.1f} {box.top:.1f}V{box.bottom:.1f}" if mark.upright else f"M{box.left:.1f} {at:.1f}H{box.right:.1f}"
    dots = DOTS if mark.dotted else ""
    yield f'<path d="{path}" stroke="{color.of(mark.role)}" stroke-width="{mark.width:g}"{dots}/>'
    if mark.text and mark.upright:
        yield text(at + 4, box.top + TEXT, mark.text, "start", color)
    elif mark.text:
        yield text(box.right - 4, at - 4, mark.text, "end", color)


def _area(mark: Area, box: Box, color: Palette) -> Iterator[str]:
    """Yield a shaded part of the x axis, with its lines and its name."""
    ends, fill = np.clip(box.x(np.array([mark.low, mark.high])), box.left, box.right), color.of(mark.role)
    yield _rect(ends, np.array([box.top, box.bottom]), fill, style=f' fill-opacity="{mark.opacity:g}"')
    for end in ends if mark.lined else ():
        yield f'<path d="M{end:.1f} {box.top:.1f}V{box.bottom:.1f}" stroke="{fill}"/>'
    if mark.text:
        yield text(float(ends.mean()), box.top + TEXT, cut(mark.text, 24), "middle", color)
