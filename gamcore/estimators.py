"""The scikit-learn face: parameters in, fitted attributes out, no arithmetic."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from gamcore import explain, serialize, table
from gamcore.binning import Binned, bin_table, encode_table
from gamcore.boosting import Progress, boost_refits
from gamcore.groups import deal, splits
from gamcore.kernels.layout import Table
from gamcore.losses import LOSSES
from gamcore.model import AdditiveModel, assemble, count_bins
from gamcore.refit import Parameters, Problem, first_leaves
from gamcore.rounds import MAX_LEAVES

Floats = NDArray[np.float64]


def _one_of(*names: str) -> list[Any]:
    return [StrOptions(set(names))]


def _whole(low: int, high: int | None = None) -> list[Any]:
    return [Interval(Integral, low, high, closed="left" if high is None else "both")]


def _real(low: float, high: float, closed: str) -> list[Any]:
    return [Interval(Real, low, high, closed=closed)]


class _AdditiveEstimator(BaseEstimator):  # type: ignore[misc]
    """What the regressor and the classifier share."""

    _kind: ClassVar[str]
    _loss: ClassVar[str]
    model_: AdditiveModel

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ensemble": _one_of("grouped", "subagging", "bagging"),
        "histogram": _one_of("auto", "rescan", "mst", "complement", "mask"),
        "n_bags": [*_whole(1), None],
        "subsample": _real(0.0, 1.0, "right"),
        "n_groups": _whole(1, 4096),
        "max_rounds": _whole(1),
        "learning_rate": _real(0.0, 1.0, "right"),
        "max_leaves": _whole(2, MAX_LEAVES),
        "coarse_leaves": [*_whole(2, MAX_LEAVES), StrOptions({"auto"}), None],
        "smoothing_rounds": _whole(0),
        "max_bins": _whole(4, 256),
        "greedy_ratio": _real(0.0, 100.0, "both"),
        "validation_fraction": _real(0.0, 0.9, "both"),
        "early_stopping_rounds": _whole(1),
        "outer_bags": _whole(1, serialize.MAX_REFITS),
        "categorical_features": [StrOptions({"infer"}), "array-like"],
        "date_parts": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        ensemble: Literal["grouped", "subagging", "bagging"] = "grouped",
        histogram: Literal["auto", "rescan", "mst", "complement", "mask"] = "auto",
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
        validation_fraction: float = 0.15,
        early_stopping_rounds: int = 15,
        outer_bags: int = 8,
        categorical_features: Sequence[str] | Literal["infer"] = "infer",
        date_parts: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> None:
        self.ensemble = ensemble
        self.histogram = histogram
        self.n_bags = n_bags
        self.subsample = subsample
        self.n_groups = n_groups
        self.max_rounds = max_rounds
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.coarse_leaves = coarse_leaves
        self.smoothing_rounds = smoothing_rounds
        self.max_bins = max_bins
        self.greedy_ratio = greedy_ratio
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.outer_bags = outer_bags
        self.categorical_features = categorical_features
        self.date_parts = date_parts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def _fit_encoded(self, frame: pd.DataFrame, y: Floats, weight: Floats | None, clusters: Any, strata: Any) -> None:
        """Bin, deal, boost and assemble; sets the fitted attributes."""
        features = table.learn_features(frame, self.categorical_features, self.date_parts)
        binned = bin_table(frame, features, weight, self.max_bins)
        seeds = np.random.SeedSequence(check_random_state(self.random_state).randint(2**31 - 1)).spawn(3)
        dealt = deal(len(frame), self.n_groups, seeds[0], strata, clusters)
        problem = Problem(
            _in_group_order(binned, dealt.order, dealt.starts),
            y[dealt.order],
            np.empty(0) if weight is None else weight[dealt.order],
            LOSSES[self._loss],
        )
        chosen = splits(dealt.n_groups, self.validation_fraction, self.outer_bags, seeds[1])
        bag_seeds = [int(seed.generate_state(1)[0]) for seed in seeds[2].spawn(self.outer_bags)]
        refits = boost_refits(
            problem, chosen, self._parameters(len(frame)), bag_seeds, _n_threads(self.n_jobs), self.callback
        )
        self.model_ = assemble(
            binned.bins,
            np.stack([refit.curves for refit in refits]),
            np.array([refit.base_score for refit in refits]),
            count_bins(binned.codes, binned.bins, weight),
            self._loss,
        )
        self.best_rounds_ = np.array([refit.best_round for refit in refits])
        self.n_rounds_ = int(self.best_rounds_.max())
        self.validation_losses_ = np.array([refit.valid_loss for refit in refits])

    def _parameters(self, n_rows: int) -> Parameters:
        strategy = "mask" if self.histogram == "auto" else self.histogram
        n_bags = self.n_bags or (16 if self.ensemble == "grouped" else 100)
        return Parameters(
            ensemble=self.ensemble,
            histogram=strategy,
            mart=getattr(self, "boosting", "logit") == "mart",
            n_bags=n_bags,
            subsample=self.subsample,
            max_rounds=self.max_rounds,
            learning_rate=self.learning_rate,
            max_leaves=self.max_leaves,
            greedy_ratio=self.greedy_ratio,
            early_stopping_rounds=self.early_stopping_rounds,
            coarse_leaves=first_leaves(self.coarse_leaves, n_rows),
            smoothing_rounds=self.smoothing_rounds,
        )

    def _read_table(self, X: Any, reset: bool) -> pd.DataFrame:
        """The table as a frame; scikit-learn records, or checks, the number and the names of its columns."""
        if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
            X = X.to_pandas()
        frame = table.as_frame(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not reset and not isinstance(X, pd.DataFrame):  # an array after a frame: by position, as scikit-learn does
            return frame.set_axis(list(dict.fromkeys(bins.feature.column for bins in self.model_.bins)), axis=1)
        return frame

    def _read_rows(
        self, frame: pd.DataFrame, y: NDArray[Any], sample_weight: Any, groups: Any
    ) -> tuple[pd.DataFrame, NDArray[Any], Floats | None, NDArray[np.int64] | None]:
        """Rows with their weights and clusters; rows of weight 0 are left out, as if they were not there."""
        if len(frame) != y.size:
            raise table.TableError(f"The table has {len(frame)} rows and the target {y.size}: give one target a row.")
        clusters = None
        if groups is not None:
            clusters, labels = pd.factorize(np.asarray(groups), use_na_sentinel=False)
            if len(labels) < 2 and y.size > 1:
                raise table.TableError("groups has one label only, so no rows could validate: leave it out.")
            if clusters.size != y.size:
                raise table.TableError(f"groups has {clusters.size} entries for {y.size} rows: give one a row.")
        if sample_weight is None:
            return frame, y, None, clusters
        weight = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        kept = weight > 0
        if not kept.any():
            raise table.TableError("Every sample weight is zero: give some rows a positive weight.")
        if clusters is not None:
            clusters = np.unique(clusters[kept], return_inverse=True)[1]
        return frame[kept], y[kept], _in_range(weight[kept]), clusters

    def _encode(self, X: Any) -> NDArray[np.uint8]:
        check_is_fitted(self, "model_")
        return encode_table(self._read_table(X, reset=False), self.model_.bins)

    def _predict(self, X: Any) -> Floats:
        codes = self._encode(X)
        return self.model_.predict(codes)

    def _feature_index(self, feature: str | int) -> int:
        check_is_fitted(self, "model_")
        names = [bins.feature.name for bins in self.model_.bins]
        if isinstance(feature, str):
            if feature not in names:
                raise KeyError(f"The model has no feature {feature!r}; it has {', '.join(names[:10])}.")
            return names.index(feature)
        return range(len(names))[feature]

    def explain_shape(self, feature: str | int) -> explain.Curve:
        """The shape function of one feature, by name or place."""
        place = self._feature_index(feature)
        return explain.explain_shape(self.model_, place)

    def importance(self) -> explain.Importance:
        """Importance of every feature."""
        check_is_fitted(self, "model_")
        return explain.importance(self.model_)

    def explain_rows(self, X: Any) -> explain.Breakdown:
        """The contributions that add up to each row's score."""
        codes = self._encode(X)
        return explain.explain_rows(self.model_, codes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a `.gamx` file, whole or not at all."""
        serialize.save(self.to_saved(), path)

    def to_saved(self, **about: Any) -> serialize.Saved:
        """The fitted model with its parameters and versions; `about` adds plain JSON values."""
        check_is_fitted(self, "model_")
        told = {name: (value, _plain(value)) for name, value in self.get_params().items()}
        parameters = {name: plain for name, (value, plain) in told.items() if value is None or plain is not None}
        known = {
            "parameters": parameters,
            "n_features_in": int(self.n_features_in_),
            "named_columns": hasattr(self, "feature_names_in_"),
            "best_rounds": self.best_rounds_.tolist(),
            "validation_losses": [_plain(loss) for loss in self.validation_losses_.tolist()],
            "versions": {"python": platform.python_version(), "numpy": np.__version__},
        }
        classes = tuple(getattr(self, "classes_", np.empty(0)).tolist())
        return serialize.Saved(self._kind, self.model_, classes, known | about)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _in_group_order(binned: Binned, order: NDArray[np.int64], starts: NDArray[np.int64]) -> Table:
    last = np.array([bins.n_values for bins in binned.bins], np.int64)
    codes = np.empty_like(binned.codes)
    for j, line in enumerate(binned.codes):
        np.take(line, order, out=codes[j])
    varied = [bool(np.any(line != line[0])) for line in codes]
    nominal = np.array([bins.feature.is_category for bins in binned.bins])
    return Table(codes, starts, last, nominal, np.flatnonzero(varied).astype(np.int64))


def _plain(value: Any) -> Any:
    """A parameter as JSON; None for what is none, and for numbers that are not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if isinstance(value, str | int | float | bool):
        return value
    listed = isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value)
    return list(value) if listed else None


def _in_range(weight: Floats) -> Floats:
    """Weights of a mean far from 1 (shares, amounts), in units of their mean: only their ratios mean something, and
    sums of float32 have limits. Ordinary weights stay, so that a weight of 2 is a doubled row."""
    mean = float(weight.mean())
    return weight if 0.1 <= mean <= 1000.0 else weight / mean


def _n_threads(n_jobs: int | None) -> int:
    return int(joblib.effective_n_jobs(n_jobs))


class GAMRegressor(RegressorMixin, _AdditiveEstimator):  # type: ignore[misc]
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
    greedy_ratio : float
        Steps on the features that gained most, after each pass, in multiples of the number of features; 0 is the
        papers' cyclic order.
    validation_fraction, early_stopping_rounds : float, int
        Share of the groups held out of each refit, and rounds without improvement after which it stops; fewer while it
        is young: half of the rounds it took to improve last, at least five.
    outer_bags : int
        Refits that are averaged.
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
    """

    _kind: ClassVar[str] = "regressor"
    _loss: ClassVar[str] = "squared"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to a table (n, p) and a numeric target (n,).

        sample_weight : (n,) non-negative; a weight of 0 leaves the row out.
        groups : (n,) labels; rows that share one stay together in every split.
        """
        _check_parameters(self)
        frame = self._read_table(X, reset=True)
        target = table.read_numeric_target(_column(y))
        frame, target, weight, clusters = self._read_rows(frame, target, sample_weight, groups)
        self._fit_encoded(frame, target, weight, clusters, None)
        return self

    def predict(self, X: Any) -> Floats:
        """Predictions (n,) in the target's units."""
        return self._predict(X)


class GAMClassifier(ClassifierMixin, _AdditiveEstimator):  # type: ignore[misc]
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
        **_AdditiveEstimator._parameter_constraints,
        "boosting": _one_of("logit", "mart"),
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
        validation_fraction: float = 0.15,
        early_stopping_rounds: int = 15,
        outer_bags: int = 8,
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
            validation_fraction=validation_fraction,
            early_stopping_rounds=early_stopping_rounds,
            outer_bags=outer_bags,
            categorical_features=categorical_features,
            date_parts=date_parts,
            n_jobs=n_jobs,
            random_state=random_state,
            callback=callback,
        )
        self.boosting = boosting

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to a table (n, p) and a target (n,) of two classes; see `GAMRegressor.fit`."""
        _check_parameters(self)
        frame = self._read_table(X, reset=True)
        codes, self.classes_ = table.read_class_target(_column(y))
        frame, codes, weight, clusters = self._read_rows(frame, codes, sample_weight, groups)
        if np.ptp(codes) == 0:
            raise table.TableError("Only one class has rows of positive weight: give the other class some.")
        self._fit_encoded(frame, codes.astype(np.float64), weight, clusters, codes)
        return self

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


def _check_parameters(estimator: _AdditiveEstimator) -> None:
    validate_parameter_constraints(
        estimator._parameter_constraints, estimator.get_params(deep=False), caller_name=type(estimator).__name__
    )


def _column(y: Any) -> Any:
    """A target of shape (n, 1) as (n,), with scikit-learn's warning; other shapes are refused in its words."""
    if y is None or (isinstance(y, pd.Series | list) and np.ndim(y) == 1):
        return y
    return column_or_1d(y, warn=True)


def load_model(path: str | os.PathLike[str]) -> GAMRegressor | GAMClassifier:
    """A fitted estimator from a `.gamx` file; `ModelFileError` where the file is damaged or foreign."""
    return from_saved(serialize.load(path))


def _numbers(told: Any) -> list[float]:
    """A list of plain numbers from a file, or nothing: what a file says beside the model is never trusted."""
    fine = isinstance(told, list) and all(type(n) in (int, float) and abs(n) < 2**53 for n in told)
    return list(told) if fine else []


def from_saved(saved: serialize.Saved) -> GAMRegressor | GAMClassifier:
    """A fitted estimator from a saved model. Parameters that this version does not know are left out."""
    cls = GAMClassifier if saved.kind == "classifier" else GAMRegressor
    told = saved.about.get("parameters")
    known = cls._get_param_names()
    estimator = cls(**{k: v for k, v in told.items() if k in known} if isinstance(told, dict) else {})
    columns = list(dict.fromkeys(bins.feature.column for bins in saved.model.bins))
    estimator.model_ = saved.model
    estimator.n_features_in_ = len(columns)
    if saved.about.get("named_columns", True):
        estimator.feature_names_in_ = np.array(columns, object)
    estimator.best_rounds_ = np.array(_numbers(saved.about.get("best_rounds")), np.int64)
    estimator.n_rounds_ = int(estimator.best_rounds_.max(initial=0))
    estimator.validation_losses_ = np.array(_numbers(saved.about.get("validation_losses")), np.float64)
    if isinstance(estimator, GAMClassifier):
        estimator.classes_ = np.array(saved.classes)
    return estimator
