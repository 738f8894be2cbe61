"""What is observed beside what two models predict: by tenths of the rows, and by the groups of a column.

Of means, what is observed is one dot beside the predictions of both. Of quantiles, each model has a dot of its own: the
share of rows below its prediction, beside a line at the share that was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from gamcore.additions.two_models.claims import change_in_words, means
from gamcore.common.numbers import alike, count, counted, factor, percent
from gamcore.common.types import Floats
from gamcore.data.labels import cut, cut_apart
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, ColorRole, Line, Mark, Panel, Path, Plot, Points, TickFormat, Whiskers, single

if TYPE_CHECKING:
    from gamcore.additions.two_models.compared import TwoModels
    from gamcore.additions.two_models.parts import Part

ROW: Final = 30
ROLES: Final[tuple[ColorRole, ColorRole]] = ("primary", "accent")
APART: Final = 0.08
"""Of two dots at one place from its middle, in places."""


def double_lift(models: TwoModels, target: str = "", title: str = "", detail: str = "") -> Plot:
    """Return a line per model over tenths of the rows, by the ratio of the two, and dots of what is observed."""
    parts = models.tenths
    at = np.arange(1.0, len(parts) + 1)
    hover = [_hover(models, part) for part in parts]
    lines: list[Mark] = [
        Path(place, drawn, role, name=name, hover=hover)
        for place, drawn, role, name in zip(_places(models, at), _of_each(models, parts), ROLES, _names(models),
                                            strict=True)
    ]  # fmt: skip
    apart = [factor(part.ratio) if models.by_ratio else change_in_words(part.change, models.is_share) for part in parts]
    x = Axis(f"tenths of the rows, by {'ratio' if models.by_ratio else 'difference'} of predictions",
             ticks=tuple(zip(at.tolist(), apart, strict=True)), limits=(0.5, len(parts) + 0.5))  # fmt: skip
    y = Axis(_unit(models, target), grid=True, format=_is_percent(models))
    headline = models.better.words()
    second, tenths = _names(models)[1], f"in {models.nearer[1]} of {len(parts)} tenths"
    beside = (f"what is observed is nearer to {second} {tenths}" if models.level is None
              else f"{second} is nearer to {percent(models.level, 0)} {tenths}")  # fmt: skip
    return Plot(
        "two_models", title or f"{headline[0].upper()}{headline[1:]}", detail or f"{beside} · {models.notes}",
        panels=single(Panel(x, y, (*lines, *_observed(models, parts, at, hover)))), words=models.words(),
        numbers=models.frame(), legend="left",
    )  # fmt: skip


def groups(models: TwoModels, column: str, target: str = "", title: str = "", detail: str = "") -> Plot:
    """Return a line per group of a column: what is observed, and a bar for what either model predicts."""
    named, table = models.column(column), models.by_group(column)
    parts, at = named.parts, np.arange(len(table), dtype=float)
    hover = [f"{cut(name, 400)}\n{_hover(models, part)}" for name, part in zip(named.cut.names, parts, strict=True)]
    marks = _observed(models, parts, at, hover, lying=True)
    if models.level is None:
        marks += [
            Points(drawn, at, role, 18, "bar", name=name, hover=hover)
            for drawn, role, name in zip(_of_each(models, parts), ROLES, _names(models), strict=True)
        ]
    labels = [f"{cut(name, MOST_LABEL - 10)}  {count(part.rows)}" for name, part in
              zip(named.cut.names, parts, strict=True)]  # fmt: skip
    x = Axis(_unit(models, target), grid=True, limits=_limits(models, parts), format=_is_percent(models))
    most = max(range(len(table)), key=lambda k: abs(parts[k].change))
    headline = f"{column}: predictions differ most where it is {cut(named.cut.names[most], MOST_LABEL)}, by " \
           f"{change_in_words(parts[most].change, models.is_share)}"  # fmt: skip
    return Plot(
        "two_models_by_group", title or headline, detail or models.notes,
        panels=single(Panel(x, level_axis(labels), tuple(marks))), words=f"{headline}.", numbers=table,
        height=90 + ROW * len(table), legend="left",
    )  # fmt: skip


def _of_each(models: TwoModels, parts: Sequence[Part]) -> list[Floats]:
    """Return what is drawn of either model: its predictions, or the shares of rows below them."""
    if models.level is None:
        return [np.array([part.predicted[k] for part in parts]) for k in (0, 1)]
    return [np.array([part.checks[k].observed for part in parts]) for k in (0, 1)]


def _places(models: TwoModels, at: Floats) -> tuple[Floats, Floats]:
    """Return where either model is drawn: beside each other, where both have dots."""
    return (at, at) if models.level is None else (at - APART, at + APART)


def _observed(models: TwoModels, parts: Sequence[Part], at: Floats, hover: list[str], lying: bool = False
              ) -> list[Mark]:  # fmt: skip
    """Return the dots of what is observed, with their intervals. lying : whether values are along the x axis."""
    dots: list[tuple[int, Floats, ColorRole, str]] = [(0, at, "ink", "observed")]
    marks: list[Mark] = []
    if models.level is not None:
        marks.append(Line(models.level, upright=lying))
        names = _names(models) if lying else ["", ""]  # lines have their names already
        dots = list(zip((0, 1), _places(models, at), ROLES, names, strict=True))
    for k, places, role, name in dots:
        values = np.array([part.checks[k].observed for part in parts])
        ends = np.array([part.checks[k].interval for part in parts])
        known = np.isfinite(ends).all(axis=1)
        marks.append(Whiskers(places[known], ends[known, 0], ends[known, 1], role, lying=lying))
        x, y = (values, places) if lying else (places, values)
        marks.append(Points(x, y, role, 9, name=name, hover=hover))
    return marks


def _names(models: TwoModels) -> list[str]:
    return cut_apart(models.names, MOST_LABEL)


def _limits(models: TwoModels, parts: Sequence[Part]) -> tuple[float, float]:
    checks = [check for part in parts for check in part.checks]
    ends = np.array([check.interval for check in checks]).ravel()
    drawn = np.concatenate([*_of_each(models, parts), [check.observed for check in checks], ends[np.isfinite(ends)],
                            [] if models.level is None else [models.level]])  # fmt: skip
    margin = 0.05 * (float(np.ptp(drawn)) or abs(float(drawn[0])) or 1.0)
    low = float(drawn.min()) - margin
    return (max(low, 0.0) if drawn.min() >= 0 else low), float(drawn.max()) + margin


def _unit(models: TwoModels, target: str) -> str:
    if models.level is not None:
        return f"share of rows with {target or 'the outcome'} below the prediction"
    unit = f"{'share' if models.is_share else 'mean'} of {target or 'the outcome'}"
    return f"{unit} per unit of exposure" if models.per == "exposure" else unit


def _is_percent(models: TwoModels) -> TickFormat:
    return "percent" if models.is_share or models.level is not None else "plain"


def _hover(models: TwoModels, part: Part) -> str:
    names = _names(models)
    lines = [counted(part.rows, "row")]
    if models.level is None:
        values = means([part.observed, *part.predicted], models.is_share)
        return "\n".join([*lines, *map(" ".join, zip(("observed", *names), values, strict=True))])
    each = zip(names, alike(part.predicted), part.checks, strict=True)
    return "\n".join([*lines, *(f"{name} {value}, {percent(check.observed)} below" for name, value, check in each)])
