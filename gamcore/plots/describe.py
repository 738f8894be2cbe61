"""The plot of any explanation, by what it is."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from gamcore.experiments import ReadOut
from gamcore.explain import Breakdown, Curve, Importance
from gamcore.plots.bars import importance, task_importance, waterfall
from gamcore.plots.boards import lifts, reach
from gamcore.plots.curves import curve
from gamcore.plots.grammar import Plot
from gamcore.plots.quality import cost_line
from gamcore.plots.surfaces import surface
from gamcore.quality import Costs
from gamcore.scales import Scale, unit
from gamcore.strategies import Ledger
from gamcore.surface import Surface
from gamcore.taskexplain import TaskImportance


@singledispatch
def describe(explanation: Any, **words: Any) -> Plot:
    """The plot of an explanation: a Curve, Surface, Importance, TaskImportance, Breakdown (row=0), Ledger (names),
    ReadOut or Costs (chosen). Where they apply, target: what is predicted, detail: the line under the title, and title.
    """
    raise TypeError(
        f"{type(explanation).__name__} has no plot of its own: describe it with a function of gamcore.plots."
    )


@describe.register
def _(explanation: Curve, target: str = "the target", detail: str | None = None, **words: Any) -> Plot:
    said = f"effect on {target} · {unit(explanation.loss, explanation.scale, target)}" if detail is None else detail
    return curve(explanation, target, said, **words)


@describe.register
def _(explanation: Surface, target: str = "the target", detail: str | None = None, **words: Any) -> Plot:
    units = unit(explanation.margins[0].loss, explanation.scale, target)
    return surface(explanation, target, f"effect on {target} · {units}" if detail is None else detail, **words)


@describe.register
def _(explanation: Importance, **words: Any) -> Plot:
    return importance(explanation, **words)


@describe.register
def _(explanation: TaskImportance, **words: Any) -> Plot:
    return task_importance(explanation, **words)


@describe.register
def _(
    explanation: Breakdown, row: int = 0, target: str = "the target", scale: Scale = "link", **words: Any
) -> Plot:  # fmt: skip
    return waterfall(explanation, row, target, scale, **words)


@describe.register
def _(explanation: Ledger, names: list[str] | None = None, **words: Any) -> Plot:
    return reach(explanation, names or [f"strategy {k + 1}" for k in range(len(explanation.exclusive))], **words)


@describe.register
def _(explanation: ReadOut, **words: Any) -> Plot:
    return lifts(explanation, **words)


@describe.register
def _(explanation: Costs, chosen: float | None = None) -> Plot:
    return cost_line(explanation, explanation.best if chosen is None else chosen)
