"""Panels of a plot as native charts on a slide: numbers and dates as XY charts, levels as bars."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from gamcore.types import Floats
from gamcore.viz.files.pptx_xml import (
    END,
    ChartPlace,
    dress_axis,
    dress_legend,
    dress_line,
    dress_markers,
    dress_points,
    dress_table,
    error_bars,
    fill,
    nice,
    place_inner,
)
from gamcore.viz.plots.spec import Area, Bars, Cells, Line, Panel, Path, Plot, Points, Ribbon, Steps, Whiskers

EXCEL_EPOCH: Final = 25_569
"""1970-01-01 as a spreadsheet day number."""
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
    lying = any(isinstance(mark, Bars | Points) and _levels(plot.main, "y") for mark in plot.main.marks)
    left = WIDE_NAMES if lying else LEFT
    legend = (
        LEGEND * (1 + sum(len(getattr(mark, "name", "")) for mark in plot.named()) // 110) if plot.named() else 0.05
    )
    inner = Box(box.left + left, box.top + legend, box.width - left - 0.15, box.height - legend - BOTTOM)
    made = []
    between = TICKS if len(plot.heights) > 1 and not _levels(plot.main, "x") else GAP
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
            if _levels(panel, "x") or _levels(panel, "y")
            else _numeric(slide, panel, area)
        )
        if chart is not None:
            place_inner(chart.chart, area)
            dress_legend(chart.chart, main and bool(plot.named()), area)
            made.append(chart)
    return made


def _share(shares: tuple[float, ...], k: int, start: float, whole: float, gap: float) -> tuple[float, float]:
    """Return the start and size of part k of a length that is divided by shares, with gaps between parts."""
    sizes = [share / sum(shares) * (whole - gap * (len(shares) - 1)) for share in shares]
    return start + sum(sizes[:k]) + gap * k, sizes[k]


def is_strip(panel: Panel) -> bool:
    """Return whether a panel has only bars along an axis of numbers: a strip of row counts."""
    return not _levels(panel, "x") and not _levels(panel, "y") and all(isinstance(m, Bars) for m in panel.marks)


def wide_of(panel: Panel) -> tuple[float, float]:
    """Return the start and length of a native chart's x axis, whose ends are round numbers."""
    ends = span(panel, "x")
    if ends is None:
        return 0.0, 1.0
    low, high, _ = nice(replace(panel.x, limits=ends))
    shift = EXCEL_EPOCH if panel.x.kind == "date" else 0.0
    return low - shift, (high - low) or 1.0


def _levels(panel: Panel, side: str) -> bool:
    axis = panel.x if side == "x" else panel.y
    return axis.ticks is not None


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
    lying = _levels(panel, "y")
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
    made = slide.shapes.add_chart(kinds[lying, stacked], *area.inches(), data)
    plot = made.chart.plots[0]
    apart = len(series) > 1 and not stacked and not lying  # lists have one bar per line, from one of the series
    plot.gap_width, plot.overlap = 60, 0 if apart else 100
    whiskers = [mark for mark in panel.marks if isinstance(mark, Whiskers)]
    for drawn, (_, values, mark) in zip(plot.series, series, strict=True):
        fill(drawn, mark, len(values))
        if mark is not None and whiskers and not floating:
            error_bars(drawn, _reach(values, whiskers, mark), lying)
    zero = marks[0].bases[0] if marks and isinstance(marks[0], Bars) and marks[0].bases.size and not stacked else 0.0
    dress_axis(made.chart.category_axis, axis, area, flipped=axis.flipped)
    dress_axis(made.chart.value_axis, other, area, crosses=float(zero), beyond=axis.flipped)
    return made


def _joined(slide: Any, panel: Panel, area: ChartPlace, names: list[str]) -> Any:
    """Return a line chart over ordered levels, such as periods."""
    data = CategoryChartData()
    data.categories = names
    marks = [mark for mark in panel.marks if isinstance(mark, Points | Path) and mark.name]
    listed = [_values(Points(mark.x, mark.y), False, len(names)) for mark in marks]
    for mark, values in zip(marks, listed, strict=True):
        data.add_series(mark.name, values)
    made = slide.shapes.add_chart(XL_CHART_TYPE.LINE_MARKERS, *area.inches(), data)
    whiskers = [mark for mark in panel.marks if isinstance(mark, Whiskers)]
    for drawn, values, mark in zip(made.chart.plots[0].series, listed, marks, strict=True):
        drawn.smooth = False
        dress_line(drawn, mark)
        if isinstance(mark, Points):
            dress_markers(drawn, mark, joined=True)
            error_bars(drawn, _reach(values, whiskers, mark), False)
    dress_axis(made.chart.category_axis, panel.x, area)
    dress_axis(made.chart.value_axis, panel.y, area)
    return made


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
    own = [one for one in whiskers if isinstance(mark, Bars) or one.role == mark.role]
    for one in own[-1:]:
        for at, low, high in zip(one.at, one.lower, one.upper, strict=True):
            level = round(float(at))
            value = values[level] if 0 <= level < len(values) else None
            if value is not None:
                up[level], down[level] = max(high - value, 0.0), max(value - low, 0.0)
    return up, down


def _numeric(slide: Any, panel: Panel, area: ChartPlace) -> Any:
    """Return an XY chart of lines and points; a panel of bars only becomes columns without gaps."""
    if all(isinstance(mark, Bars) for mark in panel.marks):
        return _strip(slide, panel, area)
    data, dressed = XyChartData(), []
    shift = EXCEL_EPOCH if panel.x.kind == "date" else 0.0
    for name, x, y, mark in sorted(_lines(panel), key=lambda line: isinstance(line[3], Line)):  # guides last
        known = np.isfinite(x) & np.isfinite(y)
        if not known.any():
            continue
        series = data.add_series(name)
        for a, b in zip(x[known], y[known], strict=True):
            series.add_data_point(float(a) + shift, float(b))
        dressed.append((mark, y[known]))
    if not dressed:
        return None
    made = slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER_LINES_NO_MARKERS, *area.inches(), data)
    whiskers = [mark for mark in panel.marks if isinstance(mark, Whiskers)]
    for drawn, (mark, y) in zip(made.chart.plots[0].series, dressed, strict=True):
        drawn.smooth = False
        if isinstance(mark, Points):
            dress_markers(drawn, mark)
            own = [one for one in whiskers if one.lower.size == y.size]
            if own:
                error_bars(drawn, (own[-1].upper - y, y - own[-1].lower), False, y_of_xy=True)
        else:
            dress_line(drawn, mark)
    ends = span(panel, "x")
    axis = panel.x if ends is None else replace(panel.x, limits=ends)
    dress_axis(made.chart.category_axis, axis, area)
    dress_axis(made.chart.value_axis, panel.y, area)
    return made


def _lines(panel: Panel) -> list[tuple[str, Floats, Floats, Any]]:
    """Return series (name, x, y, mark) of a panel, in drawing order."""
    lines: list[tuple[str, Floats, Floats, Any]] = []
    for mark in panel.marks:
        match mark:
            case Steps():
                for k, (first, end) in enumerate(_known(mark.values)):  # a gap breaks the line: one series per piece
                    x, y = np.repeat(mark.edges[first : end + 1], 2)[1:-1], np.repeat(mark.values[first:end], 2)
                    name = f"{mark.name or 'curve'}{END if k else ''}"
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
    data.categories = [f"{mark.at[k]:.6g}" for k in inside]
    data.add_series("rows", mark.sizes[inside].tolist())
    made = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *area.inches(), data)
    made.chart.plots[0].gap_width = 0
    dress_points(made.chart.plots[0].series[0], mark.role(0))
    dress_axis(made.chart.category_axis, panel.x, area, bare=True)
    dress_axis(made.chart.value_axis, panel.y, area)
    return made


def add_table(slide: Any, plot: Plot, box: Box, most: int = 10) -> Any:
    """Return a slide table of the largest scores of a plot."""
    numbers = plot.numbers
    score = next((name for name in ("(score)", "score") if name in numbers.columns), None)
    if score is not None:
        counted = next((name for name in ("(rows)", "rows") if name in numbers.columns), None)
        numbers = numbers[numbers[counted] > 0] if counted is not None else numbers
        size = np.abs(np.log(numbers[score])) if _is_ratio(plot) else numbers[score].abs()
        numbers = numbers.reindex(size.sort_values(ascending=False).index)
        kept = [name for name in numbers.columns if not str(name).endswith((" (from)", " (below)"))][:2]
        numbers = numbers[[*kept, score, *(name for name in ("(rows)", "rows") if name in numbers.columns)]]
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


def grid(slide: Any, rows: list[list[str]], box: Box, size: float, widths: list[float] | None = None) -> Any:
    """Return a slide table of texts; the first row is the header."""
    high = min(0.32 * len(rows), box.height)
    made = slide.shapes.add_table(
        len(rows), len(rows[0]), Inches(box.left), Inches(box.top), Inches(box.width), Inches(high)
    )  # fmt: skip
    dress_table(made.table, rows, size, [Inches(w) for w in widths] if widths else None)
    return made


def _cell(value: Any) -> str:
    if isinstance(value, float):  # numpy's floats, too
        return "" if np.isnan(value) else f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
    return str(value)
