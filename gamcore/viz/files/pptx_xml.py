"""The style of native charts, and the parts of their XML that python-pptx does not cover."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lxml import etree
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_AXIS_CROSSES, XL_LEGEND_POSITION, XL_MARKER_STYLE, XL_TICK_LABEL_POSITION, XL_TICK_MARK
from pptx.enum.dml import MSO_LINE
from pptx.oxml.ns import qn
from pptx.util import Inches, Pt

from gamcore.common.types import Floats
from gamcore.data.labels import cut
from gamcore.viz.palette import PALETTES, clean, rgb
from gamcore.viz.spec import Axis, Bars, ColorRole, Line, Path, Points, Ribbon, Steps

COLOR: Final = PALETTES["light"]
TEXT: Final = 10
NUMBERS: Final = {"plain": "General", "amount": "General", "percent": "0%", "signed percent": "+0%;-0%;0%",
                  "count": "#,##0", "factor": "General", "small": "General"}  # fmt: skip


SLACK: Final = 0.12
"""Share of a step by which rounding may tighten limits: no more than their margin."""
LARGE: Final = 10_000
"""Axes that reach this number group digits."""
END: Final = " (end)"
"""Suffix for the name of the second end of a band or segment."""


@dataclass(frozen=True)
class ChartPlace:
    """A chart's frame, inches. pads : distances of the inner area from the frame: left, top, right, bottom."""

    left: float
    top: float
    width: float
    height: float
    pads: tuple[float, float, float, float]

    def inches(self) -> tuple[Any, Any, Any, Any]:
        """Return left, top, width and height as python-pptx lengths."""
        return Inches(self.left), Inches(self.top), Inches(self.width), Inches(self.height)


def color_of(role: ColorRole) -> Any:
    """Return a role's colour."""
    return RGBColor.from_string(COLOR.of(role)[1:])


def mixed(role: ColorRole, opacity: float) -> Any:
    """Return a role's colour at an opacity over white."""
    return RGBColor(*(round(255 - opacity * (255 - part)) for part in rgb(COLOR.of(role))))


def place_inner(chart: Any, area: ChartPlace) -> None:
    """Fix the inner area, so that the charts of several panels are aligned."""
    left, top, right, bottom = area.pads
    parts = {"x": left / area.width, "y": top / area.height, "w": (area.width - left - right) / area.width,
             "h": (area.height - top - bottom) / area.height}  # fmt: skip
    _layout(chart._chartSpace.find(f".//{qn('c:plotArea')}"), parts, "inner")


def _layout(node: Any, parts: dict[str, float], target: str | None, at: int = 0) -> None:
    """Set the layout of a part of a chart, in shares of the chart."""
    for old in node.findall(qn("c:layout")):
        node.remove(old)
    layout = etree.Element(qn("c:layout"))
    manual = etree.SubElement(layout, qn("c:manualLayout"))
    if target:
        etree.SubElement(manual, qn("c:layoutTarget"), val=target)
    for side in ("x", "y"):
        etree.SubElement(manual, qn(f"c:{side}Mode"), val="edge")
    for name, value in parts.items():
        etree.SubElement(manual, qn(f"c:{name}"), val=f"{value:.5f}")
    node.insert(at, layout)


def dress_legend(chart: Any, wanted: bool, area: ChartPlace) -> None:
    """Set up a legend above the plot, without auxiliary series, or none."""
    chart.has_title = False
    chart.has_legend = wanted
    chart.font.size = Pt(TEXT)
    chart.font.color.rgb = color_of("muted")
    if not wanted:
        return
    chart.legend.position = XL_LEGEND_POSITION.TOP
    chart.legend.include_in_layout = False
    chart.legend.font.size = Pt(TEXT)
    chart.legend.font.color.rgb = color_of("ink")
    node = chart.legend._element
    hidden = [k for k, series in enumerate(chart.plots[0].series) if not _is_told(series.name)]
    for k in reversed(hidden):
        entry = etree.Element(qn("c:legendEntry"))
        etree.SubElement(entry, qn("c:idx"), val=str(k))
        etree.SubElement(entry, qn("c:delete"), val="1")
        node.insert(1, entry)
    left = area.pads[0] / area.width
    _layout(node, {"x": left, "y": 0.0, "w": 1 - left, "h": area.pads[1] / area.height}, None, 1 + len(hidden))


def _is_told(name: str) -> bool:
    """Return whether a series belongs in the legend: not guide lines, nor the second end of a band."""
    return name not in ("zero", "line", "curve", "(base)", "band") and not name.endswith(END)


def dress_axis(
    drawn: Any, axis: Axis, area: ChartPlace, crosses: float | None = None, flipped: bool = False, bare: bool = False,
    beyond: bool = False,
) -> None:  # fmt: skip
    """Set up one axis: limits, ticks, title, grid.

    crosses : where bars begin. bare : without tick labels. beyond : tick labels at the far end of the other axis, which
    is flipped.
    """
    drawn.major_tick_mark = drawn.minor_tick_mark = XL_TICK_MARK.NONE
    drawn.has_major_gridlines = axis.grid
    drawn.format.line.fill.background()
    if axis.grid:
        drawn.major_gridlines.format.line.color.rgb = color_of("hairline")
        drawn.major_gridlines.format.line.width = Pt(0.75)
    side = XL_TICK_LABEL_POSITION.HIGH if beyond else XL_TICK_LABEL_POSITION.LOW
    drawn.tick_label_position = side if axis.named and not bare else XL_TICK_LABEL_POSITION.NONE
    drawn.tick_labels.font.size = Pt(TEXT)
    drawn.tick_labels.font.color.rgb = color_of("muted")
    scaling = drawn._element.find(qn("c:scaling"))
    levels = axis.ticks is not None and not axis.scaled
    if axis.kind == "date":
        drawn.tick_labels.number_format, drawn.tick_labels.number_format_is_linked = "yyyy-mm-dd", False
    elif not levels:
        large = axis.format in ("plain", "amount") and axis.limits is not None and max(map(abs, axis.limits)) >= LARGE
        form = NUMBERS["count" if large else axis.format]
        drawn.tick_labels.number_format, drawn.tick_labels.number_format_is_linked = form, False
    if axis.limits is not None and not levels and not bare:
        low, high, step = nice(axis)
        drawn.minimum_scale, drawn.maximum_scale = low, high
        if step:
            drawn.major_unit = step
    if is_log(axis):
        base = etree.Element(qn("c:logBase"), val="10")
        scaling.insert(0, base)
    if flipped:
        drawn.reverse_order = True
        drawn.crosses = XL_AXIS_CROSSES.MAXIMUM  # else the other axis would move to the top
    title = cut(" ".join(clean(axis.title).split()), 70)
    drawn.has_title = bool(title)
    if title:
        frame = drawn.axis_title.text_frame
        frame.text = title
        run = frame.paragraphs[0].runs[0]
        run.font.size, run.font.bold = Pt(TEXT), False
        run.font.color.rgb = color_of("muted")
    if crosses is not None:
        _cross(drawn, crosses)


def is_log(axis: Axis) -> bool:
    """Return whether a slide's axis is logarithmic: only from a factor of ten, since it ends at powers of ten."""
    return (
        axis.kind == "log" and axis.limits is not None and axis.limits[0] > 0 and axis.limits[1] >= 10 * axis.limits[0]
    )


def nice(axis: Axis) -> tuple[float, float, float | None]:
    """Return limits at round numbers and the step between ticks.

    Dates are not rounded but become spreadsheet days; they and log axes have no step.
    """
    assert axis.limits is not None
    low, high = axis.limits
    if axis.kind == "date":
        return low + 25_569, high + 25_569, None
    if is_log(axis):
        return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high)), None
    rough = (high - low) / 8
    size = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(size * k for k in (1, 2, 2.5, 5, 10) if size * k >= rough)
    return math.floor(low / step + SLACK) * step, math.ceil(high / step - SLACK) * step, step


def _cross(value_axis: Any, at: float) -> None:
    """Let bars begin at a value: the axis of levels crosses the value axis there."""
    chart = value_axis._element.getparent()
    mine = value_axis._element.find(qn("c:axId")).get("val")
    for other in chart:
        crossing = other.find(qn("c:crossAx")) if other is not value_axis._element else None
        if crossing is not None and crossing.get("val") == mine:
            for old in (*other.findall(qn("c:crosses")), *other.findall(qn("c:crossesAt"))):
                other.remove(old)
            node = etree.Element(qn("c:crossesAt"), val=f"{at:g}")
            crossing.addnext(node)


def fill(series: Any, mark: Any, n: int) -> None:
    """Set the colours of a bar series; a series without a mark is invisible."""
    series.invert_if_negative = False
    if mark is None:
        series.format.fill.background()
        return
    if not isinstance(mark, Bars):
        dress_points(series, mark.role)
        return
    roles = [mark.role(k) for k in range(min(n, len(mark.sizes)))]
    dress_points(series, roles[0] if roles else "primary")
    if mark.outlined:
        series.format.line.color.rgb = color_of("zero")
    if len(set(roles)) > 1:
        for k, role in enumerate(roles):
            point = series.points[k].format.fill
            point.solid()
            point.fore_color.rgb = color_of(role)


def dress_points(series: Any, role: ColorRole) -> None:
    """Set one colour for all bars of a series."""
    series.format.fill.solid()
    series.format.fill.fore_color.rgb = color_of(role)


def dress_line(series: Any, mark: Any) -> None:
    """Style the line of an XY series."""
    line = series.format.line
    series.marker.style = XL_MARKER_STYLE.NONE
    role: ColorRole = mark.role
    width, opacity, dash = 1.0, 1.0, None
    match mark:
        case Ribbon():
            width, opacity = 0.75, 0.35 if mark.wide else 0.6
            dash = MSO_LINE.SQUARE_DOT if mark.wide else None
        case Steps():
            width, opacity = mark.width * 0.9, mark.opacity
            dash = MSO_LINE.ROUND_DOT if mark.dotted else None
        case Path():
            width, opacity = mark.width * 0.9, mark.opacity
            dash = {"dot": MSO_LINE.ROUND_DOT, "dash": MSO_LINE.DASH}.get(mark.dash)
        case Points():
            width = 1.5
        case Line():
            width, dash = mark.width, MSO_LINE.ROUND_DOT if mark.dotted else None
    line.width = Pt(width)
    line.color.rgb = mixed(role, opacity)
    if dash is not None:
        line.dash_style = dash


def dress_markers(series: Any, mark: Points, joined: bool = False) -> None:
    """Style the markers of a series, joined by a line or not."""
    if not joined:
        series.format.line.fill.background()
    series.marker.style = XL_MARKER_STYLE.CIRCLE if mark.symbol == "dot" else XL_MARKER_STYLE.DASH
    series.marker.size = int(min(max(mark.size, 2), 12))
    series.marker.format.fill.solid()
    series.marker.format.fill.fore_color.rgb = mixed(mark.role, mark.opacity)
    series.marker.format.line.fill.background()


def error_bars(series: Any, reach: tuple[Floats, Floats], lying: bool, y_of_xy: bool = False) -> None:
    """Add intervals to a series; reach : distances above and below its values."""
    if not (reach[0].any() or reach[1].any()):
        return
    node = etree.Element(qn("c:errBars"))
    if y_of_xy:
        etree.SubElement(node, qn("c:errDir"), val="y")
    etree.SubElement(node, qn("c:errBarType"), val="both")
    etree.SubElement(node, qn("c:errValType"), val="cust")
    etree.SubElement(node, qn("c:noEndCap"), val="1")
    for side, values in zip(("plus", "minus"), reach, strict=True):
        literal = etree.SubElement(etree.SubElement(node, qn(f"c:{side}")), qn("c:numLit"))
        etree.SubElement(literal, qn("c:formatCode")).text = "General"
        etree.SubElement(literal, qn("c:ptCount"), val=str(values.size))
        for k, value in enumerate(values):
            etree.SubElement(
                etree.SubElement(literal, qn("c:pt"), idx=str(k)), qn("c:v")
            ).text = f"{max(value, 0):.10g}"
    look = etree.SubElement(node, qn("c:spPr"))
    line = etree.SubElement(look, qn("a:ln"), w=str(int(Pt(1.5))))
    etree.SubElement(etree.SubElement(line, qn("a:solidFill")), qn("a:srgbClr"), val=COLOR.ink[1:])
    before = next(series._element.find(qn(f"c:{name}")) for name in ("cat", "xVal", "val")
                  if series._element.find(qn(f"c:{name}")) is not None)  # fmt: skip
    before.addprevious(node)


def shown_in_cell(text: Any) -> str:
    """Return the text of a table's cell as a slide shows it."""
    return cut(clean(str(text)).replace("\n", " "), 300)


def dress_table(table: Any, rows: Sequence[Sequence[str]], size: float, widths: list[Any] | None) -> None:
    """Write texts into a table without colours or banding; the first row is the header."""
    table.horz_banding = False
    look = table._tbl.tblPr.find(qn("a:tableStyleId"))
    if look is not None:
        look.text = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"  # no style, no grid
    for k, width in enumerate(widths or []):
        table.columns[k].width = width
    for row, line in enumerate(rows):
        for column, text in enumerate(line):
            cell = table.cell(row, column)
            cell.text = shown_in_cell(text)
            cell.margin_left = cell.margin_right = Inches(0.04)
            cell.margin_top = cell.margin_bottom = Inches(0.025)
            for run in cell.text_frame.paragraphs[0].runs:
                run.font.size, run.font.bold = Pt(size), row == 0
                run.font.color.rgb = color_of("muted" if row == 0 else "ink")
