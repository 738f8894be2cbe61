"""Curves that were learnt as lines are drawn as lines: on bins so narrow that no step can be seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from gamcore.common.types import Floats
from gamcore.explain.curves import Curve
from gamcore.model.shapes import LINES

ENOUGH: Final = 150
"""Bins with which steps look like a line."""


def as_line(curve: Curve, edges: Floats, hover: list[str]) -> tuple[Curve, Floats, list[str]]:
    """Return a curve, its visible edges and its hover texts, on narrow bins on the line between its typical values."""
    size = curve.scores.size
    if curve.shape not in LINES or curve.labels or not 1 < size < ENOUGH:
        return curve, edges, hover
    parts, finer = narrow(edges)
    middle = (finer[:-1] + finer[1:]) / 2

    def on_line(values: Floats) -> Floats:
        return np.interp(middle, curve.display, values) if values.size else values

    drawn = replace(
        curve, scores=on_line(curve.scores), lower=on_line(curve.lower), upper=on_line(curve.upper),
        counts=np.repeat(curve.counts, parts), display=middle, edges=finer, values=(),
        room=np.stack([on_line(end) for end in curve.room]) if curve.room.size else curve.room,
        by_hand=np.repeat(curve.by_hand, parts),
        whole=np.stack([on_line(end) for end in curve.whole]) if curve.has_whole else curve.whole,
    )  # fmt: skip
    return drawn, finer, [text for text in hover for _ in range(parts)]


def narrow(edges: Floats) -> tuple[int, Floats]:
    """Return into how many parts bins are divided so that steps look like a line, and the edges of the parts."""
    size = edges.size - 1
    parts = -(-ENOUGH // size)
    return parts, np.interp(np.arange(size * parts + 1) / parts, np.arange(size + 1), edges)
