"""A plot's description as a picture: PNG, SVG or PDF, drawn by matplotlib.

Every picture is its own `Figure` (never pyplot). It is drawn with the house settings under a lock, since matplotlib
keeps settings per process: callers may use several threads. Text stays text in SVG and PDF.
"""

from __future__ import annotations

import io
import logging
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, Literal
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from gamcore.common.numbers import exact, tick
from gamcore.data.labels import cut, cut_apart
from gamcore.viz.files.letters import FILES, HOUSE, faces, families, font_faces, lacking, letters_of, span_of, wrap
from gamcore.viz.files.mpl_marks import draw_mark, legend_handle
from gamcore.viz.palette import PALETTES, Mode, Palette
from gamcore.viz.ranges import FEWEST_RATIOS, ratio_ticks
from gamcore.viz.spec import AMOUNTS, Axis, Cells, ColorScale, Panel, Plot, Ribbon, Steps

MOST_RATIOS: Final = 12
"""Most ticks of a logarithmic axis."""
RATIO_LETTERS: Final = {"x": 3.0, "y": 1.6}
"""Room of a number on a logarithmic axis, in sizes of its letters."""
INCH_POINTS: Final = 72
PictureKind = Literal["png", "svg", "pdf"]
LAST: Final = ("DejaVu Sans", "Last Resort High-Efficiency", "sans-serif")
"""matplotlib's own fonts: the second draws the sign of a script in place of a letter that no font has."""
WIDTH, INCH, DPI = 1_000, 100.0, 200
"""Width of a plot in pixels; pixels per inch; pixels per inch of a PNG, twice as many for sharp screens."""
TITLE, DETAIL, TEXT = 15.0, 10.0, 9.5
LINES: Final = {"title": 0.26, "detail": 0.2, "legend": 0.24}
"""Heights of the lines above a plot, inches."""
MOST_TITLE = 2
LETTER: Final = 0.48
"""Mean width of a letter, as a share of the font size."""
_drawing = threading.RLock()


@contextmanager
def house(letters: frozenset[str]) -> Iterator[None]:
    """Apply the house settings for drawing texts of some letters; one caller at a time."""
    chosen = faces(letters)
    for path in (*map(str, FILES.values()), *(face.entry.fname for face in chosen)):
        _add_font(path)
    family = [*dict.fromkeys((HOUSE, *families(letters), *LAST))]
    in_pdf = 3 if any(face.is_postscript for face in chosen) else 42
    settings: Any = {
        "font.family": family, "font.size": TEXT,
        "svg.fonttype": "none", "pdf.fonttype": in_pdf, "svg.hashsalt": "house",
        "axes.unicode_minus": True, "text.usetex": False, "text.parse_math": False, "axes.spines.top": False,
        "axes.spines.right": False, "axes.spines.left": False, "axes.spines.bottom": False,
        "xtick.major.size": 0, "ytick.major.size": 0,
        "xtick.minor.size": 0, "ytick.minor.size": 0, "axes.axisbelow": True, "path.simplify": False,
    }  # fmt: skip
    with _drawing, mpl.rc_context(settings):
        yield


@cache
def _add_font(path: str) -> None:
    fontManager.addfont(path)
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # it reports each weight that a font lacks


def picture(plot: Plot, kind: PictureKind, mode: Mode = "light", about: str = "") -> bytes:
    """Return a plot as a file's bytes. about : text for the file's metadata, such as the model card."""
    letters = letters_of(plot)
    with house(letters):
        figure = compose(plot, mode, note=lacking(letters))
        buffer = io.BytesIO()
        words: dict[str, Any] = {"Title": plot.title}
        if kind == "png":
            words |= {"Description": plot.words, "Comment": about, "Software": "Shapewise"}
        elif kind == "svg":
            words |= {"Description": f"{plot.words} {about}".strip(), "Date": None}
        else:
            words |= {"Subject": plot.words, "Keywords": about, "Creator": "Shapewise", "CreationDate": None}
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=words, facecolor=figure.get_facecolor())
    return with_fonts(buffer.getvalue()) if kind == "svg" else buffer.getvalue()


def with_fonts(svg: bytes) -> bytes:
    """Return an SVG with the used letters of its fonts embedded: text stays text and looks the same anywhere."""
    letters = letters_of("".join(ElementTree.fromstring(svg).itertext()))  # noqa: S314 (just written by us)
    style = f'<style type="text/css">{font_faces(letters)}</style>'.encode()
    return svg.replace(b"<defs>", b"<defs>" + style, 1)


def compose(
    plot: Plot, mode: Mode = "light", size: tuple[float, float] | None = None,
    margins: tuple[float, float, float, float] = (0.12, 0.12, 0.12, 0.12), *, note: str = "",
) -> Figure:  # fmt: skip
    """Return a plot as a matplotlib figure; call it inside `house`.

    size : inches; None for the plot's own. margins : left, right, top, bottom, inches. note : a sentence above it.
    """
    color = PALETTES[mode]
    wide = size[0] if size else (plot.width or WIDTH) / INCH
    room = wide - margins[0] - margins[1]
    titles = wrapped(plot.title, room, TITLE, MOST_TITLE)
    named = plot.named()
    lines, columns = _legend_lines([getattr(mark, "name", "") for mark in named], room, plot.legend == "list")
    details = [*wrapped(plot.detail, room, DETAIL, MOST_TITLE), *wrap(note, per_line(room, DETAIL))]
    head = LINES["title"] * len(titles) + LINES["detail"] * len(details) + LINES["legend"] * lines + 0.06
    high = size[1] if size else plot.height / INCH + head + margins[2] + margins[3]
    figure = Figure(figsize=(wide, high), facecolor=color.background, layout="constrained")
    left, top = margins[0] / wide, 1 - margins[2] / high
    for line in titles:
        figure.text(left, top, line, fontsize=TITLE, fontweight=600, color=color.ink, va="top")
        top -= LINES["title"] / high
    for line in details:
        figure.text(left, top - 0.03 / high, line, fontsize=DETAIL, color=color.muted, va="top")
        top -= LINES["detail"] / high
    if named:
        figure.legend(
            [legend_handle(mark, color) for mark in named],
            [cut(getattr(mark, "name", ""), 60) for mark in named],
            loc="upper left", bbox_to_anchor=(left, top), ncols=columns, frameon=False, fontsize=TEXT,
            labelcolor=color.ink, borderaxespad=0.2, handlelength=1.6, columnspacing=1.6, handletextpad=0.5,
        )  # fmt: skip
        top -= LINES["legend"] * lines / high
    engine: Any = figure.get_layout_engine()
    bottom = margins[3] / high
    engine.set(w_pad=0.03, h_pad=0.03, wspace=0.02, hspace=0.02,
               rect=(left, bottom, room / wide, top - 0.06 / high - bottom))  # fmt: skip
    _panels(figure, plot, color)
    return figure


def per_line(room: float, points: float) -> int:
    """Return how many columns of letters a line of `room` inches holds."""
    return max(int(room * 72 / (LETTER * points)), 10)


def wrapped(text: str, room: float, points: float, most: int) -> list[str]:
    """Return a text wrapped to `room` inches, in at most `most` lines; the last line is cut."""
    width = per_line(room, points)
    lines = wrap(text, width)
    if len(lines) > most:
        last, *_ = wrap(lines[most - 1], width - 1)
        lines = [*lines[: most - 1], f"{last}…"]
    return lines


def _legend_lines(names: list[str], room: float, listed: bool) -> tuple[int, int]:
    """Return the numbers of lines and columns of a legend."""
    if not names:
        return 0, 1
    longest = max(span_of(cut(name, 60)) for name in names) * LETTER * TEXT / 72 + 0.55
    columns = 1 if listed else min(max(int(room / longest), 1), len(names))
    return math.ceil(len(names) / columns), columns


def _panels(figure: Figure, plot: Plot, color: Palette) -> None:
    grid = figure.add_gridspec(
        len(plot.heights), len(plot.widths), height_ratios=plot.heights, width_ratios=plot.widths
    )  # fmt: skip
    placed: dict[tuple[int, int], Any] = {}
    bars: list[tuple[Any, ColorScale]] = []
    for row, column, panel in plot.each():
        shared_x = next((placed[at] for at in placed if at[1] == column), None)
        shared_y = next((placed[at] for at in placed if at[0] == row), None)
        axes = figure.add_subplot(grid[row, column], sharex=shared_x, sharey=shared_y)
        placed[row, column] = axes
        cells = _panel(axes, panel, color, plot.small, figure.get_figwidth() * plot.widths[column] / sum(plot.widths))
        bars += [(drawn, scale) for drawn, scale in cells if scale.shown]
    for drawn, scale in bars:
        _colorbar(figure, drawn, scale, color)


def _panel(axes: Any, panel: Panel, color: Palette, small: bool, wide: float) -> list[tuple[Any, ColorScale]]:
    """Draw a panel; return the drawn cells with their colour scales."""
    axes.set_facecolor(color.hairline if panel.blank else color.background)
    lines = any(isinstance(mark, Steps | Ribbon) for mark in panel.marks)
    axes.margins(x=0.0 if lines else 0.03, y=0.05)
    _side(axes, panel.x, side="x", color=color, small=small, wide=wide)
    _side(axes, panel.y, side="y", color=color, small=small, wide=wide)
    cells = []
    for mark in panel.marks:
        drawn = draw_mark(axes, mark, panel, color)
        if isinstance(mark, Cells) and drawn is not None:
            cells.append((drawn, mark.scale))
    for side, axis in (("x", panel.x), ("y", panel.y)):
        _limit(axes, axis, side)
    if panel.note:
        axes.annotate(panel.note, (1, 1), xycoords="axes fraction", ha="right", va="top", fontsize=8,
                      color=color.muted)  # fmt: skip
    return cells


class _RatioLocator(LogLocator):
    """Places the ticks of a logarithmic axis."""

    axis: Any

    def __call__(self) -> list[float]:
        """Return the round numbers within the axis's range that there is room for."""
        low, high = sorted(map(float, self.axis.get_view_interval()))
        box = self.axis.axes.bbox.transformed(self.axis.figure.dpi_scale_trans.inverted())
        points = INCH_POINTS * (box.height if self.axis.axis_name == "y" else box.width)
        room = int(points / (TEXT * RATIO_LETTERS[self.axis.axis_name]))
        return ratio_ticks((low, high), min(max(room, FEWEST_RATIOS), MOST_RATIOS))


def _side(axes: Any, axis: Axis, side: str, color: Palette, small: bool, wide: float) -> None:
    """Set up one axis: scale, ticks, names and grid."""
    mine = axes.xaxis if side == "x" else axes.yaxis
    if axis.kind == "log":
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
        mine.set_major_locator(_RatioLocator())
        mine.set_minor_locator(NullLocator())
        mine.set_major_formatter(FuncFormatter(lambda value, _: exact(value)))
    elif axis.kind == "date":
        locator: Any = AutoDateLocator(minticks=3, maxticks=8)
        mine.set_major_locator(locator)
        mine.set_major_formatter(ConciseDateFormatter(locator))
    elif axis.ticks is not None:
        mine.set_major_locator(FixedLocator([at for at, _ in axis.ticks]))
        names = dict(zip([at for at, _ in axis.ticks], cut_apart([name for _, name in axis.ticks], 44), strict=True))
        mine.set_major_formatter(FuncFormatter(lambda value, _: names.get(round(value, 6), "")))
    else:
        mine.set_major_locator(MaxNLocator(4 if small else 7 if wide > 4 else 5, steps=[1, 2, 2.5, 5, 10]))
        mine.set_major_formatter(FuncFormatter(_formatter(axis.format)))
    room = 72 * wide / (0.55 * TEXT)
    crowded = side == "x" and axis.ticks and sum(span_of(name) + 2 for _, name in axis.ticks) > room
    axes.tick_params(axis=side, which="both", labelcolor=color.muted, labelsize=8 if small else TEXT, length=0,
                     **{"labelbottom" if side == "x" else "labelleft": axis.named},
                     **({"labelrotation": 40} if crowded else {}))  # fmt: skip
    if crowded:
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    if axis.grid:
        axes.grid(True, axis=side, color=color.hairline, linewidth=0.75)
    if axis.title:
        mine.set_label_text(cut(axis.title, 70), color=color.muted, fontsize=TEXT)


def _formatter(form: str) -> Any:
    """Return a tick formatter for a number format."""
    if form in ("percent", "signed percent"):
        sign = "+" if form == "signed percent" else ""
        return lambda value, _: f"{sign if value > 0 else ''}{exact(100 * value, 3)}%"
    return lambda value, _: exact(value, 3) if form == "small" else tick(value, commas=form in AMOUNTS)


def _limit(axes: Any, axis: Axis, side: str) -> None:
    get, put = (axes.get_xlim, axes.set_xlim) if side == "x" else (axes.get_ylim, axes.set_ylim)
    low, high = axis.limits if axis.limits is not None else sorted(get())
    if axis.from_zero and axis.limits is None:
        low = 0.0
    if not np.isfinite([low, high]).all() or low == high:
        return
    put(*((high, low) if axis.flipped else (low, high)))


def _colorbar(figure: Any, drawn: Any, scale: ColorScale, color: Palette) -> None:
    bar = figure.colorbar(drawn, ax=figure.axes, location="right", shrink=0.7, aspect=32, pad=0.015)
    bar.outline.set_visible(False)
    if scale.ticks:
        bar.set_ticks([at for at, _ in scale.ticks], labels=[name for _, name in scale.ticks])
    bar.ax.tick_params(labelcolor=color.muted, labelsize=TEXT, length=0)
    bar.set_label(cut(scale.title, 50), color=color.muted, fontsize=TEXT)
