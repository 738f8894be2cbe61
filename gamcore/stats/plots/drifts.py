"""How far columns have moved between two versions of a table: a bar each, the largest first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gamcore.data.labels import cut, cut_apart
from gamcore.stats.column_drift import VERDICTS, Moved
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, Bars, ColorRole, Mark, Panel, Plot, single

MOST = 25
"""Bars of a plot."""
ROW = 26


def columns_moved(moved: Moved, detail: str = "") -> Plot:
    """Return how far each column moved between two versions; those that did not move significantly are grey."""
    shown = moved.columns[:MOST]
    sizes = np.nan_to_num(np.array([move.size for move in shown], np.float64))
    names = [move.name for move in shown]
    hover = [f"{cut(move.name, 400)}\n{VERDICTS[move.verdict]}\n{move.words}" for move in shown]
    roles: list[ColorRole] = ["primary" if move.has_moved else "few" for move in shown]
    bars = Bars(np.arange(len(shown), dtype=np.float64), sizes, roles=roles, lying=True, hover=hover)
    words = moved.words().removesuffix(".")
    axis = Axis("distance of the distributions, or change of the missing share", grid=True, from_zero=True)
    return Plot(
        "moved", words, detail or "0: nothing moved; 1: nothing in common", bars_panel(axis, names, (bars,)),
        words=words, numbers=moved.frame(), height=bars_height(names),
    )  # fmt: skip


def bars_panel(axis: Axis, names: Sequence[str], marks: tuple[Mark, ...]) -> tuple[tuple[Panel | None, ...], ...]:
    """Return bars that lie, each beside its name."""
    return single(Panel(axis, level_axis(cut_apart(list(names), MOST_LABEL)), marks))


def bars_height(names: Sequence[str]) -> int:
    """Return the height in pixels of a plot of such bars."""
    return 80 + ROW * max(len(names), 3)
