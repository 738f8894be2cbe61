"""Tasks of a specification: their rows as one table, and how each fares beside simpler models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import metrics

from gamcore.boosting.progress import Progress
from gamcore.data.table import TableError
from gamcore.estimators.base import plain
from gamcore.estimators.gam import Estimator, GAMClassifier
from gamcore.estimators.multitask import MultiTaskTreesClassifier, MultiTaskTreesRegressor
from gamcore.model.losses import Loss, default_loss
from gamcore.multitask.tables import join_tables, places
from shapewise.training.dataset import Data, read_data
from shapewise.training.spec import Bools, Spec

MOST_TASKS = 2_000
FEWEST_ROWS = 4
"""Training rows of a task that are worth a model of their own for comparison."""

Frames = Callable[[str], pd.DataFrame]
HeldOut = Callable[[str], dict[str, str] | None]
Floats = NDArray[np.float64]


def read_rows(spec: Spec, frames: Frames, held_out_by: HeldOut) -> Data:
    """The rows of any specification; arguments as in `read_tasks`."""
    if spec.kind == "tasks":
        return read_tasks(spec, frames, held_out_by)
    return read_data(frames(spec.table), spec, held_out_by(spec.table))


def read_tasks(spec: Spec, frames: Frames, held_out_by: HeldOut) -> Data:
    """The rows of all tasks, with the label of each row's task.

    frames, held_out_by : a table, and what its rows were first set aside by, by its id.
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
        raise TableError(f"There are {n_tasks:,} tasks, at most {MOST_TASKS:,} are possible: choose another column.")
    if n_tasks < 2:
        raise TableError("There is one task only: choose a column with several values, or train an additive model.")
    return data


def _by_column(spec: Spec, frame: pd.DataFrame, basis: dict[str, str] | None) -> Data:
    """A task a level of a column; rows without one are left out."""
    if not spec.task or spec.task not in frame.columns:
        raise TableError(f"The table has no column {spec.task!r} to tell tasks by: choose another on the Train page.")
    features = [name for name in spec.features if name != spec.task]
    data = read_data(frame, replace(spec, features=[*features, spec.task]), basis)
    labels = data.X[spec.task].astype("string")
    known = labels.notna().to_numpy(bool)
    data = replace(data, X=data.X.drop(columns=spec.task), task=labels.fillna("").to_numpy(object))
    return data.only(known)


def _several_outcomes(spec: Spec, frame: pd.DataFrame, basis: dict[str, str] | None) -> Data:
    """A task an outcome. A row may belong to several: its copies stay together in every split."""
    parts = []
    for outcome in spec.outcomes:
        part = read_data(frame, replace(spec, positive=outcome.positive, negative=outcome.negative), basis)
        same = part.X.index.to_numpy() if part.groups is None else part.groups
        parts.append(replace(part, groups=same, task=np.full(len(part.X), outcome.name, object)))
    found = _stacked(parts, pd.concat([part.X for part in parts], ignore_index=True), {})
    used = pd.Index(np.concatenate([part.X.index for part in parts])).nunique()
    return replace(found, dropped=len(frame) - used)


def _several_tables(spec: Spec, frames: Frames, held_out_by: HeldOut) -> Data:
    """A task a table; each has those of the features that it has a column for."""
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
    """Groups over several tables: the same label is the same group in all, a row of a table without groups is one.

    A group of which a row is held out in one table is held out in all, as far as that leaves rows to train on.
    """
    found = [
        replace(part, groups=np.array([f"{number}:{row}" for row in range(len(part.X))], object))
        if part.groups is None
        else part
        for number, part in enumerate(parts)
    ]
    held = np.concatenate([np.asarray(part.groups)[part.held_out] for part in found])
    wider = [pd.Series(part.groups).isin(held).to_numpy() for part in found]
    if all((~part).any() for part in wider):
        found = [replace(part, held_out=part.held_out | more) for part, more in zip(found, wider, strict=True)]
    return found


def _stacked(parts: list[Data], X: pd.DataFrame, aliases: dict[str, str]) -> Data:
    def joined(name: str) -> NDArray[Any] | None:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values)

    return Data(
        X, pd.concat([part.y for part in parts], ignore_index=True), np.concatenate([part.held_out for part in parts]),
        joined("weight"), joined("groups"), parts[0].binary, sum(part.dropped for part in parts), joined("task"),
        aliases,
    )  # fmt: skip


@dataclass(frozen=True)
class TaskScore:
    """How a task fares on its held-out rows: the multi-task trees, trees of the task alone, and one model of all tasks
    that does not know of them. Losses are mean squared error or log-loss; NaN where there is no such row or model.

    se_alone, se_one_for_all : standard error of the mean difference, row by row, to the loss of the multi-task trees.
    """

    name: str
    rows: int  # training
    held_out: int
    mean: float  # of the target over all its rows
    common: float  # rounds, a mean over refits
    specific: float
    loss: float
    alone: float
    one_for_all: float
    auc: float
    auc_alone: float
    auc_one_for_all: float
    se_alone: float
    se_one_for_all: float


Model = MultiTaskTreesRegressor | MultiTaskTreesClassifier
Tell = Callable[[Progress], bool | None]


def score_tasks(data: Data, spec: Spec, model: Model, n_jobs: int, callback: Tell | None) -> list[dict[str, Any]]:
    """How each task fares, as plain JSON."""
    assert data.task is not None
    held = data.held_out
    told_by = {"together": predicted(model, data.X[held], data.task[held])}
    if spec.compare:
        told_by |= _compare(data, spec, model, n_jobs, callback)
    rounds = model.rounds().set_index("task")
    y, loss = data.y.to_numpy(np.float64), default_loss(data.binary)
    weight = np.ones(y.size) if data.weight is None else data.weight
    told, place = [], places(data.task, tuple(model.tasks_))
    for t, name in enumerate(model.tasks_):
        mine, inside = place == t, place[held] == t
        found = {key: values[inside] for key, values in told_by.items()}
        of_rows = int((mine & ~held).sum()), int(inside.sum()), float(np.average(y[mine], weights=weight[mine]))
        rounds_of = float(rounds.loc[name, "common"]), float(rounds.loc[name, "specific"])
        measured = _measure_all(y[held][inside], found, weight[held][inside], loss)
        told.append(TaskScore(str(name), *of_rows, *rounds_of, *measured))
    return [{key: plain(value) for key, value in asdict(score).items()} for score in told]


def _measure_all(y: Floats, found: dict[str, Floats], weight: Floats, loss: Loss) -> list[float]:
    """Mean losses, AUCs and standard errors of differences, as in `TaskScore`; NaN where they have no meaning."""
    nothing = float("nan")
    if not y.size or not weight.any():
        return [nothing] * 8
    names = ("together", "alone", "one_for_all")
    rows = {name: loss.loss(y, loss.link(found[name])) for name in names if name in found}
    losses = [float(np.average(rows[name], weights=weight)) if name in rows else nothing for name in names]
    told = loss.is_binary and np.ptp(y[weight > 0]) > 0
    aucs = [
        float(metrics.roc_auc_score(y, found[name], sample_weight=weight)) if told and name in found else nothing
        for name in names
    ]
    errors = [_standard_error(rows["together"] - rows[name], weight) if name in rows else nothing for name in names[1:]]
    return [*losses, *aucs, *errors]


def _standard_error(values: Floats, weight: Floats) -> float:
    """Of a weighted mean of rows."""
    if values.size < 2:
        return float("nan")
    share = weight / weight.sum()
    gaps = values - share @ values
    return float(np.sqrt(np.square(share * gaps).sum() * values.size / (values.size - 1)))


def predicted(model: Estimator, X: pd.DataFrame, task: NDArray[Any] | None = None) -> Floats:
    """Predictions (n,) in the target's units, or probabilities of the second class; task labels for those that ask."""
    of_rows = {} if task is None else {"task": task}
    if isinstance(model, GAMClassifier | MultiTaskTreesClassifier):
        return np.asarray(model.predict_proba(X, **of_rows))[:, 1]
    return np.asarray(model.predict(X, **of_rows))


def _compare(data: Data, spec: Spec, model: Model, n_jobs: int, callback: Tell | None) -> dict[str, Floats]:
    """Predictions (held-out rows,) of trees of each task alone, and of one model of all rows, with the same budget."""
    assert data.task is not None
    fitted, held = ~data.held_out, data.held_out
    y = data.y.to_numpy(np.float64)
    alone = np.full(int(held.sum()), np.nan)
    names = tuple(model.tasks_)
    place = places(data.task, names)
    for t in range(len(names) + 1):
        if callback is not None and callback(_step(t, len(names) + 1)):
            return {}
        if t == len(names):
            break
        test = place[held] == t
        alone[test] = _simple(data, spec, model, fitted & (place == t), test, y, n_jobs)
    together = _simple(data, spec, model, fitted, np.ones(alone.size, bool), y, n_jobs)
    return {"alone": alone, "one_for_all": together}


def _step(number: int, of: int) -> Progress:
    """So many models have been compared with."""
    return Progress.of_step("comparison", number, of, 0.0, part=1)


def _simple(data: Data, spec: Spec, model: Model, rows: Bools, test: Bools, y: Floats, n_jobs: int) -> Floats:
    """Predictions of trees on some rows that know of no tasks; their mean where that is all they can know."""
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
    told = {**model.get_params(), "categorical_features": categories or "infer", "common_features": "all"}
    told |= {"max_rounds": told["max_rounds"] + told["specific_rounds"], "n_jobs": n_jobs, "callback": None}
    simple = type(model)(**told)
    simple.fit(data.X.loc[rows, used], y[rows], sample_weight=weight, groups=groups)
    return predicted(simple, data.X.loc[data.held_out, used][test], None)
