"""Curves as plots: one on its own, or small beside others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamcore.data.table import MONTHS, WEEKDAYS
from gamcore.explain.curves import FEW_ROWS, WHOLE, Curve
from gamcore.explain.sentences import read_curve
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale, say
from gamcore.viz.plots.palette import cut, shorten
from gamcore.viz.plots.spec import Axis, Bars, Floats, Line, Mark, Panel, Plot, Points, Ribbon, Role, Steps, Whiskers

MOST_ROOM = 0.75
"""What bands may add to the height of a plot, at either end, in heights of the curve."""
DENSITY_BARS = 60


def curve(
    found: Curve, target: str, detail: str, before: Curve | None = None, title: str | None = None, height: int = 412
) -> Plot:
    """One curve: step line or bars, bands, a strip of rows below, missing and unseen in a panel of their own.

    before : the same feature's curve as it was, drawn faint. title : None for what the curve says (`reading`).
    """
    levels = found.kind in ("category", "boolean")
    marks: list[Mark] = []
    if levels:
        marks = [*level_marks(found), *(_levels_before(found, before) if before is not None else [])]
    elif found.scores.size:
        was = before is not None and before.scores.size
        old = (
            [Steps(visible_edges(before), before.scores, width=1.4, opacity=0.4, name="before")]
            if was and before
            else []
        )
        marks = [*old, *_line(found)]
    zero = Line(found.zero)
    x, special = value_axis(found), Axis(ticks=((0.0, "missing"), (1.0, "unseen")), limits=(-0.5, 1.5))
    effects = effect_axis(LOSSES[found.loss].unit(found.scale, target), found.scale, limits_of(found, before))
    rows, of_special = _rows(found), np.array([found.missing[3], found.unseen[3]])
    tallest = max(rows.sizes.max(initial=0.0), of_special.max())
    strip = Axis("rows", limits=(0.0, 1.05 * float(tallest) or 1.0), named=False)
    bare = replace(x, title="", named=False)
    return Plot(
        name=found.feature,
        title=title or _headline(found, target),
        detail=detail,
        panels=(
            (
                Panel(bare, effects, (*marks, zero)),
                Panel(replace(special, named=False), replace(effects, title="", named=False), (*_special(found), zero)),
            ),
            (
                Panel(x, strip, (rows,)),
                Panel(special, replace(strip, title=""), (row_bars(np.arange(2.0), of_special, 0.6),)),
            ),
        ),
        widths=(0.86, 0.14),
        heights=(0.8, 0.2),
        height=height,
        words=title or read_curve(found),
        numbers=found.frame(),
    )


def small(
    found: Curve, limits: tuple[float, float], other: Curve | None = None, title: str | None = None, height: int = 170
) -> Plot:
    """A small multiple: the bare curve on a scale shared with its neighbours; another of the same bins dotted."""
    marks: list[Mark] = []
    axis = Axis()
    if found.kind in ("category", "boolean"):
        order = level_order(found)
        told = [f"{cut(found.labels[k], 28)}: {say(found.scores[k], found.scale)}" for k in order]
        at = np.arange(order.size, dtype=np.float64)
        marks.append(Bars(at, found.scores[order] - found.zero, found.zero, 0.6, told=told))
        if found.has_band:
            marks.append(Whiskers(at, found.lower[order], found.upper[order]))
        if other is not None:
            marks.append(Points(at, other.scores[order], "ink", 16, "dash", name="common"))
        named = order.size <= 4
        ticks = [(float(k), shorten(found.labels[place], 9)) for k, place in enumerate(order)] if named else []
        axis = Axis(ticks=tuple(ticks), named=named)
    elif found.scores.size:
        edges = visible_edges(found)
        marks.append(Ribbon(edges, found.lower, found.upper))
        marks.append(Steps(edges, found.scores, width=1.8, told=_told(found)))
        marks += _pale(found, edges, 1.8, "")
        if other is not None:
            marks.append(Steps(edges, other.scores, "muted", 1.4, True, name="common"))
        axis = Axis(kind="date" if found.kind == "date" else "number", limits=view(found))
    note = f"missing: {say(found.missing[0], found.scale)}" if found.missing[3] else ""
    panel = Panel(axis, effect_axis("", found.scale, limits), (*marks, Line(found.zero)), note=note)
    return Plot(
        found.feature,
        title or found.feature,
        detail="",
        panels=((panel,),),
        words=f"{title or found.feature}: {found.words()}",
        numbers=found.frame(),
        height=height,
        small=True,
    )


def effect_axis(title: str, scale: Scale, limits: tuple[float, float] | None = None) -> Axis:
    """An axis of effects: ratios on a logarithmic one."""
    return Axis(title, "log" if scale == "ratio" else "number", limits, grid=True)


def value_axis(found: Curve) -> Axis:
    """The axis of a feature's values: numbers, dates, or levels by name."""
    if found.kind in ("category", "boolean"):
        order = level_order(found)
        step = max(1, int(np.ceil(order.size / 30)))
        names = [(float(k), shorten(found.labels[order[k]], order.size)) for k in range(0, order.size, step)]
        return Axis(found.feature, ticks=tuple(names), limits=(-0.6, order.size - 0.4))
    return Axis(found.feature, "date" if found.kind == "date" else "number", view(found) if found.edges.size else None)


def _told(found: Curve) -> list[str]:
    """What a bin says where somebody points at it."""
    told = []
    for k in range(found.scores.size):
        band = f" ({say(found.lower[k], found.scale)} to {say(found.upper[k], found.scale)})" if found.has_band else ""
        told.append(f"{found.place(k)}\n{say(found.scores[k], found.scale)}{band}\n{found.counts[k]:,.0f} rows")
    return told


def _line(found: Curve) -> list[Mark]:
    edges = visible_edges(found)
    line = Steps(edges, found.scores, name="effect", told=_told(found))
    return [*ribbons(found), line, *_pale(found, edges, 2.4, f"under {FEW_ROWS} rows")]


def ribbons(found: Curve) -> list[Mark]:
    """The bands of a curve that there are: of the whole of it, then bin by bin."""
    edges = visible_edges(found)
    marks: list[Mark] = []
    if found.has_whole:
        marks.append(Ribbon(edges, found.whole[0], found.whole[1], wide=True, name=WHOLE))
    if found.has_band:
        marks.append(Ribbon(edges, found.lower, found.upper, name=found.band))
    return marks


def _pale(found: Curve, edges: Floats, width: float, name: str) -> list[Mark]:
    """Thin bins over the line, so that they look as uncertain as they are."""
    few = found.counts < FEW_ROWS
    return [Steps(edges, np.where(few, found.scores, np.nan), "few", width, name=name)] if few.any() else []


def level_marks(found: Curve) -> list[Mark]:
    """A bar a level, sorted by effect, with the bands as whiskers."""
    order = level_order(found)
    at, scores = np.arange(order.size, dtype=np.float64), found.scores[order]
    roles: list[Role] = ["few" if n < FEW_ROWS else "primary" for n in found.counts[order]]
    told = _told(found)
    marks: list[Mark] = [
        Bars(at, scores - found.zero, found.zero, roles=roles, name="effect", told=[told[k] for k in order])
    ]
    if found.has_whole:
        marks.append(
            Whiskers(
                at, found.whole[0, order], upper=found.whole[1, order], role="muted", width=1.0, capped=True, name=WHOLE
            )
        )
    if found.has_band:
        marks.append(Whiskers(at, found.lower[order], found.upper[order], name=found.band))
    return marks


def _levels_before(found: Curve, before: Curve) -> list[Mark]:
    """A short line where each level's bar ended."""
    scores = dict(zip(before.labels, before.scores, strict=True))
    ends = np.array([scores.get(found.labels[k], np.nan) for k in level_order(found)])
    return [Points(np.arange(ends.size, dtype=np.float64), ends, "accent", 26, "dash", name="before")]


def _special(found: Curve) -> list[Mark]:
    """The missing and the unseen bin, as bars on the same y axis."""
    scores, lower, upper, counts = np.array([found.missing, found.unseen]).T
    at = np.arange(2.0)
    roles: list[Role] = ["primary" if n >= FEW_ROWS else "few" for n in counts]
    told = [
        f"{name}\n{say(score, found.scale)}\n{n:,.0f} rows"
        for name, score, n in zip(("missing", "unseen"), scores, counts, strict=True)
    ]
    marks: list[Mark] = [
        Bars(at, scores - found.zero, found.zero, 0.5, roles, told=told),
        Points(at, scores, size=22, symbol="dash"),
    ]
    if found.has_band and (upper > lower).any():
        marks.append(Whiskers(at, lower, upper))
    return marks


def row_bars(at: Floats, counts: Floats, width: Floats | float) -> Bars:
    """Rows of bins or levels."""
    return Bars(at, counts, width=width, roles="density", told=[f"{n:,.0f} rows" for n in counts])


def _rows(found: Curve) -> Bars:
    """Rows along the axis, in bars of equal width: bins of equal count have unequal widths."""
    if found.kind in ("category", "boolean"):
        order = level_order(found)
        return row_bars(np.arange(order.size, dtype=np.float64), found.counts[order], 0.62)
    if not found.scores.size:
        return row_bars(np.empty(0), np.empty(0), 1.0)
    edges, opening = visible_edges(found), view(found)
    widths = np.diff(edges)
    if found.scores.size <= DENSITY_BARS and widths.max() < 3 * np.median(widths):
        grid = edges  # a bar a value
    elif opening is None:
        grid = np.linspace(edges[0], edges[-1], DENSITY_BARS + 1)
    else:  # bars of the opening view, and the tails as one bar each
        grid = np.unique(np.concatenate([edges[:1], np.linspace(*opening, DENSITY_BARS + 1), edges[-1:]]))
    running = np.interp(grid, edges, np.concatenate([[0.0], np.cumsum(found.counts)]))
    return row_bars((grid[:-1] + grid[1:]) / 2, np.diff(running), np.diff(grid))


def _headline(found: Curve, target: str) -> str:
    """What the curve says; before it has a band, only what it is."""
    return read_curve(found) if found.has_whole else f"Effect of {found.feature} on {target}"


def widened(low: float, high: float, scale: Scale) -> tuple[float, float]:
    """Limits with a margin."""
    if scale == "ratio":
        margin = (high / low) ** 0.06 if high > low > 0 else 1.1
        return low / margin, high * margin
    margin = 0.06 * (high - low or 1.0)
    return low - margin, high + margin


def limits_of(found: Curve, before: Curve | None, thin: bool = True) -> tuple[float, float]:
    """Lowest and highest effect that a plot shows: all scores, and bands where they are not much wider than these.

    The band of a bin with a handful of rows can be many times as high as the whole curve, which would be a line.
    thin : whether bands of bins with few rows count at all.
    """
    special = np.array([found.missing[:3], found.unseen[:3]]).ravel()
    parts = [found.scores, special, np.array([found.zero]), before.scores if before is not None else np.empty(0)]
    centre = np.concatenate(parts)
    thick = found.counts >= FEW_ROWS
    ends = found.whole if found.has_whole and thin else np.stack([found.lower, found.upper])
    own = [found.lower, found.upper] if thin else []
    shown = np.concatenate([centre, ends[:, thick].ravel(), *own])
    low, high = centre.min(), centre.max()
    room: Any = MOST_ROOM * (high - low)
    if found.scale == "ratio":
        room = MOST_ROOM * np.log(high / low) if low > 0 else 1.0
        least, most = low / np.exp(room), high * np.exp(room)
    else:
        least, most = low - room, high + room
    return widened(max(float(shown.min()), float(least)), min(float(shown.max()), float(most)), found.scale)


def common_limits(curves: list[Curve]) -> tuple[float, float]:
    """Limits of a plot of any of some curves, all on one scale."""
    each = [limits_of(found, None, thin=False) for found in curves]
    return min(low for low, _ in each), max(high for _, high in each)


def view(found: Curve) -> tuple[float, float] | None:
    """The part of the axis to open with: the middle 99% of rows, where a long tail would squeeze it; else all."""
    edges = visible_edges(found)
    share = np.cumsum(found.counts) / max(found.counts.sum(), 1.0)
    first, last = (int(np.searchsorted(share, quantile)) for quantile in (0.005, 0.995))
    last = min(last, found.scores.size - 1)
    reach = 0.1 * (edges[last] - edges[first + 1])  # an outer bin may be very wide: show its beginning only
    low, high = max(edges[first], edges[first + 1] - reach), min(edges[last + 1], edges[last] + reach)
    return (float(low), float(high)) if 0 < high - low < 0.5 * (edges[-1] - edges[0]) else None


def is_cut(found: Curve) -> bool:
    """Whether a plot opens on less than the whole range."""
    return bool(found.edges.size) and view(found) is not None


def visible_edges(found: Curve) -> Floats:
    """Edges with a width for the outer bins where each bin is a single value."""
    edges = found.edges.astype(np.float64).copy()
    if edges.size > 2:
        edges[0] = min(edges[0], edges[1] - (edges[2] - edges[1]) / 2) if edges[0] == found.display[0] else edges[0]
        end = edges[-2] + (edges[-2] - edges[-3]) / 2
        edges[-1] = max(edges[-1], end) if edges[-1] == found.display[-1] else edges[-1]
    elif edges[0] == edges[-1]:
        edges = edges + np.array([-0.5, 0.5])
    return edges


def level_order(found: Curve) -> NDArray[np.intp]:
    """By effect; months and weekdays by the calendar."""
    if found.labels in (MONTHS, WEEKDAYS):
        return np.arange(len(found.labels))
    return np.argsort(found.scores, kind="stable")
