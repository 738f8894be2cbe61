"""One row: the parts of its score."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from scipy.special import expit

from gamcore.explain import Breakdown
from gamcore.figures.style import PALETTES, Mode, escape, template
from gamcore.scales import Scale

Floats = NDArray[np.float64]

LONGEST = 36


def waterfall(
    found: Breakdown,
    row: int,
    target: str,
    mode: Mode = "light",
    scale: Scale = "link",
    cells: dict[str, str] | None = None,
    most: int = 12,
) -> go.Figure:
    """The parts of one row's score, the largest first, from the average to the score; the small ones together.

    cells : what the row has, by the names of terms.

    In points, each part is what it adds to the chance after those above it: their sum is exact, their sizes depend on
    the order a little.
    """
    color = PALETTES[mode]
    parts = found.contributions[row]
    order = np.argsort(-np.abs(parts), kind="stable")
    order = order[parts[order] != 0.0]
    shown, rest = order[:most], order[most:]
    known = cells or {}
    names = [f"{name} = {known[name]}" if name in known else name for name in (found.features[j] for j in shown)]
    values = [float(parts[j]) for j in shown]
    if rest.size:
        names.append(f"{rest.size} others")
        values.append(float(parts[rest].sum()))
    at = found.intercept + np.concatenate([[0.0], np.cumsum(values)])
    at[-1] = found.scores[row]
    drawn = 100 * expit(at) if scale == "points" else at
    labels = [escape(name, LONGEST) for name in ("average row", *names, "this row")]
    told = [_total(at[0], found.loss, scale), *_parts(at, scale), _total(at[-1], found.loss, scale)]
    figure = go.Figure(
        go.Waterfall(
            y=np.arange(len(labels)), x=[drawn[0], *np.diff(drawn), 0.0], orientation="h", text=told,
            measure=["absolute", *["relative"] * len(values), "total"], textposition="outside", cliponaxis=False,
            hoverinfo="skip", increasing={"marker": {"color": color.accent}},
            decreasing={"marker": {"color": color.primary}}, totals={"marker": {"color": color.muted}},
            connector={"line": {"color": color.hairline, "width": 1}},
        )
    )  # fmt: skip
    figure.update_layout(
        template=template(mode),
        height=80 + 30 * len(labels),
        showlegend=False,
        margin={"l": 8, "r": 60, "t": 8, "b": 44},
    )
    figure.update_yaxes(tickvals=np.arange(len(labels)), ticktext=labels, showgrid=False, autorange="reversed")
    low, high = min(float(drawn.min()), 0.0), max(float(drawn.max()), 0.0)
    margin = 0.12 * (high - low or 1.0)  # room for the numbers beside the bars
    figure.update_xaxes(
        title_text=escape(_axis(found.loss, scale, target), 60), showgrid=True, gridcolor=color.hairline,
        range=[low - margin, high + margin],
    )  # fmt: skip
    return figure


def _parts(at: Floats, scale: Scale) -> list[str]:
    """The steps between some scores, as text."""
    if scale == "points":
        return [f"{value:+.1f}" for value in np.diff(100 * expit(at))]
    steps = np.diff(at)
    return [f"×{np.exp(value):.3g}" if scale == "ratio" else f"{value:+.3g}" for value in steps]


def _total(score: float, loss: str, scale: Scale) -> str:
    """A whole score as text."""
    if loss != "logistic" or scale == "link":
        return f"{score:.4g}"
    return f"{expit(score):.1%}" if scale == "points" else f"odds {np.exp(score):.3g}"


def _axis(loss: str, scale: Scale, target: str) -> str:
    if loss != "logistic":
        return target
    return {"link": "log-odds", "ratio": f"log-odds of {target}", "points": f"chance of {target}, %"}[scale]
