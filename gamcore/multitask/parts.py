"""Multi-task trees of rows in parts that are elsewhere: each refit learns from all rows, or those of its own share.

What is additive is summed over all rows, exactly, so it depends neither on the parts nor on their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.rows.counted import spread_about
from gamcore.boosting.rows.in_parts import Parts
from gamcore.boosting.rows.share import RowsOfRefit, by_appearance, cluster_of, gathered, rows_of_refits, target_of
from gamcore.boosting.rows.source import Dealing
from gamcore.boosting.rows.sums import Part, base_of, targets_left, weighed, weight_moments, weighted_targets
from gamcore.boosting.running.executor import Executor
from gamcore.boosting.running.progress import Callback, Loop
from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.data.sampling import Split, deal
from gamcore.kernels import CODE
from gamcore.model.losses import Loss
from gamcore.multitask.boosting import TaskParameters, TaskProblem, TaskRefit, boost_tasks
from gamcore.multitask.fit import FittedTasks, TaskPlan, common_features, in_weights, usable
from gamcore.multitask.model import TaskModel, assemble_tasks
from gamcore.multitask.tables import UNKNOWN, rows_by_task
from gamcore.multitask.trees import TreeTable
from gamcore.stats.exact import counted, grain, whole_weights


@dataclass(frozen=True)
class TasksInParts:
    """Coded rows of several tasks in parts.

    names, owned, of_task : the tasks, which columns they have (T, p), and their codes (T,). sizes : (BUCKETS,) rows of
    each bucket. most : rows that a refit may have in memory. weighted, clustered : whether rows have weights, clusters.
    """

    parts: Parts
    bins: tuple[Bins, ...]
    names: tuple[Any, ...]
    owned: Bools
    of_task: Ints
    sizes: Ints
    most: int
    weighted: bool = False
    clustered: bool = False


@dataclass(frozen=True)
class TaskRecipe:
    """How parts become a problem.

    last, nominal : see `TreeTable`. common, own : (p + 1,), (T, p + 1) features that common trees and those of each
    task may split on. unit : of targets.
    """

    last: Ints
    nominal: Bools
    names: tuple[str, ...]
    loss: Loss
    common: Bools
    own: Bools
    unit: float
    weighted: bool
    clustered: bool

    def problem(self, parts: Sequence[Part], rows: Sequence[Ints], dealing: Dealing) -> TaskProblem:
        """Return some rows of each part, dealt into groups."""
        codes = np.empty((self.last.size, sum(inside.size for inside in rows)), CODE)
        first = 0
        for part, inside in zip(parts, rows, strict=True):
            codes[:, first : first + inside.size] = part.codes[:, inside]
            first += inside.size
        task: Ints = gathered(parts, rows, _task)
        y = gathered(parts, rows, target_of)
        clusters = by_appearance(gathered(parts, rows, cluster_of)) if self.clustered else None
        strata: Ints = task * 2 + (y.astype(np.int64) if self.loss.is_binary else 0)
        dealt = deal(y.size, dealing.n_groups, dealing.groups, strata, clusters)
        group = np.empty(y.size, np.int64)
        group[dealt.order] = np.repeat(np.arange(dealt.n_groups), np.diff(dealt.starts))
        of_tasks = rows_by_task(np.arange(y.size), task, len(self.names))
        return TaskProblem(
            TreeTable(codes, self.last, self.nominal),
            task=task.astype(np.int32),
            names=self.names,
            y=y / self.unit,
            weight=gathered(parts, rows, _weight) if self.weighted else np.empty(0),
            loss=self.loss,
            common=usable(codes, self.common),
            own=tuple(usable(codes[:, mine], has) for mine, has in zip(of_tasks, self.own, strict=True)),
            group=group,
        )


@dataclass(frozen=True)
class ShareOfTasks:
    """What one refit learns from, made of its rows when it begins."""

    recipe: TaskRecipe
    refit_rows: RowsOfRefit

    def load(self) -> tuple[TaskProblem, Split]:
        """Read the rows, deal them, and draw the validation groups."""
        problem = self.recipe.problem(self.refit_rows.parts, self.refit_rows.rows(), self.refit_rows.dealing)
        return problem, self.refit_rows.split(int(problem.group.max()) + 1)


@dataclass(frozen=True)
class RefitOfParts:
    """One refit of multi-task trees, as data that can be pickled."""

    share: ShareOfTasks
    parameters: TaskParameters
    watch: bool

    def run(self, within: Executor | None) -> Loop[TaskRefit]:
        """Boost the refit in this thread; see `boost_tasks`."""
        return boost_tasks(*self.share.load(), self.parameters, self.watch)


def fit_tasks_in_parts(rows: TasksInParts, plan: TaskPlan, seed: int, callback: Callback | None) -> FittedTasks:
    """Fit common trees, then trees for each task; see `fit_tasks`."""
    parts, loss = rows.parts, plan.loss
    for_groups, for_splits = np.random.SeedSequence(seed).spawn(2)
    dealing = Dealing(plan.n_refits, plan.n_groups, plan.validation_fraction, for_groups, for_splits)
    scale = spread_about(parts, parts.sum(targets_left)) if loss.is_scaled else 1.0
    unit = loss.unit_of(np.array([parts.sum(weighted_targets).mean]), np.ones(1))
    base = (base_of(parts, loss) - math.log(unit)) / scale
    parameters = in_weights(plan.parameters, loss, base, parts.sum(_events) / parts.n_rows)
    recipe = _recipe(rows, plan, scale * unit)
    most = None if parts.n_rows <= rows.most else rows.most
    tasks = [
        RefitOfParts(ShareOfTasks(recipe, refit_rows), parameters, callback is not None)
        for refit_rows in rows_of_refits(parts.handles, rows.sizes, most, dealing)
    ]
    refits = parts.refit(tasks, min(rows.most, parts.n_rows), plan.n_jobs, callback, {})
    about = TaskModel.about(
        bins=rows.bins, tasks=rows.names, aliases={}, of_task=rows.of_task, owned=rows.owned,
        common=recipe.common[:-1], loss=loss, additive=plan.parameters.growth.one_feature,
    )  # fmt: skip
    model = assemble_tasks(about, refits, (scale, math.log(unit)), _counts(rows))
    model = _balanced(replace(model, means=_means(model, parts)), parts)
    return FittedTasks(model, np.array([refit.valid_loss for refit in refits]) * loss.loss_unit(scale, unit))


def _recipe(rows: TasksInParts, plan: TaskPlan, unit: float) -> TaskRecipe:
    common = common_features(rows.bins, rows.owned, plan.common_features)
    return TaskRecipe(
        last=np.array([*(of_feature.n_values for of_feature in rows.bins), rows.of_task.max()], np.int64),
        nominal=np.array([*(of_feature.feature.is_category for of_feature in rows.bins), True]),
        names=tuple(map(str, rows.names)),
        loss=plan.loss,
        common=np.append(common, plan.task_column and len(rows.names) > 1),
        own=np.column_stack([rows.owned, np.zeros(len(rows.names), bool)]),
        unit=unit,
        weighted=rows.weighted,
        clustered=rows.clustered,
    )


def _counts(rows: TasksInParts) -> tuple[Floats, ...]:
    """Return the `counts` of a model."""
    widths = tuple(of_feature.size + 1 for of_feature in rows.bins)
    unit = grain(rows.parts.sum(weight_moments).sum) if rows.weighted else 1.0
    sums = rows.parts.sum(partial(_code_counts, widths, len(rows.names), unit)) * unit
    ends = np.cumsum(np.array(widths) * len(rows.names))[:-1]
    return tuple(sum_by_code.reshape(len(rows.names), -1) for sum_by_code in np.split(sums, ends))


def _code_counts(widths: Sequence[int], n_tasks: int, unit: float, part: Part) -> NDArray[np.int64]:
    """Return the rows (their weights in units) of each task and code, those of all features end to end."""
    weight, task = whole_weights(part.weight, unit)[1], _task(part)
    lines = zip(part.codes, widths, strict=False)
    return np.concatenate([counted(task * width + line, n_tasks * width, weight) for line, width in lines])


def _means(model: TaskModel, parts: Parts) -> Floats:
    """Return the mean score (K, T + 1) of each task's training rows; last, that of all rows by the common trees."""
    sums = parts.sum(partial(_score_sums, model))
    means = np.array([[total / sums[0, t] for t, total in enumerate(line)] for line in sums[1:]], np.float64)
    if len(model.tasks) == 1:
        means[:, -1] = means[:, 0]
    return means


def _score_sums(model: TaskModel, part: Part) -> NDArray[Any]:
    """Return exact sums (1 + K, T + 1): of the weights of each task's rows and of all, then of their scores."""
    task = _task(part)
    common = model.refit_scores(part.codes, np.full(task.size, UNKNOWN))
    own = model.refit_scores(part.codes, task)
    mine = rows_by_task(np.arange(task.size), task, len(model.tasks))
    ones = np.ones(task.size)
    sums = [
        [*(_weighed(line, part, inside) for inside in mine), _weighed(whole, part, slice(None))]
        for line, whole in zip([ones, *own], [ones, *common], strict=True)
    ]
    return np.array(sums, object)


def _weighed(values: Floats, part: Part, rows: Any) -> int:
    return weighed(values[rows], None if part.weight is None else part.weight[rows])


def _balanced(model: TaskModel, parts: Parts) -> TaskModel:
    """Return the model with base scores for which all predictions and targets have the same sum."""
    if not model.loss.is_balanced:
        return model
    targets, means = parts.sum(partial(_sums, model))
    shift = model.loss.base_score(np.array([targets / means]), np.ones(1)) if targets > 0 else 0.0
    return replace(model, base_scores=model.base_scores + shift, means=model.means + shift)


def _sums(model: TaskModel, part: Part) -> NDArray[Any]:
    """Return the exact sums of targets and of predicted means."""
    means = model.predict(part.codes, _task(part))
    return np.array([weighed(part.y, part.weight), weighed(means, part.weight)], object)


def _events(part: Part) -> int:
    return int(np.count_nonzero(part.y > 0))


def _task(part: Part) -> Ints:
    assert part.task is not None
    return part.task.astype(np.int64)


def _weight(part: Part) -> Floats:
    assert part.weight is not None
    return part.weight
