"""The scikit-learn interface of multi-task boosted trees."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gamcore.common.types import Floats, Ints
from gamcore.data.columns import TableError
from gamcore.data.table import Table, as_table
from gamcore.data.targets import read_class_target, read_numeric_target
from gamcore.distributed.pieces import is_in_pieces
from gamcore.estimators.base import (
    by_position,
    check_parameters,
    column,
    n_threads,
    numbers,
    place_of,
    plain,
    read_rows,
    read_table,
    revive,
    train_share,
)
from gamcore.estimators.multitask_parameters import MultiTaskParameters, MultiTaskRegressorParameters
from gamcore.estimators.pieces import check_alone
from gamcore.estimators.progress_bar import listening
from gamcore.estimators.scores import share_explained, share_right, warn_of_missing, warn_of_no_tasks
from gamcore.estimators.task_pieces import fit_task_pieces, keep
from gamcore.explain import tasks as explain
from gamcore.explain.curves import Breakdown, Curve
from gamcore.explain.task_outliers import TaskOutliers, task_outliers
from gamcore.io import gamx
from gamcore.io.manifest import Saved
from gamcore.model.additive import AdditiveModel
from gamcore.model.losses import LOSSES, Loss
from gamcore.model.power_losses import TweedieLoss
from gamcore.multitask.fit import FittedTasks, TaskPlan, TaskTraining, fit_tasks
from gamcore.multitask.model import TaskModel, TreePart
from gamcore.multitask.tables import (
    UNKNOWN,
    TaskRows,
    encode_rows,
    join_tables,
    ordered_names,
    places,
    read_labels,
)

TASK: Final = {"task": True}
"""Metadata routing passes tasks on without being asked: they can mean one thing only."""


def _by_task(X: Any) -> bool:
    """Return whether rows are given as a table per task. A sparse matrix may be a mapping too."""
    return isinstance(X, Mapping) and not hasattr(X, "shape")


def _check_dict(X: Mapping[Any, Any], y: Any, task: Any) -> None:
    """Raise TableError unless rows are given as a table and its targets per task."""
    if y is not None or task is not None:
        raise TableError("A dict of tasks holds its own targets: leave y and task out.")
    if not (X and all(isinstance(part, tuple) and len(part) == 2 for part in X.values())):
        raise TableError("A dict of tasks has an (X, y) for each task: give at least one.")


class MultiTaskTrees(MultiTaskParameters):
    """Base class of the regressor and the classifier."""

    model_: TaskModel

    __metadata_request__fit = TASK
    __metadata_request__predict = TASK
    __metadata_request__predict_proba = TASK
    __metadata_request__decision_function = TASK
    __metadata_request__score = TASK

    def fit(
        self, X: Any, y: Any = None, task: Any = None, sample_weight: Any = None, groups: Any = None, client: Any = None
    ) -> Self:
        """Fit to one table with a task per row, to a table per task, or to a table in pieces.

        X : table (n, p), cells empty where a task lacks the column; or {task: (X, y)}, each with columns of its own.
        y : (n,) targets; task : (n,) labels, None for a single task. Neither with a dict.
        sample_weight : (n,) non-negative; only their ratios matter, and a weight of 0 leaves the row out.
        groups : (n,) labels; rows that share one stay together in every split. With a dict, n counts the rows
        of its tables in their order. With a table in pieces (see `GAMRegressor.fit`), all of these are names of
        columns. client : a Dask client whose workers learn from the pieces; None for this machine.
        """
        if is_in_pieces(X):
            columns = {"y": y, "task": task, "sample_weight": sample_weight, "groups": groups}
            return fit_task_pieces(self, X, columns, client)
        check_alone(client)
        check_parameters(self)
        read = self._read_dict(X, y, task) if _by_task(X) else self._read_one(X, y, task)
        table, target, labels, aliases = read
        numbered = as_table(table.frame.set_axis(pd.RangeIndex(len(table)), axis=0))
        kept = read_rows(self, numbered, target, sample_weight, groups)
        labels = labels[kept.table.frame.index.to_numpy()]
        names = ordered_names(labels)
        rows = TaskRows(as_table(kept.table.frame.reset_index(drop=True)), places(labels, names), names, aliases)
        self._check_target(kept.y)
        data = TaskTraining(rows, kept.y.astype(np.float64), kept.weight, kept.clusters)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        with listening(self.callback) as callback:
            return keep(self, fit_tasks(data, self._plan(), seed, callback))

    def _read_one(self, X: Any, y: Any, task: Any) -> tuple[Table, NDArray[Any], NDArray[Any], dict[str, str]]:
        table = read_table(self, X, reset=True)
        target = self._learn_target(y)
        if isinstance(task, str):
            raise TableError(f"task is {task!r}: give one label per row, such as X[{task!r}].")
        return table, target, read_labels(task, len(table)), {}

    def _read_dict(
        self, X: Mapping[Any, Any], y: Any, task: Any
    ) -> tuple[Table, NDArray[Any], NDArray[Any], dict[str, str]]:
        _check_dict(X, y, task)
        frame, place, aliases = join_tables({name: part[0] for name, part in X.items()})
        validate_data(self, frame, reset=True, skip_check_array=True)
        targets = [pd.Series(column(part[1])).reset_index(drop=True) for part in X.values()]
        for name, targets_of_task, count in zip(X, targets, np.bincount(place, minlength=len(X)), strict=True):
            if len(targets_of_task) != count:
                raise TableError(
                    f"Task {name!r} has {count} rows and {len(targets_of_task)} targets: give one per row."
                )
        labels = pd.Series(list(X), dtype=object).to_numpy()
        return as_table(frame), self._learn_target(pd.concat(targets, ignore_index=True)), labels[place], aliases

    def _learn_target(self, y: Any) -> NDArray[Any]:
        raise NotImplementedError

    def _check_target(self, target: NDArray[Any]) -> None:
        """Raise TableError for a target that nothing can be learnt from."""

    def _plan(self) -> TaskPlan:
        """Return the plan of a fit."""
        return TaskPlan(
            loss=self._loss,
            parameters=self.boosting_parameters(),
            n_refits=self.outer_bags,
            n_groups=self.n_groups,
            validation_fraction=self.validation_fraction,
            max_bins=self.max_bins,
            categorical_features=self.categorical_features,
            date_parts=self.date_parts,
            common_features=self.common_features,
            task_column=self.task_column,
            n_jobs=n_threads(self.n_jobs),
        )

    def _known_rows(self, X: Any, task: Any) -> tuple[NDArray[np.uint8], Ints]:
        """Return the codes (p + 1, n) and task indices (n,) of rows for a fitted model."""
        check_is_fitted(self, "model_")
        model = self.model_
        single = len(model.tasks) == 1 and task is None
        table = read_table(self, X, reset=False) if single else _read_part(self, X)
        if single:
            place = np.zeros(len(table), np.int64)
        elif task is None:
            warn_of_no_tasks(len(model.tasks))
            place = np.full(len(table), UNKNOWN)
        else:
            place = places(read_labels(task, len(table)), model.tasks)
        rows = TaskRows(table, place, model.tasks, model.aliases)
        return encode_rows(rows, model.bins, model.owned, model.task_codes), place

    def _place(self, task: Any) -> int:
        """Return the index of a task by its label; None means the common model, or the only task."""
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

    def explain_shape(self, feature: str | int, task: Any = None, part: TreePart = "whole") -> Curve:
        """Return the mean effect of a feature on the score of a task, over its other features; exact where
        `additive`.

        task None: the common trees, over all tasks. part: "common" or "specific" trees alone; the two add up.
        """
        place = place_of(feature, [bins.feature.name for bins in self._fitted().bins])
        return explain.task_shape(self.model_, place, self._place(task), part, train_share(self))

    def _fitted(self) -> TaskModel:
        check_is_fitted(self, "model_")
        return self.model_

    def importance(self) -> explain.TaskImportance:
        """Return the gain of every feature, common and specific."""
        return explain.task_importance(self._fitted())

    @property
    def feature_importances_(self) -> Floats:
        """Share (n_features_in_,) of each column of the table in the gain of all splits, common and of all tasks
        (`importance`), for scikit-learn's selectors. The shares add up to 1, beside that of splits on the task."""
        gains = self.importance()
        return self._shares_of_columns((gains.common + gains.specific.sum(axis=0))[:-1])

    def agreement(self, feature: str | int) -> explain.Agreement:
        """Return how well a feature's curve in each task agrees with the common one."""
        names = [bins.feature.name for bins in self._fitted().bins]
        return explain.agreement(self.model_, place_of(feature, names))

    def similarity(self, features: Sequence[str | int] | None = None) -> pd.DataFrame:
        """Return the similarity of the curves of each two tasks, (T, T), -1 to 1.

        It is taken over the given features, else over those that all tasks have.
        """
        return explain.similarity(self.model_, self._compared(features))

    def outliers(self, features: Sequence[str | int] | None = None) -> TaskOutliers:
        """Return how far each task's curves go with those of the other tasks, and which tasks are outliers.

        They are compared over the given features, else over those that all tasks have.
        """
        return task_outliers(self.model_, self._compared(features))

    def _compared(self, features: Sequence[str | int] | None) -> list[int]:
        """Return the places of some features, or of those that all tasks have."""
        names = [bins.feature.name for bins in self._fitted().bins]
        shared = np.flatnonzero(self.model_.owned.all(axis=0)).tolist()
        wanted = shared if features is None else [place_of(feature, names) for feature in features]
        if not wanted:
            raise TableError("The tasks have no feature in common: name some to compare.")
        return wanted

    def explain_rows(self, X: Any, task: Any = None) -> Breakdown:
        """Return the contributions that add up to each row's score, the task's own among them (Fang et al. 2018)."""
        return explain.task_breakdown(self._fitted(), *self._known_rows(X, task))

    def additive_model(self, task: Any) -> AdditiveModel:
        """Return one task's model as an additive model like those of the GAM estimators; requires `additive`."""
        if not self._fitted().additive:
            raise TableError("Trees of several features are not a sum of curves: train with additive=True.")
        if self._place(task) == UNKNOWN:
            raise TableError("An unknown task has no curves of its own: name a task.")
        return explain.additive_model(self.model_, self._place(task))

    def rounds(self) -> pd.DataFrame:
        """Return one row per task: common rounds kept and trees of its own, as means over refits."""
        model = self._fitted()
        own = np.diff(model.own_trees, axis=1)
        columns = {"task": list(model.tasks), "common": model.quits[:, :-1].mean(axis=0), "specific": own.mean(axis=0)}
        return pd.DataFrame(columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a `.gamx` file, atomically."""
        gamx.save(self._to_saved(), path)

    def _to_saved(self, **about: Any) -> Saved:
        """Return the fitted model with its parameters and versions; `about` adds plain JSON values."""
        model = self._fitted()
        classes = tuple(getattr(self, "classes_", np.empty(0)).tolist())
        losses = {"validation_losses": [plain(loss) for loss in self.validation_losses_.tolist()]}
        return Saved(f"multitask_{self._loss.kind}", model, classes, self._about() | losses | about)


def _read_part(model: MultiTaskTrees, X: Any) -> Table:
    """Return a table, which may lack the columns of tasks without rows in it."""
    frame = X.to_pandas() if hasattr(X, "to_pandas") else X
    if not isinstance(frame, pd.DataFrame):
        return read_table(model, X, reset=False)
    table = Table.of(frame)
    if (ordered := by_position(model, table)) is not table:
        validate_data(model, frame, reset=False, skip_check_array=True)  # which warns
    return ordered


def _observed(model: MultiTaskTrees, X: Any, y: Any, task: Any) -> tuple[Any, NDArray[Any]]:
    """Return the targets (n,) of rows, given as for `fit`, and what is predicted of them."""
    if not _by_task(X):
        predicted = model.predict(X, task)
        warn_of_missing(["task"] if len(model.model_.tasks) > 1 else [], {"task": task}, stacklevel=4)
        return column(y), predicted
    _check_dict(X, y, task)
    targets = [pd.Series(column(part[1])) for part in X.values()]
    predicted = [model.predict(part[0], name) for name, part in X.items()]
    return pd.concat(targets, ignore_index=True), np.concatenate(predicted)


class MultiTaskTreesRegressor(RegressorMixin, MultiTaskRegressorParameters, MultiTaskTrees):  # type: ignore[misc]
    """Boosted trees for a number in several related tasks, with a common and a specific part.

    Stage 1 grows trees on the rows of all tasks; a task leaves them when its own validation rows no longer gain. Stage
    2 gives each task trees of its own, on all its columns, as long as its validation rows gain (Zhang and Li, CIKM
    2019). The model is the mean of `outer_bags` refits with their own validation rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    model_ : TaskModel
    tasks_ :
        Labels of the tasks, in order.
    n_rounds_ :
        Most common rounds that a task kept.
    validation_losses_ : (outer_bags,)
        Mean squared error on each refit's validation rows; mean deviance for the other objectives.
    """

    @property
    def _loss(self) -> Loss:
        """The loss that boosting minimises."""
        loss = LOSSES[self.objective]
        return replace(loss, power=self.power) if isinstance(loss, TweedieLoss) else loss

    def _learn_target(self, y: Any) -> NDArray[Any]:
        return read_numeric_target(column(y))

    def _check_target(self, target: NDArray[Any]) -> None:
        if refusal := self._loss.refusal(target):
            raise TableError(refusal)

    def predict(self, X: Any, task: Any = None) -> Any:
        """Return the predictions (n,) in the target's units, means; a dict of tables gives a dict.

        task : (n,) labels, or one for all rows. Rows of an unknown task, or of none, are served by the common trees.
        """
        return self._predicted(X, task, self._fitted().predict)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, task: Any = None) -> float:
        """Return the share of the objective's loss that `predict` explains beyond the best constant over all rows.

        R^2 for squared loss, else D^2, the deviance explained (`scores.explained`). task : as for `predict`; without
        it, rows are rated by the common trees. X may also be {task: (X, y)}, as for `fit`.
        """
        observed, predicted = _observed(self, X, y, task)
        return share_explained(self._loss, observed, predicted, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._loss.has_log_link
        return tags


class MultiTaskTreesClassifier(ClassifierMixin, MultiTaskTrees):  # type: ignore[misc]
    """Boosted trees for two classes in several related tasks; see `MultiTaskTreesRegressor`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    model_, tasks_, n_rounds_ :
        As in `MultiTaskTreesRegressor`.
    classes_ : (2,)
        Labels in order; probabilities and scores are those of the second. A task may have one class only.
    validation_losses_ : (outer_bags,)
        Mean log-loss on each refit's validation rows.
    """

    @property
    def _loss(self) -> Loss:
        """The loss that boosting minimises."""
        return LOSSES["logistic"]

    def _learn_target(self, y: Any) -> NDArray[Any]:
        codes, self.classes_ = read_class_target(column(y), most=2)
        return codes

    def _check_target(self, target: NDArray[Any]) -> None:
        if np.ptp(target) == 0:
            raise TableError("Only one class has rows of positive weight: give the other class some.")

    def decision_function(self, X: Any, task: Any = None) -> Any:
        """Return the log-odds (n,) of the second class."""
        return self._predicted(X, task, self._fitted().score)

    def predict_proba(self, X: Any, task: Any = None) -> Any:
        """Return the probabilities (n, 2) of the classes in the order of `classes_`; `task` as in the regressor's
        `predict`."""

        def answer(codes: NDArray[np.uint8], place: Ints) -> Floats:
            chance = self._fitted().predict(codes, place)
            return np.stack([1.0 - chance, chance], axis=1)

        return self._predicted(X, task, answer)

    def predict(self, X: Any, task: Any = None) -> Any:
        """Return the likelier class of each row, (n,)."""

        def answer(codes: NDArray[np.uint8], place: Ints) -> NDArray[Any]:
            return np.asarray(self.classes_[(self._fitted().score(codes, place) > 0).astype(np.int64)])

        return self._predicted(X, task, answer)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, task: Any = None) -> float:
        """Return the share of rows whose class is the likelier one (accuracy); X and task as for the regressor's
        `score`."""
        observed, predicted = _observed(self, X, y, task)
        return share_right(observed, predicted, self.classes_, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def task_estimator(saved: Saved, model: TaskModel) -> MultiTaskTreesRegressor | MultiTaskTreesClassifier:
    """Return a fitted estimator from a saved model."""
    estimator = revive(
        MultiTaskTreesClassifier if saved.kind == "multitask_classifier" else MultiTaskTreesRegressor, saved
    )
    keep(estimator, FittedTasks(model, np.array(numbers(saved.about.get("validation_losses")), np.float64)))
    if isinstance(estimator, MultiTaskTreesClassifier):
        estimator.classes_ = np.array(saved.classes)
    else:  # what a file says of its parameters is not trusted
        estimator.set_params(objective=model.loss.name, **asdict(model.loss))
    return estimator
