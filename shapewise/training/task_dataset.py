"""The tasks of a specification: their rows as one table, and the score of each compared with simpler models."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import metrics

from gamcore.boosting.running.progress import Progress
from gamcore.common.numbers import count, counted
from gamcore.common.types import Bools, Floats
from gamcore.data.columns import TableError
from gamcore.estimators.base import plain
from gamcore.estimators.gam import Estimator, GAMClassifier
from gamcore.estimators.multitask import MultiTaskTreesClassifier, MultiTaskTreesRegressor
from gamcore.model.losses import Loss, default_loss
from gamcore.multitask.tables import join_tables, places
from shapewise.training.dataset import Data, read_data
from shapewise.training.spec import Spec

MOST_TASKS = 2_000
FEWEST_ROWS = 4
"""The fewest training rows for which a task gets a model of its own for comparison."""

Frames = Callable[[str], pd.DataFrame]
HeldOut = Callable[[str], dict[str, str] | None]


def read_rows(spec: Spec, frames: Frames, held_out_by: HeldOut) -> Data:
    """Return the rows of any specification; arguments as in `read_tasks`."""
    if spec.kind == "tasks":
        return read_tasks(spec, frames, held_out_by)
    return read_data(frames(spec.table), spec, held_out_by(spec.table))


def read_tasks(spec: Spec, frames: Frames, held_out_by: HeldOut) -> Data:
    """Return the rows of all tasks, with the label of each row's task.

    frames, held_out_by : return the table with an id, and the hold-out column fixed by its first training.
    """
    if spec.tables:
        data = _several_tables(spec, frames, held_out_by)
    elif spec.outcomes:
        data = _several_outcomes(spec, frames(spec.table), held_out_by(spec.table))
    else:
        data = _by_column(spec, frames(spec.table), held_out_by(spec.table))
    assert data.task is not None
    n_tasks = len(set(data.task.tolist()))
    if n_tasks > MOST_TASKS:
        raise TableError(
            f"There are {counted(n_tasks, 'task')}, but at most {count(MOST_TASKS)} are allowed: choose another column."
        )
    if n_tasks < 2:
        raise TableError("There is only one task: choose a column with several values, or train an additive model.")
    return data


def _by_column(spec: Spec, frame: pd.DataFrame, basis: dict[str, str] | None) -> Data:
    """Return one task per level of a column; rows without a level are left out."""
    if not spec.task or spec.task not in frame.columns:
        raise TableError(f"The table has no column {spec.task!r} to tell tasks by: choose another on the Train page.")
    features = [name for name in spec.features if name != spec.task]
    data = read_data(frame, replace(spec, features=[*features, spec.task]), basis)
    labels = data.X[spec.task].astype("string")
    known = labels.notna().to_numpy(bool)
    data = replace(data, X=data.X.drop(columns=spec.task), task=labels.fillna("").to_numpy(object))
    return data.only(known)


def _several_outcomes(spec: Spec, frame: pd.DataFrame, basis: dict[str, str] | None) -> Data:
    """Return one task per outcome. A row may belong to several; its copies stay together in every split."""
    parts = []
    for outcome in spec.outcomes:
        part = read_data(frame, replace(spec, positive=outcome.positive, negative=outcome.negative), basis)
        same = part.X.index.to_numpy() if part.groups is None else part.groups
        parts.append(replace(part, groups=same, task=np.full(len(part.X), outcome.name, object)))
    stacked = _stacked(parts, pd.concat([part.X for part in parts], ignore_index=True), {})
    used = pd.Index(np.concatenate([part.X.index for part in parts])).nunique()
    return replace(stacked, dropped=len(frame) - used)


def _several_tables(spec: Spec, frames: Frames, held_out_by: HeldOut) -> Data:
    """Return one task per table, each with the features that the table has columns for."""
    parts = []
    for name, table in spec.tables.items():
        frame = frames(table)
        features = [feature for feature in spec.features if feature in frame.columns]
        weight, group, when = (
            column if column in frame.columns else None for column in (spec.weight, spec.group, spec.time)
        )
        own = replace(spec, table=table, features=features, weight=weight, group=group, time=when)
        try:
            part = read_data(frame, own, held_out_by(table))
        except TableError as error:
            raise TableError(f"Table {name!r}: {error}") from error
        parts.append(replace(part, task=np.full(len(part.X), name, object)))
    with_weight = [part.weight is not None for part in parts]
    if any(with_weight) and not all(with_weight):
        raise TableError(
            f"Some of the tables have no column {spec.weight!r} of weights: add it, or take its role away."
        )
    if any(part.groups is not None for part in parts):
        parts = _shared_groups(parts)
    names = [str(name) for name in spec.tables]
    joined, _, aliases = join_tables(dict(zip(names, [part.X for part in parts], strict=True)))
    return _stacked(parts, joined, aliases)


def _shared_groups(parts: list[Data]) -> list[Data]:
    """Return the tables with shared groups: equal labels are the same group in all tables.

    In a table without groups, each row is a group. A group that is held out in one table is held out in all, provided
    that leaves training rows in some table.
    """
    shared = [
        replace(part, groups=np.array([f"{number}:{row}" for row in range(len(part.X))], object))
        if part.groups is None
        else part
        for number, part in enumerate(parts)
    ]
    held = np.concatenate([np.asarray(part.groups)[part.held_out] for part in shared])
    wider = [pd.Series(part.groups).isin(held).to_numpy() for part in shared]
    if all((~part).any() for part in wider):
        shared = [replace(part, held_out=part.held_out | more) for part, more in zip(shared, wider, strict=True)]
    return shared


def _stacked(parts: list[Data], X: pd.DataFrame, aliases: dict[str, str]) -> Data:
    def joined(name: str) -> NDArray[Any] | None:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values)

    return Data(
        X=X,
        y=pd.concat([part.y for part in parts], ignore_index=True),
        held_out=np.concatenate([part.held_out for part in parts]),
        weight=joined("weight"),
        groups=joined("groups"),
        binary=parts[0].binary,
        dropped=sum(part.dropped for part in parts),
        task=joined("task"),
        aliases=aliases,
    )


@dataclass(frozen=True)
class TaskScore:
    """The scores of a task on its held-out rows.

    Compared are the multi-task trees, trees fitted to the task alone, and one model of all tasks that ignores the task.
    Losses are mean squared error or log-loss; NaN where there is no such row or model.

    se_alone, se_one_for_all : standard error of the mean row-by-row difference from the loss of the multi-task trees.
    """

    name: str
    rows: int  # training
    held_out: int
    mean: float  # of the target over all its rows
    common: float  # rounds, a mean over refits
    specific: float
    loss: float = math.nan
    alone: float = math.nan
    one_for_all: float = math.nan
    auc: float = math.nan
    auc_alone: float = math.nan
    auc_one_for_all: float = math.nan
    se_alone: float = math.nan
    se_one_for_all: float = math.nan


Model = MultiTaskTreesRegressor | MultiTaskTreesClassifier
Tell = Callable[[Progress], bool | None]


def score_tasks(data: Data, spec: Spec, model: Model, n_jobs: int, callback: Tell | None) -> list[dict[str, Any]]:
    """Return the `TaskScore` of each task as plain JSON."""
    assert data.task is not None
    held = data.held_out
    predictions = {"together": predicted(model, data.X[held], data.task[held])}
    if spec.compare:
        predictions |= _compare(data, spec, model, n_jobs, callback)
    rounds = model.rounds().set_index("task")
    y, loss = data.y.to_numpy(np.float64), default_loss(data.binary)
    weight = np.ones(y.size) if data.weight is None else data.weight
    scores, place = [], places(data.task, tuple(model.tasks_))
    for t, name in enumerate(model.tasks_):
        mine, inside = place == t, place[held] == t
        of_task = {way: values[inside] for way, values in predictions.items()}
        score = TaskScore(
            name=str(name),
            rows=int((mine & ~held).sum()),
            held_out=int(inside.sum()),
            mean=float(np.average(y[mine], weights=weight[mine])),
            common=float(rounds.loc[name, "common"]),
            specific=float(rounds.loc[name, "specific"]),
            **_measured(y[held][inside], of_task, weight[held][inside], loss),
        )
        scores.append({field: plain(value) for field, value in asdict(score).items()})
    return scores


def _measured(y: Floats, predictions: dict[str, Floats], weight: Floats, loss: Loss) -> dict[str, float]:
    """Return the mean losses, AUCs and standard errors of `TaskScore`, as far as they are defined."""
    if not y.size or not weight.any():
        return {}
    rows = {way: loss.loss(y, loss.link(predicted)) for way, predicted in predictions.items()}
    measured = {
        "loss" if way == "together" else way: float(np.average(losses, weights=weight)) for way, losses in rows.items()
    }
    for way in rows.keys() - {"together"}:
        measured[f"se_{way}"] = _standard_error(rows["together"] - rows[way], weight)
    if loss.is_binary and np.ptp(y[weight > 0]) > 0:
        for way, predicted in predictions.items():
            auc = float(metrics.roc_auc_score(y, predicted, sample_weight=weight))
            measured["auc" if way == "together" else f"auc_{way}"] = auc
    return measured


def _standard_error(values: Floats, weight: Floats) -> float:
    """Return the standard error of a weighted mean of rows."""
    if values.size < 2:
        return float("nan")
    share = weight / weight.sum()
    gaps = values - share @ values
    return float(np.sqrt(np.square(share * gaps).sum() * values.size / (values.size - 1)))


def predicted(model: Estimator, X: pd.DataFrame, task: NDArray[Any] | None = None) -> Floats:
    """Return the predictions (n,) in the target's units, or the probabilities of the second class.

    task : task labels, for multi-task trees.
    """
    of_rows = {} if task is None else {"task": task}
    if isinstance(model, GAMClassifier | MultiTaskTreesClassifier):
        return np.asarray(model.predict_proba(X, **of_rows))[:, 1]
    return np.asarray(model.predict(X, **of_rows))


def _compare(data: Data, spec: Spec, model: Model, n_jobs: int, callback: Tell | None) -> dict[str, Floats]:
    """Return the predictions (held-out rows,) of trees of each task alone, and of one model of all rows.

    Both have the same budget of rounds as the multi-task trees.
    """
    assert data.task is not None
    fitted, held = ~data.held_out, data.held_out
    y = data.y.to_numpy(np.float64)
    alone = np.full(int(held.sum()), np.nan)
    names = tuple(model.tasks_)
    place = places(data.task, names)
    for t in range(len(names) + 1):
        if callback is not None and callback(Progress.of_step("comparison", t, len(names) + 1, 0.0, part=1)):
            return {}
        if t == len(names):
            break
        test = place[held] == t
        alone[test] = _simple(data, spec, model=model, rows=fitted & (place == t), test=test, y=y, n_jobs=n_jobs)
    together = _simple(data, spec, model=model, rows=fitted, test=np.ones(alone.size, bool), y=y, n_jobs=n_jobs)
    return {"alone": alone, "one_for_all": together}


def _simple(data: Data, spec: Spec, model: Model, rows: Bools, test: Bools, y: Floats, n_jobs: int) -> Floats:
    """Return the predictions of trees fitted to `rows` without tasks; the mean target where trees cannot be fitted."""
    if not test.any():
        return np.empty(0)
    if data.weight is not None:
        rows = rows & (data.weight > 0)
    weight = None if data.weight is None else data.weight[rows]
    used = data.X.columns[data.X[rows].notna().any()]
    few = rows.sum() < FEWEST_ROWS or (data.binary and np.ptp(y[rows]) == 0) or not len(used)
    groups = None if data.groups is None else data.groups[rows]
    if groups is not None and len(set(groups.tolist())) < 2:
        groups = None
    if few:
        mean = float(np.average(y[rows], weights=weight)) if rows.any() else float(y[~data.held_out].mean())
        return np.full(int(test.sum()), mean)
    categories = [name for name in spec.categories if name in used]
    parameters = {**model.get_params(), "categorical_features": categories or "infer", "common_features": "all"}
    parameters |= {
        "max_rounds": parameters["max_rounds"] + parameters["specific_rounds"],
        "n_jobs": n_jobs,
        "callback": None,
    }
    simple = type(model)(**parameters)
    simple.fit(data.X.loc[rows, used], y[rows], sample_weight=weight, groups=groups)
    return predicted(simple, data.X.loc[data.held_out, used][test], None)
