"""The scikit-learn face of multi-task boosted trees."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from gamcore.boosting.executor import Executor
from gamcore.boosting.loop import Loop, Progress, run_all
from gamcore.data import table
from gamcore.data.binning import Bins
from gamcore.data.sampling import Split, deal, splits
from gamcore.estimators.base import (
    MAX_ROUNDS,
    MOST_REFITS,
    THREADS,
    TableEstimator,
    check_parameters,
    column,
    n_threads,
    numbers,
    one_of,
    place_of,
    plain,
    real,
    revive,
    whole,
)
from gamcore.explain import tasks as taskexplain
from gamcore.explain.curves import Breakdown, Curve
from gamcore.io import gamx as serialize
from gamcore.io.manifest import Saved
from gamcore.kernels import tree_splits as criteria
from gamcore.kernels.tree_growth import Growth
from gamcore.kernels.tree_splits import Splitting
from gamcore.model.additive import AdditiveModel
from gamcore.model.losses import LOSSES
from gamcore.multitask.boosting import TaskParameters, TaskProblem, TaskRefit, boost_tasks
from gamcore.multitask.model import Part, TaskModel, assemble_tasks
from gamcore.multitask.tables import (
    UNKNOWN,
    TaskRows,
    bin_rows,
    encode_rows,
    join_tables,
    ordered_names,
    owned_columns,
    places,
    read_labels,
    rows_by_task,
    task_codes,
)
from gamcore.multitask.trees import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SLACK = 1.0 - 1e-6
"""Of the least weight of a child: sums of hessians are rounded, and five rows must be five whatever their order."""

CRITERIA = {
    "none": criteria.NONE,
    "entropy": criteria.ENTROPY,
    "entropy_per_row": criteria.ENTROPY_PER_ROW,
    "variance": criteria.VARIANCE,
    "variance_relative": criteria.VARIANCE_RELATIVE,
    "pooled": criteria.POOLED,
}


@dataclass(frozen=True)
class _Training:
    """Rows of a fit: as read, their targets, weights and clusters."""

    rows: TaskRows
    y: Floats
    weight: Floats | None
    clusters: Ints | None


def _by_task(X: Any) -> bool:
    """Whether rows are given as a table a task; a sparse matrix may be a mapping, too."""
    return isinstance(X, Mapping) and not hasattr(X, "shape")


class MultiTaskTrees(TableEstimator):
    """What the regressor and the classifier share."""

    _kind: ClassVar[str]
    _loss: ClassVar[str]
    model_: TaskModel

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "criterion": one_of(*CRITERIA),
        "beta": real(0.0, np.inf, "left"),
        "additive": ["boolean"],
        "common_features": [StrOptions({"all", "shared"}), "array-like"],
        "task_column": ["boolean"],
        "own_quit": ["boolean"],
        "specific_depth": [*whole(0, 12), StrOptions({"auto"})],
        "max_depth": whole(1, 12),
        "max_leaves": [*whole(2, 4096), None],
        "max_rounds": whole(1, MAX_ROUNDS),
        "specific_rounds": whole(0, MAX_ROUNDS),
        "learning_rate": real(0.0, 1.0, "right"),
        "l2": real(0.0, np.inf, "left"),
        "min_child_weight": real(0.0, np.inf, "left"),
        "min_gain": real(0.0, np.inf, "left"),
        "max_bins": whole(5, 256),
        "n_groups": whole(1, 4096),
        "validation_fraction": real(0.0, 0.9, "both"),
        "early_stopping_rounds": whole(1, MAX_ROUNDS),
        "min_validation_rows": whole(1),
        "outer_bags": whole(1, MOST_REFITS),
        "categorical_features": [StrOptions({"infer"}), "array-like"],
        "date_parts": ["boolean"],
        "n_jobs": THREADS,
        "random_state": ["random_state"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        criterion: str = "none",
        beta: float = 0.5,
        additive: bool = False,
        common_features: Literal["all", "shared"] | Sequence[str] = "all",
        task_column: bool = True,
        own_quit: bool = True,
        specific_depth: int | Literal["auto"] = "auto",
        max_depth: int = 3,
        max_leaves: int | None = None,
        max_rounds: int = 300,
        specific_rounds: int = 300,
        learning_rate: float = 0.1,
        l2: float = 10.0,
        min_child_weight: float = 5.0,
        min_gain: float = 0.0,
        max_bins: int = 256,
        n_groups: int = 40,
        validation_fraction: float = 0.2,
        early_stopping_rounds: int = 20,
        min_validation_rows: int = 10,
        outer_bags: int = 8,
        categorical_features: Sequence[str] | Literal["infer"] = "infer",
        date_parts: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> None:
        self.criterion = criterion
        self.beta = beta
        self.additive = additive
        self.common_features = common_features
        self.task_column = task_column
        self.own_quit = own_quit
        self.specific_depth = specific_depth
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.max_rounds = max_rounds
        self.specific_rounds = specific_rounds
        self.learning_rate = learning_rate
        self.l2 = l2
        self.min_child_weight = min_child_weight
        self.min_gain = min_gain
        self.max_bins = max_bins
        self.n_groups = n_groups
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.min_validation_rows = min_validation_rows
        self.outer_bags = outer_bags
        self.categorical_features = categorical_features
        self.date_parts = date_parts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def fit(self, X: Any, y: Any = None, task: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to one table with a task a row, or to a table a task.

        X : table (n, p), cells empty where a task lacks the column; or {task: (X, y)}, each with columns of its own.
        y : (n,) targets; task : (n,) labels, None for a single task. Neither with a dict.
        sample_weight : (n,) non-negative; a weight of 0 leaves the row out. groups : (n,) labels; rows that share one
        stay together in every split. With a dict, n counts the rows of its tables in their order.
        """
        check_parameters(self)
        read = self._read_dict(X, y, task) if _by_task(X) else self._read_one(X, y, task)
        frame, target, labels, aliases = read
        numbered = frame.set_axis(pd.RangeIndex(len(frame)), axis=0)
        numbered, target, weight, clusters = self._read_rows(numbered, target, sample_weight, groups)
        labels = labels[numbered.index.to_numpy()]
        names = ordered_names(labels)
        rows = TaskRows(numbered.reset_index(drop=True), places(labels, names), names, aliases)
        self._check_target(target)
        self._fit_rows(_Training(rows, target.astype(np.float64), weight, clusters))
        return self

    def _read_one(self, X: Any, y: Any, task: Any) -> tuple[pd.DataFrame, NDArray[Any], NDArray[Any], dict[str, str]]:
        frame = self._read_table(X, reset=True)
        target = self._learn_target(y)
        if isinstance(task, str):
            raise table.TableError(f"task is {task!r}: give one label a row, such as X[{task!r}].")
        return frame, target, read_labels(task, len(frame)), {}

    def _read_dict(
        self, X: Mapping[Any, Any], y: Any, task: Any
    ) -> tuple[pd.DataFrame, NDArray[Any], NDArray[Any], dict[str, str]]:
        if y is not None or task is not None:
            raise table.TableError("A dict of tasks holds its own targets: leave y and task out.")
        fine = X and all(isinstance(part, tuple) and len(part) == 2 for part in X.values())
        if not fine:
            raise table.TableError("A dict of tasks has an (X, y) for each task: give at least one.")
        frame, place, aliases = join_tables({name: part[0] for name, part in X.items()})
        validate_data(self, frame, reset=True, skip_check_array=True)
        targets = [pd.Series(column(part[1])).reset_index(drop=True) for part in X.values()]
        for name, found, count in zip(X, targets, np.bincount(place, minlength=len(X)), strict=True):
            if len(found) != count:
                raise table.TableError(f"Task {name!r} has {count} rows and {len(found)} targets: give one a row.")
        labels = pd.Series(list(X), dtype=object).to_numpy()
        return frame, self._learn_target(pd.concat(targets, ignore_index=True)), labels[place], aliases

    def _learn_target(self, y: Any) -> NDArray[Any]:
        raise NotImplementedError

    def _check_target(self, target: NDArray[Any]) -> None:
        """Refuse a target that nothing can be learnt from."""

    def _fit_rows(self, data: _Training) -> None:
        """Bin, deal, boost and assemble; sets the fitted attributes."""
        rows, n_tasks = data.rows, len(data.rows.names)
        features = table.learn_features(rows.frame, self.categorical_features, self.date_parts)
        owned = owned_columns(rows, [feature.column for feature in features])
        of_task = task_codes(rows.task, n_tasks)
        binned = bin_rows(rows, features, owned, of_task, data.weight, self.max_bins)
        codes, bins = binned.codes, binned.bins
        seeds = np.random.SeedSequence(check_random_state(self.random_state).randint(2**31 - 1)).spawn(2)
        strata = rows.task * 2 + (data.y.astype(np.int64) if self._loss == "logistic" else 0)
        dealt = deal(len(codes[0]), self.n_groups, seeds[0], strata, data.clusters)
        group = np.empty(data.y.size, np.int64)
        group[dealt.order] = np.repeat(np.arange(dealt.n_groups), np.diff(dealt.starts))
        common = self._common(bins, owned)
        scale = float(data.y.std()) or 1.0 if self._loss == "squared" else 1.0
        problem = TaskProblem(
            Table.of(
                codes,
                [b.n_values for b in bins] + [int(of_task.max())],
                [b.feature.is_category for b in bins] + [True],
            ),
            rows.task.astype(np.int32),
            tuple(map(str, rows.names)),
            data.y / scale,
            np.empty(0) if data.weight is None else data.weight,
            LOSSES[self._loss],
            self._usable(codes, np.append(common, self.task_column and n_tasks > 1)),
            tuple(
                self._usable(codes[:, mine], np.append(has, False))
                for mine, has in zip(rows_by_task(np.arange(data.y.size), rows.task, n_tasks), owned, strict=True)
            ),
            group,
        )
        refits = self._boost(problem, splits(dealt.n_groups, self.validation_fraction, self.outer_bags, seeds[1]))
        self.model_ = assemble_tasks(
            TaskModel.about(bins, rows.names, rows.aliases, of_task, owned, common, LOSSES[self._loss], self.additive),
            refits, scale, codes, rows.task, data.weight,
        )  # fmt: skip
        self.tasks_ = np.array(rows.names, object)
        self.n_rounds_ = int(self.model_.quits.max(initial=0))
        self.validation_losses_ = np.array([refit.valid_loss for refit in refits]) * scale**2

    def _boost(self, problem: TaskProblem, chosen: list[Split]) -> list[TaskRefit]:
        base = problem.loss.base_score(problem.y, problem.weight if problem.weight.size else np.ones(problem.y.size))
        parameters = self._parameters(float(problem.loss.hessian(problem.y[:1], np.array([base]))[0]))

        def loop(number: int, within: Executor | None) -> Loop[TaskRefit]:
            return boost_tasks(problem, chosen[number], parameters, self.callback is not None)

        return run_all(loop, self.outer_bags, problem.y.size, n_threads(self.n_jobs), self.callback)

    def _common(self, bins: tuple[Bins, ...], owned: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which features common trees may use, (p,)."""
        if isinstance(self.common_features, str):
            return np.ones(len(bins), bool) if self.common_features == "all" else np.asarray(owned.all(axis=0))
        names = [of_feature.feature.name for of_feature in bins]
        found = np.zeros(len(bins), bool)
        for name in self.common_features:
            if str(name) not in names:
                raise table.TableError(f"common_features names {name!r}, which is not a feature of the table.")
            found[names.index(str(name))] = True
        return found

    def _usable(self, codes: NDArray[np.uint8], allowed: NDArray[np.bool_]) -> Ints:
        """Places of the features that are allowed and vary."""
        varied = np.array([bool(np.any(line != line[0])) for line in codes])
        return np.flatnonzero(varied & allowed).astype(np.int64)

    def _parameters(self, hessian: float) -> TaskParameters:
        """Parameters of both stages; hessian is that of a row at the start."""
        how = Splitting(
            CRITERIA[self.criterion], self.l2 * hessian, self.min_child_weight * hessian * SLACK, float(self.min_gain),
            float(self.beta),
        )  # fmt: skip
        most = 2**31 if self.max_leaves is None else self.max_leaves
        growth = Growth(self.max_depth, most, self.max_leaves is not None, self.additive)
        depths: tuple[int, ...] = tuple(sorted({1, self.max_depth}))
        if self.specific_depth != "auto":
            depths = (self.specific_depth,) if self.specific_depth and self.specific_rounds else ()
        return TaskParameters(
            how, growth, self.learning_rate, self.max_rounds, self.specific_rounds, self.early_stopping_rounds,
            self.min_validation_rows, self.own_quit, depths,
        )  # fmt: skip

    def _known_rows(self, X: Any, task: Any) -> tuple[NDArray[np.uint8], Ints]:
        """Codes (p + 1, n) and places of tasks of rows for a fitted model."""
        check_is_fitted(self, "model_")
        model = self.model_
        single = len(model.tasks) == 1 and task is None
        frame = self._read_table(X, reset=False) if single else self._read_part(X)
        if single:
            place = np.zeros(len(frame), np.int64)
        elif task is None:
            place = np.full(len(frame), UNKNOWN)
        else:
            place = places(read_labels(task, len(frame)), model.tasks)
        rows = TaskRows(frame, place, model.tasks, model.aliases)
        return encode_rows(rows, model.bins, model.owned, model.task_codes), place

    def _read_part(self, X: Any) -> pd.DataFrame:
        """A table that may lack columns of tasks that have no row in it."""
        if isinstance(X, pd.DataFrame) or hasattr(X, "to_pandas"):
            return table.as_frame(X if isinstance(X, pd.DataFrame) else X.to_pandas())
        return self._read_table(X, reset=False)

    def _place(self, task: Any) -> int:
        """Place of a task by its label; None is the common model."""
        check_is_fitted(self, "model_")
        if task is None:
            return UNKNOWN if len(self.model_.tasks) > 1 else 0
        if task not in self.model_.tasks:
            raise KeyError(f"The model has no task {task!r}; it has {', '.join(map(str, self.model_.tasks[:10]))}.")
        return self.model_.tasks.index(task)

    def _predicted(self, X: Any, task: Any, answer: Callable[[NDArray[np.uint8], Ints], Any]) -> Any:
        if _by_task(X):
            return {name: self._predicted(part, name, answer) for name, part in X.items()}
        return answer(*self._known_rows(X, task))

    def explain_shape(self, feature: str | int, task: Any = None, part: Part = "whole") -> Curve:
        """What a feature does to the score of a task, on the mean over its other features; exact where `additive`.

        task None: of the common trees, over all tasks. part: "common" or "specific" trees alone; they add up.
        """
        place = place_of(feature, [bins.feature.name for bins in self._fitted().bins])
        return taskexplain.task_shape(self.model_, place, self._place(task), part, self._train_share)

    def _fitted(self) -> TaskModel:
        check_is_fitted(self, "model_")
        return self.model_

    def importance(self) -> taskexplain.TaskImportance:
        """Gain of every feature, common and specific."""
        return taskexplain.task_importance(self._fitted())

    def agreement(self, feature: str | int) -> taskexplain.Agreement:
        """How a feature's curve in each task goes with the common one."""
        names = [bins.feature.name for bins in self._fitted().bins]
        return taskexplain.agreement(self.model_, place_of(feature, names))

    def similarity(self, features: Sequence[str | int] | None = None) -> pd.DataFrame:
        """How alike the curves of two tasks are, (T, T), -1 to 1; over the features that all tasks have, or these."""
        names = [bins.feature.name for bins in self._fitted().bins]
        shared = np.flatnonzero(self.model_.owned.all(axis=0)).tolist()
        wanted = shared if features is None else [place_of(feature, names) for feature in features]
        if not wanted:
            raise table.TableError("The tasks have no feature in common: name some to compare.")
        return taskexplain.similarity(self.model_, wanted)

    def explain_rows(self, X: Any, task: Any = None) -> Breakdown:
        """The contributions that add up to each row's score, the task's own among them (Fang et al. 2018)."""
        return taskexplain.task_breakdown(self._fitted(), *self._known_rows(X, task))

    def additive_model(self, task: Any) -> AdditiveModel:
        """The model of one task as terms, where `additive`: the same as that of the GAM estimators."""
        if not self._fitted().additive:
            raise table.TableError("Trees of several features are no sum of curves: train with additive=True.")
        if self._place(task) == UNKNOWN:
            raise table.TableError("An unknown task has no curves of its own: name a task.")
        return taskexplain.additive_model(self.model_, self._place(task))

    def rounds(self) -> pd.DataFrame:
        """One row a task: rounds of common trees that it kept, and trees of its own, as means over the refits."""
        model = self._fitted()
        own = np.diff(model.own_trees, axis=1)
        told = {"task": list(model.tasks), "common": model.quits[:, :-1].mean(axis=0), "specific": own.mean(axis=0)}
        return pd.DataFrame(told)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a `.gamx` file, whole or not at all."""
        serialize.save(self.to_saved(), path)

    def to_saved(self, **about: Any) -> Saved:
        """The fitted model with its parameters and versions; `about` adds plain JSON values."""
        model = self._fitted()
        classes = tuple(getattr(self, "classes_", np.empty(0)).tolist())
        losses = {"validation_losses": [plain(loss) for loss in self.validation_losses_.tolist()]}
        return Saved(self._kind, model, classes, self._about() | losses | about)


class MultiTaskTreesRegressor(RegressorMixin, MultiTaskTrees):  # type: ignore[misc]
    """Boosted trees for a real target in several related tasks, with a common and a specific part.

    Stage 1 grows trees on the rows of all tasks; a task leaves them when its own validation rows no longer gain. Stage
    2 gives each task trees of its own, on all its columns, as long as its validation rows gain (Zhang and Li, CIKM
    2019). The model is the mean of `outer_bags` refits with their own validation rows.

    Parameters
    ----------
    criterion : "none" | "entropy" | "entropy_per_row" | "variance" | "variance_relative" | "pooled"
        How the common trees choose a split: by pooled gain; times the entropy of the tasks' shares of it (Eq. 5), or of
        their gains a row; less `beta` times the variance of the tasks' gains (Eq. 6), or of that over their mean; or
        less the harm that shared leaves do. docs/multitask.md says what they are worth.
    additive : bool
        Trees of one feature each: every task is then a sum of curves, a common one and its own deviation.
    common_features : "all" | "shared" | list of names
        What common trees may use: every column, absent being a value of its own; those that all tasks have, as in the
        paper; or these.
    task_column : bool
        Whether common trees may split on the task.
    own_quit : bool
        Whether a task leaves the common trees by its own validation loss, or all by the pooled one.
    specific_depth : int or "auto"
        Depth of a task's own trees, 0 for none; "auto" tries 1 and `max_depth` on its validation rows.
    max_depth, max_leaves : int, int or None
        Trees grow level by level to a depth; with `max_leaves` the best leaf is split first.
    max_rounds, specific_rounds, learning_rate : int, int, float
    l2, min_child_weight, min_gain : float
        Rows of effect 0 that are added to a leaf (lambda, in units of a row's hessian at the start); least rows of a
        child, in the same units; gain that a split must exceed, the target in units of its standard deviation.
    max_bins : int
        Codes a feature, the missing, unseen and absent ones included.
    validation_fraction, early_stopping_rounds, min_validation_rows : float, int, int
        Share of each task's rows held out of a refit; rounds without improvement after which a task quits; tasks with
        fewer validation rows follow the pooled loss, and have no trees of their own.
    n_groups, outer_bags, categorical_features, date_parts, n_jobs, random_state, callback :
        As in `GAMRegressor`. The callback is told a round of stage 1 and a task of stage 2 at a time, and who quits.

    Attributes
    ----------
    model_ : TaskModel
    tasks_ : labels of the tasks, in order.
    n_rounds_ : most common rounds that a task kept.
    validation_losses_ : (outer_bags,) mean squared error on each refit's validation rows.
    """

    _kind: ClassVar[str] = "multitask_regressor"
    _loss: ClassVar[str] = "squared"

    def _learn_target(self, y: Any) -> NDArray[Any]:
        return table.read_numeric_target(column(y))

    def predict(self, X: Any, task: Any = None) -> Any:
        """Predictions (n,) in the target's units; a dict of tables gives a dict.

        task : (n,) labels, or one for all rows. Rows of an unknown task, or of none, are served by the common trees.
        """
        return self._predicted(X, task, self._fitted().predict)


class MultiTaskTreesClassifier(ClassifierMixin, MultiTaskTrees):  # type: ignore[misc]
    """Boosted trees for two classes in several related tasks; parameters are those of `MultiTaskTreesRegressor`.

    Attributes
    ----------
    model_, tasks_, n_rounds_ : as in `MultiTaskTreesRegressor`.
    classes_ : (2,) labels in order; probabilities and scores are those of the second. A task may have one class only.
    validation_losses_ : (outer_bags,) mean log-loss on each refit's validation rows.
    """

    _kind: ClassVar[str] = "multitask_classifier"
    _loss: ClassVar[str] = "logistic"

    def _learn_target(self, y: Any) -> NDArray[Any]:
        codes, self.classes_ = table.read_class_target(column(y))
        return codes

    def _check_target(self, target: NDArray[Any]) -> None:
        if np.ptp(target) == 0:
            raise table.TableError("Only one class has rows of positive weight: give the other class some.")

    def decision_function(self, X: Any, task: Any = None) -> Any:
        """Log-odds (n,) of the second class."""
        return self._predicted(X, task, self._fitted().score)

    def predict_proba(self, X: Any, task: Any = None) -> Any:
        """Probabilities (n, 2) of the classes in the order of `classes_`; `task` as in the regressor's `predict`."""

        def answer(codes: NDArray[np.uint8], place: Ints) -> Floats:
            chance = self._fitted().predict(codes, place)
            return np.stack([1.0 - chance, chance], axis=1)

        return self._predicted(X, task, answer)

    def predict(self, X: Any, task: Any = None) -> Any:
        """The likelier class of each row, (n,)."""

        def answer(codes: NDArray[np.uint8], place: Ints) -> NDArray[Any]:
            return np.asarray(self.classes_[(self._fitted().score(codes, place) > 0).astype(np.int64)])

        return self._predicted(X, task, answer)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def task_estimator(saved: Saved, model: TaskModel) -> MultiTaskTreesRegressor | MultiTaskTreesClassifier:
    """A fitted estimator from a saved model."""
    estimator = revive(
        MultiTaskTreesClassifier if saved.kind == "multitask_classifier" else MultiTaskTreesRegressor, saved
    )
    estimator.model_ = model
    estimator.tasks_ = np.array(model.tasks, object)
    estimator.n_rounds_ = int(model.quits.max(initial=0))
    estimator.validation_losses_ = np.array(numbers(saved.about.get("validation_losses")), np.float64)
    if isinstance(estimator, MultiTaskTreesClassifier):
        estimator.classes_ = np.array(saved.classes)
    return estimator
