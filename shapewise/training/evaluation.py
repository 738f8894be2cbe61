"""Held-out metrics of a trained model, beside those of always predicting the mean."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import metrics

from gamcore.common.pauses import pause
from gamcore.common.types import Codes, Floats
from gamcore.data.binning import columns_of, encode_table
from gamcore.estimators.additive import AdditiveEstimator, read_target
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import Estimator, GAMClassifier, GAMRegressor
from gamcore.model.classes import class_losses
from gamcore.model.losses import Loss
from shapewise.training import effects
from shapewise.training.dataset import Data
from shapewise.training.task_dataset import predicted


def evaluate(data: Data, model: Estimator) -> dict[str, float]:
    """Return the held-out metrics, with the mean or base rate of the training rows and the metric of always
    predicting it. It is the base rate that the model's curves are measured from."""
    if data.expected is not None:
        return effects.metrics(data, predicted(model, data.X[data.held_out]))
    if data.classes:
        return _of_classes(data, np.asarray(model.predict_proba(data.X[data.held_out])))
    if isinstance(model, GAMRegressor) and loss_of(model).name != "squared":
        return _by_loss(data, model, loss_of(model))
    y = data.y[data.held_out].to_numpy()
    weight = None if data.weight is None else data.weight[data.held_out]
    train_weight = None if data.weight is None else data.weight[~data.held_out]
    base = _baseline(data, train_weight)
    usual = float(np.average(data.y[~data.held_out], weights=train_weight))
    predictions = predicted(model, data.X[data.held_out], None if data.task is None else data.task[data.held_out])
    if data.binary:
        return {
            "auc": float(metrics.roc_auc_score(y, predictions, sample_weight=weight)),
            "log_loss": float(metrics.log_loss(y, predictions, sample_weight=weight, labels=[0, 1])),
            "baseline_log_loss": float(metrics.log_loss(y, base, sample_weight=weight, labels=[0, 1])),
            "base_rate": usual,
        }
    return {
        "rmse": float(metrics.root_mean_squared_error(y, predictions, sample_weight=weight)),
        "baseline_rmse": float(metrics.root_mean_squared_error(y, base, sample_weight=weight)),
        "r2": _share_explained(y, predictions, base, weight),
        "mean": usual,
    }


def row_losses(model: Estimator, X: pd.DataFrame, y: pd.Series, exposure: Floats | None = None) -> Floats:
    """Return the loss of each row (n,) by the loss that the model minimises."""
    if isinstance(model, GAMClassifier):
        return _losses(model, model.decision_function(X), y)
    return _losses(model, loss_of(model).link(predicted(model, X)), y, exposure)


def _losses(model: Estimator, score: Floats, y: pd.Series, exposure: Floats | None = None) -> Floats:
    """Return the loss of each row (n,), given its score, or those of all classes (n, K)."""
    if isinstance(model, GAMClassifier):
        codes = read_target(model, y)
        return class_losses(codes.astype(np.int64), score) if score.ndim > 1 else loss_of(model).loss(codes, score)
    return loss_of(model).loss(y.to_numpy(np.float64), score if exposure is None else score + np.log(exposure))


def shuffled(
    model: AdditiveEstimator, X: pd.DataFrame, y: pd.Series, weight: Floats | None = None,
    exposure: Floats | None = None, repeats: int = 5,
) -> pd.Series:  # fmt: skip
    """Return the mean rise of the loss when a column is shuffled, by column: the numbers of
    `sklearn.inspection.permutation_importance`, which would read all columns anew for each of them."""
    bins = model.model_.bins
    codes = encode_table(X, bins)

    def loss(codes: Codes) -> float:
        return float(np.average(_losses(model, model.model_.score(codes), y, exposure), weights=weight))

    # As scikit-learn draws them: alike for each column, which is shuffled again where it stands.
    draws, places = np.random.RandomState(np.random.RandomState(0).randint(2**31)), np.arange(len(X))
    orders = [places.copy()]
    for _ in range(repeats):
        draws.shuffle(places)
        orders.append(orders[-1][places])
    now, rises = loss(codes), dict.fromkeys(X.columns, 0.0)
    for column in columns_of(bins):
        pause()
        features = [place for place, feature_bins in enumerate(bins) if feature_bins.feature.column == column]
        for order in orders[1:]:
            changed = codes.copy()
            changed[features] = codes[features][:, order]
            rises[column] += (loss(changed) - now) / repeats
    return pd.Series(rises)


def _of_classes(data: Data, chances: Floats) -> dict[str, float]:
    """Return the metrics of several classes, given the chances (held-out rows, K)."""
    names, y = list(data.classes), data.y[data.held_out].to_numpy()
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    held, train = weight[data.held_out], weight[~data.held_out]
    codes = pd.Index(names).get_indexer(data.y[~data.held_out])
    shares = np.bincount(codes, train, len(names)) / train.sum()
    usual = np.tile(shares, (y.size, 1))
    areas = [metrics.roc_auc_score(y == name, chances[:, k], sample_weight=held) for k, name in enumerate(names)]
    return {
        "class_auc": float(np.mean(areas)),
        "log_loss": float(metrics.log_loss(y, chances, sample_weight=held, labels=names)),
        "baseline_log_loss": float(metrics.log_loss(y, usual, sample_weight=held, labels=names)),
        "accuracy": float(np.average(np.array(names)[chances.argmax(axis=1)] == y, weights=held)),
        "baseline_accuracy": float(np.average(names[int(shares.argmax())] == y, weights=held)),
    }


def _by_loss(data: Data, model: GAMRegressor, loss: Loss) -> dict[str, float]:
    """Return the mean loss of held-out rows, the share of it that is explained, and the mean per unit of exposure."""
    y = data.y.to_numpy(np.float64)
    offset = np.zeros(y.size) if data.exposure is None else np.log(data.exposure)
    weight = np.ones(y.size) if data.weight is None else data.weight
    held, train = data.held_out, ~data.held_out
    base = loss.base_score(y[train], weight[train], offset[train])
    score = loss.link(model.predict(data.X[held])) + offset[held]
    mean, usual = (
        float(np.average(loss.loss(y[held], values), weights=weight[held])) for values in (score, base + offset[held])
    )
    exposure = np.exp(offset)
    measured = {
        "loss": mean,
        "baseline_loss": usual,
        "explained": 1.0 - mean / usual if usual > 0 else 0.0,
        "mean": float(weight[train] @ y[train] / (weight[train] @ exposure[train])),
    }
    if not loss.has_log_link:  # a quantile: the share of rows that it is above
        measured["below"] = float(np.average(y[held] <= score, weights=weight[held]))
    return measured


def _baseline(data: Data, weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the training mean for each held-out row, of the row's own task if there are several."""
    fitted, y = ~data.held_out, data.y.to_numpy(np.float64)
    everywhere = float(np.average(y[fitted], weights=weight))
    if data.task is None:
        return np.full(int(data.held_out.sum()), everywhere)
    rows = pd.DataFrame({"task": data.task[fitted], "y": y[fitted], "w": 1.0 if weight is None else weight})
    sums = rows.assign(y=rows["y"] * rows["w"]).groupby("task")[["y", "w"]].sum()
    means = (sums["y"] / sums["w"]).dropna().to_dict()
    return np.array([means.get(task, everywhere) for task in data.task[data.held_out]])


def _share_explained(
    y: NDArray[np.float64],
    predictions: NDArray[np.float64],
    base: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
) -> float:
    """Return R²: the share of the baseline's squared error that the predictions remove."""
    if np.ptp(base) == 0:
        return float(metrics.r2_score(y, predictions, sample_weight=weight)) if y.size > 1 else 0.0
    whole = metrics.mean_squared_error(y, base, sample_weight=weight)
    return float(1.0 - metrics.mean_squared_error(y, predictions, sample_weight=weight) / whole) if whole > 0 else 0.0
