"""Curves: one on its own, or small beside others."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from gamcore.explain import Curve, as_date
from gamcore.figures.style import (
    FEW_ROWS,
    MOST_LABEL,
    PALETTES,
    Mode,
    Palette,
    escape,
    heading,
    shorten,
    template,
    unit,
)
from gamcore.table import MONTHS, WEEKDAYS


def numbers(values: NDArray[np.float64], kind: str) -> list[Any] | NDArray[np.float64]:
    return [as_date(v).replace(tzinfo=None) for v in values] if kind == "date" else values


def shape(
    curve: Curve, target: str, detail: str, mode: Mode = "light", height: int = 500, before: Curve | None = None
) -> go.Figure:
    """One curve: step line or bars, band, a strip of rows below, missing and unseen in a panel of their own.

    before : the same feature's curve as it was, drawn faint.
    """
    color = PALETTES[mode]
    figure = make_subplots(
        rows=2, cols=2, row_heights=[0.8, 0.2], column_widths=[0.86, 0.14], vertical_spacing=0.03,
        horizontal_spacing=0.02, shared_xaxes=True, shared_yaxes=True,
    )  # fmt: skip
    if curve.kind in ("category", "boolean"):
        _add_levels(figure, curve, color)
        if before is not None:
            _add_levels_before(figure, curve, before, color)
    elif curve.scores.size:
        if before is not None and before.scores.size:
            _add_line_before(figure, before, color)
        _add_line(figure, curve, color, before)
    _add_special(figure, curve, color)
    figure.add_hline(y=0, line={"color": color.zero, "width": 1, "dash": "dot"}, row=1)
    figure.update_layout(
        template=template(mode),
        height=height,
        title=heading(f"Effect of {curve.feature} on {target}", detail, color),
        bargap=0,
        showlegend=True,
        dragmode="pan",
        hovermode="closest",
    )
    figure.update_yaxes(title_text=escape(unit(curve.loss, target), 40), row=1, col=1)
    figure.update_yaxes(title_text="rows", showgrid=False, showticklabels=False, rangemode="tozero", row=2)
    figure.update_yaxes(title_text="", showticklabels=False, col=2)
    figure.update_xaxes(title_text=escape(curve.feature), row=2, col=1)
    figure.update_xaxes(showticklabels=False, row=1)
    return figure


def steps(edges: list[Any] | NDArray[np.float64], values: NDArray[np.float64]) -> tuple[Any, NDArray[np.float64]]:
    """Points of a step function whose value k stands between edges k and k + 1."""
    x = np.repeat(np.asarray(edges), 2)[1:-1]
    return x, np.repeat(values, 2)


def _add_line_before(figure: go.Figure, before: Curve, color: Palette) -> None:
    x, y = steps(numbers(visible_edges(before), before.kind), before.scores)
    figure.add_trace(
        go.Scatter(
            x=x, y=y, mode="lines", line={"color": color.primary, "width": 1.4}, opacity=0.4, name="before",
            hoverinfo="skip", legendrank=2,
        ),
        row=1, col=1,
    )  # fmt: skip


def _add_levels_before(figure: go.Figure, curve: Curve, before: Curve, color: Palette) -> None:
    """A short line where each level's bar ended."""
    scores = dict(zip(before.labels, before.scores, strict=True))
    ends = [scores.get(curve.labels[k], np.nan) for k in level_order(curve)]
    figure.add_trace(
        go.Scatter(
            x=np.arange(len(ends)), y=ends, mode="markers", name="before", hoverinfo="skip", legendrank=2,
            marker={"symbol": "line-ew", "size": 26, "line": {"width": 2, "color": color.accent}},
        ),
        row=1, col=1,
    )  # fmt: skip


def _add_line(figure: go.Figure, curve: Curve, color: Palette, before: Curve | None) -> None:
    edges = numbers(visible_edges(curve), curve.kind)
    x, y = steps(edges, curve.scores)
    _, lower = steps(edges, curve.lower)
    _, upper = steps(edges, curve.upper)
    if curve.has_band:
        band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
        figure.add_trace(go.Scatter(x=x, y=lower, showlegend=False, **band), row=1, col=1)
        figure.add_trace(
            go.Scatter(x=x, y=upper, fill="tonexty", fillcolor=color.band, name=curve.band, **band), row=1, col=1
        )
    rows = np.repeat(curve.counts, 2)
    detail = np.stack([rows, lower, upper], axis=1)
    reach = " (%{customdata[1]:.3f} to %{customdata[2]:.3f})" if curve.has_band else ""
    hover = f"%{{x}}<br>%{{y:.3f}}{reach}<br>%{{customdata[0]:,.0f}} rows<extra></extra>"
    figure.add_trace(
        go.Scatter(
            x=x, y=y, mode="lines", line={"color": color.primary, "width": 2.4}, name="effect", legendrank=1,
            customdata=detail, hovertemplate=hover,
        ),
        row=1, col=1,
    )  # fmt: skip
    few = curve.counts < FEW_ROWS
    if few.any():  # drawn over the line, so that thin bins look as uncertain as they are
        pale = np.where(np.repeat(few, 2), y, np.nan)
        figure.add_trace(
            go.Scatter(
                x=x, y=pale, mode="lines", line={"color": color.few, "width": 2.4}, name=f"under {FEW_ROWS} rows",
                hoverinfo="skip",
            ),
            row=1, col=1,
        )  # fmt: skip
    _add_density(figure, curve, color)
    opening = view(curve)
    if opening is not None:
        figure.update_xaxes(range=numbers(np.array(opening), curve.kind), col=1)
        # With a range on one of several matching axes, plotly.js no longer finds the ranges of the others itself.
        past = before.scores if before is not None else np.zeros(1)
        everything = np.concatenate([curve.lower, curve.upper, curve.missing[:3], curve.unseen[:3], past, [0.0]])
        low, high = float(everything.min()), float(everything.max())
        margin = 0.06 * (high - low or 1.0)
        figure.update_yaxes(range=[low - margin, high + margin], row=1)
        tallest = max(float(figure.data[-1].y.max()), curve.missing[3], curve.unseen[3])
        figure.update_yaxes(range=[0, 1.05 * tallest], row=2)
        figure.update_xaxes(range=[-0.5, 1.5], col=2)


def view(curve: Curve) -> tuple[float, float] | None:
    """The part of the axis to open with: the middle 99% of rows, where a long tail would squeeze it; else all."""
    edges = visible_edges(curve)
    share = np.cumsum(curve.counts) / max(curve.counts.sum(), 1.0)
    first, last = (int(np.searchsorted(share, quantile)) for quantile in (0.005, 0.995))
    last = min(last, curve.scores.size - 1)
    reach = 0.1 * (edges[last] - edges[first + 1])  # an outer bin may be very wide: show its beginning only
    low, high = max(edges[first], edges[first + 1] - reach), min(edges[last + 1], edges[last] + reach)
    return (float(low), float(high)) if 0 < high - low < 0.5 * (edges[-1] - edges[0]) else None


def is_cut(curve: Curve) -> bool:
    """Whether a plot opens on less than the whole range."""
    return bool(curve.edges.size) and view(curve) is not None


def visible_edges(curve: Curve) -> NDArray[np.float64]:
    """Edges with a width for the outer bins where each bin is a single value."""
    edges = curve.edges.astype(np.float64).copy()
    if edges.size > 2:
        edges[0] = min(edges[0], edges[1] - (edges[2] - edges[1]) / 2) if edges[0] == curve.display[0] else edges[0]
        end = edges[-2] + (edges[-2] - edges[-3]) / 2
        edges[-1] = max(edges[-1], end) if edges[-1] == curve.display[-1] else edges[-1]
    elif edges[0] == edges[-1]:
        edges = edges + np.array([-0.5, 0.5])
    return edges


def _add_density(figure: go.Figure, curve: Curve, color: Palette) -> None:
    """Rows along the axis, in bars of equal width: bins of equal count have unequal widths."""
    edges = visible_edges(curve)
    opening = view(curve)
    widths = np.diff(edges)
    if curve.scores.size <= 60 and widths.max() < 3 * np.median(widths):
        grid = edges  # a bar a value
    elif opening is None:
        grid = np.linspace(edges[0], edges[-1], 61)
    else:  # bars of the opening view, and the tails as one bar each
        grid = np.concatenate([edges[:1], np.linspace(*opening, 61), edges[-1:]])
        grid = np.unique(grid)
    running = np.interp(grid, edges, np.concatenate([[0.0], np.cumsum(curve.counts)]))
    middle, width = (grid[:-1] + grid[1:]) / 2, np.diff(grid)
    scale = 86_400_000 if curve.kind == "date" else 1
    figure.add_trace(
        go.Bar(
            x=numbers(middle, curve.kind), y=np.diff(running), width=width * scale, showlegend=False,
            marker={"color": color.density, "line": {"width": 0}}, hovertemplate="%{y:,.0f} rows<extra></extra>",
        ),
        row=2, col=1,
    )  # fmt: skip


def level_order(curve: Curve) -> NDArray[np.intp]:
    """By effect; months and weekdays by the calendar."""
    if curve.labels in (MONTHS, WEEKDAYS):
        return np.arange(len(curve.labels))
    return np.argsort(curve.scores, kind="stable")


def _add_levels(figure: go.Figure, curve: Curve, color: Palette) -> None:
    """A bar a level, sorted by effect, with the band as error bars."""
    order = level_order(curve)
    names = [escape(curve.labels[k], 400) for k in order]
    shown = [escape(shorten(curve.labels[k], order.size)) for k in order]
    place = np.arange(order.size)
    scores, counts = curve.scores[order], curve.counts[order]
    paint = [color.few if n < FEW_ROWS else color.primary for n in counts]
    figure.add_trace(
        go.Bar(
            x=place, y=scores, marker={"color": paint, "line": {"width": 0}}, width=0.62, name="effect", legendrank=1,
            customdata=[[name, f"{n:,.0f}"] for name, n in zip(names, counts, strict=True)],
            hovertemplate="%{customdata[0]}<br>%{y:.3f}<br>%{customdata[1]} rows<extra></extra>",
            error_y=_whiskers(scores, curve.lower[order], curve.upper[order], color) if curve.has_band else None,
        ),
        row=1, col=1,
    )  # fmt: skip
    figure.add_trace(_row_bars(place, counts, 0.62, color), row=2, col=1)
    if curve.has_band:
        line = {"color": color.muted, "width": 1.5}
        figure.add_trace(go.Scatter(x=[None], y=[None], mode="lines", line=line, name=curve.band), row=1, col=1)
    step = max(1, int(np.ceil(order.size / 30)))
    figure.update_xaxes(tickvals=place[::step], ticktext=shown[::step], row=2, col=1)


def _row_bars(at: Any, counts: NDArray[np.float64], width: float, color: Palette) -> go.Bar:
    """Rows of levels, or of the missing and the unseen bin."""
    return go.Bar(
        x=at, y=counts, marker={"color": color.density, "line": {"width": 0}}, width=width, showlegend=False,
        hovertemplate="%{y:,.0f} rows<extra></extra>",
    )  # fmt: skip


def _whiskers(
    scores: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64], color: Palette
) -> dict[str, Any]:
    return {
        "type": "data", "symmetric": False, "array": np.maximum(upper - scores, 0),
        "arrayminus": np.maximum(scores - lower, 0), "color": color.muted, "thickness": 1.5, "width": 4,
    }  # fmt: skip


def _add_special(figure: go.Figure, curve: Curve, color: Palette) -> None:
    """The missing and the unseen bin, on the same y axis."""
    scores, lower, upper, counts = np.array([curve.missing, curve.unseen]).T
    names = ["missing", "unseen"]
    figure.add_trace(
        go.Scatter(
            x=names, y=scores, mode="markers", showlegend=False,
            marker={
                "symbol": "line-ew", "size": 24,
                "line": {"width": 2.4, "color": [color.primary if n >= FEW_ROWS else color.few for n in counts]},
            },
            error_y=_whiskers(scores, lower, upper, color), customdata=counts[:, None],
            hovertemplate="%{x}<br>%{y:.3f}<br>%{customdata[0]:,.0f} rows<extra></extra>",
        ),
        row=1, col=2,
    )  # fmt: skip
    figure.add_trace(_row_bars(names, counts, 0.6, color), row=2, col=2)


def common_limits(curves: list[Curve]) -> tuple[float, float]:
    """Lowest and highest score of some curves, with their bands where there are rows enough to draw them by."""
    parts = [np.zeros(1)]
    for curve in curves:
        thick = curve.counts >= FEW_ROWS
        parts += [curve.scores, curve.lower[thick], curve.upper[thick]]
    everything = np.concatenate(parts)
    return float(everything.min()), float(everything.max())


def small(curve: Curve, limits: tuple[float, float], mode: Mode = "light") -> go.Figure:
    """A small multiple: the bare curve on a scale shared with its neighbours."""
    color = PALETTES[mode]
    figure = go.Figure()
    if curve.kind in ("category", "boolean"):
        order = level_order(curve)
        names = [escape(curve.labels[k], MOST_LABEL) for k in order]
        figure.add_trace(go.Bar(x=np.arange(order.size), y=curve.scores[order], marker={"color": color.primary},
                                width=0.6, hovertext=names, hoverinfo="text+y"))  # fmt: skip
        named = order.size <= 4
        ticks = [escape(shorten(curve.labels[k], 9)) for k in order] if named else []
        figure.update_xaxes(showticklabels=named, tickvals=np.arange(order.size), ticktext=ticks)
    elif curve.scores.size:
        edges = numbers(visible_edges(curve), curve.kind)
        x, y = steps(edges, curve.scores)
        band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
        figure.add_trace(go.Scatter(x=x, y=np.repeat(curve.lower, 2), **band))
        figure.add_trace(go.Scatter(x=x, y=np.repeat(curve.upper, 2), fill="tonexty", fillcolor=color.band, **band))
        figure.add_trace(go.Scatter(x=x, y=y, mode="lines", line={"color": color.primary, "width": 1.8}))
        thin = curve.counts < FEW_ROWS
        if thin.any():
            pale = np.where(np.repeat(thin, 2), y, np.nan)
            figure.add_trace(
                go.Scatter(x=x, y=pale, mode="lines", line={"color": color.few, "width": 1.8}, hoverinfo="skip")
            )
        opening = view(curve)
        if opening is not None:
            figure.update_xaxes(range=numbers(np.array(opening), curve.kind))
    figure.add_hline(y=0, line={"color": color.zero, "width": 1, "dash": "dot"})
    figure.update_layout(
        template=template(mode), height=170, showlegend=False, margin={"l": 36, "r": 8, "t": 30, "b": 24},
        title={"text": escape(curve.feature, 32), "font": {"size": 13}, "x": 0, "xref": "paper", "y": 0.96},
    )  # fmt: skip
    if curve.missing[3]:
        figure.add_annotation(
            text=f"missing: {curve.missing[0]:+.2g}", x=1, y=0, xref="paper", yref="paper", xanchor="right",
            yanchor="bottom", showarrow=False, font={"size": 11, "color": color.muted},
        )  # fmt: skip
    figure.update_yaxes(range=limits, nticks=4)
    figure.update_xaxes(nticks=4)
    return figure
