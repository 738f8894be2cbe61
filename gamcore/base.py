"""What the estimators share: the parameters, the way from rows to a fitted model, and what a model is asked."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Final, Literal

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from gamcore import explain, serialize, table
from gamcore.binning import Binned, bin_table, encode_table
from gamcore.boosting import Callback, Progress, boost_refits
from gamcore.groups import deal, splits
from gamcore.interactions import Chosen, Mains, Options, interact
from gamcore.kernels import N_CODES
from gamcore.kernels.layout import Table
from gamcore.losses import LOSSES
from gamcore.model import AdditiveModel, add_pair, assemble, count_bins, count_cells
from gamcore.ranking import Ranking, rank
from gamcore.refit import Parameters, Problem, first_leaves
from gamcore.rounds import MAX_LEAVES
from gamcore.surface import Surface, explain_pair

Floats = NDArray[np.float64]


def one_of(*names: str) -> list[Any]:
    return [StrOptions(set(names))]


def _whole(low: int, high: int | None = None) -> list[Any]:
    return [Interval(Integral, low, high, closed="left" if high is None else "both")]


def _real(low: float, high: float, closed: str) -> list[Any]:
    return [Interval(Real, low, high, closed=closed)]


PAIR_STAGE: Final[dict[str, Any]] = {
    "learning_rate": 0.25,
    "greedy_ratio": 1.0,
    "early_stopping_rounds": 10,
    "smoothing_rounds": 0,
    "coarse_leaves": 0,
}
"""What the pair stage has of its own among the parameters of boosting; chosen by measurement (docs/pairs.md)."""


class AdditiveEstimator(BaseEstimator):  # type: ignore[misc]
    """What the regressor and the classifier share."""

    _kind: ClassVar[str]
    _target: Callable[[Any], NDArray[Any]]
    _loss: ClassVar[str]
    model_: AdditiveModel

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ensemble": one_of("grouped", "subagging", "bagging"),
        "histogram": one_of("auto", "rescan", "mst", "complement", "mask"),
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
        "interactions": [*_whole(0), StrOptions({"auto"}), "array-like"],
        "pair_tree": one_of("cross", "refined"),
        "strength": one_of("purified", "rss"),
        "joint": ["boolean"],
        "purify": ["boolean"],
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
        interactions: int | Literal["auto"] | Sequence[tuple[Any, Any]] = 0,
        pair_tree: Literal["cross", "refined"] = "cross",
        strength: Literal["purified", "rss"] = "purified",
        joint: bool = False,
        purify: bool = True,
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
        self.interactions = interactions
        self.pair_tree = pair_tree
        self.strength = strength
        self.joint = joint
        self.purify = purify
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
        names = [bins.feature.name for bins in binned.bins]
        told, wanted = _Told(self.callback), self._wanted_pairs(names)
        refits = boost_refits(
            problem, chosen, self._parameters(len(frame)), bag_seeds, _n_threads(self.n_jobs), told.callback
        )
        counts = count_bins(binned.codes, binned.bins, weight)
        pairs = None
        if wanted != 0 and not told.stopped:
            pairs = self._interact(Mains(problem, refits, chosen, counts, bag_seeds, names), wanted, told)
        if pairs and pairs.joint:
            refits = [refit.main for refit in pairs.refits]
        self.model_ = assemble(
            binned.bins,
            np.stack([refit.curves for refit in refits]),
            np.array([refit.base_score for refit in refits]),
            counts,
            self._loss,
        )
        self.best_rounds_ = np.array([refit.best_round for refit in refits])
        self.n_rounds_ = int(self.best_rounds_.max())
        self.validation_losses_ = np.array([refit.valid_loss for refit in (pairs.refits if pairs else refits)])
        if pairs:
            self._add_pairs(pairs, binned.codes, weight)

    def _interact(self, mains: Mains, wanted: int | str | list[tuple[int, int]], told: _Told) -> Chosen:
        """The second stage: rank all pairs, and boost those that are asked for."""
        ranking, found = interact(mains, wanted, self._pair_options(mains.problem.y.size), told.callback)
        self.pair_ranking_ = _ranking_frame(ranking, mains.names)
        self.pair_worth_, self.pair_path_ = found.worth, found.path
        return found

    def _add_pairs(self, found: Chosen, codes: NDArray[np.uint8], weight: Floats | None) -> None:
        for k, pair in enumerate(found.pairs):
            surfaces = np.stack([refit.surfaces[k] for refit in found.refits])
            first, second = (
                np.stack([refit.merges[j, : self.model_.bins[j].size] for refit in found.refits]) for j in pair
            )
            cells = count_cells(codes, pair, self.model_, weight)
            self.model_ = add_pair(self.model_, pair, surfaces, (first, second), cells, self.purify)

    def _wanted_pairs(self, names: list[str]) -> int | str | list[tuple[int, int]]:
        """`interactions` with the features of a list by their places, lower first."""
        if self.interactions == "auto" and not self.validation_fraction:
            raise table.TableError('interactions="auto" needs validation rows: set validation_fraction above 0.')
        if isinstance(self.interactions, str):
            return self.interactions
        if isinstance(self.interactions, int | np.integer):
            return int(self.interactions)
        found = []
        for pair in self.interactions:
            if isinstance(pair, str) or len(pair) != 2:
                raise table.TableError(f"interactions has {pair!r}: give two features a pair.")
            i, j = sorted(_place(feature, names) for feature in pair)
            if i == j:
                raise table.TableError(f"interactions has {pair!r}: a feature has no interaction with itself.")
            found.append((i, j))
        if len(set(found)) < len(found):
            raise table.TableError("interactions has a pair twice: leave one out.")
        return found

    def _pair_options(self, n_rows: int) -> Options:
        parameters = replace(self._parameters(n_rows), **PAIR_STAGE)
        pure = self.strength == "purified"
        return Options(parameters, self.pair_tree == "refined", pure, self.joint, n_jobs=_n_threads(self.n_jobs))

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
        return _place(feature, [bins.feature.name for bins in self.model_.bins])

    def explain_shape(self, feature: str | int) -> explain.Curve:
        """The shape function of one feature, by name or place."""
        place = self._feature_index(feature)
        return explain.explain_shape(self.model_, place)

    def importance(self) -> explain.Importance:
        """Importance of every feature."""
        check_is_fitted(self, "model_")
        return explain.importance(self.model_)

    def rank_pairs(self, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
        """All pairs of features by what an interaction of the two would take off the loss on these rows.

        A row a pair: feature_1, feature_2, strength (a row, in units of the loss), rank; strongest first. The frame's
        attrs["chance"] is the strength that chance alone gives the strongest. The model's own pairs are left out of its
        score, so they are ranked too.
        """
        check_is_fitted(self, "model_")
        frame, target, weight, _ = self._read_rows(
            self._read_table(X, reset=False), self._target(y), sample_weight, None
        )
        model, codes = self.model_, encode_table(frame, self.model_.bins)
        curves = np.zeros((len(model.terms), N_CODES))
        for term in model.terms:
            curves[term.feature, : term.scores.size] = term.scores
        binned, starts = Binned(codes, model.bins), np.array([0, len(frame)])
        problem = Problem(
            _in_group_order(binned, np.arange(len(frame)), starts),
            target.astype(np.float64),
            np.empty(0) if weight is None else weight,
            LOSSES[self._loss],
        )
        score = replace(model, pairs=()).score(codes)
        counts = count_bins(codes, model.bins, weight)
        options = self._pair_options(len(frame))
        found = rank(problem, score, curves, counts, options.parameters, options.pure, options.n_jobs)
        return _ranking_frame(found, [bins.feature.name for bins in model.bins])

    def explain_pair(self, first: str | int, second: str | int) -> Surface:
        """The interaction of two features that the model has as a pair, by names or places."""
        wanted = sorted((self._feature_index(first), self._feature_index(second)))
        places = [pair.features for pair in self.model_.pairs]
        if tuple(wanted) not in places:
            names = ", ".join(explain.term_names(self.model_)[len(self.model_.terms) :]) or "none"
            raise KeyError(f"The model has no pair of {first!r} and {second!r}; its pairs: {names}.")
        return explain_pair(self.model_, places.index((wanted[0], wanted[1])))

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


class _Told:
    """A callback that remembers whether it has stopped the fit, and then stops all that comes after."""

    def __init__(self, callback: Callback | None) -> None:
        self._callback, self.stopped = callback, False
        self.callback = self._tell if callback else None

    def _tell(self, progress: Progress) -> bool:
        self.stopped = self.stopped or bool(self._callback and self._callback(progress))
        return self.stopped


def _place(feature: str | int, names: list[str]) -> int:
    """Place of a feature given by its name or place."""
    if isinstance(feature, str):
        if feature not in names:
            raise KeyError(f"The model has no feature {feature!r}; it has {', '.join(names[:10])}.")
        return names.index(feature)
    return range(len(names))[feature]


def _ranking_frame(ranking: Ranking, names: list[str]) -> pd.DataFrame:
    of = np.array(names, object)[ranking.pairs.reshape(-1, 2).T]
    found = pd.DataFrame({"feature_1": of[0], "feature_2": of[1], "strength": ranking.strengths})
    found.attrs["chance"] = ranking.chance
    return found.assign(rank=np.arange(1, len(found) + 1))


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


def check_parameters(estimator: AdditiveEstimator) -> None:
    validate_parameter_constraints(
        estimator._parameter_constraints, estimator.get_params(deep=False), caller_name=type(estimator).__name__
    )


def column(y: Any) -> Any:
    """A target of shape (n, 1) as (n,), with scikit-learn's warning; other shapes are refused in its words."""
    if y is None or (isinstance(y, pd.Series | list) and np.ndim(y) == 1):
        return y
    return column_or_1d(y, warn=True)
