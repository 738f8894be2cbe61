"""A column's distribution: rows per bar, and above or beside them the mean of a target."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from gamcore.common.numbers import counted, number, percent
from gamcore.data.labels import cut_apart
from gamcore.stats.profiles import Means, Profile
from gamcore.viz.axes import level_axis, number_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, Bars, Line, Mark, Panel, Plot, Points, Whiskers, single

ROW = 30
HEIGHT = 340


def profile(shape: Profile, detail: str = "") -> Plot:
    """Return the rows per part of a column, with the mean of the target in each if the profile has one."""
    title, numbers = shape.words(), shape.frame()
    plot = Plot(
        f"profile {shape.name}",
        title,
        detail,
        (),
        words=f"{title}. {detail}",
        numbers=numbers,
        height=HEIGHT,
        legend="left",
    )
    if shape.labels:
        names = level_axis(cut_apart(shape.labels, MOST_LABEL))
        at = np.arange(shape.counts.size, dtype=np.float64)
        rows = Panel(Axis("rows", format="count", from_zero=True), names, (_rows(shape, at, 0.62, lying=True),))
        plot = replace(plot, panels=single(rows), height=80 + ROW * max(at.size, 3))
        if shape.means is not None:
            means = Panel(_axis(shape.means), names, _marks(shape, shape.means, at, lying=True))
            rows = replace(rows, y=replace(names, named=False))
            plot = replace(plot, panels=((means, rows),), widths=(0.64, 0.36))
        return plot
    at = (shape.edges[:-1] + shape.edges[1:]) / 2
    x = Axis(shape.name, "date") if shape.kind == "date" else number_axis(shape.name, shape.measure, shape.edges, None)
    bars = _rows(shape, at, np.diff(shape.edges), lying=False)
    rows = Panel(x, Axis("rows", format="count", from_zero=True), (bars,))
    if shape.means is None:
        return replace(plot, panels=single(rows))
    means = Panel(replace(x, title="", named=False), _axis(shape.means), _marks(shape, shape.means, at, lying=False))
    return replace(plot, panels=((means,), (rows,)), heights=(0.64, 0.36))


def _axis(means: Means) -> Axis:
    return Axis(means.title, format="percent" if means.binary else "plain", grid=True)


def _hover(shape: Profile) -> list[str]:
    values = shape.frame().to_numpy()[:-1]
    lines = [f"{row[0]}\n{counted(row[1], 'row')} ({percent(row[2])})" for row in values]
    if shape.means is None:
        return lines
    write = percent if shape.means.binary else partial(number, digits=4)
    return [f"{line}\n{write(row[3])} ({write(row[4])} to {write(row[5])})"
            for line, row in zip(lines, values, strict=True)]  # fmt: skip


def _rows(shape: Profile, at: np.ndarray, width: np.ndarray | float, lying: bool) -> Bars:
    return Bars(at, shape.counts.astype(np.float64), width=width, roles="density", lying=lying, hover=_hover(shape))


def _marks(shape: Profile, means: Means, at: np.ndarray, lying: bool) -> tuple[Mark, ...]:
    """Return the means with their intervals, and a line at the mean of all rows."""
    seen = np.isfinite(means.values)
    hover = [line for line, there in zip(_hover(shape), seen, strict=True) if there]
    places, values = at[seen], means.values[seen]
    held = np.isfinite(means.lower)
    whiskers = Whiskers(at[held], means.lower[held], means.upper[held], "primary", 1.4, capped=True, lying=lying)
    x, y = (values, places) if lying else (places, values)
    points = Points(x, y, hover=hover)
    return Line(means.of_all, upright=lying), whiskers, points
