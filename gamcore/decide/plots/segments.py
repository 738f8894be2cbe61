"""A rule on a curve: the part that it selects, as a shaded area."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from gamcore.data.dates import DAY
from gamcore.decide.rules import All, AnyOf, Levels, Missing, Not, Range, Rule, both, either
from gamcore.explain.curves import Curve
from gamcore.explain.plots.curves import level_order, visible_edges
from gamcore.viz.spec import Area, Mark, Plot

Span = tuple[float, float]


def marked(plot: Plot, curve: Curve, rule: Rule, label: str = "") -> Plot:
    """Return a curve's plot with the part shaded that a rule selects; unchanged if no condition is on its feature."""
    asked = of_feature(rule, curve.feature)
    if asked is None:
        return plot
    spans, missing = _asked(curve, asked)
    areas = [Area(low, high, text="" if k else label, lined=not curve.labels) for k, (low, high) in enumerate(spans)]
    top = list(plot.panels[0])
    for place, marked_areas in ((0, areas), (1, [Area(-0.4, 0.4)] if missing else [])):
        panel = top[place] if place < len(top) else None
        if panel is not None and marked_areas:
            behind: tuple[Mark, ...] = tuple(marked_areas)
            top[place] = replace(panel, marks=(*behind, *panel.marks))
    return replace(plot, panels=(tuple(top), *plot.panels[1:]))


def of_feature(rule: Rule, column: str) -> Rule | None:
    """Return a rule restricted to its conditions on one column; None if there are none."""
    match rule:
        case All(parts) | AnyOf(parts):
            kept = [asked for part in parts if (asked := of_feature(part, column)) is not None]
            return (both(kept) if isinstance(rule, All) else either(kept)) if kept else None
        case Not(inner):
            asked = of_feature(inner, column)
            return None if asked is None else Not(asked)
        case Range() | Levels() | Missing():
            return rule if rule.column == column else None
    return None


def _asked(curve: Curve, rule: Rule) -> tuple[list[Span], bool]:
    """Return the parts of the axis that a rule on one column selects, and whether it selects missing cells."""
    if curve.is_two_valued:
        held = rule.holds(pd.DataFrame({curve.feature: np.append(curve.display, np.nan)}))
        order = level_order(curve.as_levels())
        return [(place - 0.4, place + 0.4) for place, k in enumerate(order) if held[k]], bool(held[-1])
    parts = rule.rules if isinstance(rule, AnyOf) else (rule,)
    if all(isinstance(part, Range | Levels | Missing) for part in parts):  # exact ends, not whole bins
        spans = [span for part in rule.parts() for span in _spans(curve, part)]
        return spans, any(isinstance(part, Missing) for part in parts)
    cells: Any = (
        pd.array([*(members[0] for members in curve.members), None], "string")
        if curve.labels
        else np.append(curve.display, np.nan)
    )
    if curve.kind == "date":
        cells = pd.to_datetime(np.append(np.round(curve.display * DAY), np.nan), unit="us")
    held = rule.holds(pd.DataFrame({curve.feature: cells}))
    inside = np.flatnonzero(held[:-1])
    if curve.labels:
        order = level_order(curve).tolist()
        return [(order.index(k) - 0.45, order.index(k) + 0.45) for k in inside], bool(held[-1])
    edges = visible_edges(curve)
    runs = np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1) if inside.size else []
    return [(float(edges[run[0]]), float(edges[run[-1] + 1])) for run in runs], bool(held[-1])


def _spans(curve: Curve, part: Range | Levels | Missing) -> list[Span]:
    """Return the parts of the axis that a condition covers."""
    if isinstance(part, Levels) and curve.labels:
        order = level_order(curve)
        names = {*part.levels}
        inside = [place for place, k in enumerate(order) if names & {*curve.members[k]}]
        return [(place - 0.45, place + 0.45) for place in inside]
    if isinstance(part, Range) and curve.edges.size:
        edges = visible_edges(curve)
        low = edges[0] if part.low is None else max(part.low, edges[0])
        high = edges[-1] if part.high is None else min(part.high, edges[-1])
        low, high = (_between_values(curve, edge, end) for edge, end in ((low, part.low), (high, part.high)))
        if low < high:
            return [(low, high)]
    return []


def _between_values(curve: Curve, place: float, end: float | None) -> float:
    """Return the position of an end of a range: for whole numbers, the cut before it, half a step lower."""
    inner = curve.edges[1:-1]
    if end is None or not inner.size:
        return float(place)
    before = inner[inner <= end]
    return (
        float(before[-1]) if before.size and (curve.display[1:] == end).any() and before[-1] > end - 1 else float(place)
    )
