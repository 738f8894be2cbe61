"""How good predictions are: ranking, calibration, costs, residuals, and means over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from gamcore.figures.style import PALETTES, Mode, escape, template
from gamcore.quality import Costs, Line

HEIGHT = 340


def _figure(mode: Mode, x: str, y: str, height: int = HEIGHT) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(
        template=template(mode), height=height, margin={"l": 60, "r": 16, "t": 28, "b": 48}, showlegend=False
    )
    figure.update_xaxes(title_text=escape(x, 60))
    figure.update_yaxes(title_text=escape(y, 60))
    return figure


def curve(
    found: Line, axes: tuple[str, str], guide: tuple[list[float], list[float]], mode: Mode = "light"
) -> go.Figure:
    """A curve of shares, with the line that no skill gives."""
    color = PALETTES[mode]
    figure = _figure(mode, *axes)
    zero = {"color": color.zero, "width": 1, "dash": "dot"}
    figure.add_trace(go.Scatter(x=guide[0], y=guide[1], mode="lines", line=zero, hoverinfo="skip"))
    hover = "%{x:.1%}<br>%{y:.1%}<extra></extra>"
    line = {"color": color.primary, "width": 2.2}
    figure.add_trace(go.Scatter(x=found.x, y=found.y, mode="lines", line=line, hovertemplate=hover))
    figure.update_xaxes(range=[0, 1.005], tickformat=".0%")
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%")
    return figure


def calibration(found: pd.DataFrame, chance: NDArray[np.float64], mode: Mode = "light") -> go.Figure:
    """What happened against what was said, with intervals; where the chances are, below."""
    color = PALETTES[mode]
    figure = _figure(mode, "predicted chance", "what happened", 420)
    top = float(max(found["upper"].max(), found["predicted"].max())) * 1.05
    zero = {"color": color.zero, "width": 1, "dash": "dot"}
    figure.add_trace(go.Scatter(x=[0, top], y=[0, top], mode="lines", line=zero, hoverinfo="skip"))
    counts, edges = np.histogram(chance, np.linspace(0, min(top, 1.0), 41))
    height = 0.12 * top * counts / max(counts.max(), 1)
    figure.add_trace(
        go.Bar(
            x=(edges[:-1] + edges[1:]) / 2, y=height, width=np.diff(edges), customdata=counts,
            marker={"color": color.density, "line": {"width": 0}}, hovertemplate="%{customdata:,} rows<extra></extra>",
        )
    )  # fmt: skip
    figure.add_trace(_with_interval(found["predicted"], found["observed"], found, color.primary, ":.1%"))
    figure.update_xaxes(range=[0, top], tickformat=".0%")
    figure.update_yaxes(range=[0, top], tickformat=".0%")
    return figure


def _with_interval(x: Any, y: Any, found: pd.DataFrame, color: str, digits: str) -> go.Scatter:
    told = found[["lower", "upper", "rows"]].to_numpy()
    hover = (
        f"%{{x{digits}}}<br>%{{y{digits}}} (%{{customdata[0]{digits}}} to %{{customdata[1]{digits}}})<br>"
        "%{customdata[2]:,} rows<extra></extra>"
    )
    return go.Scatter(
        x=np.asarray(x), y=np.asarray(y), mode="markers+lines", marker={"size": 8, "color": color}, customdata=told,
        line={"color": color, "width": 1.4}, hovertemplate=hover,
        error_y={
            "type": "data", "symmetric": False, "array": (found["upper"] - y).to_numpy(),
            "arrayminus": (y - found["lower"]).to_numpy(), "color": color, "thickness": 1.4, "width": 4,
        },
    )  # fmt: skip


def cost_line(found: Costs, chosen: float, mode: Mode = "light") -> go.Figure:
    """Cost a row by where the line is drawn; the cheapest, and the one that is chosen."""
    color = PALETTES[mode]
    figure = _figure(mode, "say yes from a chance of", "cost a row")
    line = {"color": color.primary, "width": 2.2}
    hover = "%{x:.1%}<br>%{y:,.4g} a row<extra></extra>"
    figure.add_trace(go.Scatter(x=found.thresholds, y=found.costs, mode="lines", line=line, hovertemplate=hover))
    figure.add_vline(chosen, line={"color": color.accent, "width": 1.6})
    least = {"size": 9, "color": color.primary}
    figure.add_trace(go.Scatter(x=[found.best], y=[found.least], mode="markers", marker=least, hovertemplate=hover))
    figure.update_xaxes(range=[0, 1], tickformat=".0%")
    figure.update_yaxes(rangemode="tozero")
    return figure


def residuals(
    found: pd.DataFrame, predicted: NDArray[np.float64], gaps: NDArray[np.float64], target: str, mode: Mode = "light"
) -> go.Figure:
    """Residuals of some rows, and their means by the prediction."""
    color = PALETTES[mode]
    figure = _figure(mode, f"predicted {target}", "what was minus what was predicted", 420)
    dots = {"size": 4, "color": color.density, "opacity": 0.6}
    figure.add_trace(go.Scattergl(x=predicted, y=gaps, mode="markers", marker=dots, hoverinfo="skip"))
    figure.add_hline(0, line={"color": color.zero, "width": 1, "dash": "dot"})
    figure.add_trace(_with_interval(found["predicted"], found["residual"], found, color.primary, ":,.4g"))
    return figure


def actual(predicted: NDArray[np.float64], y: NDArray[np.float64], target: str, mode: Mode = "light") -> go.Figure:
    """Some rows: what was, against what was predicted."""
    color = PALETTES[mode]
    figure = _figure(mode, f"predicted {target}", f"{target} as it was", 420)
    both = np.concatenate([predicted, y])
    ends = [float(both.min()), float(both.max())]
    dots = {"size": 4, "color": color.primary, "opacity": 0.35}
    figure.add_trace(go.Scattergl(x=predicted, y=y, mode="markers", marker=dots,
                                  hovertemplate="%{x:,.4g}<br>%{y:,.4g}<extra></extra>"))  # fmt: skip
    zero = {"color": color.zero, "width": 1, "dash": "dot"}
    figure.add_trace(go.Scatter(x=ends, y=ends, mode="lines", line=zero, hoverinfo="skip"))
    return figure


def over_time(
    found: pd.DataFrame, labels: list[str], binary: bool, held_from: float | None, mode: Mode = "light"
) -> go.Figure:
    """What was, with its interval, and what the model says, by period; where the held-out rows begin."""
    color = PALETTES[mode]
    figure = _figure(mode, "", "rate" if binary else "mean", 360)
    at = np.arange(len(found))
    digits = ":.1%" if binary else ":,.4g"
    observed = _with_interval(at, found["observed"], found, color.primary, digits)
    observed.update(name="as it was", hovertemplate=observed.hovertemplate.replace(f"%{{x{digits}}}<br>", ""))
    figure.add_trace(observed)
    said = {"color": color.accent, "width": 1.8, "dash": "dash"}
    told = {"name": "predicted", "hovertemplate": f"%{{y{digits}}} predicted<extra></extra>"}
    figure.add_trace(go.Scatter(x=at, y=found["predicted"], mode="lines", line=said, **told))
    if held_from is not None:
        figure.add_vrect(
            held_from - 0.5, len(found) - 0.5, fillcolor=color.density, opacity=0.25, line_width=0, layer="below",
            annotation={"text": "held out", "font": {"size": 11, "color": color.muted}},
        )  # fmt: skip
    step = max(1, len(labels) // 12)
    figure.update_xaxes(tickvals=at[::step], ticktext=[escape(label) for label in labels][::step])
    figure.update_yaxes(tickformat=".1%" if binary else None)
    figure.update_layout(showlegend=True)
    return figure
