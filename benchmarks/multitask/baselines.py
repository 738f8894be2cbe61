"""Baselines of multi-task trees: linear models.

Linear models get one column per level, means for missing cells, and the penalties that are best on validation rows
within the training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.multitask import linear
from benchmarks.multitask.studies import Trial

Array = NDArray[np.float64]

HELD_OUT = 0.2
ALPHAS = 10.0 ** np.arange(-2.0, 4.1, 0.5)


def design(train: pd.DataFrame, test: pd.DataFrame) -> tuple[Array, Array]:
    """Return the tables as standardised numbers without a missing cell."""
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    make = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
        (levels, make_column_selector(dtype_exclude="number")),
    )
    return make.fit_transform(train), make.transform(test)


def ridge(trial: Trial, seed: int) -> Array:
    """Predict by ridge regression with a column per task; logistic for two classes."""
    frames = [part.X.assign(task=part.task.astype("str")) for part in (trial.train, trial.test)]
    X, X_test = design(*frames)
    y = trial.train.y.to_numpy()
    best = min(ALPHAS, key=lambda alpha: _loss_held_out(_ridge(alpha, trial.binary), X, y, trial.train.task, seed))
    return _ask(_ridge(best, trial.binary).fit(X, y), X_test)


def _ridge(alpha: float, binary: bool) -> Any:
    return LogisticRegression(C=1.0 / alpha, max_iter=1000) if binary else Ridge(alpha)


def _ask(model: Any, X: Any) -> Array:
    return np.asarray(model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X))


def _loss_held_out(model: Any, X: Array, y: NDArray[Any], task: pd.Series, seed: int) -> float:
    held = hold_out(task, seed)
    scores = _ask(model.fit(X[~held], y[~held]), X[held])
    return float((log_loss if hasattr(model, "predict_proba") else mean_squared_error)(y[held], scores))


def hold_out(task: pd.Series, seed: int) -> NDArray[np.bool_]:
    """Return the mask of a held-out share of each task's rows."""
    held = np.zeros(len(task), bool)
    held[train_test_split(np.arange(len(task)), test_size=HELD_OUT, stratify=task, random_state=seed)[1]] = True
    return held


def lasso(trial: Trial, seed: int) -> Array:
    """Predict by a separate LASSO for each task."""
    return _by_task(trial, lambda Xs, ys, held, loss: linear.lasso(Xs, ys, loss, seed), seed)


def rmtfl(trial: Trial, seed: int) -> Array:
    """Predict by robust multi-task feature learning."""
    return _by_task(trial, lambda Xs, ys, held, loss: linear.choose(Xs, ys, held, "rmtfl", loss)[0], seed)


def dirty(trial: Trial, seed: int) -> Array:
    """Predict by the DIRTY model."""
    return _by_task(trial, lambda Xs, ys, held, loss: linear.choose(Xs, ys, held, "dirty", loss)[0], seed)


def _by_task(trial: Trial, fit: Callable[..., linear.Linear], seed: int) -> Array:
    """Fit a linear model to lists of the tasks' rows, and return the scores of the test rows."""
    X, X_test = design(trial.train.X, trial.test.X)
    y, held = trial.train.y.to_numpy(), hold_out(trial.train.task, seed)
    places = trial.train.task.groupby(trial.train.task).indices
    tested = trial.test.task.groupby(trial.test.task).indices
    lists = ([values[at] for at in places.values()] for values in (X, y, held))
    model = fit(*lists, "logistic" if trial.binary else "squared")
    score = np.empty(len(X_test))
    for at, scores in zip((tested[t] for t in places), model.scores([X_test[tested[t]] for t in places]), strict=True):
        score[at] = scores
    return score
