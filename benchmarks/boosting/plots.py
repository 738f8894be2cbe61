"""The plots of docs/benchmarks/libraries.md; each function draws one from a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.boosting import standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS = "#2F78CB"
EBM = "#E0812B"
DARK, LIGHT = "#5F6670", "#A9B0B8"
INK, GRID = "#2B2F36", "#E4E7EB"

# Colour and marker, so that nothing is conveyed by colour alone.
SHOWN = {
    standing.BASE: ("Shapewise, balanced", OURS, "o"),
    standing.EBM: ("EBM, defaults", EBM, "s"),
    standing.ADDITIVE: ("LightGBM, one cut per tree", DARK, "^"),
    "xgboost": ("XGBoost, all interactions", LIGHT, "D"),
}

EBMS = ((standing.EBM, "EBM, defaults (14 refits)", EBM), (standing.EBM_EIGHT, "EBM, 8 refits", LIGHT))


def _axes(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LIGHT)
    axes.tick_params(colors=INK, labelsize=9)
    axes.tick_params(which="minor", colors=LIGHT)
    axes.set_axisbelow(True)
    return figure, axes


def _plain(axes: Axes, which: str) -> None:
    """Label a log axis with plain numbers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis = getattr(axes, f"{which}axis")
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())
    axis.label.set_color(INK)


def _tables(axes: Axes, names: list[str]) -> np.ndarray:
    """List the tables from top to bottom; return their heights."""
    heights = np.arange(len(names))[::-1]
    axes.set_yticks(heights, names)
    axes.tick_params(axis="y", length=0)
    return heights


def seconds(cells: pd.DataFrame) -> Figure:
    """Plot the seconds of a fit by table, one mark per model."""
    wide = standing.wide(cells, "seconds")
    figure, axes = _axes(7.2, 0.9 + 0.38 * wide.shape[1])
    heights = _tables(axes, list(wide))
    shown = [name for name in SHOWN if name in wide.index]
    axes.hlines(heights, wide.loc[shown].min(), wide.loc[shown].max(), color=GRID, linewidth=2)
    for name in shown:
        label, colour, marker = SHOWN[name]
        axes.plot(wide.loc[name], heights, linestyle="none", marker=marker, markersize=7, color=colour, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("seconds of a fit, binning included (log scale)", fontsize=9)
    axes.grid(axis="x", color=GRID)
    axes.set_ylim(-0.6, len(heights) - 0.4)
    figure.legend(loc="outside upper left", ncols=4, frameon=False, fontsize=8.5, handletextpad=0.2, columnspacing=1.2)
    _plain(axes, "x")
    return figure


def ratios(cells: pd.DataFrame) -> Figure:
    """Plot EBM's seconds over ours by table: with its defaults, and with as many refits as ours."""
    wide = standing.ratios(cells)
    shown = [(name, label, colour) for name, label, colour in EBMS if name in wide]
    figure, axes = _axes(7.2, 0.9 + (0.12 + 0.16 * len(shown)) * len(wide))
    heights = _tables(axes, list(wide.index))
    each = 0.8 / len(shown)
    for k, (name, label, colour) in enumerate(shown):
        places = heights + 0.4 - each * (k + 0.5)
        axes.barh(places, wide[name].fillna(0.0), height=0.9 * each, color=colour, label=label)
        for place, value, table in zip(places, wide[name], wide.index, strict=True):
            if np.isfinite(value):
                text = f"{value:.1f}" if value < 10 else f"{value:.0f}"
                weight = "bold" if table == standing.MEAN_ROW else "normal"
                about = {"textcoords": "offset points", "va": "center", "fontsize": 8.5, "color": INK, "weight": weight}
                axes.annotate(text, (value, place), (4, 0), **about)
    axes.set_xlim(0, 1.08 * np.nanmax(wide[[name for name, _, _ in shown]]))
    axes.set_xlabel("seconds of EBM over seconds of Shapewise, balanced (8 refits)", fontsize=9)
    axes.xaxis.label.set_color(INK)
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8.5)
    return figure


def steps(points: pd.DataFrame, slopes: pd.DataFrame) -> Figure:
    """Plot the seconds of a step against rows, one line per number of threads."""
    figure, axes = _axes(7.2, 3.6)
    lines = {1: (OURS, "o", "-"), 2: (DARK, "s", "--")}
    for threads, part in points[points["changed"] == "rows"].groupby("threads"):
        words = ""
        for slope in slopes.itertuples():
            if slope.threads == threads:
                words = f", slope {slope.slope:.2f} from {slope.from_rows:,} rows"
        colour, marker, style = lines.get(int(threads), (LIGHT, "D", ":"))
        ordered = part.sort_values("rows")
        label = f"{threads} thread{'s' if threads > 1 else ''}{words}"
        axes.plot(
            ordered["rows"],
            1e3 * ordered["step_seconds"],
            color=colour,
            marker=marker,
            linestyle=style,
            label=label,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("training rows (log scale)", fontsize=9)
    axes.set_ylabel("milliseconds of a step (log scale)", fontsize=9)
    axes.grid(color=GRID)
    axes.legend(frameon=False, fontsize=9)
    _plain(axes, "x")
    _plain(axes, "y")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Save a plot as SVG: the same numbers give the same bytes."""
    import matplotlib as mpl

    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(path, metadata={"Date": None})
