"""The gap between a readable model and a black box as bars, and the terms that make it up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gamcore.additions.black_box.price import KINDS, named
from gamcore.data.labels import cut
from gamcore.explain.gap import POINTS
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, Bars, ColorRole, Line, Panel, Plot, Whiskers, single

if TYPE_CHECKING:
    from gamcore.additions.black_box.price import PriceOfReadability

ROW: Final = 34


def gap_bars(price: PriceOfReadability, title: str = "", detail: str = "") -> Plot:
    """Return a bar of the gap, and one of what each term that stands out would gain."""
    names = ["a black box", *(f"+ {named(price.features_of(step.place))}" for step in price.steps)]
    kinds = ["", *(KINDS[len(price.ranked.terms[step.place])] for step in price.steps)]
    each = [price.gap, *(step.gain for step in price.steps)]
    at, sizes = np.arange(len(each), dtype=float), POINTS * np.array([gap.value for gap in each])
    ends = POINTS * np.array([[gap.lower, gap.upper] for gap in each])
    roles: list[ColorRole] = ["accent", *["primary"] * len(price.steps)]  # type: ignore[list-item]
    hover = [
        f"{cut(name, 400)}\n{gap.in_points()} points ({gap.ends_in_points()}){f' · {kind}' if kind else ''}"
        for name, kind, gap in zip(names, kinds, each, strict=True)
    ]
    known = np.isfinite(ends).all(axis=1)
    marks = (
        Line(0.0, True),
        Bars(at, sizes, roles=roles, lying=True, hover=hover),
        Whiskers(at[known], ends[known, 0], ends[known, 1], "ink", 1.4, lying=True),
    )
    drawn = np.concatenate([[0.0], sizes, ends[known].ravel()])
    margin = 0.06 * (float(np.ptp(drawn)) or 1.0)
    x = Axis(f"points of {price.metric} beyond the readable model", grid=True,
             limits=(float(drawn.min()) - margin, float(drawn.max()) + margin))  # fmt: skip
    labels = [f"{cut(name, MOST_LABEL - 8)}  {gap.in_points()}" for name, gap in zip(names, each, strict=True)]
    return Plot(
        "black_box", title or price.words().rstrip("."), detail or price.notes,
        panels=single(Panel(x, level_axis(labels), marks)), words=price.words(), numbers=price.frame(),
        height=90 + ROW * len(each), legend="left",
    )  # fmt: skip
