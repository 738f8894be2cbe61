"""The chances of several classes along a feature."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gamcore.common.numbers import counted, percent
from gamcore.explain.classes import ClassCurves
from gamcore.explain.plots.curves import level_order, rows_strip, value_axis, visible_edges
from gamcore.viz.palette import shorten
from gamcore.viz.spec import Axis, Mark, Panel, Plot, Points, Ribbon, Steps, Whiskers

SPREAD = 0.5
"""Width over which the dots of the classes stand beside one another at a level."""


def chances(explanation: ClassCurves, target: str, detail: str = "", title: str | None = None) -> Plot:
    """Return a line, or dots at levels, per class, in a colour of its own; a strip of row counts below."""
    shape = explanation.shape
    levels = shape.kind in ("category", "boolean")
    marks = [mark for k in range(len(explanation.classes)) for mark in (_dots if levels else _line)(explanation, k)]
    x = value_axis(shape)
    top = float(explanation.upper.max(initial=0.0)) * 1.05 or 1.0
    y = Axis(f"chance of each {target}", limits=(0.0, min(top, 1.02)), format="percent", grid=True)
    rows = rows_strip(shape)
    strip = Axis("rows", limits=(0.0, 1.05 * float(rows.sizes.max(initial=0.0)) or 1.0), named=False)
    sentence = explanation.words()
    return Plot(
        f"{shape.feature}-classes",
        title or sentence.rstrip("."),
        detail=detail or "a row whose other features are average" + (", 95% bands" if explanation.has_band else ""),
        panels=((Panel(replace(x, title="", named=False), y, tuple(marks)),), (Panel(x, strip, (rows,)),)),
        heights=(0.8, 0.2),
        height=412,
        words=sentence,
        numbers=explanation.frame(),
    )


def _hover(explanation: ClassCurves, k: int) -> list[str]:
    shape, low, high = explanation.shape, explanation.lower[k], explanation.upper[k]
    return [
        f"{explanation.classes[k]}\n{shape.place(v)}\n{percent(chance)}"
        + (f" ({percent(low[v])} to {percent(high[v])})" if explanation.has_band else "")
        + f"\n{counted(shape.counts[v], 'row')}"
        for v, chance in enumerate(explanation.chances[k])
    ]


def _line(explanation: ClassCurves, k: int) -> list[Mark]:
    if not explanation.chances.size:
        return []
    edges, name = visible_edges(explanation.shape), shorten(explanation.classes[k], len(explanation.classes))
    band: list[Mark] = [Ribbon(edges, explanation.lower[k], explanation.upper[k], k)] if explanation.has_band else []
    return [*band, Steps(edges, explanation.chances[k], k, name=name, hover=_hover(explanation, k))]


def _dots(explanation: ClassCurves, k: int) -> list[Mark]:
    order, n = level_order(explanation.shape), len(explanation.classes)
    at = np.arange(order.size, dtype=np.float64) + SPREAD * ((k + 0.5) / n - 0.5)
    hover, name = _hover(explanation, k), shorten(explanation.classes[k], n)
    dots = Points(at, explanation.chances[k, order], k, 9, name=name, hover=[hover[v] for v in order])
    if not explanation.has_band:
        return [dots]
    return [Whiskers(at, explanation.lower[k, order], explanation.upper[k, order], k, 1.6), dots]
