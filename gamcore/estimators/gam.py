"""The scikit-learn interface of the additive models: parameters in, fitted attributes out, no arithmetic."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Final, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gamcore.boosting.fit import Seeds
from gamcore.boosting.power_choice import choose_power
from gamcore.boosting.progress import Watcher
from gamcore.boosting.rows import Source
from gamcore.data.table import TableError
from gamcore.data.targets import read_class_target, read_numeric_target
from gamcore.decide.segments import Segment, suggest
from gamcore.estimators.additive import AdditiveEstimator
from gamcore.estimators.additive_parameters import AUTO, ClassifierParameters, RegressorParameters
from gamcore.estimators.base import check_parameters, column, numbers, revive
from gamcore.estimators.multitask import MultiTaskTreesClassifier, MultiTaskTreesRegressor, task_estimator
from gamcore.io import gamx
from gamcore.io.manifest import Saved
from gamcore.model.losses import LOSSES, Loss, default_loss
from gamcore.multitask.model import TaskModel
from gamcore.types import Floats


class GAMRegressor(RegressorMixin, RegressorParameters, AdditiveEstimator):  # type: ignore[misc]
    """A generalized additive model for a number: intercept + f1(x1) + f2(x2) + ..., or the log of a mean that is so.

    Each shape function is boosted in small steps on one feature, every step the mean of shallow trees on subsamples
    (Lou et al., CIKM 2020), and the model is the mean of `outer_bags` refits with their own validation rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    model_ : AdditiveModel
    best_rounds_ : (outer_bags,)
        The round that each refit kept; n_rounds_ is the largest.
    validation_losses_ : (outer_bags,)
        Mean squared error on each refit's validation rows; mean deviance or pinball loss for the other objectives.
    power_ :
        Of "tweedie": the power that was given or chosen.
    pair_ranking_ :
        Frame of all pairs, as from `rank_pairs`; like those below, only with `interactions`.
    pair_worth_ : (pairs,)
        Rise of the validation loss without each interaction, as a mean over refits.
    pair_path_ :
        Numbers of pairs tried, each with its mean validation loss.
    pair_joint_ :
        Whether main effects and pairs were boosted together.
    """

    @property
    def loss(self) -> Loss:
        """The loss that boosting minimises."""
        loss = LOSSES[self.objective]
        asked = {name: getattr(self, name) for name in asdict(loss)}
        chosen = {name: getattr(self, f"{name}_", getattr(loss, name)) for name in asked}
        return replace(loss, **{name: chosen[name] if value == AUTO else value for name, value in asked.items()})

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to a table (n, p) and a numeric target (n,).

        sample_weight : (n,) non-negative; a weight of 0 leaves the row out.
        groups : (n,) labels; rows that share one stay together in every split.
        """
        check_parameters(self)
        table = self.read_table(X, reset=True)
        target = read_numeric_target(column(y))
        table, target, weight, clusters = self.read_rows(table, target, sample_weight, groups)
        self._check_target(target)
        self._fit_encoded(table, target, weight, clusters, None)
        return self

    def _fit_source(self, source: Source, seeds: Seeds, watcher: Watcher) -> None:
        """Fit, after the power is chosen if that is asked for."""
        self.__dict__.pop("power_", None)
        source = source.with_loss(self.loss)
        if "power" in asdict(self.loss):
            names = [bins.feature.name for bins in source.bins]
            plan = self._plan(source.n_rows, names)
            self.power_ = choose_power(source, plan, seeds, watcher) if self.power == AUTO else float(self.power)
        super()._fit_source(source.with_loss(self.loss), seeds, watcher)

    def _check_target(self, y: Floats) -> None:
        """Raise TableError where the objective cannot have these targets."""
        if refusal := self.loss.refusal(y):
            raise TableError(refusal)

    def read_target(self, y: Any) -> Floats:
        target = read_numeric_target(column(y))
        self._check_target(target)
        return target

    def predict(self, X: Any) -> Floats:
        """Return the predictions (n,) in the target's units: means, or quantiles."""
        return self._predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss.has_log_link
        return tags


class GAMClassifier(ClassifierMixin, ClassifierParameters, AdditiveEstimator):  # type: ignore[misc]
    """A generalized additive model for two classes: the log-odds are intercept + f1(x1) + f2(x2) + ...

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    model_, best_rounds_, n_rounds_ :
        As in `GAMRegressor`.
    classes_ : (2,)
        Labels in order; probabilities and scores are those of the second.
    validation_losses_ : (outer_bags,)
        Mean log-loss on each refit's validation rows.
    """

    @property
    def loss(self) -> Loss:
        """The loss that boosting minimises."""
        return LOSSES["logistic"]

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to a table (n, p) and a target (n,) of two classes; see `GAMRegressor.fit`."""
        check_parameters(self)
        table = self.read_table(X, reset=True)
        codes, self.classes_ = read_class_target(column(y))
        table, codes, weight, clusters = self.read_rows(table, codes, sample_weight, groups)
        if np.ptp(codes) == 0:
            raise TableError("Only one class has rows of positive weight: give the other class some.")
        self._fit_encoded(table, codes.astype(np.float64), weight, clusters, codes)
        return self

    def _learn_classes(self, y: Any) -> None:
        self.classes_ = read_class_target(column(y))[1]

    def read_target(self, y: Any) -> Floats:
        """Return 1.0 for the second class, 0.0 for the first."""
        codes, classes = read_class_target(column(y))
        if list(classes) != list(self.classes_):
            raise TableError(f"The classes are {list(classes)}; the model knows {list(self.classes_)}.")
        return codes.astype(np.float64)

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds (n,) of the second class."""
        codes = self._encode(X)
        return self.model_.score(codes)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities (n, 2) of the classes in the order of `classes_`."""
        chance = self._predict(X)
        return np.stack([1.0 - chance, chance], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class of each row, (n,)."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(np.int64)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


ESTIMATORS: Final[dict[str, type[GAMRegressor | GAMClassifier]]] = {
    "regressor": GAMRegressor,
    "classifier": GAMClassifier,
}
"""By the kind of their loss."""

Estimator = GAMRegressor | GAMClassifier | MultiTaskTreesRegressor | MultiTaskTreesClassifier


def rank_pairs(
    X: Any,
    y: Any,
    objective: Literal["auto", "squared", "logistic", "poisson", "gamma", "tweedie", "quantile"] = "auto",
    strength: Literal["purified", "rss"] = "purified",
    sample_weight: Any = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: Callable[[int, int], None] | None = None,
    quantile: float = 0.5,
) -> pd.DataFrame:
    """Return all pairs of features of a table (n, p) by the strength of their interaction (FAST; Lou et al., KDD 2013).

    A quick additive model is fitted first, and its residuals are split by the best cross of each pair. "purified"
    counts how much a cross reduces the loss beyond main effects; "rss" is the paper's drop of the residual sum of
    squares, under which two features whose main effects are not fitted to the end make a strong pair as well.

    objective : "auto" is logistic for a target of two values, else squared. quantile : of objective "quantile".

    progress : called with the number of grids done and their total.

    Returns a frame with one row per pair: feature_1, feature_2, strength, rank; strongest first. Its attrs["chance"] is
    the strength of the strongest pair if there were no interaction.
    """
    loss = default_loss(pd.Series(column(y)).nunique() == 2).name if objective == "auto" else objective
    if loss not in LOSSES:
        raise ValueError(f'objective is {objective!r}: it must be "auto" or one of {", ".join(map(repr, LOSSES))}.')
    kind = LOSSES[loss].kind
    model = ESTIMATORS[kind](outer_bags=2, strength=strength, n_jobs=n_jobs, random_state=random_state)
    if isinstance(model, GAMRegressor):
        model.set_params(objective=loss, quantile=quantile)
    return model.fit(X, y, sample_weight).rank_pairs(X, y, sample_weight, progress=progress)


def suggest_segments(
    model: GAMRegressor | GAMClassifier,
    X_holdout: Any,
    y_holdout: Any,
    sample_weight: Any = None,
    threshold: float = 0.0,
) -> list[Segment]:
    """Return the segments found by a fitted model's curves and pairs, the largest opportunity x reach first.

    Cuts come from the model, evidence from these rows: no fit may have seen them (`segments.suggest`). `threshold` :
    level that the simultaneous band must clear, on the link scale. Without refits for a band there are no segments.
    """
    check_is_fitted(model, "model_")
    table = model.read_table(X_holdout, reset=False)
    table, target, weight, _ = model.read_rows(table, model.read_target(y_holdout), sample_weight, None)
    return suggest(
        model.model_,
        table,
        y=target.astype(np.float64),
        weight=weight,
        threshold=threshold,
        train_share=model.train_share,
    )


def load_model(path: str | os.PathLike[str]) -> Estimator:
    """Return a fitted estimator from a `.gamx` file; `ModelFileError` where the file is damaged or foreign."""
    return from_saved(gamx.load(path))


def from_saved(saved: Saved) -> Estimator:
    """Return a fitted estimator from a saved model. Parameters that this version does not know are left out."""
    if isinstance(saved.model, TaskModel):
        return task_estimator(saved, saved.model)
    estimator = revive(ESTIMATORS[saved.model.loss.kind], saved)
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
    estimator.pair_joint_ = saved.about.get("pair_joint") is True
    if isinstance(estimator, GAMClassifier):
        estimator.classes_ = np.array(saved.classes)
    return estimator
