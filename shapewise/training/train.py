"""Training of a model from a stored table and a specification, with held-out metrics."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import psutil

import gamcore
from gamcore.boosting.running.progress import Callback
from gamcore.common.types import Floats
from gamcore.data.codes import with_codes
from gamcore.data.columns import TableError
from gamcore.decide.unseen import Unseen
from gamcore.estimators.base import to_saved
from gamcore.estimators.gam import Estimator, GAMClassifier, GAMRegressor
from gamcore.estimators.multitask import MultiTaskTreesClassifier, MultiTaskTreesRegressor
from gamcore.estimators.saved import from_saved
from gamcore.model.additive import AdditiveModel
from gamcore.multitask.model import TaskModel
from shapewise.access import cluster
from shapewise.memory import give_back, plain_pool
from shapewise.store.projects import roots
from shapewise.store.workspace import ModelAbout, StoreError, Workspace, clean_name, new_id, now
from shapewise.training.dataset import Data
from shapewise.training.effects import apart, as_trained, expect, measured, metrics, unseen
from shapewise.training.estimator import learner
from shapewise.training.evaluation import evaluate
from shapewise.training.intervals import calibrate
from shapewise.training.large import TrainingPlace, check_kind, fit_on_disk
from shapewise.training.on_cluster import ClusterPlace, fit_on_cluster, in_pieces
from shapewise.training.partitions import split
from shapewise.training.spec import Spec
from shapewise.training.task_dataset import read_rows, score_tasks

if TYPE_CHECKING:
    from gamcore.distributed.cluster import OnCluster

BANDS = 30
MEMORY_SHARE = 0.4
"""The share of free memory that the refits of a table larger than memory may use."""

BESIDE = 100 * 2**20
"""Bytes that such a training needs beside its refits: a batch of the table, and kernels."""


def fit(
    data: Data,
    spec: Spec,
    n_jobs: int = 1,
    callback: Callback | None = None,
    crew: OnCluster | None = None,
    **changes: Any,
) -> Estimator:
    """Return an estimator fitted to the training rows, here or by the workers of a crew; `changes` override the
    parameters of the specification."""
    fitted = ~data.held_out
    model = learner(data, spec, n_jobs, callback, **changes)
    if crew is None:
        model.fit(data.X[fitted], data.y[fitted], **data.of_rows(fitted))
    else:
        pieces, names = in_pieces(data, fitted)
        model.fit(pieces, **names, client=crew)
    if isinstance(model.model_, TaskModel):
        model.model_ = replace(model.model_, aliases=data.aliases)
    read_codes(model, spec, data)
    return model


def read_codes(model: Estimator, spec: Spec, data: Data) -> None:
    """Let a fitted model read codes as missing itself, for tables and programs that know nothing of them."""
    codes: dict[str, list[str]] = {}
    for table in spec.tables.values() or [spec.table]:
        codes |= spec.codes_of(table) or {}
    model.model_ = model.model_.with_bins(with_codes(model.model_.bins, codes, data.aliases))


def with_present_codes(workspace: Workspace, spec: Spec) -> Spec:
    """Return a specification with the codes that mean missing in its tables today; TableError where these differ on a
    feature, as one model could not read them."""
    tables = list(dict.fromkeys([spec.table, *spec.tables.values()]))
    codes = {table: workspace.tables.names(table).codes() for table in tables}
    for name in spec.features:
        having = [t for t in tables if name in workspace.tables.columns(t)] if len(tables) > 1 else []
        if len({codes[table].get(name, ()) for table in having}) > 1:
            raise TableError(f"The tables differ in what means missing in column {name!r}: make it the same on Data.")
    return replace(spec, codes={table: {name: list(own) for name, own in codes[table].items()} for table in tables})


def _of_tasks(about: ModelAbout) -> dict[str, float]:
    """Return the metrics with the AUC averaged over tasks: over all rows, knowing the task alone would count as
    skill."""
    known = [task["auc"] for task in about.tasks if task["auc"] is not None]
    return about.metrics | ({"auc": float(np.mean(known))} if known else {})


def read_all(workspace: Workspace, spec: Spec) -> Data:
    """Return the rows of a specification; the first training on each table fixes its held-out rows."""
    read: dict[str, pd.DataFrame] = {}

    def frames(table: str) -> pd.DataFrame:
        read[table] = read[table] if table in read else workspace.tables.read(table, spec.codes_of(table))
        return read[table]

    def held_out_by(table: str) -> dict[str, str]:
        group, when = (name if name in frames(table).columns else None for name in (spec.group, spec.time))
        if table != spec.table:  # the roles of another table decide its held-out rows
            roles = {role: name for name, role in workspace.tables.about(table).roles.items()}
            group, when = roles.get("group"), roles.get("time")
        return workspace.tables.hold_out_by(table, group, when)

    return as_trained(workspace, spec, read_rows(spec, frames, held_out_by))


def train(
    workspace: Workspace,
    spec: Spec,
    n_jobs: int = 1,
    callback: Callback | None = None,
    on_cluster: bool = False,
) -> ModelAbout:
    """Train a model by a specification and store it. on_cluster : whether the workers of the cluster train it."""
    spec = with_present_codes(workspace, spec)
    sampled = any(workspace.tables.about(table).sampled for table in (spec.table, *spec.tables.values()))
    if spec.treatment is not None:
        return _train_effect(workspace, spec, n_jobs, callback)
    if sampled or (on_cluster and spec.kind == "additive"):
        return _train_on_all_rows(workspace, spec, n_jobs, callback, on_cluster)
    data = read_all(workspace, spec)
    started = time.monotonic()
    kept = {"keep_tables": True, "bands": spec.bands} if spec.keep_counts else {}
    with cluster.connected() if on_cluster else contextlib.nullcontext() as crew:
        model = fit(data, spec, n_jobs, callback, crew, **kept)
    seconds = time.monotonic() - started
    calibrate(model, data, spec)
    about = replace(describe(workspace, spec, data, model, seconds), on_cluster=on_cluster)
    about = replace(about, bands=model.bands) if isinstance(model, GAMRegressor) else about
    if isinstance(model, MultiTaskTreesRegressor | MultiTaskTreesClassifier):
        about = replace(about, tasks=score_tasks(data, spec, model, n_jobs, callback))
        about = replace(about, metrics=_of_tasks(about)) if data.binary else about
    return store(workspace, about, model)


def _train_effect(workspace: Workspace, spec: Spec, n_jobs: int, callback: Callback | None) -> ModelAbout:
    """Train a model of the effect of an experiment, and store it with what was expected of each row."""
    assert spec.treatment is not None
    treatment = replace(spec.treatment, known_by="")
    if workspace.tables.about(spec.table).sampled:
        raise TableError("This table is larger than memory: who is moved is learned from tables that fit into it.")
    spec = replace(spec, treatment=treatment)
    outcomes, started = read_all(workspace, spec), time.monotonic()
    moved = apart(outcomes, treatment, spec.seed, n_jobs)
    data = measured(outcomes, treatment, expect(outcomes, spec.seed, n_jobs))
    model = fit(data, spec, n_jobs, callback)
    assert isinstance(model, GAMRegressor)
    crossfit = unseen(data, model, spec.seed, lambda part: cast(GAMRegressor, fit(part, spec, n_jobs)))
    about = replace(describe(workspace, spec, data, model, time.monotonic() - started), apart=moved)
    return store(workspace, replace(about, metrics=metrics(data, crossfit.predicted)), model, data.expected, crossfit)


def _train_on_all_rows(
    workspace: Workspace,
    spec: Spec,
    n_jobs: int,
    callback: Callback | None,
    on_cluster: bool,
) -> ModelAbout:
    """Train and store a model of a table whose rows are not in memory, or not learnt from here."""
    check_kind(spec)
    started, kept = time.monotonic(), workspace.tables.about(spec.table)
    with plain_pool():
        sample = workspace.tables.read(spec.table, spec.codes_of(spec.table))
    give_back()
    group, when = (name if name in sample.columns else None for name in (spec.group, spec.time))
    basis = workspace.tables.hold_out_by(spec.table, group, when)
    if on_cluster or kept.dataset:
        with cluster.connected() as crew:
            model, data, counts = fit_on_cluster(
                ClusterPlace(crew, workspace, spec.table), sample, spec, basis, callback
            )
    else:
        scratch = workspace.root / "jobs"
        here = TrainingPlace(workspace.tables.path(spec.table), scratch, _budget(workspace.limits.memory))
        here.scratch.mkdir(0o700, exist_ok=True)
        model, data, counts = fit_on_disk(here, sample, spec=spec, held_out_by=basis, n_jobs=n_jobs, callback=callback)
    read_codes(model, spec, data)
    calibrate(model, data, spec)
    about = describe(workspace, spec, data, model, time.monotonic() - started)
    assert not isinstance(model.model_, TaskModel)
    bands = spec.bands if isinstance(model.model_, AdditiveModel) and model.model_.halves else 0
    counts |= {"sample": len(sample)} if kept.sampled else {}
    about = replace(about, rows=counts, bands=bands, on_cluster=on_cluster or bool(kept.dataset))
    if isinstance(model.model_, AdditiveModel):  # over all rows, as in its plots
        base = float(model.model_.loss.inverse_link(np.array(model.model_.base)))
        about = replace(about, metrics=about.metrics and about.metrics | {"base_rate" if data.binary else "mean": base})
    return store(workspace, about, model)


def _budget(most: int) -> int:
    """Return the bytes for the refits: a share of free memory, or of what is left of the job's limit if less."""
    free = psutil.virtual_memory().available
    left = most - psutil.Process().memory_info().rss if most else free
    return int(MEMORY_SHARE * max(min(free, left) - BESIDE, 0))


def describe(workspace: Workspace, spec: Spec, data: Data, model: Estimator, seconds: float) -> ModelAbout:
    """Return the record of a newly trained model, with its metrics."""
    of_tasks = isinstance(model.model_, TaskModel)
    return ModelAbout(
        id=new_id(),
        name=spec.name,
        table=spec.table,
        table_name=" + ".join(workspace.tables.about(table).name for table in spec.tables.values() or [spec.table]),
        target=spec.target,
        kind=f"{'multitask_' if of_tasks else ''}{'classifier' if data.binary or data.classes else 'regressor'}",
        created=now(),
        seconds=seconds,
        metrics=evaluate(data, model) if data.measurable else {},
        spec=spec.to_dict(),
        rows={
            "training": int((~data.held_out).sum()),
            "held_out": int(data.held_out.sum()),
            "without_target": data.dropped,
        },
        n_pairs=0 if isinstance(model.model_, TaskModel) else len(model.model_.pairs),
        project=roots(workspace.tables.listed()).get(spec.table, spec.table),
        steps=workspace.tables.about(spec.table).steps,
    )


def store(
    workspace: Workspace, about: ModelAbout, model: Estimator, expected: Floats | None = None,
    crossfit: Unseen | None = None,
) -> ModelAbout:  # fmt: skip
    """Store a trained model, with the counts of its rows where it keeps them; of an experiment, with what was expected
    of its rows, and what is said of them by models that have not seen them."""
    if expected is not None:
        treatment = about.spec["treatment"] | {"known_by": about.id}
        about = replace(about, spec=about.spec | {"treatment": treatment})
    origin = {"target": about.target, "table": about.table, "held_out": about.metrics, "created": about.created}
    return workspace.models.add(to_saved(model, **origin), about, getattr(model, "tables_", None), expected, crossfit)


def add_bands(
    workspace: Workspace,
    identifier: str,
    n_jobs: int = 1,
    callback: Callback | None = None,
) -> ModelAbout:
    """Add the bands that the specification asks for to a stored additive model, and store it again."""
    spec = Spec.from_dict(workspace.models.about(identifier).spec)
    data, saved = read_all(workspace, spec), workspace.models.load(identifier)
    model = from_saved(saved)
    assert isinstance(model, GAMRegressor | GAMClassifier)
    n_refits = spec.bands or BANDS
    measure(model.set_params(n_jobs=n_jobs), data, n_refits, callback)
    return workspace.models.set_bands(identifier, replace(saved, model=model.model_), n_refits)


def measure(
    model: GAMRegressor | GAMClassifier,
    data: Data,
    n_refits: int,
    callback: Callback | None = None,
) -> None:
    """Add bands to a fitted model, from the training rows."""
    fitted = ~data.held_out
    gamcore.add_bands(
        model, data.X[fitted], data.y[fitted], **data.of_rows(fitted), n_refits=n_refits, callback=callback
    )


def train_parts(
    workspace: Workspace,
    identifier: str,
    column: str,
    n_jobs: int = 1,
    callback: Callback | None = None,
) -> list[ModelAbout]:
    """Refit a model, with bands, on each part of its training rows by a column.

    Parts that cannot be fitted are left out; parts of an earlier call are replaced. The held-out rows of the model are
    also held out of its parts. If those are the latest rows, the parts cover only the earlier ones.
    """
    about = workspace.models.about(identifier)
    spec = Spec.from_dict(about.spec)
    data = read_all(workspace, spec)
    frame = workspace.tables.read(spec.table, spec.codes_of(spec.table)).loc[data.X.index]
    old, fitted, problems = workspace.models.parts(identifier), [], []
    for label, condition in split(frame[~data.held_out], column):
        part, started = data.only(condition.holds(frame)), time.monotonic()
        own = replace(spec, conditions=[*spec.conditions, condition], name=clean_name(f"{about.name} · {label}"))
        try:
            model = fit(part, own, n_jobs, callback)
            assert isinstance(model, GAMRegressor | GAMClassifier)
            measure(model, part, spec.bands or BANDS, callback)
        except TableError as error:
            problems.append(f"{label}: {error}")
            continue
        about_part = describe(workspace, own, part, model, time.monotonic() - started)
        about_part = replace(about_part, bands=spec.bands or BANDS, part_of=identifier, part=label)
        fitted.append((about_part, model, part.expected))
    if len(fitted) < 2:
        raise TableError(f"Fewer than two parts of {column!r} can be learned from. {' '.join(problems)}")
    stored = [store(workspace, *each) for each in fitted]
    for part_before in old:
        with contextlib.suppress(StoreError):  # another run may have replaced them already
            workspace.delete("models", part_before.id)
    return stored
