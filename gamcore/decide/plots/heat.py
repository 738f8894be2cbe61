"""For whom a test worked: a heat table of segments by arms."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gamcore.common.numbers import count
from gamcore.data.labels import cut
from gamcore.decide.arms import Segments
from gamcore.decide.results import Scale
from gamcore.decide.verdicts import levels
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Cells, ColorScale, Panel, Plot, single

ROW: Final = 52
STRONGEST: Final = 1.6
"""Value of full colour, in the largest lift that is clear: above 1, so that text stays readable on all cells."""


def heat(lifts: Segments, detail: str = "", scale: Scale = "relative") -> Plot:
    """Return the lift of each arm (columns) in each segment (rows) with its interval. What is not significant after
    Holm's adjustment over all cells has no colour."""
    segments = list(dict.fromkeys(effect.strategy for effect in lifts.effects))
    arms = list(dict.fromkeys(effect.metric for effect in lifts.effects))
    shape = len(segments), len(arms)
    values, texts, hover = np.full(shape, math.nan), np.full(shape, "", object), np.full(shape, "", object)
    for effect in lifts.effects:
        at, lift = (segments.index(effect.strategy), arms.index(effect.metric)), effect.on(scale)
        if not lift.is_known:
            continue
        values[at] = lift.value if effect.is_significant else 0.0
        texts[at] = f"{lift.text}\n{lift.ends}".strip()
        hover[at] = f"{effect.strategy}, {effect.metric}: {lift.words()}\n{levels(effect)}\n{count(effect.n)} customers"
    largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    colors = ColorScale(-STRONGEST * largest, STRONGEST * largest, ("accent", "background", "primary"), shown=False)
    y, x = (np.arange(n + 1, dtype=np.float64) - 0.5 for n in shape)
    cells = Cells(x, y, values, colors, np.zeros(shape, bool), hover=hover, texts=texts, gap=2.0)
    names = [cut(name, MOST_LABEL) for name in segments]
    panel = Panel(level_axis([cut(arm, MOST_LABEL) for arm in arms], flipped=False), level_axis(names), (cells,))
    n_clear = sum(effect.is_significant for effect in lifts.effects)
    return Plot(
        "lift-by-segment",
        f"{lifts.metric} by {lifts.column}: {n_clear} of {len(lifts.effects)} lifts are significant",
        detail=detail or "each arm against the control with its 95% interval; coloured where it is significant",
        panels=single(panel),
        words=f"The lift of {lifts.metric} in each segment by {lifts.column}, of each arm.",
        numbers=lifts.frame(),
        height=100 + ROW * max(shape[0], 1),
    )
