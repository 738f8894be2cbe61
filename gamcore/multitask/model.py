"""The model of multi-task trees: for each task, a common part and trees of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.model.losses import Loss
from gamcore.multitask.boosting import TaskRefit
from gamcore.multitask.tables import UNKNOWN
from gamcore.multitask.trees import Forest, concatenate, empty_trees, scaled

TreePart = Literal["whole", "common", "specific"]
FREE: Final = -1
"""Stands in place of the code of a feature that is averaged over."""


@dataclass(frozen=True)
class TaskModel:
    """The mean of refits, each a base score, common trees up to the round that a task keeps, and trees of the task.

    bins : (p,) features; owned : (T, p) which task has which feature; common : (p,) whether common trees may use it.
    task_codes : (T,) code of each task as a feature.
    forest : all trees; refit k uses for task t those from common_trees[k] to common_trees[k] + quits[k, t], and from
        own_trees[k, t] to own_trees[k, t + 1]. quits[k, T] is for unknown tasks; common trees end at own_trees[k, 0].
    means : (K, T + 1) mean score of each task's training rows; last, that of all rows by the common trees.
    counts : training rows (their weights) of each feature by task and code, (T, size + 1), *absent* last.
    """

    bins: tuple[Bins, ...]
    tasks: tuple[Any, ...]
    aliases: dict[str, str]
    task_codes: Ints
    owned: NDArray[np.bool_]
    common: NDArray[np.bool_]
    forest: Forest
    base_scores: Floats  # (K,)
    common_trees: Ints  # (K,)
    quits: Ints  # (K, T + 1)
    own_trees: Ints  # (K, T + 1)
    means: Floats  # (K, T + 1)
    counts: tuple[Floats, ...]
    loss: Loss
    additive: bool

    def with_bins(self, bins: tuple[Bins, ...]) -> TaskModel:
        """Return the model with other bins of the same sizes, such as those that know codes for missing."""
        return replace(self, bins=bins)

    @classmethod
    def about(
        cls,
        bins: tuple[Bins, ...],
        tasks: tuple[Any, ...],
        aliases: dict[str, str],
        of_task: Ints,
        owned: NDArray[np.bool_],
        common: NDArray[np.bool_],
        loss: Loss,
        additive: bool,
    ) -> TaskModel:
        """Return a model without trees yet."""
        none, nothing = np.empty(0, np.int64), np.empty(0)
        return cls(
            bins=bins, tasks=tasks, aliases=aliases, task_codes=of_task, owned=owned, common=common,
            forest=Forest(empty_trees()), base_scores=nothing, common_trees=none, quits=none, own_trees=none,
            means=nothing, counts=(), loss=loss, additive=additive,
        )  # fmt: skip

    @property
    def n_refits(self) -> int:
        """Number K of refits that the model averages."""
        return self.base_scores.size

    def ranges(self, k: int, t: int, part: TreePart = "whole") -> list[tuple[int, int]]:
        """Return the ranges [first, last) of trees of refit k that apply to task t."""
        first = int(self.common_trees[k])
        spans = [(first, first + int(self.quits[k, t]))] if part != "specific" else []
        if t != UNKNOWN and part != "common":
            spans.append((int(self.own_trees[k, t]), int(self.own_trees[k, t + 1])))
        return spans

    def _by_task(self, task: Ints) -> Iterator[tuple[int, Ints]]:
        """Yield each task that occurs, with the indices of its rows."""
        order = np.argsort(task, kind="stable")
        present, starts = np.unique(task[order], return_index=True)
        for t, rows in zip(present, np.split(order, starts)[1:], strict=True):
            yield int(t), rows

    def refit_scores(self, codes: Codes, task: Ints) -> Floats:
        """Return the scores (K, n) of rows by each refit; codes : (p + 1, n); task : (n,) index of each row's task."""
        scores = np.repeat(self.base_scores[:, None], task.size, axis=1)
        for t, rows in self._by_task(task):
            for k, line in enumerate(scores):
                for first, last in self.ranges(k, t):
                    self.forest.add(codes, rows, first, last, line)
        return scores

    def score(self, codes: Codes, task: Ints) -> Floats:
        """Return the scores (n,) of rows, the mean over refits."""
        return np.asarray(self.refit_scores(codes, task).mean(axis=0))

    def predict(self, codes: Codes, task: Ints) -> Floats:
        """Return the predictions (n,) in the target's units, or probabilities of the positive class."""
        return self.loss.inverse_link(self.score(codes, task))

    def contributions(self, codes: Codes, task: Ints) -> tuple[Floats, Floats]:
        """Return the bias (n,) and the contributions (n, p + 1), the task's last; they add up to the score.

        After Fang et al. 2018.
        """
        bias, shares = np.empty(task.size), np.zeros((task.size, len(codes)))
        for t, rows in self._by_task(task):
            parts = np.zeros((rows.size, len(codes)))
            bias[rows] = self.base_scores.mean()
            for k in range(self.n_refits):
                for first, last in self.ranges(k, t):
                    bias[rows] += self.forest.attribute(codes, rows, first, last, parts) / self.n_refits
            shares[rows] = parts / self.n_refits
        return bias, shares

    def weights(self, feature: int, t: int) -> Floats:
        """Return the training rows (size,) per code of a feature in task t; for UNKNOWN, in all tasks."""
        counts = self.counts[feature][:, :-1]
        return np.asarray(counts.sum(axis=0) if t == UNKNOWN else counts[t])

    def given(self, feature: int, t: int) -> Ints:
        """Return the fixed codes (p + 1,) for a curve: the task, *absent* for features it lacks; the rest is FREE."""
        codes = np.full(len(self.bins) + 1, FREE)
        if t != UNKNOWN:
            for j in np.flatnonzero(~self.owned[t]):
                codes[j] = self.bins[j].size
            codes[-1] = self.task_codes[t]
        codes[feature] = FREE
        return codes

    def curve(self, feature: int, t: int, part: TreePart = "whole") -> Floats:
        """Return the effect (K, size) of a feature on the score of a task, by refit and code.

        It is the mean over the other features, centred on the task's training rows. For UNKNOWN: the effect in the
        common trees, centred on the rows of all tasks.
        """
        size = self.bins[feature].size
        curve = np.zeros((self.n_refits, size))
        given = self.given(feature, t)
        for k, line in enumerate(curve):
            for first, last in self.ranges(k, t, part):
                self.forest.partial(first, last, feature, given, line)
        weights = self.weights(feature, t)
        if weights.sum() > 0:
            curve -= (curve @ weights / weights.sum())[:, None]
        return curve

    def gains(self) -> tuple[Floats, Floats]:
        """Return the summed gains per feature, mean over refits: in common trees (p + 1,), in own trees (T, p + 1)."""
        p, n_tasks = len(self.bins) + 1, len(self.tasks)
        common, own = np.zeros(p), np.zeros((n_tasks, p))
        for k in range(self.n_refits):
            common += self.forest.gains(int(self.common_trees[k]), int(self.own_trees[k, 0]), p)
            for t in range(n_tasks):
                own[t] += self.forest.gains(int(self.own_trees[k, t]), int(self.own_trees[k, t + 1]), p)
        return common / self.n_refits, own / self.n_refits


def assemble_tasks(
    about: TaskModel,
    refits: list[TaskRefit],
    units: tuple[float, float],
    counts: tuple[Floats, ...],
) -> TaskModel:
    """Return the mean of refits as one model, without the means of its scores.

    units : that of scores in boosting, and what to add to them. counts : see `TaskModel`.
    """
    scale, shift = units
    parts, common_trees, own_trees = [], [], []
    n_trees = 0
    for refit in refits:
        common_trees.append(n_trees)
        sizes = [trees.ends.size - 1 for trees in (refit.common, *refit.specific)]
        own_trees.append(n_trees + np.cumsum(sizes))
        n_trees += sum(sizes)
        parts += [refit.common, *refit.specific]
    return replace(
        about,
        forest=Forest(scaled(concatenate(parts), scale)),
        base_scores=np.array([refit.base_score for refit in refits]) * scale + shift,
        common_trees=np.array(common_trees, np.int64),
        quits=np.stack([refit.quits for refit in refits]),
        own_trees=np.stack(own_trees).astype(np.int64),
        counts=counts,
    )


def count_codes(about: TaskModel, codes: Codes, task: Ints, weight: Floats | None) -> tuple[Floats, ...]:
    """Return the `counts` of a model: of training rows with codes (p + 1, n), tasks (n,), and weights (n,) or None."""
    counts = []
    for of_feature, line in zip(about.bins, codes, strict=False):
        width = of_feature.size + 1
        cells = np.bincount(task * width + line, weight, len(about.tasks) * width)
        counts.append(cells.astype(np.float64).reshape(-1, width))
    return tuple(counts)


def mean_scores(model: TaskModel, codes: Codes, task: Ints, weight: Floats | None) -> Floats:
    """Return the mean score (K, T + 1) of each task's training rows; last, that of all rows by the common trees."""
    n_tasks = len(model.tasks)
    heavy = np.ones(task.size) if weight is None else weight
    totals = np.bincount(task, heavy, n_tasks)
    own = [np.bincount(task, line * heavy, n_tasks) / totals for line in model.refit_scores(codes, task)]
    if n_tasks == 1:
        return np.stack([np.append(line, line) for line in own])
    common = model.refit_scores(codes, np.full(task.size, UNKNOWN))
    return np.column_stack([np.stack(own), common @ heavy / heavy.sum()])
