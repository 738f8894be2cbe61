"""What the page Tasks computes from a model of several tasks, once for all its runs."""

from __future__ import annotations

import pandas as pd

from gamcore.data.columns import read_present_texts
from gamcore.explain.curves import Curve
from gamcore.explain.task_outliers import TaskOutliers
from gamcore.explain.tasks import Agreement, named_by
from gamcore.multitask.model import TreePart
from shapewise.store.workspace import ModelAbout
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec
from shapewise.training.task_dataset import read_rows
from shapewise.ui.session import state


@state.kept(copies=True, show_spinner="Comparing the curves of all tasks", max_entries=64)
def agreement(identifier: str, feature: str) -> Agreement:
    """Return how a feature's curve in each task agrees with the common one."""
    return state.trees(identifier).agreement(feature)


@state.kept(copies=True, show_spinner=False, max_entries=256)
def task_curve(identifier: str, feature: str, place: int | None, part: TreePart) -> Curve:
    """Return a feature's curve in the task at `place`, with the names of the levels that the task has, as far as its
    rows are here; for None, that of the common trees over all tasks."""
    estimator = state.trees(identifier)
    if place is None:
        return estimator.explain_shape(feature, None, part)
    curve, task = estimator.explain_shape(feature, estimator.tasks_[place], part), str(estimator.tasks_[place])
    if not any(len(levels) > 1 for levels in curve.members) or not has_rows(state.workspace().models.about(identifier)):
        return curve
    data = rows(identifier)
    learnt = ~data.held_out & (data.task == task)
    return named_by(curve, set(read_present_texts(data.X.loc[learnt, feature])[1])) if feature in data.X else curve


@state.kept(copies=True, show_spinner="Comparing tasks", max_entries=16)
def similarity(identifier: str, features: tuple[str, ...]) -> pd.DataFrame:
    """Return how alike tasks are over some features, by name."""
    cosines = state.trees(identifier).similarity(list(features))
    return cosines.set_axis(cosines.index.astype(str), axis=0).set_axis(cosines.columns.astype(str), axis=1)


@state.kept(copies=True, show_spinner="Comparing tasks", max_entries=16)
def outliers(identifier: str, features: tuple[str, ...]) -> TaskOutliers:
    """Return how far each task goes with the others over some features."""
    return state.trees(identifier).outliers(list(features))


def has_rows(model: ModelAbout) -> bool:
    """Return whether the tables of a model are still here."""
    spec = Spec.from_dict(model.spec) if model.spec else None
    there = {table.id for table in state.workspace().tables.listed()}
    return spec is not None and set(spec.tables.values() or [spec.table]) <= there


@state.kept(show_spinner="Reading the rows", max_entries=4)
def rows(identifier: str) -> Data:
    """Return the rows of a stored model."""
    spec = Spec.from_dict(state.workspace().models.about(identifier).spec)
    return read_rows(
        spec,
        lambda table: state.table(table, spec.codes_of(table)).frame,
        lambda table: state.workspace().tables.about(table).held_out_by,
    )
