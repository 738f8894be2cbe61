"""The same feature in several models: the curves overlaid, and the difference of two of them below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from gamcore.data.labels import cut
from gamcore.explain.curves import Curve
from gamcore.explain.plots.curves import (
    common_limits,
    effect_axis,
    level_order,
    ribbons,
    value_axis,
    visible_edges,
    widened,
)
from gamcore.model.losses import LOSSES
from gamcore.model.scales import say
from gamcore.viz.palette import shorten
from gamcore.viz.spec import Axis, ColorRole, Line, Mark, Panel, Plot, Points, Ribbon, Steps, Whiskers, single

WIDTH = 0.7
"""Width within a level that the marks of all curves share."""
WIDEST, NARROWEST = 5.0, 2.0
"""Of the lines of curves, the first drawn and the last: one that lies on another leaves its edges to be seen."""
DIFFERENCE: Final = "ink"
"""No colour of a model: the first one's is a blue, as the primary one is."""


def comparison(curves: dict[str, Curve], minus: Curve | None, words: tuple[str, str, str]) -> Plot:
    """Return named curves on one scale, and below them a difference (`minus`) with its band.

    words : title, the line under it, and the unit of the target.
    """
    first = next(iter(curves.values()))
    title, detail, target = words
    labels, levels = tuple(value_names(first)), [first.members[k][0] for k in level_order(first) if first.members]
    marks: list[Mark] = []
    widths = np.linspace(WIDEST, NARROWEST, len(curves))
    for k, (name, curve) in enumerate(curves.items()):
        shift = WIDTH * ((k + 0.5) / len(curves) - 0.5)
        marks += (
            _levels(curve, levels, shift=shift, name=name, role=k)
            if labels
            else _line(curve, name, k, float(widths[k]), band=len(curves) <= 2)
        )
    units = LOSSES[first.loss].unit(first.scale, target)
    x = value_axis(first)
    if labels:
        names = tuple((float(k), shorten(label, len(labels))) for k, label in enumerate(labels))
        x = Axis(first.feature, ticks=names, limits=(-0.6, len(labels) - 0.4))
    top = Panel(x, effect_axis(units, first.scale, _limits(list(curves.values()))), (*marks, Line(first.zero)))
    rows = single(top)
    if minus is not None:
        axis = effect_axis("", minus.scale, _limits([minus]))  # the legend names it: two titles would touch
        rows = ((Panel(Axis("", x.kind, x.limits, x.ticks, named=False), top.y, top.marks),),
                (Panel(x, axis, (*_difference(minus, levels), Line(minus.zero))),))  # fmt: skip
    spoken = f"Curves of {first.feature} in {', '.join(curves)}. {title}"
    numbers = pd.concat([curve.frame().assign(model=name) for name, curve in curves.items()], ignore_index=True)
    return Plot(
        first.feature,
        title,
        detail=detail,
        panels=rows,
        words=spoken,
        numbers=numbers,
        heights=(0.6, 0.4) if minus else (1.0,),
        height=340 if minus else 302,
        legend="left",
    )


def _limits(curves: list[Curve]) -> tuple[float, float]:
    """Return limits of curves on one scale, with all of each: where few rows are, curves may differ most."""
    low, high = common_limits(curves)
    scores = np.concatenate([curve.scores for curve in curves])
    least, most = widened(float(scores.min()), float(scores.max()), curves[0].scale)
    return min(low, least), max(high, most)


def value_names(curve: Curve) -> list[str]:
    """Return the levels in the order of `level_order`; empty for numbers and dates."""
    return [curve.labels[k] for k in level_order(curve)] if curve.labels else []


def _line(curve: Curve, name: str, role: ColorRole, width: float, band: bool) -> list[Mark]:
    """Return a step line, with its band if `band`."""
    edges = visible_edges(curve)
    hover = [f"{cut(name, 80)}\n{curve.place(k)}\n{say(score, curve.scale)}" for k, score in enumerate(curve.scores)]
    ribbon = [Ribbon(edges, curve.lower, curve.upper, role)] if band and curve.has_band else []
    return [*ribbon, Steps(edges, curve.scores, role, width, name=name, hover=hover)]


def _levels(curve: Curve, levels: Sequence[str], shift: float, name: str, role: ColorRole) -> list[Mark]:
    """Return a point per level, beside those of other curves, with whiskers; none for a level the curve lacks."""
    bin_of = curve.bin_of
    known = [(at, bin_of[level]) for at, level in enumerate(levels) if level in bin_of]
    if not known:
        return []
    at, pick = (np.array(part, np.int64) for part in zip(*known, strict=True))
    places = at.astype(np.float64) + shift
    hover = [f"{cut(name, 80)}\n{curve.labels[j]}\n{say(curve.scores[j], curve.scale)}" for _, j in known]
    whiskers = (
        [Whiskers(places, curve.lower[pick], upper=curve.upper[pick], role=role, width=1.6, capped=True)]
        if curve.has_band
        else []
    )
    return [*whiskers, Points(places, curve.scores[pick], role, 9, name=name, hover=hover)]


def _difference(minus: Curve, levels: Sequence[str]) -> list[Mark]:
    if levels:
        return _levels(minus, levels, shift=0.0, name="difference", role=DIFFERENCE)
    hover = [f"{minus.place(k)}\n{say(score, minus.scale)}" for k, score in enumerate(minus.scores)]
    return [
        *ribbons(minus, DIFFERENCE),
        Steps(visible_edges(minus), minus.scores, DIFFERENCE, 2.0, name="difference", hover=hover),
    ]
