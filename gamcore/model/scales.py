"""Scales for reporting effects. Scores of a classifier are log-odds; a target's own units need no other scale.

    link     log-odds, or the target's units                      no effect: 0
    ratio    odds are multiplied by exp(effect)                   no effect: 1
    points   percentage points added to the base rate             no effect: 0
    units    units of the target added at its mean, of a log link   no effect: 0

An effect in points applies to a row at the base rate: nearer 0 or 1 the same log-odds are fewer points, as the curve is
flat there. All scales are monotone in each other, so an interval stays an interval. `Loss.effect` converts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args

import numpy as np

from gamcore.common.numbers import alike, exact, factor, fixed, number, points
from gamcore.common.types import Floats

Scale = Literal["link", "ratio", "points", "units"]
SCALES: Final[tuple[Scale, ...]] = get_args(Scale)

LARGEST_FACTOR: Final = 100.0
"""A factor beyond is said to be beyond: how much more, no table shows."""

LARGEST: Final = 700.0
"""Largest log of a ratio: exp overflows above about 709."""


def check_scale(scale: str) -> None:
    """Raise ValueError where there is no such scale."""
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}: choose one of {', '.join(SCALES)}.")


def ratio(scores: Floats) -> Floats:
    """Return the factors that effects on a log scale stand for."""
    return np.exp(np.clip(scores, -LARGEST, LARGEST))


def no_effect(scale: Scale) -> float:
    """Return the value that means no effect on a scale."""
    return 1.0 if scale == "ratio" else 0.0


def say_all(values: Sequence[float], scale: Scale) -> list[str]:
    """Format effects that stand together, with the same decimals and without their unit."""
    if scale == "points":
        return [fixed(value, 1, signed=True) for value in values]
    texts = alike(values, signed=scale != "ratio")
    return [f"×{text}" for text in texts] if scale == "ratio" else texts


def say(value: float, scale: Scale) -> str:
    """Format an effect with its sign or factor, to its significant digits."""
    if scale == "ratio":
        return factor(value)
    if scale == "points":
        return points(value)
    return number(value, signed=True)


def beyond(value: float) -> str:
    """Return that a factor is larger, or smaller, than any that sentences tell; empty where it is not."""
    if value > LARGEST_FACTOR:
        return f"over ×{fixed(LARGEST_FACTOR, 0)}"
    return f"under ×{exact(1 / LARGEST_FACTOR)}" if value < 1 / LARGEST_FACTOR else ""


def say_in_a_sentence(value: float, scale: Scale) -> str:
    """Format an effect as sentences tell it: of a factor beyond the largest, that it is."""
    return beyond(value) * (scale == "ratio") or say(value, scale)
