"""What is observed beside what two models predict: by tenths of the rows, and by the groups of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from gamcore.additions.two_models.claims import change_in_words, means
from gamcore.data.labels import cut
from gamcore.numbers import count, factor
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, ColorRole, Mark, Panel, Path, Plot, Points, Whiskers, single

if TYPE_CHECKING:
    from gamcore.additions.two_models.compared import TwoModels
    from gamcore.additions.two_models.parts import Part

ROW: Final = 30
ROLES: Final[tuple[ColorRole, ColorRole]] = ("primary", "accent")


def double_lift(models: TwoModels, target: str = "", title: str = "", detail: str = "") -> Plot:
    """Return a line per model over tenths of the rows, by the ratio of the two, and dots of what is observed."""
    table, parts = models.frame(), models.tenths
    at = np.arange(1.0, len(parts) + 1)
    hover = [_hover(models, part) for part in parts]
    marks: list[Mark] = [
        Path(at, table[column].to_numpy(), role, name=cut(name, MOST_LABEL), hover=hover)
        for column, role, name in zip(("first", "second"), ROLES, models.names, strict=True)
    ]
    known = np.isfinite(table[["lower", "upper"]].to_numpy()).all(axis=1)
    marks.append(Whiskers(at[known], table["lower"].to_numpy()[known], table["upper"].to_numpy()[known], "ink"))
    marks.append(Points(at, table["observed"].to_numpy(), "ink", 9, name="observed", hover=hover))
    apart = [factor(part.ratio) if models.by_ratio else change_in_words(part.change, models.is_share) for part in parts]
    x = Axis(f"tenths of the rows, by {'ratio' if models.by_ratio else 'difference'} of predictions",
             ticks=tuple(zip(at.tolist(), apart, strict=True)), limits=(0.5, len(parts) + 0.5))  # fmt: skip
    y = Axis(_unit(models, target), grid=True, format="percent" if models.is_share else "plain")
    said = models.better.words()
    near = models.nearer[1]
    beside = f"what is observed is nearer to {cut(models.names[1], MOST_LABEL)} in {near} of {len(parts)} tenths"
    return Plot(
        "two_models", title or f"{said[0].upper()}{said[1:]}", detail or f"{beside} · {models.notes}",
        panels=single(Panel(x, y, tuple(marks))), words=models.words(), numbers=table, legend="left",
    )  # fmt: skip


def groups(models: TwoModels, column: str, target: str = "", title: str = "", detail: str = "") -> Plot:
    """Return a line per group of a column: what is observed, and a bar for what either model predicts."""
    named, table = models.column(column), models.by_group(column)
    at = np.arange(len(table), dtype=float)
    ends = table[["lower", "upper"]].to_numpy()
    known = np.isfinite(ends).all(axis=1)
    hover = [
        f"{cut(name, 400)}\n{_hover(models, part)}" for name, part in zip(named.cut.names, named.parts, strict=True)
    ]
    marks: list[Mark] = [
        Whiskers(at[known], ends[known, 0], ends[known, 1], "ink", lying=True),
        Points(table["observed"].to_numpy(), at, "ink", 9, name="observed", hover=hover),
    ]
    marks += [
        Points(table[key].to_numpy(), at, role, 18, "bar", name=cut(name, MOST_LABEL), hover=hover)
        for key, role, name in zip(("first", "second"), ROLES, models.names, strict=True)
    ]
    labels = [f"{cut(name, MOST_LABEL - 10)}  {count(part.rows)}" for name, part in
              zip(named.cut.names, named.parts, strict=True)]  # fmt: skip
    x = Axis(_unit(models, target), grid=True, limits=_limits(table, ends[known]),
             format="percent" if models.is_share else "plain")  # fmt: skip
    most = max(range(len(table)), key=lambda k: abs(named.parts[k].change))
    said = f"{column}: predictions differ most where it is {cut(named.cut.names[most], MOST_LABEL)}, by " \
           f"{change_in_words(named.parts[most].change, models.is_share)}"  # fmt: skip
    return Plot(
        "two_models_by_group", title or said, detail or models.notes,
        panels=single(Panel(x, level_axis(labels), tuple(marks))), words=f"{said}.", numbers=table,
        height=90 + ROW * len(table), legend="left",
    )  # fmt: skip


def _limits(table: pd.DataFrame, ends: np.ndarray) -> tuple[float, float]:
    drawn = np.concatenate([table[["observed", "first", "second"]].to_numpy().ravel(), ends.ravel()])
    margin = 0.05 * (float(np.ptp(drawn)) or abs(float(drawn[0])) or 1.0)
    low = float(drawn.min()) - margin
    return (max(low, 0.0) if drawn.min() >= 0 else low), float(drawn.max()) + margin


def _unit(models: TwoModels, target: str) -> str:
    unit = f"{'share' if models.is_share else 'mean'} of {target or 'the outcome'}"
    return f"{unit} per unit of exposure" if models.per == "exposure" else unit


def _hover(models: TwoModels, part: Part) -> str:
    values: Sequence[str] = means([part.observed, *part.predicted], models.is_share)
    lines = zip(("observed", *(cut(name, MOST_LABEL) for name in models.names)), values, strict=True)
    return "\n".join([f"{count(part.rows)} rows", *(f"{name} {value}" for name, value in lines)])
