"""Fitting multi-task trees to a table in pieces: sketch it, learn the bins, code it where its pieces are, and boost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from gamcore.boosting.running.progress import Callback
from gamcore.common.types import Bools
from gamcore.data.binning import most_levels
from gamcore.data.own_bins import own_bins
from gamcore.data.table import Feature
from gamcore.data.targets import read_class_target
from gamcore.distributed.coding import bucket_sizes
from gamcore.distributed.crew import Crew
from gamcore.distributed.mapping import crew_of
from gamcore.distributed.sketch import Roles, Sketch, bins_of, features_of
from gamcore.estimators.base import check_parameters, loss_of, n_threads, read_table
from gamcore.estimators.pieces import categories_of, check_named, sketched, teller
from gamcore.estimators.progress_bar import listening
from gamcore.multitask.coding import TaskCoding
from gamcore.multitask.fit import FittedTasks
from gamcore.multitask.parts import TasksInParts, fit_tasks_in_parts
from gamcore.multitask.tables import ordered_names, task_codes

if TYPE_CHECKING:
    from gamcore.estimators.multitask import MultiTaskTrees

Model = TypeVar("Model", bound="MultiTaskTrees")


def fit_task_pieces(model: Model, X: Any, columns: dict[str, Any], client: Any) -> Model:
    """Fit to all rows of a table in pieces; see `MultiTaskTrees.fit`. columns : the names by parameter."""
    check_parameters(model)
    check_named(columns, ("y", "task"))
    roles = Roles(
        columns["y"],
        None if loss_of(model).is_binary else loss_of(model),
        weight=columns["sample_weight"],
        groups=columns["groups"],
        task=columns["task"],
        categorical=categories_of(model.categorical_features),
    )
    crew = crew_of(client, n_threads(model.n_jobs))
    try:
        with listening(model.callback) as callback:
            seed = int(check_random_state(model.random_state).randint(2**31 - 1))
            rows, sketch = _coded(model, crew, X, roles, seed=seed, callback=callback)
            fitted = fit_tasks_in_parts(rows, model._plan(), seed, callback)
        read_table(model, pd.DataFrame([[np.nan] * len(sketch.names)], columns=list(sketch.names)), reset=True)
        return keep(model, fitted)
    finally:
        crew.close()


def keep(model: Model, fitted: FittedTasks) -> Model:
    """Set the fitted attributes."""
    model.model_, model.validation_losses_ = fitted.model, fitted.validation_losses
    model.tasks_ = np.array(fitted.model.tasks, object)
    model.n_rounds_ = int(fitted.model.quits.max(initial=0))
    return model


def _coded(
    model: MultiTaskTrees, crew: Crew, X: Any, roles: Roles, seed: int, callback: Callback | None
) -> tuple[TasksInParts, Sketch]:
    """Return the coded rows, and what the pieces say together."""
    pieces, starts, sketch = sketched(crew, X, roles, callback)
    classes = None
    if roles.loss is None:
        classes = read_class_target(np.array(sorted(sketch.classes)), most=2)[1]
        model.classes_ = classes
    names = ordered_names(np.array([*sketch.tasks, None], object)[:-1])
    features = features_of(sketch, model.categorical_features, model.date_parts)
    max_bins = model.max_bins - 1  # one code is left for columns that a task lacks
    own = own_bins({}, features)
    coding = TaskCoding(
        roles, bins_of(sketch, features, roles, max_bins, own, max_levels=most_levels(max_bins)), loss_of(model),
        classes=classes, mean_weight=sketch.weights.mean, seed=seed, names=names,
        owned=_owned(sketch, names, features),
        of_task=task_codes(np.array([sketch.tasks[name].n_rows for name in names], np.int64)),
    )  # fmt: skip
    parts = crew.code(coding, pieces, starts, teller(callback))
    rows = TasksInParts(
        parts,
        coding.bins,
        names=names,
        owned=coding.owned,
        of_task=coding.of_task,
        sizes=parts.sum(bucket_sizes),
        most=crew.most_rows(coding.n_lines, model.outer_bags),
        weighted=roles.weight is not None,
        clustered=roles.groups is not None,
    )
    return rows, sketch


def _owned(sketch: Sketch, names: tuple[Any, ...], features: tuple[Feature, ...]) -> Bools:
    """Return which task has which column, (T, p); a column empty in all rows of a task is absent there."""
    columns = [sketch.tasks[name].columns for name in names]
    known = frozenset().union(*columns)
    return np.array(
        [[feature.column in mine or feature.column not in known for feature in features] for mine in columns], bool
    ).reshape(len(names), len(features))
