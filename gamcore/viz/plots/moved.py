"""The distribution of a column in two versions of a table, over each other."""

from __future__ import annotations

import numpy as np

from gamcore.stats.histograms import Overlay
from gamcore.viz.plots.bars import levels
from gamcore.viz.plots.palette import MOST_LABEL, cut
from gamcore.viz.plots.spec import Axis, Bars, Floats, Mark, Panel, Plot, Role, Steps, single

ROW = 30
HEIGHT = 260
WIDTH = 0.36
"""Of a bar, of which each level has two."""


def moved(found: Overlay, title: str) -> Plot:
    """Shares of rows by value, of the older version and of the newer one."""
    told = [f"{row[0]}\nthen {row[1]:.1%}, now {row[2]:.1%}" for row in found.frame().to_numpy()]
    marks: list[Mark] = []
    sides: list[tuple[str, Floats, Role, float]] = [
        ("then", found.then, 0, -WIDTH / 2), ("now", found.now, 1, WIDTH / 2),
    ]  # fmt: skip
    at = np.arange(found.then.size, dtype=np.float64)
    for name, shares, role, shift in sides:
        if found.labels:
            marks.append(Bars(at + shift, shares, width=WIDTH, roles=role, lying=True, name=name, told=told))
        else:
            marks.append(Steps(found.edges, shares, role, 2.2, name=name, told=told))
    share = Axis("share of rows with a value", format="percent", grid=True, from_zero=True)
    if found.labels:
        panel = Panel(share, levels([cut(label, MOST_LABEL) for label in found.labels]), tuple(marks))
        height = 80 + ROW * max(at.size, 3)
    else:
        panel = Panel(Axis(found.name, "date" if found.kind == "date" else "number"), share, tuple(marks))
        height = HEIGHT
    missing = f"missing in {found.missing[0]:.1%} of rows then, {found.missing[1]:.1%} now"
    words = f"Shares of rows by {found.name}: {title}."
    return Plot(
        f"moved {found.name}", title, detail=missing, panels=single(panel), words=words, numbers=found.frame(),
        height=height, legend="left",
    )  # fmt: skip
