"""What is observed beside what a model predicts, of its own held-out rows and of newer ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gamcore.common.numbers import counted, number, p_value, percent
from gamcore.data.labels import cut, cut_apart
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, ColorRole, Line, Mark, Panel, Path, Plot, Points, TickFormat, Whiskers, single

if TYPE_CHECKING:
    from gamcore.additions.newer_rows.held import Group, OnNewerRows, Side

ROW: Final = 34
APART: Final = 0.16
"""By how much the two samples of a group stand above and below its line."""

SIDES: Final[tuple[tuple[str, ColorRole], ...]] = (("own", "primary"), ("newer", "accent"))


def calibration(on: OnNewerRows, target: str = "", title: str = "", detail: str = "") -> Plot:
    """Return observed means over predicted ones, by bins of the prediction, and the line where they are equal."""
    from gamcore.additions.newer_rows.held import PREDICTION

    groups, table = on.columns[PREDICTION], on.frame()
    marks: list[Mark] = []
    drawn = []
    for (name, role), label in zip(SIDES, cut_apart(on.names, MOST_LABEL), strict=True):
        sides: list[Side] = [side for group in groups if (side := getattr(group, name)).rows]
        x, y = (np.array([getattr(side, what) for side in sides]) for what in ("predicted", "observed"))
        ends = np.array([side.interval for side in sides]).reshape(-1, 2)
        known = np.isfinite(ends).all(axis=1)
        hover = [_hover(on, label, side) for side in sides]
        marks.append(Whiskers(x[known], ends[known, 0], ends[known, 1], role, 1.8))
        marks.append(Path(x, y, role, 1.4, opacity=0.6))
        marks.append(Points(x, y, role, 8, name=label, hover=hover))
        drawn.append(x)
    both = np.array([min(map(np.min, drawn)), max(map(np.max, drawn))])
    marks.insert(0, Path(both, both, "zero", 1.2, "dot", name="as predicted"))
    form: TickFormat = "percent" if on.is_share else "plain"
    per = " per unit of exposure" if on.per == "exposure" else ""
    what = f"{'share' if on.is_share else 'mean'} of {target or 'the outcome'}{per}"
    panel = Panel(Axis("predicted", format=form), Axis(what, format=form, grid=True), tuple(marks))
    first = on.claims()[0].words().split(". ")[0].rstrip(".")
    return Plot("newer_rows", title or first, detail or on.notes, panels=single(panel), words=on.words(), numbers=table,
                legend="left")  # fmt: skip


def by_group(on: OnNewerRows, column: str, target: str = "", title: str = "", detail: str = "") -> Plot:
    """Return a line per group of a column: by how much the model is off, in both samples."""
    groups, table = on.columns[column], on.frame(column)
    at = np.arange(len(groups), dtype=float)
    marks: list[Mark] = [Line(0.0, upright=True)]
    for (name, role), label, shift in zip(SIDES, cut_apart(on.names, MOST_LABEL), (-APART, APART), strict=True):
        sides: list[Side] = [getattr(group, name) for group in groups]
        value = np.array([side.off_by.value for side in sides])
        ends = np.array([(side.off_by.lower, side.off_by.upper) for side in sides])
        known, there = np.isfinite(ends).all(axis=1), np.isfinite(value)
        hover = [_hover(on, label, side, group) for side, group in zip(sides, groups, strict=True) if side.rows]
        marks.append(Whiskers((at + shift)[known], ends[known, 0], ends[known, 1], role, lying=True))
        marks.append(Points(value[there], (at + shift)[there], role, 8, name=label, hover=hover))
    per = " per unit of exposure" if on.per == "exposure" else ""
    x = Axis(f"observed less predicted {target or 'outcome'}{per}", grid=True,
             format="signed percent" if on.is_share else "plain")  # fmt: skip
    labels = cut_apart([group.name for group in groups], MOST_LABEL)
    n = int(on.changed(column).sum())
    headline = f"{column}: " + (f"{n} of {len(groups)} groups clearly off otherwise than before" if n
                            else "no group is clearly off otherwise than before")  # fmt: skip
    return Plot(
        "newer_rows_by_group", title or headline, detail or on.notes,
        panels=single(Panel(x, level_axis(labels), tuple(marks))), words=f"{headline}.", numbers=table,
        height=90 + ROW * len(groups), legend="left",
    )  # fmt: skip


def _hover(on: OnNewerRows, label: str, side: Side, group: Group | None = None) -> str:
    mean = percent if on.is_share else number
    lines = [cut(label, MOST_LABEL), f"observed {mean(side.observed)}", f"predicted {mean(side.predicted)}",
             counted(side.rows, "row")]  # fmt: skip
    if group is not None:
        lines = [cut(group.name, 400), *lines, f"otherwise than before: {p_value(group.change.p)}"]
    return "\n".join(lines)
