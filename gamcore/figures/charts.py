"""Bars of importance, and the course of a training."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from gamcore.explain import Importance
from gamcore.figures.style import MOST_LABEL, PALETTES, Mode, effect_axis, escape, hover, template
from gamcore.scales import unit


def importance(
    found: Importance, mode: Mode = "light", most: int = 20, measure: str = "mean_abs", axis: str | None = None
) -> go.Figure:
    """Bars, the most important on top; `axis` is what they are, where they are not effects."""
    color = PALETTES[mode]
    frame = found.frame().sort_values(measure, ascending=False).head(most).iloc[::-1]
    what = "mean absolute effect" if measure == "mean_abs" else "range of the effect"
    names, values = [escape(name, 400) for name in frame["feature"]], frame[measure].to_numpy()
    figure = go.Figure(
        go.Bar(
            x=values - found.zero, base=found.zero, y=np.arange(len(frame)), orientation="h",
            width=0.62, marker={"color": color.primary},
            customdata=list(zip(names, values, strict=True)),
            hovertemplate=f"%{{customdata[0]}}<br>{hover(found.scale, 'customdata[1]', False)}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(
        template=template(mode), height=60 + 26 * max(len(frame), 4), margin={"l": 8, "r": 16, "t": 8, "b": 40},
        showlegend=False,
    )  # fmt: skip
    ticks = [escape(name, MOST_LABEL) for name in frame["feature"]]
    figure.update_yaxes(tickvals=np.arange(len(frame)), ticktext=ticks, showgrid=False)
    axis = axis or f"{what} ({unit(found.loss, found.scale, 'units of the target')})"
    figure.update_xaxes(title_text=axis, showgrid=True, gridcolor=color.hairline, **effect_axis(found.scale))
    return figure


def progress(points: NDArray[np.float64], mode: Mode = "light") -> go.Figure:
    """Losses by round: the validation loss of each refit, and the training loss of the latest.

    points : (n, 4) refit, round, training loss, validation loss; NaN where not measured.
    """
    color = PALETTES[mode]
    figure = go.Figure()
    latest = points[-1, 0] if len(points) else 0
    for refit in np.unique(points[:, 0]):
        mine = points[points[:, 0] == refit]
        mine = mine[:: max(1, len(mine) // 1000)]
        newest = refit == latest
        figure.add_trace(
            go.Scatter(
                x=mine[:, 1], y=mine[:, 3], mode="lines", opacity=1 if newest else 0.35,
                line={"color": color.primary, "width": 2.2 if newest else 1},
                name="validation, latest refit" if newest else f"refit {refit + 1:.0f}", showlegend=bool(newest),
            )
        )  # fmt: skip
        measured = mine[np.isfinite(mine[:, 2])]
        if newest and len(measured):
            figure.add_trace(
                go.Scatter(
                    x=measured[:, 1], y=measured[:, 2], mode="lines+markers", marker={"size": 4},
                    line={"color": color.muted, "width": 1.5, "dash": "dot"},
                    name="training",
                )
            )  # fmt: skip
    figure.update_layout(template=template(mode), height=260, margin={"l": 60, "r": 16, "t": 28, "b": 44})
    figure.update_xaxes(title_text="round")
    late = points[points[:, 1] > 0.1 * points[:, 1].max(initial=0), 2:]
    if np.isfinite(late).sum() > 20:  # the first steps fall so far that the rest would look flat
        low, high = float(np.nanmin(late)), float(np.nanmax(late))
        figure.update_yaxes(range=[low - 0.1 * (high - low), high + 0.3 * (high - low)])
    figure.update_yaxes(title_text="mean loss")
    return figure
