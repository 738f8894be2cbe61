"""A rule on a curve: what it picks as a quiet area in the colour of a selection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from gamcore.explain import Curve
from gamcore.figures.shapes import level_order, numbers, visible_edges
from gamcore.figures.style import PALETTES, Mode, escape
from gamcore.rules import DAY, All, AnyOf, Levels, Missing, Not, Range, Rule, both, either

OPACITY = 0.13


def mark(
    figure: go.Figure, curve: Curve, rule: Rule, mode: Mode = "light", label: str = "", whole: bool = True
) -> None:
    """Shade what a rule asks of the curve's feature. `whole`: the figure has the panel of missing cells, too."""
    color, where = PALETTES[mode], {"row": 1, "col": 1} if whole else {}
    area = {"fillcolor": color.accent, "opacity": OPACITY, "line": {"width": 0}, "layer": "below"}
    asked = of_feature(rule, curve.feature)
    if asked is None:
        return
    spans, missing = _asked(curve, asked)
    for k, (low, high) in enumerate(spans):
        figure.add_vrect(x0=low, x1=high, **area, **where)
        for end in (low, high) if not curve.labels else ():
            figure.add_vline(x=end, line={"color": color.accent, "width": 1}, **where)
        if not k and label:
            figure.add_annotation(
                x=low, y=1, yref="y domain", text=escape(label), showarrow=False, xanchor="left", yanchor="top",
                font={"color": color.accent, "size": 12}, xshift=4, **where,
            )  # fmt: skip
    if whole and missing:
        figure.add_vrect(x0=-0.4, x1=0.4, row=1, col=2, **area)


def of_feature(rule: Rule, column: str) -> Rule | None:
    """What a rule asks of one column, all conditions on others left out; None where nothing."""
    match rule:
        case All(of) | AnyOf(of):
            kept = [asked for one in of if (asked := of_feature(one, column)) is not None]
            return (both(kept) if isinstance(rule, All) else either(kept)) if kept else None
        case Not(inner):
            asked = of_feature(inner, column)
            return None if asked is None else Not(asked)
        case Range() | Levels() | Missing():
            return rule if rule.column == column else None
    return None


def _asked(curve: Curve, rule: Rule) -> tuple[list[tuple[Any, Any]], bool]:
    """The parts of the axis that a rule of one column picks, and whether it picks missing cells."""
    parts = rule.of if isinstance(rule, AnyOf) else (rule,)
    if all(isinstance(part, Range | Levels | Missing) for part in parts):  # as exact as its numbers
        spans = [span for part in rule.parts() for span in _spans(curve, part)]
        return spans, any(isinstance(part, Missing) for part in parts)
    cells: Any = pd.array([*curve.labels, None], "string") if curve.labels else np.append(curve.display, np.nan)
    if curve.kind == "date":
        cells = pd.to_datetime(np.append(np.round(curve.display * DAY), np.nan), unit="us")
    held = rule.holds(pd.DataFrame({curve.feature: cells}))
    inside = np.flatnonzero(held[:-1])
    if curve.labels:
        order = level_order(curve).tolist()
        return [(order.index(k) - 0.45, order.index(k) + 0.45) for k in inside], bool(held[-1])
    edges = visible_edges(curve)
    runs = np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1) if inside.size else []
    ends = [numbers(np.array([edges[run[0]], edges[run[-1] + 1]]), curve.kind) for run in runs]
    return [(first, last) for first, last in ends], bool(held[-1])


def brushable(figure: go.Figure, curve: Curve, mode: Mode = "light") -> None:
    """Let somebody drag a range: unseen points to select, since a line has none, and no dimming of the rest."""
    same = {"marker": {"opacity": 1}}
    figure.update_traces(selected=same, unselected=same, selector={"type": "bar"})
    hidden = {"marker": {"opacity": 0}}
    if curve.scores.size:
        at: Any = np.arange(curve.scores.size)
        scores = curve.scores
        if curve.labels:
            scores = scores[level_order(curve)]
        else:
            edges = visible_edges(curve)
            at = numbers((edges[:-1] + edges[1:]) / 2, curve.kind)
        figure.add_trace(
            go.Scatter(
                x=at, y=scores, mode="markers", marker={"opacity": 0, "size": 1}, hoverinfo="skip", showlegend=False,
                name="handles", selected=hidden, unselected=hidden,
            ),
            row=1, col=1,
        )  # fmt: skip
    figure.update_layout(
        dragmode="select", selectdirection="h",
        newselection={"line": {"color": PALETTES[mode].accent, "width": 1}},
        activeselection={"fillcolor": PALETTES[mode].accent, "opacity": OPACITY},
    )  # fmt: skip


def _spans(curve: Curve, part: Range | Levels | Missing) -> list[tuple[Any, Any]]:
    """What a condition covers of the axis."""
    if isinstance(part, Levels) and curve.labels:
        order = level_order(curve)
        names = {*part.levels}
        inside = [
            place for place, k in enumerate(order)
            if curve.labels[k] in names or (k == len(curve.labels) - 1 and names & set(curve.rare))
        ]  # fmt: skip
        return [(place - 0.45, place + 0.45) for place in inside]
    if isinstance(part, Range) and curve.edges.size:
        edges = visible_edges(curve)
        low = edges[0] if part.low is None else max(part.low, edges[0])
        high = edges[-1] if part.high is None else min(part.high, edges[-1])
        low, high = (_between_values(curve, edge, end) for edge, end in ((low, part.low), (high, part.high)))
        if low < high:
            first, last = numbers(np.array([low, high]), curve.kind)
            return [(first, last)]
    return []


def _between_values(curve: Curve, place: float, end: float | None) -> float:
    """The cut that an end stands for: of whole numbers, the border before it is half a step lower."""
    inner = curve.edges[1:-1]
    if end is None or not inner.size:
        return float(place)
    before = inner[inner <= end]
    return (
        float(before[-1]) if before.size and (curve.display[1:] == end).any() and before[-1] > end - 1 else float(place)
    )
