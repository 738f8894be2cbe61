"""Observed means with their intervals beside predicted ones, a line for each group of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gamcore.additions.by_group.claims import metric_value
from gamcore.common.numbers import count, counted, number, p_value, percent
from gamcore.common.types import Bools, Floats
from gamcore.data.labels import cut
from gamcore.stats.intervals import ALPHA
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, ColorRole, Line, Mark, Panel, Plot, Points, Whiskers, single

if TYPE_CHECKING:
    from gamcore.additions.by_group.calibration import CalibrationByGroup

ROW: Final = 30


def by_group(groups: CalibrationByGroup, name: str, target: str = "", title: str = "", detail: str = "") -> Plot:
    """Return a line per group: a dot with its interval is observed, a bar predicted; clear errors are in the accent."""
    column, table = groups.column(name), groups.frame(name)
    at = np.arange(len(table), dtype=float)
    observed, predicted = table["observed"].to_numpy(), table["predicted"].to_numpy()
    ends, wrong = table[["lower", "upper"]].to_numpy(), table["wrong"].to_numpy()
    hover = [
        f"{cut(row.group, 400)}\nobserved {_mean(groups, row.observed)}\npredicted {_mean(groups, row.predicted)}\n"
        f"{counted(row.rows, 'row')}\n{p_value(row.p_holm)} after Holm"
        for row in table.itertuples()
    ]
    marks = _dots(observed, ends, wrong, ("observed", "observed, clearly off"), hover)
    marks.append(Points(predicted, at, "ink", 18, "bar", name="predicted", hover=hover))
    drawn = np.concatenate([observed, predicted, ends[np.isfinite(ends).all(axis=1)].ravel()])
    margin = 0.05 * (float(np.ptp(drawn)) or abs(float(drawn[0])) or 1.0)
    low = float(drawn.min()) - margin
    limits = (max(low, 0.0) if drawn.min() >= 0 else low, float(drawn.max()) + margin)
    unit = f"{'share' if groups.is_share else 'mean'} of {target or groups.outcome}"
    x = Axis(f"{unit} per unit of exposure" if groups.per == "exposure" else unit, grid=True, limits=limits,
             format="percent" if groups.is_share else "plain")  # fmt: skip
    sizes = zip(column.cut.names, table["rows"], strict=True)
    labels = [f"{cut(label, MOST_LABEL - 10)}  {count(rows)}" for label, rows in sizes]
    n_wrong = int(wrong.sum())
    claim = f"{name}: {'no group is clearly off' if not n_wrong else f'{n_wrong} of {len(table)} groups clearly off'}"
    return Plot(
        "by_group", title or claim, detail or f"{groups.notes} · {percent(ALPHA, 0)} level after Holm",
        panels=single(Panel(x, level_axis(labels), tuple(marks))), words=f"{claim}. {groups.words()}", numbers=table,
        height=90 + ROW * len(table), legend="left",
    )  # fmt: skip


def metric_by_group(
    groups: CalibrationByGroup, name: str, target: str = "", title: str = "", detail: str = ""
) -> Plot:  # fmt: skip
    """Return a line per group with the metric and its interval, beside that over all rows; where it is clearly another,
    in the accent."""
    column, table = groups.column(name), groups.frame(name)
    metric = groups.metric
    values, holm = table[metric].to_numpy(), table[f"{metric}_p"].to_numpy()
    ends = table[[f"{metric}_lower", f"{metric}_upper"]].to_numpy()
    texts = [[metric_value(metric, size) for size in line] for line in np.column_stack([values, ends])]
    hover = [
        f"{cut(label, 400)}\n{value} ({low} to {high})\n{p_value(p)} after Holm"
        for label, (value, low, high), p in zip(column.cut.names, texts, holm, strict=True)
    ]
    whole, clear = groups.quality.value, holm < ALPHA
    marks: list[Mark] = [Line(whole, True)] if np.isfinite(whole) else []
    marks += _dots(values, ends, clear, (metric, f"{metric}, clearly another"), hover)
    seen = np.array([whole, *values, *ends.ravel()])
    seen = np.clip(seen[np.isfinite(seen)], -1.0, 1.0) if np.isfinite(seen).any() else np.array([0.0, 1.0])
    margin = 0.05 * (float(np.ptp(seen)) or 1.0)
    what = "AUC" if metric == "AUC" else f"share of {target or groups.outcome} that is explained"
    x = Axis(what, grid=True, limits=(float(seen.min()) - margin, float(seen.max()) + margin),
             format="plain" if metric == "AUC" else "percent")  # fmt: skip
    sizes = zip(column.cut.names, table["rows"], strict=True)
    labels = [f"{cut(label, MOST_LABEL - 10)}  {count(rows)}" for label, rows in sizes]
    n_clear, words = int(clear.sum()), groups.metric_words(name)
    apart = f"clearly another in {n_clear} of {len(table)} groups" if n_clear else "no group is clearly apart"
    claim = f"{name}: {metric} {apart}" if n_clear else f"{name}: {apart} in {metric}"
    return Plot(
        "by_group", title or claim, detail or f"{groups.notes} · {percent(ALPHA, 0)} level after Holm",
        panels=single(Panel(x, level_axis(labels), tuple(marks))), words=words, numbers=table,
        height=90 + ROW * len(table), legend="left",
    )  # fmt: skip


def _dots(values: Floats, ends: Floats, clear: Bools, labels: tuple[str, str], hover: list[str]) -> list[Mark]:
    """Return a dot per group with its interval, those that are clear in the accent.

    values : (n,); NaN has no dot. ends : (n, 2). labels : of those that are not clear, and of the clear ones.
    """
    marks: list[Mark] = []
    at = np.arange(values.size, dtype=float)
    roles: tuple[ColorRole, ColorRole] = ("primary", "accent")
    for is_clear, role, label in zip((False, True), roles, labels, strict=True):
        mine = (clear == is_clear) & np.isfinite(values)
        known = mine & np.isfinite(ends).all(axis=1)
        if mine.any():
            marks.append(Whiskers(at[known], ends[known, 0], ends[known, 1], role, lying=True))
            texts = [text for text, is_mine in zip(hover, mine, strict=True) if is_mine]
            marks.append(Points(values[mine], at[mine], role, 9, name=label, hover=texts))
    return marks


def _mean(groups: CalibrationByGroup, value: float) -> str:
    return percent(value) if groups.is_share else number(value, 4)
