"""The shapes that a curve may have been learnt with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

Shape = Literal["steps", "smooth", "cyclic", "linear", "levels"]
SHAPES: Final[tuple[Shape, ...]] = ("steps", "smooth", "cyclic", "linear", "levels")
LINES: Final = ("smooth", "cyclic", "linear")
"""Those that are drawn as lines."""


def are_smooth(pair: tuple[int, int], shapes: Sequence[Shape], signs: Sequence[int]) -> bool:
    """Return whether the surface of a pair is smooth: both curves are, and neither is held to an order.

    shapes, signs : of each feature, as in `AdditiveModel`.
    """
    free = all(shapes[j] == "smooth" for j in pair) if shapes else False
    return free and not any(signs[j] for j in pair if signs)
