"""Panels of a plot as native charts on a slide: numbers and dates as XY charts, levels as bars."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from gamcore.common.numbers import number
from gamcore.common.types import Floats
from gamcore.viz.files.pptx_xml import (
    ChartPlace,
    dress_axis,
    dress_legend,
    dress_line,
    dress_markers,
    dress_table,
    error_bars,
    fill,
    place_inner,
)
from gamcore.viz.files.pptx_xy import has_levels, is_strip, numeric, span, wide_of
from gamcore.viz.spec import Bars, Cells, Panel, Path, Plot, Points, Whiskers

LEFT, BOTTOM, LEGEND, GAP, TICKS = 0.85, 0.55, 0.32, 0.06, 0.3
"""Inches for tick labels at left, the axis below, a legend, the gap between panels, and tick labels between rows."""
WIDE_NAMES: Final = 2.6


@dataclass(frozen=True)
class Box:
    """A rectangle on a slide, inches."""

    left: float
    top: float
    width: float
    height: float


def can_chart(plot: Plot) -> bool:
    """Return whether native charts can show a plot: heat maps they cannot."""
    return not any(isinstance(mark, Cells) for _, _, panel in plot.each() for mark in panel.marks)


def add_chart(slide: Any, plot: Plot, box: Box) -> list[Any]:
    """Add a chart per panel and return the charts; inner areas are aligned along columns and rows."""
    lying = any(isinstance(mark, Bars | Points) and has_levels(plot.main, "y") for mark in plot.main.marks)
    left = WIDE_NAMES if lying else LEFT
    legend = (
        LEGEND * (1 + sum(len(getattr(mark, "name", "")) for mark in plot.named()) // 110) if plot.named() else 0.05
    )
    inner = Box(box.left + left, box.top + legend, box.width - left - 0.15, box.height - legend - BOTTOM)
    charts = []
    between = TICKS if len(plot.heights) > 1 and not has_levels(plot.main, "x") else GAP
    for row, column, panel in plot.each():
        x, wide = _share(plot.widths, column, inner.left, inner.width, GAP)
        y, high = _share(plot.heights, row, inner.top, inner.height, between)
        main = panel is plot.main
        if is_strip(panel):  # it has no tick labels: align it with those of the panel above
            (low, whole), (first, last) = wide_of(plot.panels[0][column] or panel), span(panel, "x") or (0.0, 1.0)
            x, wide = x + wide * (first - low) / whole, wide * (last - first) / whole
        elif row + 1 < len(plot.heights) and (below := plot.panels[row + 1][column]) is not None and is_strip(below):
            panel = replace(panel, x=replace(panel.x, named=True))
        last_row = row + 1 == len(plot.heights)
        pads = (left if column == 0 else 0.05, legend if main else 0.04, 0.1, BOTTOM if last_row else TICKS)
        area = ChartPlace(x - pads[0], y - pads[1], wide + pads[0] + pads[2], high + pads[1] + pads[3], pads)
        chart = (
            _levelled(slide, panel, area)
            if has_levels(panel, "x") or has_levels(panel, "y")
            else numeric(slide, panel, area)
        )
        if chart is not None:
            place_inner(chart.chart, area)
            dress_legend(chart.chart, main and bool(plot.named()), area)
            charts.append(chart)
    return charts


def _share(shares: tuple[float, ...], k: int, start: float, whole: float, gap: float) -> tuple[float, float]:
    """Return the start and size of part k of a length that is divided by shares, with gaps between parts."""
    sizes = [share / sum(shares) * (whole - gap * (len(shares) - 1)) for share in shares]
    return start + sum(sizes[:k]) + gap * k, sizes[k]


def _values(mark: Bars | Points, lying: bool, n: int, stacked: bool = False) -> list[float | None]:
    """Return a value per level; None where the mark has none."""
    numbers: list[float | None] = [None] * n
    at: Floats
    if isinstance(mark, Bars):
        at, values = mark.at, mark.sizes if stacked else mark.sizes + mark.bases
    else:
        at, values = (mark.y, mark.x) if lying else (mark.x, mark.y)
    for place, value in zip(at, values, strict=True):
        level = round(float(place))
        if 0 <= level < n and np.isfinite(value):
            numbers[level] = float(value)
    return numbers


def _moving(mark: Bars) -> bool:
    """Return whether bars have different bases."""
    return bool(np.ptp(mark.bases) > 0) if mark.bases.size else False


def _levelled(slide: Any, panel: Panel, area: ChartPlace) -> Any:
    """Return a bar chart of levels, one series per mark; floating bars stand on an invisible series."""
    lying = has_levels(panel, "y")
    axis, other = (panel.y, panel.x) if lying else (panel.x, panel.y)
    names = [name for _, name in axis.ticks or ()]
    bars: list[Bars | Points] = [mark for mark in panel.marks if isinstance(mark, Bars)]
    marks = bars or [mark for mark in panel.marks if isinstance(mark, Points) and mark.symbol == "dot"]
    n = max([len(names), *(int(np.max(_at(mark, lying), initial=-1)) + 1 for mark in marks)])
    if not n:
        return None
    names = _all_names(axis.ticks or (), n)
    if not lying and any(isinstance(mark, Path) for mark in panel.marks):
        return _joined(slide, panel, area, names)
    data = CategoryChartData()
    data.categories = names
    floating = not panel.stacked and any(isinstance(mark, Bars) and _moving(mark) for mark in marks)
    series: list[tuple[str, list[float | None], Any]] = []
    for k, mark in enumerate(marks):
        if isinstance(mark, Bars) and floating:
            series += _floated(mark, n)
        elif isinstance(mark, Bars) or mark.symbol == "dot" or len(marks) > 1:
            series.append((mark.name or f"values {k + 1}", _values(mark, lying, n, panel.stacked), mark))
    for name, values, _ in series:
        data.add_series(name, values)
    stacked = panel.stacked or floating
    kinds = {
        (True, True): XL_CHART_TYPE.BAR_STACKED, (True, False): XL_CHART_TYPE.BAR_CLUSTERED,
        (False, True): XL_CHART_TYPE.COLUMN_STACKED, (False, False): XL_CHART_TYPE.COLUMN_CLUSTERED,
    }  # fmt: skip
    shape = slide.shapes.add_chart(kinds[lying, stacked], *area.inches(), data)
    plot = shape.chart.plots[0]
    apart = len(series) > 1 and not stacked and not lying  # lists have one bar per line, from one of the series
    plot.gap_width, plot.overlap = 60, 0 if apart else 100
    whiskers = [mark for mark in panel.marks if isinstance(mark, Whiskers)]
    for drawn, (_, values, mark) in zip(plot.series, series, strict=True):
        fill(drawn, mark, len(values))
        if mark is not None and whiskers and not floating:
            error_bars(drawn, _reach(values, whiskers, mark), lying)
    zero = marks[0].bases[0] if marks and isinstance(marks[0], Bars) and marks[0].bases.size and not stacked else 0.0
    dress_axis(shape.chart.category_axis, axis, area, flipped=axis.flipped)
    dress_axis(shape.chart.value_axis, other, area, crosses=float(zero), beyond=axis.flipped)
    return shape


def _joined(slide: Any, panel: Panel, area: ChartPlace, names: list[str]) -> Any:
    """Return a line chart over ordered levels, such as periods."""
    data = CategoryChartData()
    data.categories = names
    marks = [mark for mark in panel.marks if isinstance(mark, Points | Path) and mark.name]
    listed = [_values(Points(mark.x, mark.y), False, len(names)) for mark in marks]
    for mark, values in zip(marks, listed, strict=True):
        data.add_series(mark.name, values)
    shape = slide.shapes.add_chart(XL_CHART_TYPE.LINE_MARKERS, *area.inches(), data)
    whiskers = [mark for mark in panel.marks if isinstance(mark, Whiskers)]
    for drawn, values, mark in zip(shape.chart.plots[0].series, listed, marks, strict=True):
        drawn.smooth = False
        dress_line(drawn, mark)
        if isinstance(mark, Points):
            dress_markers(drawn, mark, joined=True)
            error_bars(drawn, _reach(values, whiskers, mark), False)
    dress_axis(shape.chart.category_axis, panel.x, area)
    dress_axis(shape.chart.value_axis, panel.y, area)
    return shape


def _all_names(ticks: tuple[tuple[float, str], ...], n: int) -> list[str]:
    """Return a name per level, blank for a level without a tick."""
    known = {round(at): name for at, name in ticks}
    return [known.get(k, " ") for k in range(n)]


def _at(mark: Bars | Points, lying: bool) -> Floats:
    return mark.at if isinstance(mark, Bars) else (mark.y if lying else mark.x)


def _floated(mark: Bars, n: int) -> list[tuple[str, list[float | None], Any]]:
    """Return floating bars as stacked series: an invisible base, then the parts above and below zero."""
    low, high = np.minimum(mark.bases, mark.bases + mark.sizes), np.maximum(mark.bases, mark.bases + mark.sizes)
    unseen = np.where(low > 0, low, np.where(high < 0, high, 0.0))
    above, below = np.maximum(high, 0) - np.maximum(low, 0), np.minimum(low, 0) - np.minimum(high, 0)
    return [("(base)", unseen.tolist(), None), ("part", above.tolist(), mark), ("part below 0", below.tolist(), mark)]


def _reach(values: list[float | None], whiskers: list[Whiskers], mark: Bars | Points) -> tuple[Floats, Floats]:
    """Return how far intervals extend above and below the values; if a mark has several, the last counts."""
    up, down = np.zeros(len(values)), np.zeros(len(values))
    own = [interval for interval in whiskers if isinstance(mark, Bars) or interval.role == mark.role]
    for interval in own[-1:]:
        for at, low, high in zip(interval.at, interval.lower, interval.upper, strict=True):
            level = round(float(at))
            value = values[level] if 0 <= level < len(values) else None
            if value is not None:
                up[level], down[level] = max(high - value, 0.0), max(value - low, 0.0)
    return up, down


def add_table(slide: Any, plot: Plot, box: Box, most: int = 10) -> Any:
    """Return a slide table of the largest scores of a plot."""
    numbers = plot.numbers
    score = next((name for name in ("(score)", "score") if name in numbers.columns), None)
    if score is not None:
        counted = next((name for name in ("(rows)", "rows") if name in numbers.columns), None)
        numbers = numbers[numbers[counted] > 0] if counted is not None else numbers
        size = np.abs(np.log(numbers[score])) if _is_ratio(plot) else numbers[score].abs()
        numbers = numbers.reindex(size.sort_values(ascending=False).index)
        named = numbers.columns[: numbers.columns.get_loc(score)]  # the parts of one to three features
        kept = [name for name in named if not str(name).endswith((" (from)", " (below)"))]
        numbers = numbers[[*kept, score, *(name for name in ("(rows)", "rows") if name in numbers.columns)]]
    if "shown" in numbers:  # of a decision: each as it is written elsewhere
        numbers = numbers.loc[
            numbers["scale"] != "level", [*numbers.columns[: numbers.columns.get_loc("scale")], "shown"]
        ]
    numbers = numbers.iloc[:most, :5]
    rows = [
        [{"(score)": "score", "(rows)": "rows"}.get(str(name), str(name)) for name in numbers.columns],
        *([_cell(v) for v in line] for line in numbers.to_numpy()),
    ]
    return grid(slide, rows, box, 10)


def _is_ratio(plot: Plot) -> bool:
    """Return whether a heat map shows ratios: its scale has the logs, and its ticks begin with ×."""
    cells = [mark for mark in plot.main.marks if isinstance(mark, Cells)]
    return any(name.startswith("×") for mark in cells for _, name in mark.scale.ticks or ())


def grid(
    slide: Any, rows: list[list[str]], box: Box, size: float, widths: list[float] | None = None,
    heights: list[float] | None = None,
) -> Any:  # fmt: skip
    """Return a slide table of texts; the first row is the header. widths, heights : of columns and rows, inches."""
    high = sum(heights) if heights else min(0.32 * len(rows), box.height)
    shape = slide.shapes.add_table(
        len(rows), len(rows[0]), Inches(box.left), Inches(box.top), Inches(box.width), Inches(high)
    )  # fmt: skip
    dress_table(shape.table, rows, size, [Inches(w) for w in widths] if widths else None)
    for row, tall in zip(shape.table.rows, heights or (), strict=False):
        row.height = Inches(tall)
    return shape


def _cell(value: Any) -> str:
    if isinstance(value, float):  # numpy's floats, too
        return "" if np.isnan(value) else number(value)
    return str(value)
