"""The plot of any explanation, chosen by its type."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

from gamcore.decide.arms import ArmsReadOut, Segments
from gamcore.decide.arms_plan import ExperimentPlan
from gamcore.decide.experiment_effects import ReadOut
from gamcore.decide.strategies import Ledger
from gamcore.decide.uplift import Uplift
from gamcore.explain.classes import ClassCurves
from gamcore.explain.curve_drift import CurveMoves
from gamcore.explain.curves import Breakdown, Curve
from gamcore.explain.importance import Importance
from gamcore.explain.surfaces import Surface
from gamcore.explain.tasks import Agreement, TaskImportance
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale
from gamcore.stats.column_drift import Moved
from gamcore.stats.histograms import Overlay
from gamcore.stats.metrics import Costs
from gamcore.stats.profiles import Profile
from gamcore.viz.plots.bars import importance, task_importance, waterfall
from gamcore.viz.plots.chances import chances
from gamcore.viz.plots.curves import curve
from gamcore.viz.plots.drifts import agreement, columns_moved, curves_moved
from gamcore.viz.plots.moved import moved
from gamcore.viz.plots.plans import detectable
from gamcore.viz.plots.profile import profile
from gamcore.viz.plots.quality import cost_line
from gamcore.viz.plots.spec import Plot
from gamcore.viz.plots.strategies import lifts, reach
from gamcore.viz.plots.surfaces import surface
from gamcore.viz.plots.uplift import effect_by_tenth


@singledispatch
def describe(explanation: Any, **words: Any) -> Plot:
    """Return the plot of an explanation.

    explanation : any `Explanation`; of a Breakdown that of one row (row=0), of Costs with a threshold (chosen), of a
    Ledger with the strategies' names (names), of a plan for one metric (metric). words : where they apply, target (what
    is predicted), detail (the line under the title) and title.
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
def _(explanation: ClassCurves, target: str = "class", **words: Any) -> Plot:
    return chances(explanation, target, **words)


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
    n = explanation.scores.size
    if not n:
        raise ValueError("The breakdown has no rows, so there is nothing to draw: explain at least one.")
    which = {"detail": f"row {row + 1} of {n}, its parts, the largest first"} if n > 1 else {}
    return waterfall(explanation, row, target, scale, **(which | words))


@describe.register
def _(explanation: Ledger, names: list[str] | None = None, **words: Any) -> Plot:
    return reach(explanation, names or [f"strategy {k + 1}" for k in range(len(explanation.exclusive))], **words)


@describe.register
def _(explanation: ReadOut, **words: Any) -> Plot:
    return lifts(explanation, **words)


@describe.register
def _(explanation: Costs, chosen: float | None = None) -> Plot:
    return cost_line(explanation, explanation.best if chosen is None else chosen)


@describe.register
def _(explanation: ArmsReadOut, detail: str = "", **words: Any) -> Plot:
    said = detail or f"each arm against {explanation.test.control}, {explanation.as_read_out().intervals}"
    return replace(lifts(explanation.as_read_out(), said, **words), numbers=explanation.frame())


@describe.register
def _(explanation: Segments, detail: str = "", **words: Any) -> Plot:
    said = detail or f"{explanation.metric} by {explanation.column}, 95% intervals"
    return replace(lifts(ReadOut((), explanation.effects), said, **words), numbers=explanation.frame())


@describe.register
def _(explanation: ExperimentPlan, **words: Any) -> Plot:
    return detectable(explanation, **words)


@describe.register
def _(explanation: Uplift, **words: Any) -> Plot:
    return effect_by_tenth(explanation, **words)


@describe.register
def _(explanation: Profile, **words: Any) -> Plot:
    return profile(explanation, **words)


@describe.register
def _(explanation: Overlay, title: str = "", **words: Any) -> Plot:
    return moved(explanation, title or f"{explanation.name} then and now", **words)


@describe.register
def _(explanation: Moved, **words: Any) -> Plot:
    return columns_moved(explanation, **words)


@describe.register
def _(explanation: CurveMoves, **words: Any) -> Plot:
    return curves_moved(explanation, **words)


@describe.register
def _(explanation: Agreement, **words: Any) -> Plot:
    return agreement(explanation, **words)
