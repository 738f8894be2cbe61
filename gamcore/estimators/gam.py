"""The scikit-learn interface of the additive models: parameters in, fitted attributes out, no arithmetic."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Final, Self, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gamcore.boosting.fit import model as boost
from gamcore.boosting.fit.chosen_power import choose_power
from gamcore.boosting.rows.source import Source
from gamcore.boosting.running.progress import Watcher
from gamcore.boosting.updating.tables import KeptTables
from gamcore.common.types import Floats, Ints
from gamcore.data.columns import TableError
from gamcore.data.targets import codes_of, read_class_target, read_numeric_target
from gamcore.decide.segments import Segment, suggest
from gamcore.distributed.pieces import is_in_pieces
from gamcore.estimators.additive import AdditiveEstimator, read_target, single_model
from gamcore.estimators.additive_parameters import AUTO, ClassifierParameters, RegressorParameters, for_one_score
from gamcore.estimators.base import TrainingRows, check_parameters, column, n_scores, read_rows, read_table, train_share
from gamcore.estimators.kept_counts import fit_counts
from gamcore.estimators.multitask import MultiTaskTreesClassifier, MultiTaskTreesRegressor
from gamcore.estimators.pieces import check_alone, fit_pieces, roles_of
from gamcore.estimators.scores import GIVEN, share_explained, share_right, warn_of_missing
from gamcore.explain.classes import ClassCurves, explain_classes
from gamcore.model.classes import ClassesModel, against_rest
from gamcore.model.losses import LOSSES, Loss

OFFSET: Final = {"init_score": True}
"""What a classifier's methods take of `GIVEN`."""


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
    steep_ :
        Whether refits start with small steps instead of smoothing rounds, as they do without these.
    entries_ :
        In greedy order, a frame of all features: those that entered, then the others, each with its chance.
    pair_ranking_ :
        Frame of all pairs, as from `rank_pairs`; like those below, only with `interactions`.
    pair_worth_ : (pairs,)
        Rise of the validation loss without each interaction, as a mean over refits.
    pair_path_ :
        Numbers of pairs tried, each with its mean validation loss.
    pair_joint_ :
        Whether main effects and pairs were boosted together.
    tables_, update_drift_ :
        With `keep_tables`: counts of the rows, and how those added last differ.
    """

    tables_: KeptTables
    update_drift_: pd.DataFrame

    __metadata_request__fit = GIVEN
    __metadata_request__predict = GIVEN
    __metadata_request__score = GIVEN

    @property
    def _loss(self) -> Loss:
        """The loss that boosting minimises."""
        loss = LOSSES[self.objective]
        asked = {name: getattr(self, name) for name in asdict(loss)}
        chosen = {name: getattr(self, f"{name}_", getattr(loss, name)) for name in asked}
        return replace(loss, **{name: chosen[name] if value == AUTO else value for name, value in asked.items()})

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        exposure: Any = None,
        init_score: Any = None,
        client: Any = None,
    ) -> Self:
        """Fit to a table (n, p) and a numeric target (n,).

        X may be in pieces: the path or URL of a Parquet dataset, a list of frames, or a Dask dataframe or list of
        delayed frames. y, sample_weight, groups and exposure are then names of its columns. Pieces are read where
        `client` is, a Dask client, else by this machine; the model is the same (docs/guides/cluster.md).

        sample_weight : (n,) non-negative; only their ratios matter, and a weight of 0 leaves the row out.
        groups : (n,) labels; rows that share one stay together in every split.
        exposure : (n,) above 0, such as years insured: the mean is modelled per unit of it. Needs a log link.
        init_score : (n,) given scores on the link scale, such as those of a model in use: curves are what is added.
        """
        check_parameters(self)
        if is_in_pieces(X):
            columns = {"sample_weight": sample_weight, "groups": groups, "exposure": exposure}
            return fit_pieces(self, X, roles_of(self, y, columns, init_score=init_score), client)
        check_alone(client)
        table = read_table(self, X, reset=True)
        target = read_numeric_target(column(y))
        rows = read_rows(self, table, target, sample_weight, groups, exposure=exposure, init_score=init_score)
        self._check_target(rows.y)
        self._fit_rows(rows)
        return self

    def _fit_rows(self, rows: TrainingRows, strata: Ints | None = None) -> None:
        """Fit rows in memory; through counts of them where these are to be kept."""
        for stale in ("tables_", "update_drift_"):
            self.__dict__.pop(stale, None)
        if self.keep_tables:
            self.tables_ = fit_counts(self, rows)
        else:
            super()._fit_rows(rows, strata)

    def _fit_source(self, source: Source, seeds: boost.Seeds, watcher: Watcher, halves: bool = False) -> boost.Fitted:
        """Fit, after the power is chosen if that is asked for."""
        self.__dict__.pop("power_", None)
        source = source.with_loss(self._loss)
        if "power" in asdict(self._loss):
            names = [bins.feature.name for bins in source.bins]
            plan = self._plan(source, names)
            self.power_ = choose_power(source, plan, seeds, watcher) if self.power == AUTO else float(self.power)
        return super()._fit_source(source.with_loss(self._loss), seeds, watcher, halves)

    def _check_target(self, y: Floats) -> None:
        """Raise TableError where the objective cannot have these targets."""
        if refusal := self._loss.refusal(y):
            raise TableError(refusal)

    def _read_target(self, y: Any) -> Floats:
        target = read_numeric_target(column(y))
        self._check_target(target)
        return target

    def predict(self, X: Any, exposure: Any = None, init_score: Any = None) -> Floats:
        """Return the predictions (n,) in the target's units: means, or quantiles.

        exposure, init_score : as for `fit`. Without an exposure, predictions are rates: means per unit of exposure.
        """
        return self._loss.inverse_link(self._score(X, exposure, init_score))

    def score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None, init_score: Any = None) -> float:
        """Return the share of the objective's loss that `predict` explains beyond the best constant on these rows.

        R^2 for squared loss, else D^2: the deviance explained, or of quantiles the pinball loss (`scores.explained`).
        exposure, init_score : as for `predict`; y is what was counted, not a rate.
        """
        predicted = self.predict(X, exposure, init_score)
        warn_of_missing(self.model_.given, {"exposure": exposure, "init_score": init_score})
        return share_explained(self._loss, column(y), predicted, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._loss.has_log_link
        tags.regressor_tags.poor_score = not self._loss.is_of_mean  # the share of a pinball loss is far below an R^2
        return tags


class GAMClassifier(ClassifierMixin, ClassifierParameters, AdditiveEstimator):  # type: ignore[misc]
    """A generalized additive model for two or more classes.

    For two, the log-odds are intercept + f1(x1) + f2(x2) + ... For more, up to 20, every class has such a score, and
    the probabilities are their softmax; `of_class` gives the curves of one class.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    model_, best_rounds_, n_rounds_ :
        As in `GAMRegressor`; `model_` is a `ClassesModel` for more than two classes.
    classes_ : (K,)
        Labels in order. With two, probabilities and scores are those of the second.
    validation_losses_ : (outer_bags,)
        Mean log-loss on each refit's validation rows.
    """

    __metadata_request__fit = OFFSET
    __metadata_request__predict = OFFSET
    __metadata_request__predict_proba = OFFSET
    __metadata_request__decision_function = OFFSET
    __metadata_request__score = OFFSET

    @property
    def _loss(self) -> Loss:
        """The loss that boosting minimises."""
        return LOSSES["softmax" if self._n_scores > 1 else "logistic"]

    @property
    def _n_scores(self) -> int:
        """Scores per row: 1 for two classes, else one per class."""
        known = len(getattr(self, "classes_", ()))
        return known if known > 2 else 1

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        init_score: Any = None,
        client: Any = None,
    ) -> Self:
        """Fit to a table (n, p), which may be in pieces, and a target (n,) of classes; see `GAMRegressor.fit`.

        init_score : log-odds (n,) for two classes; for K, scores (n, K) in the order of the sorted labels.
        """
        check_parameters(self)
        if is_in_pieces(X):
            columns = {"sample_weight": sample_weight, "groups": groups}
            return fit_pieces(self, X, roles_of(self, y, columns, init_score=init_score), client)
        check_alone(client)
        table = read_table(self, X, reset=True)
        codes, self.classes_ = read_class_target(column(y))
        rows = read_rows(self, table, codes, sample_weight, groups, init_score=init_score)
        absent = np.flatnonzero(np.bincount(rows.y, minlength=len(self.classes_)) == 0)
        if absent.size:
            raise TableError(f"The class {self.classes_[absent[0]]} has no row of positive weight: give it some.")
        self._fit_rows(rows, strata=rows.y)
        return self

    def _learn_classes(self, y: Any) -> None:
        self.classes_ = read_class_target(column(y))[1]

    def _read_target(self, y: Any) -> Floats:
        """Return the place of each row's class in `classes_`."""
        return codes_of(column(y), self.classes_).astype(np.float64)

    def of_class(self, label: Any) -> GAMClassifier:
        """Return the model of one of several classes, for explanations: its scores are beside the average class.

        Its probabilities are those of that class against all others.
        """
        check_is_fitted(self, "model_")
        if not isinstance(self.model_, ClassesModel):
            raise TableError("The model has two classes, whose log-odds are one score: explain it as it is.")
        places = codes_of([label], self.classes_)
        return ClassView.of(self, self.model_, int(places[0]))

    def explain_classes(self, feature: str | int) -> ClassCurves:
        """Return the chances of all classes along one feature, by name or place; the other features are average."""
        check_is_fitted(self, "model_")
        if not isinstance(self.model_, ClassesModel):
            raise TableError("The model has two classes: explain_shape gives the curve of the second.")
        labels = tuple(str(label) for label in self.classes_)
        return explain_classes(self.model_, self._feature_index(feature), labels, train_share(self))

    def decision_function(self, X: Any, init_score: Any = None) -> Floats:
        """Return the log-odds (n,) of the second class; for more than two, the scores (n, K) of all."""
        return self._score(X, init_score=init_score)

    def predict_proba(self, X: Any, init_score: Any = None) -> Floats:
        """Return the probabilities (n, K) of the classes in the order of `classes_`."""
        score = self._score(X, init_score=init_score)
        if self._n_scores > 1:
            return np.asarray(softmax(score, axis=1), np.float64)
        chance = self._loss.inverse_link(score)
        return np.stack([1.0 - chance, chance], axis=1)

    def predict(self, X: Any, init_score: Any = None) -> NDArray[Any]:
        """Return the likeliest class of each row, (n,)."""
        scores = self.decision_function(X, init_score)
        best = scores.argmax(axis=1) if self._n_scores > 1 else (scores > 0).astype(np.int64)
        return np.asarray(self.classes_[best])

    def score(self, X: Any, y: Any, sample_weight: Any = None, init_score: Any = None) -> float:
        """Return the share of rows whose class is the likeliest one (accuracy); init_score as for `predict`."""
        predicted = self.predict(X, init_score)
        warn_of_missing(self.model_.given, {"init_score": init_score})
        return share_right(column(y), predicted, self.classes_, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not for_one_score(self)
        return tags


class ClassView(GAMClassifier):
    """One of several classes of a fitted classifier, read beside the average class."""

    whole_: GAMClassifier
    place_: int

    @classmethod
    def of(cls, whole: GAMClassifier, model: ClassesModel, place: int) -> ClassView:
        """Return the view of the class at a place of `classes_`."""
        view = cls(**whole.get_params(deep=False))
        view.__dict__.update(whole.__dict__)
        view.whole_, view.model_, view.place_ = whole, model.models[place], place
        return view

    @property
    def base_chance(self) -> float:
        """The share of the class among the training rows."""
        assert isinstance(self.whole_.model_, ClassesModel)
        return float(self.whole_.model_.base_chances[self.place_])

    @property
    def label(self) -> str:
        """The name of the class."""
        return str(self.classes_[self.place_])

    @property
    def _n_scores(self) -> int:
        """Scores per row: that of the class."""
        return 1

    @property
    def _loss(self) -> Loss:
        """The loss of one of several classes."""
        return LOSSES["softmax"]

    def _read_target(self, y: Any) -> Floats:
        """Return 1.0 for the class, 0.0 for any other."""
        codes = codes_of(column(y), self.classes_)
        return np.asarray(codes == self.place_, np.float64)

    def predict_proba(self, X: Any, init_score: Any = None) -> Floats:
        """Return the probabilities (n, 2) of any other class, and of this one."""
        chance = self.whole_.predict_proba(X, init_score)[:, self.place_]
        return np.stack([1.0 - chance, chance], axis=1)

    def against_others(self, X: Any) -> Floats:
        """Return what takes the class's scores (n,) to its log-odds against all others."""
        return against_rest(self.whole_.decision_function(X))[:, self.place_] - self.decision_function(X)

    def predict(self, X: Any, init_score: Any = None) -> NDArray[Any]:
        """Return the likeliest class of each row, (n,), of all classes."""
        return self.whole_.predict(X, init_score)


Fitted = TypeVar("Fitted")


def in_class(fitted: Fitted, label: str) -> Fitted:
    """Return a fitted estimator, of several classes that of one, named as text: the usual where none has this name.

    Any other estimator is returned as it is.
    """
    if not isinstance(fitted, GAMClassifier) or n_scores(fitted) == 1:
        return fitted
    names = {str(name): name for name in fitted.classes_}
    return cast(Fitted, fitted.of_class(names.get(label, usual_class(fitted))))


def usual_class(fitted: GAMClassifier) -> Any:
    """Return the likeliest of several classes, before anything is known of a row."""
    assert isinstance(fitted.model_, ClassesModel)
    return fitted.classes_[int(np.argmax(fitted.model_.base_chances))]


ESTIMATORS: Final[dict[str, type[GAMRegressor | GAMClassifier]]] = {
    "regressor": GAMRegressor,
    "classifier": GAMClassifier,
}
"""By the kind of their loss."""

Estimator = GAMRegressor | GAMClassifier | MultiTaskTreesRegressor | MultiTaskTreesClassifier


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
    table = read_table(model, X_holdout, reset=False)
    rows = read_rows(model, table, read_target(model, y_holdout), sample_weight, None)
    return suggest(
        single_model(model),
        rows.table,
        y=rows.y.astype(np.float64),
        weight=rows.weight,
        threshold=threshold,
        train_share=train_share(model),
    )
