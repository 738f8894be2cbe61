"""Explanations of multi-task trees, as data: curves of a task, importances, parts of a prediction, task similarity."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.types import Codes, Floats, Ints
from gamcore.data.labels import labels_of
from gamcore.explain.curves import Breakdown, Curve, make_curve, quick_spread
from gamcore.model.additive import AdditiveModel, Term
from gamcore.multitask.model import TaskModel, TreePart
from gamcore.multitask.tables import UNKNOWN
from gamcore.stats.bands import USUAL_SHARE
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

TASK: Final = "(task)"
"""Name of the task where it is listed among the features."""

AGREES: Final = 0.5
"""Least correlation at which a task's curve agrees with the common one."""

FLAT: Final = 0.1
"""Share of the strongest task's mean effect below which a curve is called flat."""

ROUNDING: Final = 1e-12
"""Spread of a curve, as a share of its largest value, that is none."""


@dataclass(frozen=True)
class TaskImportance(Explanation):
    """Gain of the splits on each feature: their reduction of the training loss, averaged over refits.

    common : (p,) in the trees that tasks share. specific : (T, p) in each task's own trees.
    """

    features: tuple[str, ...]
    tasks: tuple[Any, ...]
    common: Floats
    specific: Floats

    def describe(self, **words: Any) -> Plot:
        """Return stacked bars of the importances, the common part first."""
        from gamcore.explain.plots.bars import task_importance

        return task_importance(self, **words)

    def frame(self) -> pd.DataFrame:
        """Return one row per feature, the most important first: its common and specific shares of the total gain."""
        whole = max(float(self.common.sum() + self.specific.sum()), 1e-300)
        own = self.specific.sum(axis=0)
        table = pd.DataFrame({"feature": self.features, "common": self.common / whole, "specific": own / whole}).assign(
            total=(self.common + own) / whole
        )
        return table.sort_values("total", ascending=False, ignore_index=True, kind="stable")


def task_importance(model: TaskModel) -> TaskImportance:
    """Return the importance of every feature, and of the task where common trees may split on it."""
    common, own = model.gains()
    names = [bins.feature.name for bins in model.bins]
    return TaskImportance((*names, TASK), model.tasks, common, own)


def task_shape(
    model: TaskModel, feature: int, t: int, part: TreePart = "whole", train_share: float = USUAL_SHARE
) -> Curve:
    """Return the curve of a feature for a task; for UNKNOWN, of the common trees over all tasks. Each refit trained on
    `train_share` of the rows."""
    refits = model.curve(feature, t, part)
    weights, mean = model.weights(feature, t), float(model.means[:, t].mean())
    spread = quick_spread(refits, train_share)
    return make_curve(
        model.bins[feature],
        refits.mean(axis=0),
        spread=spread,
        counts=weights,
        centre=(mean, mean),
        loss=model.loss.name,
    )


def levels_there(curve: Curve) -> Ints:
    """Return the places of the levels of a task's curve that the task has training rows of; all bins of a number."""
    every = np.arange(curve.scores.size)
    return every[curve.counts > 0] if curve.labels else every


def named_by(curve: Curve, levels: Collection[str]) -> Curve:
    """Return a task's curve whose bins of several levels name those alone that its rows have: a model does not keep
    which. levels : of the task's rows. A bin with none of them is as it is."""
    members = tuple(tuple(name for name in names if name in levels) or names for names in curve.members)
    rare = members[-1] if curve.rare else ()
    return replace(curve, members=members, rare=rare, labels=labels_of(members, rare))


def additive_model(model: TaskModel, t: int) -> AdditiveModel:
    """Return the exact model of one task where each tree uses one feature: one term per feature of the task, and an
    intercept."""
    own = np.flatnonzero(model.owned[t])
    terms = []
    for place, j in enumerate(own):
        refits = model.curve(int(j), t)
        terms.append(Term(place, refits.mean(axis=0), refits, model.weights(int(j), t)))
    bins = tuple(model.bins[j] for j in own)
    intercepts = model.means[:, t]
    return AdditiveModel(bins, tuple(terms), intercepts.copy(), model.loss)


def task_breakdown(model: TaskModel, codes: Codes, task: Ints) -> Breakdown:
    """Return the parts of the scores of some rows; the intercept is the mean score of all training rows by the common
    trees.

    Each task keeps its own number of rounds, so its mean score differs from the intercept. The difference counts as the
    task's contribution, and so do the effects of columns that the task lacks.
    """
    bias, parts = model.contributions(codes, task)
    intercept = float(model.means[:, UNKNOWN].mean())
    parts[:, -1] += bias - intercept
    lacked = np.zeros(parts.shape, bool)
    known = task != UNKNOWN
    lacked[known, :-1] = ~model.owned[task[known]]
    parts[:, -1] += np.where(lacked, parts, 0.0).sum(axis=1)
    parts[lacked] = 0.0
    names = (*[bins.feature.name for bins in model.bins], TASK)
    return Breakdown(names, intercept, parts, model.score(codes, task), model.loss.name)


@dataclass(frozen=True)
class Agreement(Explanation):
    """Agreement of a feature's curve in each task with that of the common trees.

    correlation : (T,) over the task's training rows; NaN where either is constant, or the task lacks the feature.
    shift : (T,) how much higher a task's curve lies than the common one, on average over the task's training rows; NaN
    where it lacks the feature. verdict : per task "agrees", "reverses" (in every refit), "differs", "flat" or "absent".
    """

    feature: str
    tasks: tuple[Any, ...]
    correlation: Floats
    effect: Floats  # (T,) mean |curve| over the task's training rows
    verdict: tuple[str, ...]
    shift: Floats

    def apart(self, t: int) -> bool:
        """Return whether a task's curve has the shape of the common one, and lies so much higher or lower that an
        effect of this size would not be called flat."""
        return self.verdict[t] == "agrees" and bool(abs(self.shift[t]) >= FLAT * self.effect.max())

    def describe(self, **words: Any) -> Plot:
        """Return a bar per task: how its curve goes with the common one."""
        from gamcore.explain.plots.drifts import agreement

        return agreement(self, **words)

    def frame(self) -> pd.DataFrame:
        """Return one row per task."""
        return pd.DataFrame(
            {"task": self.tasks, "correlation": self.correlation, "effect": self.effect, "verdict": self.verdict,
             "shift": self.shift}
        )  # fmt: skip


def agreement(model: TaskModel, feature: int) -> Agreement:
    """Compare a feature's curve in each task with that of the common trees."""
    common = model.curve(feature, UNKNOWN).mean(axis=0)
    n_tasks = len(model.tasks)
    correlation, highest, shift = (np.full(n_tasks, np.nan) for _ in range(3))
    effect = np.zeros(n_tasks)
    for t in np.flatnonzero(model.owned[:, feature]):
        refits, weights = model.curve(feature, int(t)), model.weights(feature, int(t))
        mean = refits.mean(axis=0)
        correlation[t] = correlate(mean, common, weights)
        highest[t] = max(correlate(line, common, weights) for line in refits)
        if weights.sum() > 0:
            effect[t], shift[t] = (np.average(line, weights=weights) for line in (np.abs(mean), mean - common))
    strongest = effect.max(initial=0.0)
    verdict = tuple(
        _verdict(bool(model.owned[t, feature]), effect[t] < FLAT * strongest, correlation[t], highest[t])
        for t in range(n_tasks)
    )
    return Agreement(
        model.bins[feature].feature.name, model.tasks, correlation, effect=effect, verdict=verdict, shift=shift
    )


def _verdict(owned: bool, flat: bool, correlation: float, highest: float) -> str:
    """Return a task's verdict; `highest` is the largest correlation of a refit with the common curve."""
    if not owned:
        return "absent"
    if flat or np.isnan(correlation):
        return "flat"
    if correlation >= AGREES:
        return "agrees"
    return "reverses" if correlation <= -AGREES and highest < 0 else "differs"


def correlate(a: Floats, b: Floats, weights: Floats) -> float:
    """Return the weighted correlation; NaN where one is constant, but for rounding."""
    if not weights.sum() > 0:
        return float("nan")
    apart = [x - np.average(x, weights=weights) for x in (a, b)]
    spread = [float(np.sqrt(np.average(x * x, weights=weights))) for x in apart]
    if any(size <= ROUNDING * np.abs(x).max() for size, x in zip(spread, (a, b), strict=True)):
        return float("nan")
    return float(np.average(apart[0] / spread[0] * (apart[1] / spread[1]), weights=weights))


def similarity(model: TaskModel, features: list[int]) -> pd.DataFrame:
    """Return the similarity of tasks' curves over some features, (T, T): 1 the same up to a factor, -1 reversed.

    This is the cosine of all curves, concatenated, over the codes where both tasks have training rows, weighted by
    the geometric mean of their shares; NaN where nothing can be compared.
    """
    of_features = [_curves(model, j) for j in features]
    curves, shares = (np.concatenate(parts, axis=1) for parts in zip(*of_features, strict=True))
    return pd.DataFrame(cosines(curves, shares), index=list(model.tasks), columns=list(model.tasks))


def cosines(curves: Floats, shares: Floats) -> Floats:
    """Return the cosines (T, T) of curves (T, n) weighted by the geometric means of shares (T, n); NaN where nothing
    can be compared."""
    roots = np.sqrt(shares)
    inner = (curves * roots) @ (curves * roots).T
    norms = (curves**2 * roots) @ roots.T
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(inner / np.sqrt(norms * norms.T), -1, 1))


def _curves(model: TaskModel, feature: int) -> tuple[Floats, Floats]:
    """Return the curves (T, size) of a feature in all tasks, and the share (T, size) of each code in a task's rows."""
    curves = np.stack([model.curve(feature, t).mean(axis=0) for t in range(len(model.tasks))])
    return curves, shares_of_codes(model, feature)


def shares_of_codes(model: TaskModel, feature: int) -> Floats:
    """Return the share (T, size) of each code of a feature in a task's rows; 0 in tasks that have not the feature."""
    counts = np.stack([model.weights(feature, t) for t in range(len(model.tasks))])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    return np.where(model.owned[:, [feature]], shares, 0.0)
