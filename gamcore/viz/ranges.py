"""The range of an axis, and its round numbers: the same on the page, in a still picture and in a file."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from gamcore.common.types import Floats
from gamcore.viz.spec import Axis, Bars, Cells, Line, Mark, Path, Points, Ribbon, Steps, Whiskers

LEVEL: Final = 0.6
"""Half the space of a level on an axis."""
TINY: Final = 1e-12
"""The least value of a logarithmic axis."""
FEWEST_RATIOS: Final = 3
"""A logarithmic axis with fewer of 1, 2 and 5 times a power of ten has even steps instead."""
MOST_RATIOS: Final = 8
"""Most round numbers on an upright logarithmic axis of a page; further apart, they are powers of ten."""
LARGEST_POWER: Final = 308
MOST_EVEN: Final = 5
"""Most even steps of a logarithmic axis."""
Limits = tuple[float, float]


def limits(axis: Axis, marks: Iterable[Mark], along: bool) -> Limits:
    """Return the range of an axis: its own, or that of the marks. along : of the x axis."""
    if axis.limits is not None:
        return axis.limits
    values = [np.zeros(int(axis.from_zero))]
    for mark in marks:
        values += _values(mark, along, LEVEL if axis.ticks is not None else 0.0)
    known = np.concatenate([np.zeros(0), *(np.asarray(part, np.float64).ravel() for part in values)])
    known = known[np.isfinite(known) & ((known > 0) | (axis.kind != "log"))]
    if known.size and known.min() < known.max():
        return float(known.min()), float(known.max())
    middle = float(known[0]) if known.size else 1.0
    return (middle / 2, middle * 2) if axis.kind == "log" else (0.0, 1.0)


def _values(mark: Mark, along: bool, room: float) -> list[Floats]:
    """Return the values of a mark on one axis. room : least space on either side of a bar's middle."""
    match mark:
        case Steps():
            return [mark.values if along == mark.upright else mark.edges]
        case Ribbon():
            return [mark.edges] if along else [mark.lower, mark.upper]
        case Bars():
            half = np.maximum(np.asarray(mark.width) / 2, room)
            return [mark.bases, mark.bases + mark.sizes] if along == mark.lying else [mark.at - half, mark.at + half]
        case Whiskers():
            return [mark.lower, mark.upper] if along == mark.lying else [mark.at]
        case Points() | Path() | Cells():
            return [mark.x if along else mark.y]
        case Line():
            return [np.array([mark.at])] if along == mark.upright and mark.text else []
    return []


def round_ratios(ends: Limits) -> list[float]:
    """Return 1, 2 and 5 times powers of ten within a range."""
    lows, highs = (math.floor(math.log10(max(end, TINY))) for end in ends)
    rounds = [step * 10.0**power for power in range(lows, highs + 1) for step in (1, 2, 5)]
    return [at for at in rounds if ends[0] <= at <= ends[1]]


def ratio_ticks(ends: Limits, most: int) -> list[float]:
    """Return at most about `most` round numbers of a logarithmic axis: even steps where it spans less than a decade,
    and powers of ten where it spans many."""
    inside = round_ratios(ends)
    if len(inside) < FEWEST_RATIOS:
        return [round(float(at), 12) for at in even_ticks(ends, min(most, MOST_EVEN))[1] if at > 0]
    if len(inside) <= most:
        return inside
    powers = [power for power in range(-LARGEST_POWER, LARGEST_POWER + 1) if ends[0] <= 10.0**power <= ends[1]]
    every = math.ceil(len(powers) / most)
    whole = [10.0**power for power in powers if power % every == 0]
    return whole if len(whole) >= FEWEST_RATIOS else inside[:: math.ceil(len(inside) / most)]


def even_ticks(ends: Limits, most: int) -> tuple[float, Floats]:
    """Return the step of at most about `most` round numbers within a range, and the numbers."""
    low, high = ends
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * (1 - 1e-9))
    return step, step * np.arange(math.ceil(low / step), math.floor(high / step) + 1, dtype=np.float64)
