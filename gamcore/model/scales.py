"""Scales to read effects on. Scores of a classifier are log-odds; a target's own units need no other scale.

    link     log-odds, or the target's units                      no effect: 0
    ratio    odds are multiplied by exp(effect)                   no effect: 1
    points   percentage points added to the base rate             no effect: 0

An effect in points is that on a row at the base rate: elsewhere the same log-odds are fewer points (the link is flat
near 0 and 1). All three rise together, so an interval stays an interval. `Loss.effect` converts.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import numpy as np

from gamcore.types import Floats

Scale = Literal["link", "ratio", "points"]
SCALES: Final[tuple[Scale, ...]] = get_args(Scale)

LARGEST: Final = 700.0
"""Largest log of a ratio: exp of more is no number."""


def check_scale(scale: str) -> None:
    """ValueError where there is no such scale."""
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}: choose one of {', '.join(SCALES)}.")


def ratio(scores: Floats) -> Floats:
    """Return what effects on a log scale multiply by."""
    return np.exp(np.clip(scores, -LARGEST, LARGEST))


def no_effect(scale: Scale) -> float:
    """Return what an effect of nothing is."""
    return 1.0 if scale == "ratio" else 0.0


def say(value: float, scale: Scale) -> str:
    """Return an effect with the digits that mean something and its sign or factor."""
    if scale == "ratio":
        return f"×{value:.3g}"
    if scale == "points":
        return f"{value:+.1f} points"
    return f"{value:+.3g}"
