"""The lift of a test by day, with its always-valid interval."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gamcore.common.numbers import counted
from gamcore.data.labels import cut
from gamcore.decide.by_day import ByDay
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.results import Result, Scale
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, ColorRole, Line, Mark, Panel, Plot, Ribbon, Steps, single

COLORS: Final[tuple[ColorRole, ...]] = ("primary", 1, 2, 3, 5, "muted")
SETTLED: Final = 0.2
"""Share of the customers after which intervals decide the height of the axis: earlier ones may be huge."""


def lift_by_day(lifts: ByDay, detail: str = "", scale: Scale = "difference") -> Plot:
    """Return the lift of each arm after each day, and its interval; what is beyond the axis is cut off."""
    factor = 100.0 if scale == "difference" and any(effect.is_rate for _, effect in lifts.looks) else 1.0
    marks: list[Mark] = [Line(0.0)]
    for k, (arm, looks) in enumerate(lifts.arms.items()):
        named = cut(arm, MOST_LABEL)
        known = [(day, effect.on(scale)) for day, effect in looks if effect.on(scale).has_interval]
        hover = [f"{named}\n{lifts.day_words(day)}: {result.words()}" for day, result in known]
        marks += _line(known, named, COLORS[k % len(COLORS)], factor=factor, hover=hover)
    settled = [factor * end for _, effect in lifts.looks for end in effect.on(scale).interval
               if effect.n >= SETTLED * _last(lifts, effect) and math.isfinite(end)]  # fmt: skip
    low, high = min([0.0, *settled]), max([0.0, *settled])
    margin = 0.06 * (high - low or 1.0)
    unit = "points" if factor > 1 else lifts.looks[0][1].measure.shown_unit if lifts.looks else ""
    title = "lift, relative" if scale == "relative" else f"difference{f', {unit}' if unit else ''}"
    y = Axis(title, limits=(low - margin, high + margin), grid=True,
             format="signed percent" if scale == "relative" else "plain")  # fmt: skip
    return Plot(
        "lift-by-day",
        f"{lifts.metric} by day: {'; '.join(_clear_since(lifts, arm, scale) for arm in lifts.arms) or 'too few rows'}",
        detail=detail
        or f"each arm against {lifts.control}, 95% intervals that hold on all days together, "
        f"narrowest at {counted(lifts.customers, 'customer')}",
        panels=single(Panel(Axis("after the day", kind="date" if lifts.dated else "number"), y, tuple(marks))),
        words=f"The lift of {lifts.metric} after each day, with its always-valid interval.",
        numbers=lifts.frame(),
        height=340,
        legend="left",
    )


def _last(lifts: ByDay, effect: Effect) -> int:
    """Return the customers of an arm and the control on the last day."""
    return lifts.arms[effect.strategy][-1][1].n


def _line(
    known: list[tuple[float, Result]], name: str, color: ColorRole, *, factor: float, hover: list[str]
) -> list[Mark]:
    """Return the steps of an arm: what was known after a day holds until the next look."""
    if not known:
        return []
    days = np.array([day for day, _ in known])
    gap = float(np.median(np.diff(days))) if days.size > 1 else 1.0
    edges = np.append(days, days[-1] + gap)
    value = factor * np.array([result.value for _, result in known])
    low, high = factor * np.array([result.interval for _, result in known]).T
    return [Ribbon(edges, low, high, color), Steps(edges, value, color, name=name, hover=hover)]


def _clear_since(lifts: ByDay, arm: str, scale: Scale) -> str:
    """Return since when the lift of an arm is clear, in words."""
    day = lifts.cleared(arm, scale)
    return f"{arm} clear since {lifts.day_words(day)}" if math.isfinite(day) else f"{arm} not clear yet"
