"""Which task is an outlier: how far each task's curves go with those of the others (after rMTFL's outlier tasks, Gong,
Ye and Zhang 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.types import Floats
from gamcore.data.labels import levels_in_words
from gamcore.explain.tasks import AGREES, cosines, shares_of_codes
from gamcore.multitask.model import TaskModel
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

MOST_NAMED: Final = 3
TINY: Final = 1e-24
APART: Final = ("outlier", "reverses")


@dataclass(frozen=True)
class TaskOutliers(Explanation):
    """How far each task's curves go with those of the other tasks, over `n_features` that they share.

    score : (T,) the correlation of a task's curves, over its training rows, with what most of the other tasks have in
    common: 1 the same up to a factor, 0 nothing in common, -1 reversed; NaN where there is no effect.
    lowest, highest : (T,) the score in single refits. verdict : per task "shares" (a score of at least .5),
    "outlier" (below that in every refit), "reverses" (an outlier of at most -.5, below 0 in every refit), "unclear", or
    "flat" (no effects).
    """

    tasks: tuple[Any, ...]
    score: Floats
    lowest: Floats
    highest: Floats
    verdict: tuple[str, ...]
    n_features: int

    @property
    def outliers(self) -> tuple[Any, ...]:
        """The tasks that are outliers, the farthest first; none where no more tasks share than are."""
        apart = [t for t, verdict in enumerate(self.verdict) if verdict in APART]
        if len(apart) >= self.verdict.count("shares"):
            return ()
        return tuple(self.tasks[t] for t in sorted(apart, key=lambda t: self.score[t]))

    def words(self) -> str:
        """Return which tasks are outliers, in a sentence."""
        shares, n_tasks = self.verdict.count("shares"), len(self.tasks)
        if self.outliers:
            return self._of_outliers()
        if shares == n_tasks:
            return "No task is an outlier: the curves of each go with those of the others."
        if any(verdict in APART for verdict in self.verdict):
            return f"The curves of {shares} of {n_tasks} tasks go with those of the others, too few for an outlier."
        return f"No task is a clear outlier: the curves of {shares} of {n_tasks} go with those of the others."

    def _of_outliers(self) -> str:
        listed = levels_in_words([str(task) for task in self.outliers], most=MOST_NAMED)
        if len(self.outliers) > 1:
            return f"Outliers are {listed}: their curves do not go with those of the other tasks."
        reverses = self.verdict[self.tasks.index(self.outliers[0])] == "reverses"
        way = "reverse" if reverses else "do not go with"
        return f"{listed} is an outlier: its curves {way} those of the other tasks."

    def describe(self, **words: Any) -> Plot:
        """Return a bar per task: how far its curves go with those of the others."""
        from gamcore.explain.plots.drifts import task_outliers

        return task_outliers(self, **words)

    def frame(self) -> pd.DataFrame:
        """Return one row per task, the farthest from the others first."""
        columns = {"task": self.tasks, "score": self.score, "lowest": self.lowest, "highest": self.highest,
                   "verdict": self.verdict}  # fmt: skip
        return pd.DataFrame(columns).sort_values("score", ignore_index=True, kind="stable")


def task_outliers(model: TaskModel, features: list[int]) -> TaskOutliers:
    """Compare each task's curves over some features with what most of the other tasks have in common.

    That is their first principal component: a task counts by how far it goes with all, not by its rows, and only over
    values of which it has training rows. Its sign is that of most tasks.
    """
    parts = [_curves(model, j) for j in features]
    own, share = (
        np.concatenate([curves for curves, _ in parts], axis=-1),
        np.concatenate([w for _, w in parts], axis=-1),
    )
    loading = _loadings(cosines(own.mean(axis=1), share))
    there = share > 0
    units = own.mean(axis=1) / np.maximum(np.sqrt((own.mean(axis=1) ** 2 * share).sum(axis=1)), TINY)[:, None]
    lent = np.where(there, loading[:, None] * units, 0.0)
    common = lent.sum(axis=0) - lent
    weight = np.where(there.sum(axis=0) > 1, share, 0.0)
    refits = _along(own, common[:, None], weight[:, None])
    score = _along(own.mean(axis=1), common, weight)
    lowest, highest = refits.min(axis=1), refits.max(axis=1)
    verdict = tuple(_verdict(*both) for both in zip(score, highest, strict=True))
    return TaskOutliers(model.tasks, score, lowest=lowest, highest=highest, verdict=verdict, n_features=len(features))


def _curves(model: TaskModel, feature: int) -> tuple[Floats, Floats]:
    """Return a feature's curves (T, K, size) in each task, and the share (T, size) of each code in a task's rows."""
    curves = np.stack([model.curve(feature, t) for t in range(len(model.tasks))])
    return curves, shares_of_codes(model, feature)


def _loadings(alike: Floats) -> Floats:
    """Return how far each task goes with what most have in common, (T,)."""
    first = np.linalg.eigh(np.nan_to_num(alike))[1][:, -1]
    return np.asarray(first * (1.0 if first.sum() >= 0 else -1.0))


def _along(own: Floats, common: Floats, weight: Floats) -> Floats:
    """Return the cosines of curves along the last axis; NaN where either is 0 throughout."""
    own, common = (curves / (np.abs(curves).max(initial=0.0) or 1.0) for curves in (own, common))
    norms = (own**2 * weight).sum(axis=-1) * (common**2 * weight).sum(axis=-1)
    inner = (own * common * weight).sum(axis=-1) / np.sqrt(np.maximum(norms, TINY))
    return np.asarray(np.where(norms > TINY, np.clip(inner, -1.0, 1.0), np.nan))


def _verdict(score: float, highest: float) -> str:
    if np.isnan(score):
        return "flat"
    if score >= AGREES:
        return "shares"
    if highest >= AGREES:
        return "unclear"
    return "reverses" if score <= -AGREES and highest < 0 else "outlier"
