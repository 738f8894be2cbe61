"""Baselines of multi-task trees: linear models, and a boosted model of all rows with an effect per task.

Linear models get one column per level, means for missing cells, and the penalties that are best on validation rows
within the training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.multitask import linear
from benchmarks.multitask.studies import Rows, Trial

Array = NDArray[np.float64]
Pooled = Callable[[Rows, pd.DataFrame, int], Array]
"""Fit rows without their tasks, and predict a table."""

HELD_OUT = 0.2
ALPHAS = 10.0 ** np.arange(-2.0, 4.1, 0.5)
N_FOLDS = 5
N_BAGS = 8


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


def with_residuals(trial: Trial, seed: int, pooled: Pooled) -> Array:
    """Predict by a model of all rows plus each task's shrunken mean residual on left-out folds."""
    train, test = trial.train, trial.test
    apart = pd.Series(np.empty(len(train.y)))
    for inside, outside in KFold(N_FOLDS, shuffle=True, random_state=seed).split(train.X):
        apart.iloc[outside] = pooled(train.take(inside), train.X.iloc[outside], seed)
    effects = shrunken_means(train.y - apart, train.task)
    return pooled(train, test.X, seed) + test.task.map(effects).to_numpy()


def shrunken_means(residual: pd.Series, task: pd.Series) -> pd.Series:
    """Return the mean of each task times n tau^2 / (n tau^2 + sigma^2): the variances between and within tasks by
    moments."""
    groups = residual.groupby(task)
    count, mean = groups.size(), groups.mean()
    n, n_tasks = len(residual), len(count)
    within = float(((residual - task.map(mean)) ** 2).sum()) / max(n - n_tasks, 1)
    spread = float((count * (mean - residual.mean()) ** 2).sum()) / (n_tasks - 1)
    between = max(0.0, (spread - within) / ((n - (count**2).sum() / n) / (n_tasks - 1)))
    return mean * count * between / (count * between + within)


def hist_boosting(train: Rows, X: pd.DataFrame, seed: int) -> Array:
    """Predict by scikit-learn's boosted trees with our budget: the same rounds, refits and patience."""
    kinds = {name: pd.CategoricalDtype(train.X[name].dropna().unique()) for name in _levels(train.X)}
    tables = train.X.astype(kinds), X.astype(kinds)
    return np.mean([model.fit(tables[0], train.y).predict(tables[1]) for model in _boosted(seed)], axis=0)


def _boosted(seed: int) -> Iterator[HistGradientBoostingRegressor]:
    for bag in range(N_BAGS):
        yield HistGradientBoostingRegressor(
            max_iter=300, max_depth=3, l2_regularization=1.0, early_stopping=True, validation_fraction=HELD_OUT,
            n_iter_no_change=20, categorical_features="from_dtype", random_state=N_BAGS * seed + bag,
        )  # fmt: skip


def _levels(X: pd.DataFrame) -> list[str]:
    return list(X.select_dtypes(exclude="number"))
