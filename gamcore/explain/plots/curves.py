"""Curves as plots: full size, or as small multiples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamcore.common.numbers import counted, number
from gamcore.common.types import Bools, Floats
from gamcore.data.table import MONTHS, WEEKDAYS
from gamcore.explain.curves import WHOLE, Curve
from gamcore.explain.observed import Observed
from gamcore.explain.plots.fine_bins import as_line
from gamcore.explain.readings import reading
from gamcore.explain.sentences import read_curve
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale, say
from gamcore.viz.axes import number_axis
from gamcore.viz.palette import shorten
from gamcore.viz.spec import (
    Axis,
    Bars,
    ColorRole,
    Line,
    Mark,
    Panel,
    Plot,
    Points,
    Ribbon,
    Steps,
    Whiskers,
)

MOST_ROOM = 0.75
"""Height that bands may add to a plot at either end, as a share of the curve's height."""
DENSITY_BARS = 60

MOST_LEVELS = 60
"""Levels of a plot; of a category with more, those with most rows are drawn."""


def curve(
    shape: Curve, target: str, detail: str, before: Curve | None = None, title: str | None = None, height: int = 412,
    observed: Sequence[Observed] = (),
) -> Plot:  # fmt: skip
    """Return one curve: step line or bars, bands, a strip of row counts below; missing cells in a side panel, where
    there are any.

    before : the feature's earlier curve, drawn faint. title : None for a sentence about the curve (`read_curve`).
    observed : observed means to draw on it. A number of two values is drawn as two bars. Of more than `MOST_LEVELS`
    levels, those with most rows are drawn, and the detail says so.
    """
    whole, shape = shape, shape.as_levels()
    if len(shape.labels) > MOST_LEVELS:
        often = np.sort(np.argsort(-shape.counts, kind="stable")[:MOST_LEVELS])
        n_levels = sum(map(len, shape.members)) or len(shape.labels)
        grouped = n_levels > len(shape.labels)
        some = f"{MOST_LEVELS} groups with most rows, of" if grouped else f"{MOST_LEVELS} of"
        detail += f" · the {some} {counted(n_levels, 'level')}{'' if grouped else ' with most rows'}"
        shape, observed = shape.of_levels(often), [means.of_levels(often) for means in observed]
    before = before.as_levels() if before is not None else None
    levels = shape.kind in ("category", "boolean")
    marks: list[Mark] = []
    if levels:
        marks = [*level_marks(shape), *(_levels_before(shape, before) if before is not None else [])]
    elif shape.scores.size:
        old: list[Mark] = []
        if before is not None and before.scores.size:
            then, edges, _ = as_line(before, visible_edges(before), [])
            old = [Steps(edges, then.scores, width=1.4, opacity=0.4, name="before")]
        marks = [*old, *_line(shape)]
    marks += [_dots(shape, means, role) for means, role in zip(observed, OBSERVED_ROLES, strict=False)]
    zero = Line(shape.zero)
    x, special = value_axis(shape), Axis(ticks=((0.0, "missing"),), limits=(-0.5, 0.5))
    limits = _with_dots(limits_of(shape, before), observed, shape.scale)
    effects = effect_axis(LOSSES[shape.loss].unit(shape.scale, target), shape.scale, limits)
    rows, missing = rows_strip(shape), shape.missing[3]
    strip = Axis("rows", limits=(0.0, 1.05 * max(float(rows.sizes.max(initial=0.0)), missing) or 1.0), named=False)
    upper = [Panel(replace(x, title="", named=False), effects, (*marks, zero))]
    lower = [Panel(x, strip, (rows,))]
    if missing:
        beside = replace(effects, title="", named=False)
        upper.append(Panel(replace(special, named=False), beside, (*_special(shape), zero)))
        bar = row_bars(np.zeros(1), np.array([missing]), 0.6)
        lower.append(Panel(special, replace(strip, title=""), (bar,)))
    return Plot(
        name=shape.feature,
        title=title or read_curve(whole),
        detail=detail,
        panels=(tuple(upper), tuple(lower)),
        widths=(0.92, 0.08) if missing else (1.0,),
        heights=(0.8, 0.2),
        height=height,
        words=title or read_curve(whole),
        numbers=whole.frame(),
    )


OBSERVED_ROLES: tuple[ColorRole, ...] = ("ink", "muted")


def _dots(shape: Curve, means: Observed, role: ColorRole) -> Points:
    """Return observed means as dots; those of levels stand where their bars do."""
    at = means.at
    if shape.labels:
        bins = np.searchsorted(shape.display, at) if shape.display.size else at.astype(np.int64)
        place = np.empty(shape.scores.size)
        place[level_order(shape)] = np.arange(shape.scores.size)
        at = place[bins]
    hover = [f"{means.name}\n{say(score, shape.scale)} (mean {number(mean, 4)})\n{counted(n, 'row')}"
             for score, mean, n in zip(means.scores, means.means, means.rows, strict=True)]  # fmt: skip
    return Points(at, means.scores, role, 7.0, name=means.name, hover=hover)


def _with_dots(limits: tuple[float, float], observed: Sequence[Observed], scale: Scale) -> tuple[float, float]:
    """Return the limits of effects widened to hold all observed means."""
    dots = np.concatenate([means.scores[np.isfinite(means.scores)] for means in observed] or [np.empty(0)])
    if scale == "ratio":
        dots = dots[dots > 0]
    if not dots.size or (dots.min() >= limits[0] and dots.max() <= limits[1]):
        return limits
    return widened(min(limits[0], float(dots.min())), max(limits[1], float(dots.max())), scale)


def small(
    shape: Curve, limits: tuple[float, float], other: Curve | None = None, title: str | None = None, height: int = 170,
    before: str = "common",
) -> Plot:  # fmt: skip
    """Return a small multiple: the bare curve on shared limits, and `other` over it, a curve of the same bins. It is
    drawn as a picture, which has no texts for what is pointed at.

    before : what `other` is called.
    """
    marks: list[Mark] = []
    axis = Axis()
    if shape.kind in ("category", "boolean"):
        order = level_order(shape)
        at = np.arange(order.size, dtype=np.float64)
        marks.append(Bars(at, shape.scores[order] - shape.zero, shape.zero, 0.6))
        if shape.has_band and order.size <= MOST_LEVELS:
            marks.append(Whiskers(at, shape.lower[order], shape.upper[order]))
        if other is not None:
            marks.append(Points(at, other.scores[order], "ink", 16, "dash", name=before))
        named = order.size <= 4
        ticks = [(float(k), shape.labels[place]) for k, place in enumerate(order)] if named else []
        axis = Axis(ticks=tuple(ticks), named=named)
    elif shape.scores.size:
        drawn, edges, _ = as_line(shape, visible_edges(shape), [])
        marks.append(Ribbon(edges, drawn.lower, drawn.upper))
        marks.append(Steps(edges, drawn.scores, width=1.8))
        marks += [*_pale(drawn, shape.thin, edges, 1.8, ""), *_by_hand(drawn, edges, 1.8)]
        if other is not None:
            marks.append(Steps(visible_edges(shape), other.scores, "muted", 1.4, True, name=before))
        axis = replace(value_axis(shape), title="")
    note = f"missing: {say(shape.missing[0], shape.scale)}" if shape.missing[3] else ""
    panel = Panel(axis, effect_axis("", shape.scale, limits), (*marks, Line(shape.zero)), note=note)
    return Plot(
        shape.feature,
        title or shape.feature,
        detail="",
        panels=((panel,),),
        words=f"{title or shape.feature}: {shape.words()}",
        numbers=shape.frame(),
        height=height,
        small=True,
    )


def effect_axis(title: str, scale: Scale, limits: tuple[float, float] | None = None) -> Axis:
    """Return an axis of effects: logarithmic for ratios."""
    return Axis(title, "log" if scale == "ratio" else "number", limits, format="amount", grid=True)


def value_axis(curve: Curve) -> Axis:
    """Return the axis of a feature's values: numbers, dates, or levels by name."""
    if curve.kind in ("category", "boolean"):
        order = level_order(curve)
        step = max(1, int(np.ceil(order.size / 30)))
        names = [(float(k), shorten(curve.labels[order[k]], order.size)) for k in range(0, order.size, step)]
        return Axis(curve.feature, ticks=tuple(names), limits=(-0.6, order.size - 0.4))
    if curve.kind == "date":
        return Axis(curve.feature, "date", view(curve) if curve.edges.size else None)
    axis = number_axis(curve.feature, curve.measure, curve.edges, view(curve) if curve.edges.size else None)
    if not curve.values:
        return axis
    called = [shorten(value, len(curve.values)) for value in curve.values]
    ends = visible_edges(curve)[[0, -1]]
    ticks = tuple(zip(curve.display.tolist(), called, strict=True))
    return replace(axis, ticks=ticks, limits=(float(ends[0]), float(ends[1])), scaled=True)


def _hover(curve: Curve) -> list[str]:
    """Return the hover text of each bin."""
    hover = []
    for k in range(curve.scores.size):
        band = f" ({say(curve.lower[k], curve.scale)} to {say(curve.upper[k], curve.scale)})" if curve.has_band else ""
        hover.append(f"{curve.place(k)}\n{say(curve.scores[k], curve.scale)}{band}\n{counted(curve.counts[k], 'row')}")
    return hover


def _line(curve: Curve) -> list[Mark]:
    drawn, edges, hover = as_line(curve, visible_edges(curve), _hover(curve))
    line = Steps(edges, drawn.scores, name="effect", hover=hover)
    return [*ribbons(curve), line, *_pale(drawn, curve.thin, edges, 2.4, "few rows"), *_by_hand(drawn, edges, 2.6)]


def ribbons(curve: Curve, role: ColorRole = "primary") -> list[Mark]:
    """Return the bands that a curve has: first the band of the whole curve, then the band per bin."""
    curve, edges, _ = as_line(curve, visible_edges(curve), [])
    marks: list[Mark] = []
    if curve.room.size:
        marks.append(Ribbon(edges, curve.room[0], curve.room[1], "muted", name=curve.room_words))
    if curve.has_whole:
        marks.append(Ribbon(edges, curve.whole[0], curve.whole[1], role, wide=True, name=WHOLE))
    if curve.has_band:
        marks.append(Ribbon(edges, curve.lower, curve.upper, role, name=curve.band))
    return marks


def _pale(curve: Curve, thin: Bools, edges: Floats, width: float, name: str) -> list[Mark]:
    """Return bins with few rows, drawn pale over the line. thin : (K,), each of equally many of the drawn bins."""
    few = np.repeat(thin, curve.scores.size // thin.size)
    return [Steps(edges, np.where(few, curve.scores, np.nan), "few", width, name=name)] if few.any() else []


def _by_hand(curve: Curve, edges: Floats, width: float) -> list[Mark]:
    """Return the bins that were set by hand, drawn over the line."""
    if not curve.by_hand.any():
        return []
    return [Steps(edges, np.where(curve.by_hand, curve.scores, np.nan), "accent", width, name="by hand")]


def level_marks(curve: Curve) -> list[Mark]:
    """Return a bar per level, sorted by effect, with the bands as whiskers."""
    order = level_order(curve)
    at, scores = np.arange(order.size, dtype=np.float64), curve.scores[order]
    roles: list[ColorRole] = ["few" if thin else "primary" for thin in curve.thin[order]]
    if curve.by_hand.size:
        roles = ["accent" if by_hand else role for by_hand, role in zip(curve.by_hand[order], roles, strict=True)]
    hover = _hover(curve)
    marks: list[Mark] = [
        Bars(at, scores - curve.zero, curve.zero, roles=roles, name="effect", hover=[hover[k] for k in order])
    ]
    if curve.room.size:
        low, high = curve.room[:, order]
        marks.append(Whiskers(at, low, upper=high, role="muted", width=1.4, name=curve.room_words))
    if curve.has_whole:
        marks.append(
            Whiskers(
                at, curve.whole[0, order], upper=curve.whole[1, order], role="muted", width=1.0, capped=True, name=WHOLE
            )
        )
    if curve.has_band:
        marks.append(Whiskers(at, curve.lower[order], curve.upper[order], name=curve.band))
    return marks


def _levels_before(curve: Curve, before: Curve) -> list[Mark]:
    """Return a short line where each level's bar ended before; at the mean of those that are merged now."""
    bin_of, ends = before.bin_of, np.full(curve.scores.size, np.nan)
    for at, k in enumerate(level_order(curve)):
        then = sorted({bin_of[level] for level in curve.members[k] if level in bin_of})
        if then:
            ends[at] = np.average(before.scores[then], weights=before.counts[then] + 1e-9)
    return [Points(np.arange(ends.size, dtype=np.float64), ends, "accent", 26, "dash", name="before")]


def _special(curve: Curve) -> list[Mark]:
    """Return the missing bin, as a bar on the curve's y axis."""
    scores, lower, upper, counts = np.array([curve.missing]).T
    at = np.zeros(1)
    roles: list[ColorRole] = ["few" if curve.missing_is_thin else "primary"]
    rows = [counted(n, "row") for n in counts]
    hover = [f"missing\n{say(score, curve.scale)}\n{of_n}" for score, of_n in zip(scores, rows, strict=True)]
    marks: list[Mark] = [
        Bars(at, scores - curve.zero, curve.zero, 0.5, roles, hover=hover),
        Points(at, scores, size=22, symbol="dash"),
    ]
    if curve.has_band and (upper > lower).any():
        marks.append(Whiskers(at, lower, upper))
    return marks


def row_bars(at: Floats, counts: Floats, width: Floats | float) -> Bars:
    """Return bars of row counts per bin or level."""
    return Bars(at, counts, width=width, roles="density", hover=[counted(n, "row") for n in counts])


def rows_strip(curve: Curve) -> Bars:
    """Return row counts along the axis, in bars of equal width: bins of equal count have unequal widths."""
    if curve.kind in ("category", "boolean"):
        order = level_order(curve)
        return row_bars(np.arange(order.size, dtype=np.float64), curve.counts[order], 0.62)
    if not curve.scores.size:
        return row_bars(np.empty(0), np.empty(0), 1.0)
    edges, opening = visible_edges(curve), view(curve)
    widths = np.diff(edges)
    if curve.scores.size <= DENSITY_BARS and widths.max() < 3 * np.median(widths):
        grid = edges  # a bar per value
    elif opening is None:
        grid = np.linspace(edges[0], edges[-1], DENSITY_BARS + 1)
    else:  # bars over the opening view, and one bar per tail
        grid = np.unique(np.concatenate([edges[:1], np.linspace(*opening, DENSITY_BARS + 1), edges[-1:]]))
    running = np.interp(grid, edges, np.concatenate([[0.0], np.cumsum(curve.counts)]))
    return row_bars((grid[:-1] + grid[1:]) / 2, np.diff(running), np.diff(grid))


def widened(low: float, high: float, scale: Scale) -> tuple[float, float]:
    """Return limits with a margin."""
    if scale == "ratio":
        margin = (high / low) ** 0.06 if high > low > 0 else 1.1
        return low / margin, high * margin
    margin = 0.06 * (high - low or 1.0)
    return low - margin, high + margin


def limits_of(curve: Curve, before: Curve | None, thin: bool = True) -> tuple[float, float]:
    """Return the lowest and highest effect that a plot shows: all scores, and bands up to `MOST_ROOM` beyond them.

    The band of a bin with few rows can be many times as high as the curve, which would then look flat; so can the
    effect of a few missing cells.
    thin : whether single bins with few rows count; else their runs do, as far as these have enough.
    """
    special = np.array(curve.missing[:3]) if curve.missing[3] else np.empty(0)
    few = special if thin and curve.missing_is_thin else np.empty(0)
    special = np.empty(0) if curve.missing_is_thin else special
    scores, *ends = (_read(line, curve) for line in (curve.scores, curve.lower, curve.upper))
    if curve.has_whole and thin:
        read = reading(curve)
        ends = [read.lower, read.upper]
    scores = curve.scores if thin or not scores.size else scores
    parts = [scores, special, np.array([curve.zero]), before.scores if before is not None else np.empty(0)]
    centre = np.concatenate(parts)
    own = [curve.lower, curve.upper, *curve.room] if thin else []
    shown = np.concatenate([centre, few, *ends, *own])
    low, high = centre.min(), centre.max()
    room: Any = MOST_ROOM * (high - low)
    if curve.scale == "ratio":
        room = MOST_ROOM * np.log(high / low) if low > 0 else 1.0
        least, most = low / np.exp(room), high * np.exp(room)
    else:
        least, most = low - room, high + room
    return widened(max(float(shown.min()), float(least)), min(float(shown.max()), float(most)), curve.scale)


def _read(line: Floats, curve: Curve) -> Floats:
    """Return the means (m,) of a line (K,) over the rows of the runs that can be read."""
    return np.array([float((line[run] * (rows := curve.counts[run])).sum() / rows.sum()) for run in curve.runs])


def common_limits(curves: list[Curve]) -> tuple[float, float]:
    """Return limits that fit every one of some curves, all on one scale, where they have rows enough to be read."""
    each = [limits_of(shape, None, thin=False) for shape in curves]
    return min(low for low, _ in each), max(high for _, high in each)


def view(curve: Curve) -> tuple[float, float] | None:
    """Return the opening view: the middle 99% of rows if a long tail would squeeze them, else None for all."""
    edges = visible_edges(curve)
    share = np.cumsum(curve.counts) / max(curve.counts.sum(), 1.0)
    first, last = (int(np.searchsorted(share, quantile)) for quantile in (0.005, 0.995))
    last = min(last, curve.scores.size - 1)
    # An outer bin may be very wide: show its beginning only, but about as far beyond its median row.
    least = 0.1 * (edges[last] - edges[first + 1])
    below = max(least, 2 * (edges[first + 1] - curve.display[first]))
    above = max(least, 2 * (curve.display[last] - edges[last]))
    low, high = max(edges[first], edges[first + 1] - below), min(edges[last + 1], edges[last] + above)
    return (float(low), float(high)) if 0 < high - low < 0.5 * (edges[-1] - edges[0]) else None


def is_cut(curve: Curve) -> bool:
    """Return whether a plot opens on less than the whole range."""
    return bool(curve.edges.size) and view(curve) is not None


def visible_edges(curve: Curve) -> Floats:
    """Return the edges, the outer bins widened where they are a single value."""
    edges = curve.edges.astype(np.float64).copy()
    if curve.values:  # each around its value, so that the first and the last name have room
        edges[[0, -1]] = 2 * curve.display[[0, -1]] - edges[[1, -2]]
    elif edges.size > 2:
        edges[0] = min(edges[0], edges[1] - (edges[2] - edges[1]) / 2) if edges[0] == curve.display[0] else edges[0]
        end = edges[-2] + (edges[-2] - edges[-3]) / 2
        edges[-1] = max(edges[-1], end) if edges[-1] == curve.display[-1] else edges[-1]
    elif edges[0] == edges[-1]:
        edges = edges + np.array([-0.5, 0.5])
    return edges


def level_order(curve: Curve) -> NDArray[np.intp]:
    """Return the order of levels: by effect; months and weekdays by the calendar."""
    if curve.labels in (MONTHS, WEEKDAYS):
        return np.arange(len(curve.labels))
    return np.argsort(curve.scores, kind="stable")
