"""Drift: the distributions of a column in two versions of a table, overlaid."""

from __future__ import annotations

import numpy as np

from gamcore.common.numbers import percent
from gamcore.common.types import Floats
from gamcore.data.labels import cut, cut_apart
from gamcore.stats.histograms import Overlay
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, Bars, ColorRole, Mark, Panel, Plot, Steps, single

ROW = 30
HEIGHT = 260
WIDTH = 0.36
"""Width of a bar; each level has two."""


def moved(overlay: Overlay, title: str, names: tuple[str, str] = ("then", "now")) -> Plot:
    """Return the shares of rows by value in the older and the newer version. names : what the two are called."""
    first, second = (cut(name, MOST_LABEL) for name in names)
    table = overlay.frame().set_axis(["value", *names], axis=1)
    hover = [f"{row[0]}\n{first} {percent(row[1])}, {second} {percent(row[2])}" for row in table.to_numpy()]
    marks: list[Mark] = []
    sides: list[tuple[str, Floats, ColorRole, float]] = [
        (first, overlay.then, 0, -WIDTH / 2), (second, overlay.now, 1, WIDTH / 2),
    ]  # fmt: skip
    at = np.arange(overlay.then.size, dtype=np.float64)
    for name, shares, role, shift in sides:
        if overlay.labels:
            marks.append(Bars(at + shift, shares, width=WIDTH, roles=role, lying=True, name=name, hover=hover))
        else:
            marks.append(Steps(overlay.edges, shares, role, 2.2, name=name, hover=hover))
    share = Axis("share of rows with a value", format="percent", grid=True, from_zero=True)
    if overlay.labels:
        panel = Panel(share, level_axis(cut_apart(overlay.labels, MOST_LABEL)), tuple(marks))
        height = 80 + ROW * max(at.size, 3)
    else:
        panel = Panel(Axis(overlay.name, "date" if overlay.kind == "date" else "number"), share, tuple(marks))
        height = HEIGHT
    missing = f"missing cells: {percent(overlay.missing[0])} {first}, {percent(overlay.missing[1])} {second}"
    words = f"Shares of rows by {overlay.name}: {title}."
    return Plot(
        f"moved {overlay.name}", title, detail=missing, panels=single(panel), words=words, numbers=table,
        height=height, legend="left",
    )  # fmt: skip
