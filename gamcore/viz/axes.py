"""Axes that plots of all kinds share: named levels, and numbers with their unit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gamcore.common.types import Floats
from gamcore.data.column_names import Measure
from gamcore.viz.spec import Axis, TickFormat


def level_axis(names: list[str], title: str = "", flipped: bool = True) -> Axis:
    """Return an axis of level names, the first at the top."""
    return Axis(title, ticks=tuple((float(k), name) for k, name in enumerate(names)), flipped=flipped,
                limits=(-0.6, len(names) - 0.4))  # fmt: skip


def apart(ticks: Sequence[tuple[float, str]], ends: tuple[float, float], most: int) -> tuple[tuple[float, str], ...]:
    """Return those of some ticks, in order, that leave room for each other's names: at most about `most` between the
    ends of an axis, however close the others are."""
    room = (1 - 1e-9) * (ends[1] - ends[0]) / most
    kept: list[tuple[float, str]] = []
    for at, name in ticks:
        if not kept or at - kept[-1][0] >= room:
            kept.append((at, name))
    return tuple(kept)


def number_axis(feature: str, measure: Measure, edges: Floats, limits: tuple[float, float] | None) -> Axis:
    """Return the axis of a feature that is a number, with its unit."""
    wide = bool(edges.size) and float(np.ptp(edges)) >= 10
    counted = wide and measure.form not in ("automatic", "year")
    form: TickFormat = "percent" if measure.form == "percent" else "count" if counted else "plain"
    unit = measure.unit if measure.form != "percent" else ""
    return Axis(f"{feature} ({unit})" if unit else feature, limits=limits, format=form)
