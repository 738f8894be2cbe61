"""The scikit-learn face: parameters in, fitted attributes out, no arithmetic."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gamcore.boosting.loop import Progress
from gamcore.data import table
from gamcore.decide.segments import Segment, suggest
from gamcore.estimators.additive import AdditiveEstimator
from gamcore.estimators.base import check_parameters, column, numbers, one_of, revive
from gamcore.estimators.multitask import MultiTaskTreesClassifier, MultiTaskTreesRegressor, task_estimator
from gamcore.io import gamx as serialize
from gamcore.io.manifest import Saved
from gamcore.multitask.model import TaskModel

Floats = NDArray[np.float64]


class GAMRegressor(RegressorMixin, AdditiveEstimator):  # type: ignore[misc]
    """A generalized additive model for a real target: intercept + f1(x1) + f2(x2) + ...

    Each shape function is boosted in small steps on one feature, every step the mean of shallow trees on subsamples
    (Lou et al., CIKM 2020), and the model is the mean of `outer_bags` refits with their own validation rows.

    Parameters
    ----------
    ensemble : "grouped" | "subagging" | "bagging"
        How a step's bags are drawn: as sets of row groups, anew each step; as the paper's row subsamples; or as
        bootstrap samples.
    histogram : "auto" | "rescan" | "mst" | "complement" | "mask"
        How "subagging" adds up its bags; the trees are the same.
    n_bags : int or None
        Trees a step; None is 16 for "grouped" and 100 otherwise.
    subsample : float
        Share of the training rows (of the training groups) in each bag; 1 means one tree a step.
    n_groups : int
        Groups that rows are dealt into.
    max_rounds, learning_rate, max_leaves : int, float, int
        At most so many passes over the features; the share of each step that is taken; leaves of a tree.
    coarse_leaves : int, "auto" or None
        Leaves of the first rounds' trees, until the validation loss first fails to fall: from the best of these rounds,
        trees of `max_leaves` go on. On large tables they reach the same accuracy in a fraction of the steps: "auto" is
        3 from 25,000 rows. None, or no more than `max_leaves`, leaves them out.
    smoothing_rounds : int
        Rounds before all others whose trees are cut once and anywhere: the mean of many bends gently, and what follows
        only adds what it lacks (as in EBM). At most half of `max_rounds`.
    max_bins : int
        Codes a feature, the missing and the unseen one included.
    interactions : int, "auto" or list of pairs
        Pairs of features that are boosted on top of the frozen main effects, bins merged to at most 62 an axis: so many
        of the strongest (Lou et al. 2013), as many as lower the validation loss, or these, by names or places.
    pair_tree : "cross" | "refined"
        Trees of a pair: one cut an axis, or the other axis cut anew in each part of the root.
    strength : "purified" | "rss"
        How pairs are ranked: by what their best cross takes off the loss beyond main effects, or in all, as in the
        paper, where two strong main effects that are not fitted to the end make a strong pair as well.
    joint : bool
        Also boost main effects and pairs together, and keep it where its mean validation loss is lower.
    purify : bool
        Move the main effects that surfaces hold to the curves of their features; predictions stay.
    greedy_ratio : float
        Steps on the features that gained most, after each pass, in multiples of the number of features; 0 is the
        papers' cyclic order.
    validation_fraction, early_stopping_rounds : float, int
        Share of the groups held out of each refit, and rounds without improvement after which it stops; fewer while it
        is young: half of the rounds it took to improve last, at least five.
    outer_bags : int
        Refits that are averaged.
    bands : int
        Refits on halves of the rows that tell how sure the curves are, 0 for none; 30 are about twice the work of the
        fit. `add_bands` makes them later.
    categorical_features : "infer" or list of column names
        Columns to treat as categories whatever their type.
    date_parts : bool
        Whether a date column also gives its month and its weekday.
    n_jobs : int or None
        Threads; the model is the same to the bit for every number of them.
    random_state : int, RandomState or None
    callback : callable or None
        Called with a `Progress` for every round, up to 64 rounds at a time when they are done; returning true stops the
        fit at its best round so far.

    Attributes
    ----------
    model_ : AdditiveModel
    best_rounds_ : (outer_bags,) the round that each refit kept; n_rounds_ is the largest.
    validation_losses_ : (outer_bags,) mean squared error on each refit's validation rows.
    pair_ranking_ : frame of all pairs as `rank_pairs` gives it; with `interactions` only, as those below.
    pair_worth_ : (pairs,) mean over refits of what the validation loss would rise by without each interaction.
    pair_path_ : numbers of pairs that were tried, and the mean validation loss of each.
    pair_joint_ : whether main effects and pairs were boosted together.
    """

    _kind: ClassVar[str] = "regressor"
    _loss: ClassVar[str] = "squared"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to a table (n, p) and a numeric target (n,).

        sample_weight : (n,) non-negative; a weight of 0 leaves the row out.
        groups : (n,) labels; rows that share one stay together in every split.
        """
        check_parameters(self)
        frame = self._read_table(X, reset=True)
        target = table.read_numeric_target(column(y))
        frame, target, weight, clusters = self._read_rows(frame, target, sample_weight, groups)
        self._fit_encoded(frame, target, weight, clusters, None)
        return self

    def _target(self, y: Any) -> Floats:
        return table.read_numeric_target(column(y))

    def predict(self, X: Any) -> Floats:
        """Predictions (n,) in the target's units."""
        return self._predict(X)


class GAMClassifier(ClassifierMixin, AdditiveEstimator):  # type: ignore[misc]
    """A generalized additive model for two classes: the log-odds are intercept + f1(x1) + f2(x2) + ...

    Parameters are those of `GAMRegressor`, and

    boosting : "logit" | "mart"
        Robust LogitBoost, which weighs rows by p (1 - p) in splits and leaves (Algorithm 5 of Lou et al. 2020), or MART
        with Newton leaves (Algorithm 2).

    Attributes
    ----------
    model_, best_rounds_, n_rounds_ : as in `GAMRegressor`.
    classes_ : (2,) labels in order; probabilities and scores are those of the second.
    validation_losses_ : (outer_bags,) mean log-loss on each refit's validation rows.
    """

    _kind: ClassVar[str] = "classifier"
    _loss: ClassVar[str] = "logistic"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AdditiveEstimator._parameter_constraints,
        "boosting": one_of("logit", "mart"),
    }

    def __init__(
        self,
        ensemble: Literal["grouped", "subagging", "bagging"] = "grouped",
        histogram: Literal["auto", "rescan", "mst", "complement", "mask"] = "auto",
        boosting: Literal["logit", "mart"] = "logit",
        n_bags: int | None = None,
        subsample: float = 0.65,
        n_groups: int = 32,
        max_rounds: int = 5000,
        learning_rate: float = 0.4,
        max_leaves: int = 2,
        coarse_leaves: int | Literal["auto"] | None = "auto",
        smoothing_rounds: int = 10,
        max_bins: int = 256,
        greedy_ratio: float = 2.0,
        interactions: int | Literal["auto"] | Sequence[tuple[Any, Any]] = 0,
        pair_tree: Literal["cross", "refined"] = "cross",
        strength: Literal["purified", "rss"] = "purified",
        joint: bool = False,
        purify: bool = True,
        validation_fraction: float = 0.15,
        early_stopping_rounds: int = 15,
        outer_bags: int = 8,
        bands: int = 0,
        categorical_features: Sequence[str] | Literal["infer"] = "infer",
        date_parts: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> None:
        super().__init__(
            ensemble=ensemble,
            histogram=histogram,
            n_bags=n_bags,
            subsample=subsample,
            n_groups=n_groups,
            max_rounds=max_rounds,
            learning_rate=learning_rate,
            max_leaves=max_leaves,
            coarse_leaves=coarse_leaves,
            smoothing_rounds=smoothing_rounds,
            max_bins=max_bins,
            greedy_ratio=greedy_ratio,
            interactions=interactions,
            pair_tree=pair_tree,
            strength=strength,
            joint=joint,
            purify=purify,
            validation_fraction=validation_fraction,
            early_stopping_rounds=early_stopping_rounds,
            outer_bags=outer_bags,
            bands=bands,
            categorical_features=categorical_features,
            date_parts=date_parts,
            n_jobs=n_jobs,
            random_state=random_state,
            callback=callback,
        )
        self.boosting = boosting

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to a table (n, p) and a target (n,) of two classes; see `GAMRegressor.fit`."""
        check_parameters(self)
        frame = self._read_table(X, reset=True)
        codes, self.classes_ = table.read_class_target(column(y))
        frame, codes, weight, clusters = self._read_rows(frame, codes, sample_weight, groups)
        if np.ptp(codes) == 0:
            raise table.TableError("Only one class has rows of positive weight: give the other class some.")
        self._fit_encoded(frame, codes.astype(np.float64), weight, clusters, codes)
        return self

    def _learn_classes(self, y: Any) -> None:
        self.classes_ = table.read_class_target(column(y))[1]

    def _target(self, y: Any) -> Floats:
        """1.0 for the second class, 0.0 for the first."""
        codes, classes = table.read_class_target(column(y))
        if list(classes) != list(self.classes_):
            raise table.TableError(f"The classes are {list(classes)}; the model knows {list(self.classes_)}.")
        return codes.astype(np.float64)

    def decision_function(self, X: Any) -> Floats:
        """Log-odds (n,) of the second class."""
        codes = self._encode(X)
        return self.model_.score(codes)

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities (n, 2) of the classes in the order of `classes_`."""
        chance = self._predict(X)
        return np.stack([1.0 - chance, chance], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The likelier class of each row, (n,)."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(np.int64)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


Estimator = GAMRegressor | GAMClassifier | MultiTaskTreesRegressor | MultiTaskTreesClassifier


def rank_pairs(
    X: Any,
    y: Any,
    objective: Literal["auto", "squared", "logistic"] = "auto",
    strength: Literal["purified", "rss"] = "purified",
    sample_weight: Any = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """All pairs of features of a table (n, p) by the strength of their interaction (FAST; Lou et al., KDD 2013).

    A quick additive model is fitted first, and its residuals are cut by the best cross of each pair. "purified" counts
    what a cross takes off the loss beyond main effects; "rss" is the paper's drop of the residual sum of squares, under
    which two features whose main effects are not fitted to the end make a strong pair as well.

    objective : "auto" is logistic for a target of two values, else squared.

    progress : told how many grids are done, and of how many.

    Returns a frame with a row a pair: feature_1, feature_2, strength, rank; strongest first. Its attrs["chance"] is
    what the strongest pair would have without any interaction.
    """
    if objective == "auto":
        objective = "logistic" if pd.Series(column(y)).nunique() == 2 else "squared"
    kind = GAMClassifier if objective == "logistic" else GAMRegressor
    model = kind(outer_bags=2, strength=strength, n_jobs=n_jobs, random_state=random_state)
    return model.fit(X, y, sample_weight).rank_pairs(X, y, sample_weight, progress=progress)


def suggest_segments(
    model: GAMRegressor | GAMClassifier,
    X_holdout: Any,
    y_holdout: Any,
    sample_weight: Any = None,
    threshold: float = 0.0,
) -> list[Segment]:
    """Segments that a fitted model's curves and pairs set apart, the largest opportunity x reach first.

    Cuts come from the model, evidence from these rows: no fit may have seen them (`segments.suggest`). `threshold` :
    what the band of all places at once clears, on the link scale; without refits for a band there is no segment.
    """
    check_is_fitted(model, "model_")
    frame = model._read_table(X_holdout, reset=False)
    frame, target, weight, _ = model._read_rows(frame, model._target(y_holdout), sample_weight, None)
    return suggest(model.model_, frame, target.astype(np.float64), weight, threshold, model._train_share)


def load_model(path: str | os.PathLike[str]) -> Estimator:
    """A fitted estimator from a `.gamx` file; `ModelFileError` where the file is damaged or foreign."""
    return from_saved(serialize.load(path))


def from_saved(saved: Saved) -> Estimator:
    """A fitted estimator from a saved model. Parameters that this version does not know are left out."""
    if isinstance(saved.model, TaskModel):
        return task_estimator(saved, saved.model)
    estimator = revive(GAMClassifier if saved.kind == "classifier" else GAMRegressor, saved)
    estimator.model_ = saved.model
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
