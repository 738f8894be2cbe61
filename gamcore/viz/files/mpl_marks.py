"""Marks of a plot's description, drawn on matplotlib axes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from gamcore.viz.palette import Palette
from gamcore.viz.spec import Area, Bars, Cells, Frame, Line, Mark, Panel, Path, Points, Ribbon, Steps, Whiskers

POINT: Final = 0.75
"""Points per screen pixel, at 96 pixels per inch."""
PALE: Final = 0.45
DASHES: Final[dict[str, Any]] = {"": "solid", "dot": (0, (1, 2)), "dash": (0, (4, 3))}
SYMBOLS: Final = {"dot": "o", "dash": "_", "bar": "|"}
TEXT: Final = 9.0


def draw_mark(axes: Any, mark: Mark, panel: Panel, color: Palette) -> Any:
    """Draw one mark; return the mappable of cells, for their colour bar, else None."""
    match mark:
        case Steps():
            _steps(axes, mark, color)
        case Ribbon():
            x = np.repeat(mark.edges, 2)[1:-1]
            shade = color.wide if mark.wide else color.band
            axes.fill_between(x, np.repeat(mark.lower, 2), np.repeat(mark.upper, 2), color=color.of(mark.role),
                              alpha=shade, linewidth=0)  # fmt: skip
        case Bars():
            _bars(axes, mark, panel, color)
        case Whiskers():
            _whiskers(axes, mark, color)
        case Points():
            thin: dict[str, Any] = {} if mark.symbol == "dot" else {"linewidths": 1.5}
            axes.scatter(mark.x, mark.y, s=(mark.size * POINT) ** 2, c=color.of(mark.role), marker=SYMBOLS[mark.symbol],
                         alpha=mark.opacity, zorder=3, **thin, rasterized=mark.x.size > 3_000)  # fmt: skip
        case Path():
            axes.plot(mark.x, mark.y, color=color.of(mark.role), linewidth=mark.width * POINT, alpha=mark.opacity,
                      linestyle=DASHES[mark.dash])  # fmt: skip
        case Cells():
            return _cells(axes, mark, color)
        case Line() | Area() | Frame():
            _guide(axes, mark, color)
    return None


def _steps(axes: Any, mark: Steps, color: Palette) -> None:
    along, across = np.repeat(mark.edges, 2)[1:-1], np.repeat(mark.values, 2)
    x, y = (across, along) if mark.upright else (along, across)
    axes.plot(x, y, color=color.of(mark.role), linewidth=mark.width * POINT, alpha=mark.opacity,
              linestyle=DASHES["dot" if mark.dotted else ""], solid_joinstyle="miter")  # fmt: skip


def _bars(axes: Any, mark: Bars, panel: Panel, color: Palette) -> None:
    paint = [color.of(mark.role(k)) for k in range(len(mark.sizes))]
    edge = {"edgecolor": color.zero, "linewidth": 0.75} if mark.outlined else {"linewidth": 0}
    if mark.lying:
        axes.barh(mark.at, mark.sizes, height=mark.width, left=mark.bases, color=paint, **edge)
    else:
        axes.bar(mark.at, mark.sizes, width=mark.width, bottom=mark.bases, color=paint, **edge)
    for k, text in enumerate(mark.texts):
        size, end = float(mark.sizes[k]), float(mark.bases[k] + mark.sizes[k])
        inside = panel.stacked and not mark.outlined and size > 0.25 * _extent(panel)
        left = (inside or size < 0) and not (inside and size < 0)
        axes.annotate(
            text, (end, mark.at[k]) if mark.lying else (mark.at[k], end), xytext=(-4 if left else 4, 0),
            textcoords="offset points", ha="right" if left else "left", va="center", fontsize=TEXT,
            color=color.background if inside else color.ink, annotation_clip=False,
        )  # fmt: skip


def _extent(panel: Panel) -> float:
    """Return the furthest end of the bars of a panel."""
    bars = [mark for mark in panel.marks if isinstance(mark, Bars)]
    return max((float(np.max(mark.bases + mark.sizes, initial=0.0)) for mark in bars), default=1.0)


def _whiskers(axes: Any, mark: Whiskers, color: Palette) -> None:
    middle = (mark.lower + mark.upper) / 2
    error = (mark.upper - mark.lower) / 2
    x, y = (middle, mark.at) if mark.lying else (mark.at, middle)
    axes.errorbar(
        x, y, **{"xerr" if mark.lying else "yerr": error}, fmt="none", ecolor=color.of(mark.role), zorder=2.5,
        elinewidth=mark.width * POINT, capsize=3 if mark.capped else 0, capthick=mark.width * POINT,
    )  # fmt: skip


def _cells(axes: Any, mark: Cells, color: Palette) -> Any:
    names = [color.of(role) for role in mark.scale.roles]
    shades = LinearSegmentedColormap.from_list("effects", names)
    norm = Normalize(mark.scale.low, mark.scale.high)
    # cells touch: without edges in their own colour, PDF viewers show hairlines between them
    seam = (
        {"edgecolors": color.background, "linewidth": mark.gap}
        if mark.gap
        else {"edgecolors": "face", "linewidth": 0.2}
    )
    drawn = None
    for pale in (True, False):
        shown = np.ma.masked_invalid(np.where(mark.pale == pale, mark.values, np.nan))
        if pale and not mark.pale.any():
            continue
        drawn = axes.pcolormesh(
            mark.x, mark.y, shown, cmap=shades, norm=norm, alpha=PALE if pale else None, **seam
        )  # fmt: skip
    for row, column in np.ndindex(*mark.texts.shape):
        x, y = mark.x[column : column + 2].mean(), mark.y[row : row + 2].mean()
        text = str(mark.texts[row, column])
        axes.text(x, y, text, ha="center", va="center", fontsize=TEXT, color=color.ink)
    return drawn


def _guide(axes: Any, mark: Line | Area | Frame, color: Palette) -> None:
    paint = color.of(mark.role)
    if isinstance(mark, Line):
        style = {"color": paint, "linewidth": mark.width * POINT, "linestyle": DASHES["dot" if mark.dotted else ""]}
        (axes.axvline if mark.upright else axes.axhline)(mark.at, zorder=1.5, **style)
        if mark.text:
            across = axes.get_xaxis_transform() if mark.upright else axes.get_yaxis_transform()
            place = (mark.at, 1.0) if mark.upright else (1.0, mark.at)
            axes.annotate(mark.text, place, xycoords=across, xytext=(3, 2), textcoords="offset points",
                          fontsize=TEXT, color=color.muted, va="bottom", annotation_clip=False)  # fmt: skip
    elif isinstance(mark, Frame):
        (x0, x1), (y0, y1) = mark.x, mark.y
        axes.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, edgecolor=paint, linewidth=1.5, zorder=4))
    else:
        axes.axvspan(mark.low, mark.high, color=paint, alpha=mark.opacity, linewidth=0, zorder=0.5)
        for end in (mark.low, mark.high) if mark.lined else ():
            axes.axvline(end, color=paint, linewidth=POINT, zorder=0.6)
        if mark.text:
            low = min(axes.get_xlim())
            axes.annotate(
                mark.text, (max(mark.low, low), 1.0), xycoords=axes.get_xaxis_transform(), xytext=(4, -4),
                textcoords="offset points", va="top", fontsize=TEXT, zorder=5,
                color=color.muted if mark.role == "density" else paint,
            )  # fmt: skip


def legend_handle(mark: Mark, color: Palette) -> Any:
    """Return the legend handle of a mark."""
    match mark:
        case Ribbon():
            return Patch(color=color.of(mark.role), alpha=color.wide if mark.wide else color.band, linewidth=0)
        case Bars():
            edge = {"edgecolor": color.zero} if mark.outlined else {"linewidth": 0}
            return Patch(facecolor=color.of("primary" if not isinstance(mark.roles, str | int) else mark.roles), **edge)
        case Points():
            style: dict[str, Any] = {"linestyle": "none", "marker": SYMBOLS[mark.symbol], "markeredgewidth": 1.5}
            return Line2D([], [], color=color.of(mark.role), markersize=min(mark.size * POINT, 9), **style)
        case Path():
            dash = DASHES[mark.dash]
            return Line2D([], [], color=color.of(mark.role), linewidth=mark.width * POINT, linestyle=dash)
        case Steps() | Whiskers():
            dotted = isinstance(mark, Steps) and mark.dotted
            faint = mark.opacity if isinstance(mark, Steps) else 1.0
            style = {"linewidth": mark.width * POINT, "linestyle": DASHES["dot" if dotted else ""], "alpha": faint}
            return Line2D([], [], color=color.of(mark.role), **style)
    return Patch(alpha=0.0)
