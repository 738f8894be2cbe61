"""What a plot shows, independent of any library: panels of marks on axes. The screen and all files draw these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.common.types import Floats

ColorRole = Literal["primary", "accent", "density", "few", "muted", "ink", "zero", "hairline", "background"] | int
"""What a colour is for; a number is an index of the categorical colours."""
TickFormat = Literal["plain", "amount", "percent", "signed percent", "count", "factor", "small"]
"""How an axis writes numbers. An amount has commas between thousands; a plain number may be a year, and has none."""
AMOUNTS: Final = ("amount", "count")
"""Formats with commas."""

NO_TEXT: tuple[str, ...] = ()
SELECTED = 0.13
"""Opacity of a selected area."""


@dataclass(frozen=True)
class Axis:
    """One axis. Dates are days since 1970-01-01.

    limits : the range shown; None for all. ticks : positions and names, of levels. flipped : the first at the top.
    scaled : whether its named ticks stand on a scale of numbers. Slides write the numbers there. above : whether the
    names of bars stand above these on a page, where they leave a narrow screen no room beside them.
    """

    title: str = ""
    kind: Literal["number", "date", "log"] = "number"
    limits: tuple[float, float] | None = None
    ticks: tuple[tuple[float, str], ...] | None = None
    format: TickFormat = "plain"
    grid: bool = False
    named: bool = True
    flipped: bool = False
    from_zero: bool = False
    scaled: bool = False
    above: bool = False


@dataclass(frozen=True)
class Steps:
    """A step function: value k lies between edges k and k + 1. upright : edges along y."""

    edges: Floats
    values: Floats
    role: ColorRole = "primary"
    width: float = 2.4
    dotted: bool = False
    opacity: float = 1.0
    name: str = ""
    hover: Sequence[str] = NO_TEXT
    upright: bool = False


@dataclass(frozen=True)
class Ribbon:
    """The area between two step functions; a wide one is fainter."""

    edges: Floats
    lower: Floats
    upper: Floats
    role: ColorRole = "primary"
    wide: bool = False
    name: str = ""


@dataclass(frozen=True)
class Bars:
    """Bars from `base` to `base + sizes`. roles : one for all, or one per bar. texts : written at the bars' ends."""

    at: Floats
    sizes: Floats
    base: Floats | float = 0.0
    width: Floats | float = 0.62
    roles: ColorRole | Sequence[ColorRole] = "primary"
    lying: bool = False
    name: str = ""
    hover: Sequence[str] = NO_TEXT
    texts: Sequence[str] = NO_TEXT
    outlined: bool = False

    def role(self, k: int) -> ColorRole:
        """Return the role of bar k."""
        return self.roles if isinstance(self.roles, str | int) else self.roles[k]

    @property
    def bases(self) -> Floats:
        """The base of each bar."""
        return np.broadcast_to(np.asarray(self.base, np.float64), np.shape(self.sizes))


@dataclass(frozen=True)
class Whiskers:
    """Intervals from lower to upper at positions `at`."""

    at: Floats
    lower: Floats
    upper: Floats
    role: ColorRole = "ink"
    width: float = 2.2
    capped: bool = False
    lying: bool = False
    name: str = ""


@dataclass(frozen=True)
class Points:
    """Point marks: dots, or short horizontal or vertical lines."""

    x: Floats
    y: Floats
    role: ColorRole = "primary"
    size: float = 8.0
    symbol: Literal["dot", "dash", "bar"] = "dot"
    opacity: float = 1.0
    name: str = ""
    hover: Sequence[str] = NO_TEXT


@dataclass(frozen=True)
class Path:
    """A line through points, in their given order."""

    x: Floats
    y: Floats
    role: ColorRole = "primary"
    width: float = 2.2
    dash: Literal["", "dot", "dash"] = ""
    opacity: float = 1.0
    name: str = ""
    hover: Sequence[str] = NO_TEXT


@dataclass(frozen=True)
class ColorScale:
    """A colour scale from low to high: colour roles at equal distances, limits and named ticks."""

    low: float
    high: float
    roles: tuple[ColorRole, ...]
    title: str = ""
    ticks: tuple[tuple[float, str], ...] | None = None
    shown: bool = True


@dataclass(frozen=True)
class Cells:
    """A heat map: values (n_y, n_x) between borders x (n_x + 1,) and y (n_y + 1,), blank where NaN, pale where `pale`.

    hover, texts : (n_y, n_x) of strings, or empty.
    """

    x: Floats
    y: Floats
    values: Floats
    scale: ColorScale
    pale: NDArray[np.bool_]
    hover: NDArray[np.object_] = field(default_factory=lambda: np.empty((0, 0), object))
    texts: NDArray[np.object_] = field(default_factory=lambda: np.empty((0, 0), object))
    gap: float = 0.0


@dataclass(frozen=True)
class Line:
    """A straight line across the whole panel at a value of the y axis; upright: of the x axis."""

    at: float
    upright: bool = False
    role: ColorRole = "zero"
    dotted: bool = True
    width: float = 1.0
    text: str = ""


@dataclass(frozen=True)
class Area:
    """A part of the x axis, shaded over the panel's height. lined : with a line at each end."""

    low: float
    high: float
    role: ColorRole = "accent"
    opacity: float = SELECTED
    text: str = ""
    lined: bool = False


@dataclass(frozen=True)
class Frame:
    """A highlighted rectangle."""

    x: tuple[float, float]
    y: tuple[float, float]
    role: ColorRole = "ink"


Mark = Steps | Ribbon | Bars | Whiskers | Points | Path | Cells | Line | Area | Frame


@dataclass(frozen=True)
class Panel:
    """Marks on two axes, the last on top. blank : areas that no mark covers are grey. stacked : bars are stacked."""

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    blank: bool = False
    stacked: bool = False
    note: str = ""


@dataclass(frozen=True)
class Plot:
    """A grid of panels: panels in a column share the x axis, panels in a row the y axis.

    name : short, for a file. title : what the plot says, in a sentence; detail : scale, base rate, metric, in grey.
    words : the alternative text. numbers : the table behind the plot. height : pixels, without title and legend;
    width : pixels, None for all available width.
    """

    name: str
    title: str
    detail: str
    panels: tuple[tuple[Panel | None, ...], ...]
    words: str
    numbers: pd.DataFrame
    widths: tuple[float, ...] = (1.0,)
    heights: tuple[float, ...] = (1.0,)
    height: int = 412
    width: int | None = None
    legend: Literal["right", "left", "list"] = "right"
    small: bool = False

    @property
    def main(self) -> Panel:
        """The largest panel."""
        return max(self.each(), key=lambda place: self.heights[place[0]] * self.widths[place[1]])[2]

    def bare(self) -> Plot:
        """Return the plot without title and detail, for pages that show these themselves."""
        return replace(self, title="", detail="")

    def each(self) -> Iterator[tuple[int, int, Panel]]:
        """Yield the row, column and panel of each panel."""
        for row, line in enumerate(self.panels):
            for column, panel in enumerate(line):
                if panel is not None:
                    yield row, column, panel

    def named(self) -> list[Mark]:
        """Return the marks that have a name in the legend, the effect first."""
        marks = [mark for _, _, panel in self.each() for mark in panel.marks if getattr(mark, "name", "")]
        return sorted(marks, key=lambda mark: getattr(mark, "name", "") != "effect")


def single(panel: Panel) -> tuple[tuple[Panel | None, ...], ...]:
    """Return the grid of one panel."""
    return ((panel,),)
