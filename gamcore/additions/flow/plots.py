"""A flow as bars: the share of those at a step who go on to each other step, or leave."""

from __future__ import annotations

from typing import Final

import numpy as np

from gamcore.additions.flow.steps import Flow
from gamcore.common.numbers import count, percent
from gamcore.data.labels import cut
from gamcore.stats.plots.drifts import bars_height, bars_panel
from gamcore.viz.spec import Axis, Bars, ColorRole, Plot, Whiskers

MOST: Final = 40
"""Edges that are drawn."""


def flow_bars(flow: Flow, detail: str = "") -> Plot:
    """Return a bar per edge, in the order of the steps; those who leave are grey."""
    edges = flow.edges[:MOST]
    at, shares = np.arange(len(edges), dtype=np.float64), np.array([edge.share for edge in edges])
    low, high = np.array([edge.interval for edge in edges]).T
    roles: list[ColorRole] = ["few" if edge.target is None else "primary" for edge in edges]
    hover = [f"{cut(edge.name(), 400)}\n{count(edge.n)} of {count(edge.reached)}, {percent(edge.share)}\n"
             f"95%: {percent(edge.interval[0])} to {percent(edge.interval[1])}" for edge in edges]  # fmt: skip
    marks = (
        Bars(at, shares, roles=roles, lying=True, hover=hover),
        Whiskers(at, low, high, lying=True),
    )
    words = flow.words().removesuffix(".")
    axis = Axis("share of those who reach the step", limits=(0.0, 1.02), format="percent", grid=True)
    names = [f"{edge.name()}, {percent(edge.share)}" for edge in edges]
    return Plot(
        "flow", words, detail or "who goes on to which step, and who leaves there; 95% intervals",
        bars_panel(axis, names, marks), words=words, numbers=flow.frame(), height=bars_height(names),
    )  # fmt: skip
