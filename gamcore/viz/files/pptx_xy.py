"""Panels of numbers and dates on a slide: XY charts of lines and points, and strips of bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE

from gamcore.common.numbers import number
from gamcore.common.types import Floats
from gamcore.viz.files.pptx_xml import (
    END,
    ChartPlace,
    dress_axis,
    dress_line,
    dress_markers,
    dress_points,
    error_bars,
    nice,
)
from gamcore.viz.spec import Area, Bars, Line, Panel, Path, Points, Ribbon, Steps, Whiskers

EXCEL_EPOCH: Final = 25_569
"""1970-01-01 as a spreadsheet day number."""


def has_levels(panel: Panel, side: str) -> bool:
    """Return whether an axis of a panel has levels rather than numbers."""
    axis = panel.x if side == "x" else panel.y
    return axis.ticks is not None and not axis.scaled


def is_strip(panel: Panel) -> bool:
    """Return whether a panel has only bars along an axis of numbers: a strip of row counts."""
    return not has_levels(panel, "x") and not has_levels(panel, "y") and all(isinstance(m, Bars) for m in panel.marks)


def wide_of(panel: Panel) -> tuple[float, float]:
    """Return the start and length of a native chart's x axis, whose ends are round numbers."""
    ends = span(panel, "x")
    if ends is None:
        return 0.0, 1.0
    low, high, _ = nice(replace(panel.x, limits=ends))
    shift = EXCEL_EPOCH if panel.x.kind == "date" else 0.0
    return low - shift, (high - low) or 1.0


def numeric(slide: Any, panel: Panel, area: ChartPlace) -> Any:
    """Return an XY chart of lines and points; a panel of bars only becomes columns without gaps."""
    if all(isinstance(mark, Bars) for mark in panel.marks):
        return _strip(slide, panel, area)
    data, dressed = XyChartData(), []
    shift = EXCEL_EPOCH if panel.x.kind == "date" else 0.0
    for name, x, y, mark in sorted(_lines(panel), key=lambda line: _is_guide(line[3])):  # else LibreOffice drops them
        known = np.isfinite(x) & np.isfinite(y)
        if not known.any():
            continue
        series = data.add_series(name)
        for a, b in zip(x[known], y[known], strict=True):
            series.add_data_point(float(a) + shift, float(b))
        dressed.append((mark, y[known]))
    if not dressed:
        return None
    shape = slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER_LINES_NO_MARKERS, *area.inches(), data)
    whiskers = [mark for mark in panel.marks if isinstance(mark, Whiskers)]
    for drawn, (mark, y) in zip(shape.chart.plots[0].series, dressed, strict=True):
        drawn.smooth = False
        if isinstance(mark, Points):
            dress_markers(drawn, mark)
            own = [interval for interval in whiskers if interval.lower.size == y.size]
            if own:
                error_bars(drawn, (own[-1].upper - y, y - own[-1].lower), False, y_of_xy=True)
        else:
            dress_line(drawn, mark)
    ends = span(panel, "x")
    axis = panel.x if ends is None else replace(panel.x, limits=ends)
    dress_axis(shape.chart.category_axis, axis, area)
    dress_axis(shape.chart.value_axis, panel.y, area)
    return shape


def _is_guide(mark: Any) -> bool:
    """Return whether a mark is a straight line to read others against."""
    return isinstance(mark, Line) or (isinstance(mark, Path) and bool(mark.dash) and not mark.name)


def _uncovered(mark: Steps, later: Sequence[Any]) -> Floats:
    """Return a step line's values, NaN in bins that a later line draws again: where one lies on the other, some
    programs show the lower one, too."""
    values = mark.values
    for line in later:
        if isinstance(line, Steps) and np.array_equal(line.edges, mark.edges):
            values = np.where(line.values == mark.values, np.nan, values)
    return values


def _pieces(mark: Steps, values: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield x and y of each run of bins that has values, from and to the height of its neighbours on the line."""
    for first, end in _known(values):
        x, y = np.repeat(mark.edges[first : end + 1], 2)[1:-1], np.repeat(values[first:end], 2)
        if first and np.isfinite(mark.values[first - 1]):
            x, y = np.insert(x, 0, x[0]), np.insert(y, 0, mark.values[first - 1])
        if end < mark.values.size and np.isfinite(mark.values[end]):
            x, y = np.append(x, x[-1]), np.append(y, mark.values[end])
        yield x, y


def _lines(panel: Panel) -> list[tuple[str, Floats, Floats, Any]]:
    """Return series (name, x, y, mark) of a panel, in drawing order."""
    lines: list[tuple[str, Floats, Floats, Any]] = []
    for k, mark in enumerate(panel.marks):
        match mark:
            case Steps():
                for piece, (x, y) in enumerate(_pieces(mark, _uncovered(mark, panel.marks[k + 1 :]))):
                    name = f"{mark.name or 'curve'}{END if piece else ''}"
                    lines.append((name, *((y, x) if mark.upright else (x, y)), mark))
            case Ribbon():
                x = np.repeat(mark.edges, 2)[1:-1]
                for name, values in ((mark.name or "band", mark.lower), (f"{mark.name or 'band'}{END}", mark.upper)):
                    lines.append((name, x, np.repeat(values, 2), mark))
            case Path() | Points():
                lines.append((mark.name or "line", mark.x, mark.y, mark))
            case Line():
                lines += _guide(panel, mark)
            case Area():
                name = mark.text or "segment"
                for at, called in ((mark.low, name), (mark.high, f"{name}{END}")):
                    lines += _guide(panel, Line(at, True, mark.role, False), called)
    return lines


def _known(values: Floats) -> list[tuple[int, int]]:
    """Return the runs of finite values as (first, one past the last)."""
    there = np.flatnonzero(np.isfinite(values))
    pieces = np.split(there, np.flatnonzero(np.diff(there) > 1) + 1) if there.size else []
    return [(int(piece[0]), int(piece[-1]) + 1) for piece in pieces]


def _guide(panel: Panel, mark: Line, name: str = "") -> list[tuple[str, Floats, Floats, Any]]:
    """Return a straight line across the panel, over the span of the other axis."""
    ends = span(panel, "y" if mark.upright else "x")
    if ends is None:
        return []
    fixed = np.full(2, mark.at)
    x, y = (fixed, np.array(ends)) if mark.upright else (np.array(ends), fixed)
    return [(name or mark.text or "zero", x, y, mark)]


def span(panel: Panel, side: str) -> tuple[float, float] | None:
    """Return the range of an axis: its limits, or the range of its marks; None if unknown."""
    axis = panel.x if side == "x" else panel.y
    if axis.limits is not None:
        return axis.limits
    parts = [along(mark, side) for mark in panel.marks]
    known = np.concatenate([part[np.isfinite(part)] for part in parts if part.size] or [np.empty(0)])
    return (float(known.min()), float(known.max())) if known.size else None


def along(mark: Any, side: str) -> Floats:
    """Return a mark's coordinates on an axis."""
    if isinstance(mark, Bars) and side == "x" and not mark.lying:
        return np.concatenate([mark.at - np.asarray(mark.width) / 2, mark.at + np.asarray(mark.width) / 2])
    if isinstance(mark, Steps):
        return mark.edges if (side == "x") != mark.upright else mark.values
    if isinstance(mark, Path | Points):
        return mark.x if side == "x" else mark.y
    return np.empty(0)


def _strip(slide: Any, panel: Panel, area: ChartPlace) -> Any:
    """Return a column chart of the bars within the x limits, each labelled by its centre."""
    mark = panel.marks[0]
    assert isinstance(mark, Bars)
    low, high = panel.x.limits or (-np.inf, np.inf)
    inside = np.flatnonzero((mark.at >= low) & (mark.at <= high))
    if not inside.size:
        return None
    data = CategoryChartData()
    data.categories = [number(mark.at[k], 6) for k in inside]
    data.add_series("rows", mark.sizes[inside].tolist())
    shape = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *area.inches(), data)
    shape.chart.plots[0].gap_width = 0
    dress_points(shape.chart.plots[0].series[0], mark.role(0))
    dress_axis(shape.chart.category_axis, panel.x, area, bare=True)
    dress_axis(shape.chart.value_axis, panel.y, area)
    return shape
