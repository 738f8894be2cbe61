"""From rows of several tasks to a model: bin and deal the rows, boost the refits, and take their mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.calibration.balance import shift_to_balance
from gamcore.boosting.refit.loop import run_all
from gamcore.boosting.running.progress import Callback
from gamcore.common.types import Bools, Codes, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.data.sampling import deal, splits
from gamcore.data.table import learn_features, names_among
from gamcore.model.losses import Loss
from gamcore.multitask.boosting import MultiTaskRefit, TaskParameters, TaskProblem
from gamcore.multitask.model import TaskModel, assemble_tasks, count_codes, mean_scores
from gamcore.multitask.tables import TaskRows, bin_rows, owned_columns, rows_by_task, task_codes
from gamcore.multitask.trees import TreeTable

SLACK: Final = 1.0 - 1e-6
"""Factor of the least hessian of a child: sums are rounded, and five rows must count as five in any order."""


@dataclass(frozen=True)
class TaskTraining:
    """Rows of a fit as read, with targets (n,), and weights and clusters (n,) or None."""

    rows: TaskRows
    y: Floats
    weight: Floats | None
    clusters: Ints | None


@dataclass(frozen=True)
class TaskPlan:
    """The settings of a fit.

    parameters : penalty and least hessian of a child are in rows; see `in_weights`.
    common_features, task_column : which features common trees may split on, and whether on the task.
    """

    loss: Loss
    parameters: TaskParameters
    n_refits: int
    n_groups: int
    validation_fraction: float
    max_bins: int
    categorical_features: Sequence[str] | Literal["infer"]
    date_parts: bool
    common_features: Literal["all", "shared"] | Sequence[str]
    task_column: bool
    n_jobs: int


@dataclass(frozen=True)
class FittedTasks:
    """The result of a fit. validation_losses : (refits,)."""

    model: TaskModel
    validation_losses: Floats


def fit_tasks(data: TaskTraining, plan: TaskPlan, seed: int, callback: Callback | None) -> FittedTasks:
    """Fit common trees, then trees for each task."""
    rows, n_tasks = data.rows, len(data.rows.names)
    features = learn_features(rows.table, plan.categorical_features, plan.date_parts)
    owned = owned_columns(rows, [feature.column for feature in features])
    codes_of_tasks = task_codes(np.bincount(rows.task, minlength=n_tasks))
    binned = bin_rows(rows, features, owned=owned, of_task=codes_of_tasks, weight=data.weight, max_bins=plan.max_bins)
    for_groups, for_splits = np.random.SeedSequence(seed).spawn(2)
    strata = rows.task * 2 + (data.y.astype(np.int64) if plan.loss.is_binary else 0)
    dealt = deal(len(binned.codes[0]), plan.n_groups, for_groups, strata, data.clusters)
    group = np.empty(data.y.size, np.int64)
    group[dealt.order] = np.repeat(np.arange(dealt.n_groups), np.diff(dealt.starts))
    common = common_features(binned.bins, owned, plan.common_features)
    scale = float(data.y.std()) or 1.0 if plan.loss.is_scaled else 1.0
    weight = np.ones(data.y.size) if data.weight is None else data.weight
    unit = plan.loss.unit_of(data.y, weight)
    own_rows = rows_by_task(np.arange(data.y.size), rows.task, n_tasks)
    problem = TaskProblem(
        table=TreeTable.of(
            binned.codes,
            [bins.n_values for bins in binned.bins] + [int(codes_of_tasks.max())],
            [bins.feature.is_category for bins in binned.bins] + [True],
        ),
        task=rows.task.astype(np.int32),
        names=tuple(map(str, rows.names)),
        y=data.y / (scale * unit),
        weight=np.empty(0) if data.weight is None else data.weight,
        loss=plan.loss,
        common=usable(binned.codes, np.append(common, plan.task_column and n_tasks > 1)),
        own=tuple(
            usable(binned.codes[:, mine], np.append(has, False)) for mine, has in zip(own_rows, owned, strict=True)
        ),
        group=group,
    )
    base, events = problem.base_score(np.arange(problem.y.size)), float(np.mean(problem.y > 0))
    parameters, watch = in_weights(plan.parameters, plan.loss, base, events), callback is not None
    chosen = splits(dealt.n_groups, plan.validation_fraction, plan.n_refits, for_splits)
    tasks = [MultiTaskRefit(problem, split, parameters, watch) for split in chosen]
    refits = run_all(tasks, problem.y.size, plan.n_jobs, callback)
    about = TaskModel.about(
        bins=binned.bins, tasks=rows.names, aliases=rows.aliases, of_task=codes_of_tasks, owned=owned, common=common,
        loss=plan.loss, additive=plan.parameters.growth.one_feature,
    )  # fmt: skip
    units = scale, math.log(unit)
    model = assemble_tasks(about, refits, units, count_codes(about, binned.codes, rows.task, data.weight))
    model = replace(model, means=mean_scores(model, binned.codes, rows.task, data.weight))
    model = _balanced(model, data, weight, binned.codes)
    return FittedTasks(model, np.array([refit.valid_loss for refit in refits]) * plan.loss.loss_unit(scale, unit))


def in_weights(parameters: TaskParameters, loss: Loss, base: float, events: float) -> TaskParameters:
    """Convert penalty and least hessian from rows, as they weigh at the start.

    Of rare counts and of amounts with many zeros, it is rows with an event that are counted. base : score of the best
    constant. events : share of the rows whose target is above 0.
    """
    how, score = parameters.how, np.array([base])
    of_row = float(loss.curvature(loss.inverse_link(score), score)[0])
    penalty = loss.least_node(how.penalty, how.penalty * of_row, events)
    least = loss.least_node(how.least_hessian * SLACK, how.least_hessian * of_row * SLACK, events)
    return replace(parameters, how=how._replace(penalty=penalty, least_hessian=least))


def _balanced(model: TaskModel, data: TaskTraining, weight: Floats, codes: Codes) -> TaskModel:
    """Return the model with base scores for which all predictions and targets have the same sum, as `balance` has it.

    The sums of single tasks agree nearly: their levels are effects of trees, shrunk like any other.
    """
    if not model.loss.is_balanced:
        return model
    shift = shift_to_balance(model.loss, data.y, model.score(codes, data.rows.task), weight)
    return replace(model, base_scores=model.base_scores + shift, means=model.means + shift)


def common_features(bins: tuple[Bins, ...], owned: Bools, wanted: Literal["all", "shared"] | Sequence[str]) -> Bools:
    """Return which features common trees may use, (p,)."""
    if isinstance(wanted, str):
        return np.ones(len(bins), bool) if wanted == "all" else np.asarray(owned.all(axis=0))
    names = [of_feature.feature.name for of_feature in bins]
    chosen = names_among(names, wanted, "common_features")
    return np.array([name in chosen for name in names])


def usable(codes: NDArray[np.uint8], allowed: Bools) -> Ints:
    """Return the indices of the features that are allowed and vary."""
    varied = np.array([bool(np.any(line != line[:1])) for line in codes])
    return np.flatnonzero(varied & allowed).astype(np.int64)
