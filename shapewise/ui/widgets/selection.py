"""Selection on a figure: invisible points to select, since lines and heat maps have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from gamcore.common.types import Floats
from gamcore.explain.curves import Curve
from gamcore.explain.plots.curves import level_order, visible_edges
from gamcore.explain.plots.surfaces import centres
from gamcore.explain.surfaces import Surface
from gamcore.viz.palette import PALETTES, Mode
from gamcore.viz.plotly_figures.traces import places
from gamcore.viz.spec import SELECTED


def brushable(figure: go.Figure, curve: Curve, mode: Mode = "light") -> None:
    """Let the user select a range on a curve, without dimming the rest."""
    same = {"marker": {"opacity": 1}}
    figure.update_traces(selected=same, unselected=same, selector={"type": "bar"})
    curve = curve.as_levels()
    if curve.scores.size:
        at, scores = np.arange(curve.scores.size, dtype=np.float64), curve.scores
        if curve.labels:
            scores = scores[level_order(curve)]
        else:
            edges = visible_edges(curve)
            at = (edges[:-1] + edges[1:]) / 2
        figure.add_trace(_handles(places(at, curve.kind), scores))
    figure.update_layout(
        dragmode="select", selectdirection="h",
        newselection={"line": {"color": PALETTES[mode].accent, "width": 1}},
        activeselection={"fillcolor": PALETTES[mode].accent, "opacity": SELECTED},
    )  # fmt: skip


def boxable(figure: go.Figure, surface: Surface) -> None:
    """Let the user select a rectangle on a heat map."""
    first, second = np.meshgrid(centres(surface.first), centres(surface.second))
    handles = _handles(places(first.ravel(), surface.first.kind), places(second.ravel(), surface.second.kind))
    (cells, *_) = figure.select_traces(selector={"type": "heatmap"})
    figure.add_trace(handles.update(xaxis=cells.xaxis, yaxis=cells.yaxis))
    figure.update_layout(dragmode="select")


def _handles(x: Any, y: Floats) -> go.Scatter:
    hidden = {"marker": {"opacity": 0}}
    return go.Scatter(
        x=x, y=y, mode="markers", marker={"opacity": 0, "size": 1}, hoverinfo="skip", showlegend=False, name="handles",
        selected=hidden, unselected=hidden,
    )  # fmt: skip
