"""Fitted estimators from model files."""

from __future__ import annotations

import os
from dataclasses import asdict

import numpy as np

from gamcore.estimators.additive_parameters import AUTO
from gamcore.estimators.base import numbers, revive
from gamcore.estimators.effect import EffectGAM
from gamcore.estimators.entries import frame_of
from gamcore.estimators.gam import ESTIMATORS, Estimator, GAMClassifier, GAMRegressor
from gamcore.estimators.multitask import task_estimator
from gamcore.io import gamx
from gamcore.io.manifest import Saved
from gamcore.model.monotone import promised
from gamcore.multitask.model import TaskModel


def load_model(path: str | os.PathLike[str]) -> Estimator:
    """Return a fitted estimator from a `.gamx` file; `ModelFileError` where the file is damaged or foreign."""
    return from_saved(gamx.load(path))


def from_saved(saved: Saved) -> Estimator:
    """Return a fitted estimator from a saved model. Parameters that this version does not know are left out."""
    if isinstance(saved.model, TaskModel):
        return task_estimator(saved, saved.model)
    effect, kind = saved.about.get("average_effect"), saved.model.loss.kind
    estimator: Estimator
    if isinstance(effect, float) and kind == "regressor":
        estimator = revive(EffectGAM, saved)
        estimator.average_effect_ = effect
    else:
        estimator = revive(ESTIMATORS[kind], saved)
    estimator.model_ = saved.model
    if isinstance(estimator, GAMRegressor):  # what a file says of its parameters is not trusted
        given = asdict(saved.model.loss)
        if "power" in given:
            estimator.power_ = given["power"]
            given["power"] = AUTO if estimator.power == AUTO else given["power"]  # it was chosen, and would be again
        estimator.set_params(objective=saved.model.loss.name, **given)
    estimator.best_rounds_ = np.array(numbers(saved.about.get("best_rounds")), np.int64)
    estimator.n_rounds_ = int(estimator.best_rounds_.max(initial=0))
    estimator.validation_losses_ = np.array(numbers(saved.about.get("validation_losses")), np.float64)
    path = saved.about.get("pair_path")
    steps = [numbers(step) for step in path] if isinstance(path, list) else []
    estimator.pair_path_ = tuple((int(step[0]), step[1]) for step in steps if len(step) == 2)
    estimator.steep_, estimator.monotone = saved.about.get("steep") is True, promised(saved.model)
    estimator.pair_joint_ = saved.about.get("pair_joint") is True
    if isinstance(entries := saved.about.get("entries"), list):
        estimator.entries_ = frame_of(entries)
    if isinstance(estimator, GAMClassifier):
        estimator.classes_ = np.array(saved.classes)
    return estimator
