"""The same feature in several models: their curves over each other, and one minus another below."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gamcore.explain.curves import Curve
from gamcore.model.losses import LOSSES
from gamcore.model.scales import say
from gamcore.viz.plots.curves import common_limits, effect_axis, level_order, ribbons, value_axis, visible_edges
from gamcore.viz.plots.palette import cut, shorten
from gamcore.viz.plots.spec import Axis, Line, Mark, Panel, Plot, Points, Ribbon, Role, Steps, Whiskers, single

WIDTH = 0.7
"""Of a level, shared by the marks of all curves."""


def comparison(curves: dict[str, Curve], minus: Curve | None, words: tuple[str, str, str]) -> Plot:
    """Curves by name, all on one scale, and below them a difference with its band.

    words : title, line under it, and the unit of effects in the target's own terms.
    """
    first = next(iter(curves.values()))
    title, detail, target = words
    labels = tuple(value_names(first))
    marks: list[Mark] = []
    for k, (name, found) in enumerate(curves.items()):
        shift = WIDTH * ((k + 0.5) / len(curves) - 0.5)
        marks += _levels(found, labels, shift, name, k) if labels else _line(found, name, k, len(curves) <= 2)
    units = LOSSES[first.loss].unit(first.scale, target)
    x = value_axis(first)
    if labels:
        names = tuple((float(k), shorten(label, len(labels))) for k, label in enumerate(labels))
        x = Axis(first.feature, ticks=names, limits=(-0.6, len(labels) - 0.4))
    top = Panel(x, effect_axis(units, first.scale, common_limits(list(curves.values()))), (*marks, Line(first.zero)))
    rows = single(top)
    if minus is not None:
        axis = effect_axis("difference", minus.scale, common_limits([minus]))
        rows = ((Panel(Axis("", x.kind, x.limits, x.ticks, named=False), top.y, top.marks),),
                (Panel(x, axis, (*_difference(minus, labels), Line(minus.zero))),))  # fmt: skip
    told = f"Curves of {first.feature} in {', '.join(curves)}. {title}"
    numbers = pd.concat([found.frame().assign(model=name) for name, found in curves.items()], ignore_index=True)
    return Plot(
        first.feature,
        title,
        detail=detail,
        panels=rows,
        words=told,
        numbers=numbers,
        heights=(0.6, 0.4) if minus else (1.0,),
        height=502 if minus else 302,
        legend="left",
    )


def value_names(found: Curve) -> list[str]:
    """Levels in the order of their effects; none of numbers and dates."""
    return [found.labels[k] for k in level_order(found)] if found.labels else []


def _line(found: Curve, name: str, role: Role, band: bool) -> list[Mark]:
    """A step line, with its band where there is room for it."""
    edges = visible_edges(found)
    told = [f"{cut(name, 80)}\n{found.place(k)}\n{say(score, found.scale)}" for k, score in enumerate(found.scores)]
    ribbon = [Ribbon(edges, found.lower, found.upper, role)] if band and found.has_band else []
    return [*ribbon, Steps(edges, found.scores, role, 2.2, name=name, told=told)]


def _levels(found: Curve, labels: tuple[str, ...], shift: float, name: str, role: Role) -> list[Mark]:
    """A mark a level, beside those of other curves, with its band as a bar; none for a level that it lacks."""
    known = [(at, found.labels.index(label)) for at, label in enumerate(labels) if label in found.labels]
    if not known:
        return []
    at, pick = (np.array(part, np.int64) for part in zip(*known, strict=True))
    places = at.astype(np.float64) + shift
    told = [f"{cut(name, 80)}\n{labels[k]}\n{say(found.scores[j], found.scale)}" for k, j in known]
    whiskers = (
        [Whiskers(places, found.lower[pick], upper=found.upper[pick], role=role, width=1.6, capped=True)]
        if found.has_band
        else []
    )
    return [*whiskers, Points(places, found.scores[pick], role, 9, name=name, told=told)]


def _difference(minus: Curve, labels: tuple[str, ...]) -> list[Mark]:
    if labels:
        return _levels(minus, labels, 0.0, "difference", "primary")
    told = [f"{minus.place(k)}\n{say(score, minus.scale)}" for k, score in enumerate(minus.scores)]
    return [*ribbons(minus), Steps(visible_edges(minus), minus.scores, width=2.0, name="difference", told=told)]
