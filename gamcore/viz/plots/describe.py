"""The plot of any explanation, chosen by its type."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from gamcore.decide.experiment_effects import ReadOut
from gamcore.decide.strategies import Ledger
from gamcore.explain.curves import Breakdown, Curve, Importance
from gamcore.explain.surfaces import Surface
from gamcore.explain.tasks import TaskImportance
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale
from gamcore.stats.metrics import Costs
from gamcore.viz.plots.bars import importance, task_importance, waterfall
from gamcore.viz.plots.curves import curve
from gamcore.viz.plots.quality import cost_line
from gamcore.viz.plots.spec import Plot
from gamcore.viz.plots.strategies import lifts, reach
from gamcore.viz.plots.surfaces import surface


@singledispatch
def describe(explanation: Any, **words: Any) -> Plot:
    """Return the plot of an explanation.

    explanation : a Curve, Surface, Importance, TaskImportance, Breakdown (row=0), Ledger (names), ReadOut or Costs
    (chosen). words : where they apply, target (what is predicted), detail (the line under the title) and title.
    """
    raise TypeError(
        f"{type(explanation).__name__} has no plot of its own: describe it with a function of gamcore.viz.plots."
    )


@describe.register
def _(explanation: Curve, target: str = "the target", detail: str | None = None, **words: Any) -> Plot:
    said = (
        f"effect on {target} · {LOSSES[explanation.loss].unit(explanation.scale, target)}" if detail is None else detail
    )
    return curve(explanation, target, said, **words)


@describe.register
def _(explanation: Surface, target: str = "the target", detail: str | None = None, **words: Any) -> Plot:
    units = LOSSES[explanation.margins[0].loss].unit(explanation.scale, target)
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
