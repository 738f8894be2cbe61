"""Curves: one on its own, or small beside others."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from gamcore.explain import WHOLE, Curve, as_date
from gamcore.figures.style import (
    FEW_ROWS,
    MOST_LABEL,
    PALETTES,
    Mode,
    Palette,
    effect_axis,
    escape,
    heading,
    hover,
    shorten,
    template,
    widened,
)
from gamcore.reading import read_curve
from gamcore.scales import say, unit
from gamcore.table import MONTHS, WEEKDAYS

MOST_ROOM = 0.75
"""What bands may add to the height of a plot, at either end, in heights of the curve."""


def numbers(values: NDArray[np.float64], kind: str) -> list[Any] | NDArray[np.float64]:
    return [as_date(v).replace(tzinfo=None) for v in values] if kind == "date" else values


def shape(
    curve: Curve,
    target: str,
    detail: str,
    mode: Mode = "light",
    height: int = 500,
    before: Curve | None = None,
    title: str | None = None,
) -> go.Figure:
    """One curve: step line or bars, bands, a strip of rows below, missing and unseen in a panel of their own.

    before : the same feature's curve as it was, drawn faint. title : None for what the curve says (`reading`).
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
    figure.add_hline(y=curve.zero, line={"color": color.zero, "width": 1, "dash": "dot"}, row=1)
    figure.update_layout(
        template=template(mode),
        height=height,
        title=heading(title or _headline(curve, target), detail, color),
        bargap=0,
        showlegend=True,
        dragmode="pan",
        hovermode="closest",
    )
    # With a range on one of several matching axes, plotly.js no longer finds those of the others itself: all are set.
    tallest = max(float(np.max(trace.y)) for trace in figure.data if trace.yaxis in ("y3", "y4"))
    figure.update_yaxes(range=[0, 1.05 * tallest or 1.0], row=2)
    figure.update_xaxes(range=[-0.5, 1.5], col=2)
    figure.update_yaxes(row=1, **effect_axis(curve.scale, _limits(curve, before)))
    figure.update_yaxes(title_text=escape(unit(curve.loss, curve.scale, target), 40), row=1, col=1)
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
    bands = [(curve.whole, color.wide, WHOLE)] if curve.has_whole else []
    bands += [(np.stack([curve.lower, curve.upper]), color.band, curve.band)] if curve.has_band else []
    for ends, paint, name in bands:
        lower, upper = (steps(edges, end)[1] for end in ends)
        band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
        figure.add_trace(go.Scatter(x=x, y=lower, showlegend=False, **band), row=1, col=1)
        figure.add_trace(go.Scatter(x=x, y=upper, fill="tonexty", fillcolor=paint, name=name, **band), row=1, col=1)
    detail = np.stack([np.repeat(values, 2) for values in (curve.counts, curve.lower, curve.upper)], axis=1)
    told = hover(curve.scale)
    if curve.has_band:
        told += f" ({hover(curve.scale, 'customdata[1]')} to {hover(curve.scale, 'customdata[2]')})"
    figure.add_trace(
        go.Scatter(
            x=x, y=y, mode="lines", line={"color": color.primary, "width": 2.4}, name="effect", legendrank=1,
            customdata=detail, hovertemplate=f"%{{x}}<br>{told}<br>%{{customdata[0]:,.0f}} rows<extra></extra>",
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


def _headline(curve: Curve, target: str) -> str:
    """What the curve says; before it has a band, only what it is."""
    return read_curve(curve) if curve.has_whole else f"Effect of {curve.feature} on {target}"


def _limits(curve: Curve, before: Curve | None, thin: bool = True) -> tuple[float, float]:
    """Lowest and highest effect that a plot shows: all scores, and bands where they are not much wider than these.

    The band of a bin with a handful of rows can be many times as high as the whole curve, which would be a line.
    thin : whether bands of bins with few rows count at all.
    """
    special = np.array([curve.missing[:3], curve.unseen[:3]]).ravel()
    parts = [curve.scores, special, np.array([curve.zero]), before.scores if before is not None else np.empty(0)]
    centre = np.concatenate(parts)
    thick = curve.counts >= FEW_ROWS
    ends = curve.whole if curve.has_whole and thin else np.stack([curve.lower, curve.upper])
    own = [curve.lower, curve.upper] if thin else []
    shown = np.concatenate([centre, ends[:, thick].ravel(), *own])
    low, high = centre.min(), centre.max()
    room = MOST_ROOM * (high - low)
    if curve.scale == "ratio":
        room = MOST_ROOM * np.log(high / low) if low > 0 else 1.0
        least, most = low / np.exp(room), high * np.exp(room)
    else:
        least, most = low - room, high + room
    return widened(max(float(shown.min()), float(least)), min(float(shown.max()), float(most)), curve.scale)


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
    lower, upper = curve.lower[order], curve.upper[order]
    told = [[name, f"{n:,.0f}", score] for name, n, score in zip(names, counts, scores, strict=True)]
    figure.add_trace(
        go.Bar(
            x=place, y=scores - curve.zero, base=curve.zero, marker={"color": paint, "line": {"width": 0}}, width=0.62,
            name="effect", legendrank=1, customdata=told,
            hovertemplate=f"%{{customdata[0]}}<br>{hover(curve.scale, 'customdata[2]')}<br>"
            "%{customdata[1]} rows<extra></extra>",
        ),
        row=1, col=1,
    )  # fmt: skip
    bands = [(curve.whole[:, order], color.muted, 1.0, WHOLE)] if curve.has_whole else []
    bands += [(np.stack([lower, upper]), color.ink, 2.2, curve.band)] if curve.has_band else []
    for ends, band_color, width, name in bands:
        figure.add_trace(_bars_of(place, scores, ends, band_color, width), row=1, col=1)
        line = {"color": band_color, "width": width}
        figure.add_trace(go.Scatter(x=[None], y=[None], mode="lines", line=line, name=name), row=1, col=1)
    figure.add_trace(_row_bars(place, counts, 0.62, color), row=2, col=1)
    step = max(1, int(np.ceil(order.size / 30)))
    figure.update_xaxes(tickvals=place[::step], ticktext=shown[::step], row=2, col=1)


def _row_bars(at: Any, counts: NDArray[np.float64], width: float, color: Palette) -> go.Bar:
    """Rows of levels, or of the missing and the unseen bin."""
    return go.Bar(
        x=at, y=counts, marker={"color": color.density, "line": {"width": 0}}, width=width, showlegend=False,
        hovertemplate="%{y:,.0f} rows<extra></extra>",
    )  # fmt: skip


def _bars_of(
    at: Any, scores: NDArray[np.float64], ends: NDArray[np.float64], color: str, thickness: float
) -> go.Scatter:
    """A band (2, n) as an error bar a level."""
    return go.Scatter(
        x=at, y=scores, mode="markers", marker={"size": 1, "color": color}, hoverinfo="skip", showlegend=False,
        error_y={
            "type": "data", "symmetric": False, "array": np.maximum(ends[1] - scores, 0),
            "arrayminus": np.maximum(scores - ends[0], 0), "color": color, "thickness": thickness,
            "width": 7 if thickness < 2 else 0,
        },
    )  # fmt: skip


def _add_special(figure: go.Figure, curve: Curve, color: Palette) -> None:
    """The missing and the unseen bin, as bars on the same y axis."""
    scores, lower, upper, counts = np.array([curve.missing, curve.unseen]).T
    names = ["missing", "unseen"]
    told = [[f"{n:,.0f}", score] for n, score in zip(counts, scores, strict=True)]
    figure.add_trace(
        go.Bar(
            x=names, y=scores - curve.zero, base=curve.zero, width=0.5, showlegend=False, customdata=told,
            marker={"color": [color.primary if n >= FEW_ROWS else color.few for n in counts], "line": {"width": 0}},
            hovertemplate=f"%{{x}}<br>{hover(curve.scale, 'customdata[1]')}<br>%{{customdata[0]}} rows<extra></extra>",
        ),
        row=1, col=2,
    )  # fmt: skip
    marks = go.Scatter(
        x=names, y=scores, mode="markers", showlegend=False, hoverinfo="skip",
        marker={"symbol": "line-ew", "size": 22, "line": {"width": 2, "color": color.primary}},
    )  # fmt: skip
    figure.add_trace(marks, row=1, col=2)
    if curve.has_band and (upper > lower).any():
        figure.add_trace(_bars_of(names, scores, np.stack([lower, upper]), color.ink, 2.2), row=1, col=2)
    figure.add_trace(_row_bars(names, counts, 0.6, color), row=2, col=2)


def common_limits(curves: list[Curve]) -> tuple[float, float]:
    """Limits of a plot of any of some curves, all on one scale."""
    each = [_limits(curve, None, thin=False) for curve in curves]
    return min(low for low, _ in each), max(high for _, high in each)


def small(curve: Curve, limits: tuple[float, float], mode: Mode = "light") -> go.Figure:
    """A small multiple: the bare curve on a scale shared with its neighbours."""
    color = PALETTES[mode]
    figure = go.Figure()
    if curve.kind in ("category", "boolean"):
        order = level_order(curve)
        names = [escape(curve.labels[k], MOST_LABEL) for k in order]
        scores = curve.scores[order]
        bars = {"y": scores - curve.zero, "base": curve.zero, "width": 0.6, "marker": {"color": color.primary}}
        told = [f"{name}: {say(score, curve.scale)}" for name, score in zip(names, scores, strict=True)]
        figure.add_trace(go.Bar(x=np.arange(order.size), **bars, hovertext=told, hoverinfo="text"))
        if curve.has_band:
            ends = np.stack([curve.lower, curve.upper])[:, order]
            figure.add_trace(_bars_of(np.arange(order.size), scores, ends, color.ink, 2.2))
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
    figure.add_hline(y=curve.zero, line={"color": color.zero, "width": 1, "dash": "dot"})
    figure.update_layout(
        template=template(mode), height=170, showlegend=False, margin={"l": 36, "r": 8, "t": 30, "b": 24},
        title={"text": escape(curve.feature, 32), "font": {"size": 13}, "x": 0, "xref": "paper", "y": 0.96},
    )  # fmt: skip
    if curve.missing[3]:
        figure.add_annotation(
            text=f"missing: {say(curve.missing[0], curve.scale)}", x=1, y=0, xref="paper", yref="paper",
            xanchor="right", yanchor="bottom", showarrow=False, font={"size": 11, "color": color.muted},
        )  # fmt: skip
    axis = effect_axis(curve.scale, limits)
    figure.update_yaxes(**(axis if curve.scale == "ratio" else {**axis, "nticks": 4}))
    figure.update_xaxes(nticks=4)
    return figure
