"""What the additive estimators share: the parameters, the way from rows to a fitted model, and what it is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Options as AllowedOptions
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from gamcore.boosting.half_refits import Recipe, check_halves, fit_halves
from gamcore.boosting.loop import Progress, Watcher, boost_shares
from gamcore.boosting.pair_ranking import Ranking, rank
from gamcore.boosting.pair_selection import Chosen, Mains, Options, add_pairs, interact
from gamcore.boosting.refit import Parameters, Problem, first_leaves
from gamcore.boosting.rounds import MAX_BAGS, MAX_LEAVES
from gamcore.boosting.rows import Dealing, Encoded, Source
from gamcore.data import table
from gamcore.data.binning import Binned, bin_table, encode_table
from gamcore.data.sampling import Deal
from gamcore.estimators.base import (
    MAX_ROUNDS,
    MOST_REFITS,
    THREADS,
    TableEstimator,
    check_parameters,
    n_threads,
    one_of,
    place_of,
    plain,
    real,
    whole,
)
from gamcore.explain import curves as explain
from gamcore.explain.counterfactuals import Change, smallest_changes
from gamcore.explain.surfaces import Rectangle, Surface, explain_pair
from gamcore.io import gamx as serialize
from gamcore.io.manifest import Saved
from gamcore.kernels import N_CODES
from gamcore.model.additive import AdditiveModel, assemble, count_bins
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale

Floats = NDArray[np.float64]


FEWEST_BANDS: Final = 10
"""Refits on halves from which a band is worth drawing; 30 know its width to 13%."""

MOST_BANDS: Final = 1_000

MOST_BANDED_PAIRS: Final = 200
"""A pair's halves take about a megabyte of a model file."""

PAIR_STAGE: Final[dict[str, Any]] = {
    "learning_rate": 0.25,
    "greedy_ratio": 1.0,
    "early_stopping_rounds": 10,
    "smoothing_rounds": 0,
    "coarse_leaves": 0,
}
"""What the pair stage has of its own among the parameters of boosting; chosen by measurement (docs/pairs.md)."""


class AdditiveEstimator(TableEstimator):
    """What the regressor and the classifier share."""

    _kind: ClassVar[str]
    _target: Callable[[Any], NDArray[Any]]
    _loss: ClassVar[str]
    model_: AdditiveModel

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ensemble": one_of("grouped", "subagging", "bagging"),
        "histogram": one_of("auto", "rescan", "mst", "complement", "mask"),
        "n_bags": [*whole(1, MAX_BAGS), None],
        "subsample": real(0.0, 1.0, "right"),
        "n_groups": whole(1, 4096),
        "max_rounds": whole(1, MAX_ROUNDS),
        "learning_rate": real(0.0, 1.0, "right"),
        "max_leaves": whole(2, MAX_LEAVES),
        "coarse_leaves": [*whole(2, MAX_LEAVES), StrOptions({"auto"}), None],
        "smoothing_rounds": whole(0, MAX_ROUNDS),
        "max_bins": whole(4, 256),
        "greedy_ratio": real(0.0, 100.0, "both"),
        "interactions": [*whole(0, 2**31), StrOptions({"auto"}), "array-like"],
        "pair_tree": one_of("cross", "refined"),
        "strength": one_of("purified", "rss"),
        "joint": ["boolean"],
        "purify": ["boolean"],
        "validation_fraction": real(0.0, 0.9, "both"),
        "early_stopping_rounds": whole(1, MAX_ROUNDS),
        "outer_bags": whole(1, MOST_REFITS),
        "bands": [AllowedOptions(Integral, {0}), *whole(FEWEST_BANDS, MOST_BANDS)],
        "categorical_features": [StrOptions({"infer"}), "array-like"],
        "date_parts": ["boolean"],
        "n_jobs": THREADS,
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
        bands: int = 0,
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
        self.bands = bands
        self.categorical_features = categorical_features
        self.date_parts = date_parts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def _fit_encoded(self, frame: pd.DataFrame, y: Floats, weight: Floats | None, clusters: Any, strata: Any) -> None:
        """Bin and fit rows in memory, with bands where they are asked for."""
        features = table.learn_features(frame, self.categorical_features, self.date_parts)
        binned = bin_table(frame, features, weight, self.max_bins)
        data = Encoded(binned, y, weight, LOSSES[self._loss], clusters, strata)
        if self.bands:
            check_halves(data)
        seeds, watcher = self._seeds(), Watcher(self.callback)
        self._fit_source(data, seeds, watcher)
        if self.bands and not watcher.stopped:
            self._add_halves(data, self.bands, seeds[3], watcher)

    def fit_source(self, X: Any, y: Any, source: Source) -> Self:
        """Fit to rows wherever they are; X and y are some of them, which tell names and classes. Without `bands`."""
        check_parameters(self)
        self._read_table(X, reset=True)
        self._learn_classes(y)
        self._fit_source(source, self._seeds(), Watcher(self.callback))
        return self

    def _learn_classes(self, y: Any) -> None:
        """The classes of a classifier's target."""

    def _fit_source(self, source: Source, seeds: list[np.random.SeedSequence], watcher: Watcher) -> None:
        """Deal, boost and assemble; sets the fitted attributes."""
        names, n_rows = [bins.feature.name for bins in source.bins], source.n_rows
        wanted = self._wanted_pairs(names)
        for stale in ("pair_ranking_", "pair_worth_", "pair_path_", "pair_joint_"):
            self.__dict__.pop(stale, None)
        watcher.next_part()
        shares = source.shares(Dealing(self.outer_bags, self.n_groups, self.validation_fraction, seeds[0], seeds[1]))
        bag_seeds = [int(seed.generate_state(1)[0]) for seed in seeds[2].spawn(self.outer_bags)]
        told = (n_rows, self._parameters(n_rows), bag_seeds, n_threads(self.n_jobs), watcher.callback)
        refits = boost_shares(shares, *told)
        counts = source.counts()
        pairs = None
        if wanted != 0 and not watcher.stopped:
            pairs = self._interact(Mains(shares, n_rows, refits, counts, bag_seeds, names), wanted, watcher)
        if pairs and pairs.joint:
            refits = [refit.main for refit in pairs.refits]
        self.model_ = assemble(
            source.bins,
            np.stack([refit.curves for refit in refits]),
            np.array([refit.base_score for refit in refits]),
            counts,
            self._loss,
        )
        self.model_ = replace(self.model_, base=source.base())
        self.best_rounds_ = np.array([refit.best_round for refit in refits])
        self.n_rounds_ = int(self.best_rounds_.max())
        self.validation_losses_ = np.array([refit.valid_loss for refit in (pairs.refits if pairs else refits)])
        if pairs:
            self.pair_worth_, self.pair_path_, self.pair_joint_ = pairs.worth, pairs.path, pairs.joint
            cells = [source.cells(pair) for pair in pairs.pairs]
            self.model_ = add_pairs(self.model_, pairs.pairs, pairs.refits, cells, self.purify)

    def _seeds(self) -> list[np.random.SeedSequence]:
        """Of the deal, the splits, the bags, and the halves."""
        return np.random.SeedSequence(check_random_state(self.random_state).randint(2**31 - 1)).spawn(4)

    def _add_halves(self, data: Encoded, n_refits: int, seed: np.random.SeedSequence, watcher: Watcher) -> None:
        """Refits on halves of the rows; where they are stopped, the model stays without."""
        options = replace(self._pair_options(data.y.size), joint=getattr(self, "pair_joint_", False))
        recipe = Recipe(self._parameters(data.y.size), self.n_groups, self.validation_fraction, options)
        if len(self.model_.pairs) > MOST_BANDED_PAIRS:
            raise table.TableError(
                f"Bands of {len(self.model_.pairs)} pairs would not fit into a model file: use at most "
                f"{MOST_BANDED_PAIRS} pairs, or no bands."
            )
        about = {"part": watcher.next_part()}
        halves = fit_halves(data, self.model_, recipe, n_refits, seed, watcher.callback, about)
        if not watcher.stopped:
            self.model_ = replace(self.model_, halves=halves)

    def add_bands(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        n_refits: int = 30,
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> Self:
        """Give a fitted model its bands: `n_refits` refits on halves of its training rows; arguments as those of `fit`.

        The same as fitting with `bands` where `random_state` is a number. Stopped by the callback, the model stays as
        it was.
        """
        if not isinstance(n_refits, Integral) or not FEWEST_BANDS <= n_refits <= MOST_BANDS:
            raise ValueError(f"n_refits is {n_refits!r}: bands need {FEWEST_BANDS} to {MOST_BANDS:,} refits.")
        codes, target, weight, clusters = self._read_known(X, y, sample_weight, groups, in_training=True)
        strata = target.astype(np.int64) if self._loss == "logistic" else None
        data = Encoded(Binned(codes, self.model_.bins), target, weight, LOSSES[self._loss], clusters, strata)
        self._add_halves(data, n_refits, self._seeds()[3], Watcher(callback))
        return self

    def _interact(self, mains: Mains, wanted: int | str | list[tuple[int, int]], watcher: Watcher) -> Chosen:
        """The second stage: rank all pairs, and boost those that are asked for."""
        ranking, found = interact(mains, wanted, self._pair_options(mains.n_rows), watcher)
        self.pair_ranking_ = _ranking_frame(ranking, mains.names)
        return found

    def _wanted_pairs(self, names: list[str]) -> int | str | list[tuple[int, int]]:
        """`interactions` with the features of a list by their places, lower first."""
        if isinstance(self.interactions, str):
            if not self.validation_fraction:
                raise table.TableError('interactions="auto" needs validation rows: set validation_fraction above 0.')
            return self.interactions
        if isinstance(self.interactions, int | np.integer):
            return int(self.interactions)
        found = []
        for pair in self.interactions:
            if isinstance(pair, str) or np.ndim(pair) != 1 or len(pair) != 2:
                raise table.TableError(f"interactions has {pair!r}: give two features a pair.")
            try:
                i, j = sorted(place_of(feature, names) for feature in pair)
            except (KeyError, IndexError, TypeError) as error:
                raise table.TableError(f"interactions has {pair!r}, but {error.args[0]}") from error
            if i == j:
                raise table.TableError(f"interactions has {pair!r}: a feature has no interaction with itself.")
            found.append((i, j))
        if len(set(found)) < len(found):
            raise table.TableError("interactions has a pair twice: leave one out.")
        return found

    def _pair_options(self, n_rows: int) -> Options:
        parameters = replace(self._parameters(n_rows), **PAIR_STAGE)
        pure = self.strength == "purified"
        return Options(parameters, self.pair_tree == "refined", pure, self.joint, n_jobs=n_threads(self.n_jobs))

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

    def _predict(self, X: Any) -> Floats:
        codes = self._encode(X)
        return self.model_.predict(codes)

    def explain_shape(self, feature: str | int) -> explain.Curve:
        """The shape function of one feature, by name or place."""
        place = self._feature_index(feature)
        return explain.explain_shape(self.model_, place, self._train_share)

    def importance(self, scale: Scale = "link") -> explain.Importance:
        """Importance of every term."""
        check_is_fitted(self, "model_")
        return explain.importance(self.model_, scale)

    def rank_pairs(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        chance: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> pd.DataFrame:
        """All pairs of features by what an interaction of the two would take off the loss on these rows.

        A row a pair: feature_1, feature_2, strength (a row, in units of the loss), rank; strongest first. With
        `chance`, which takes as long again, the frame's attrs["chance"] is what the strongest pair would have without
        any interaction. The model's own pairs are left out of its score, so they are ranked too. `progress` is told how
        many grids are done, and of how many.
        """
        problem, score, curves, counts = self._without_pairs(X, y, sample_weight)
        options = self._pair_options(score.size)
        told = (options.parameters, options.pure, options.n_jobs, chance, progress)
        found = rank(problem, score, curves, counts, *told)
        return _ranking_frame(found, [bins.feature.name for bins in self.model_.bins])

    def _without_pairs(self, X: Any, y: Any, sample_weight: Any) -> tuple[Problem, Floats, Floats, list[Floats]]:
        """What pairs are ranked on: rows, their score by the main effects, these effects (p, V), and rows a bin."""
        codes, target, weight, _ = self._read_known(X, y, sample_weight)
        model, n_rows = self.model_, target.size
        curves = np.zeros((len(model.terms), N_CODES))
        for term in model.terms:
            curves[term.feature, : term.scores.size] = term.scores
        data = Encoded(Binned(codes, model.bins), target, weight, LOSSES[self._loss])
        problem = data.problem(Deal(np.arange(n_rows), np.array([0, n_rows])))
        return problem, replace(model, pairs=()).score(codes), curves, count_bins(codes, model.bins, weight)

    def pair_worth(self, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
        """What each of the model's pairs is worth on these rows, best held-out ones.

        A row a pair, in the model's order: feature_1, feature_2, worth (what the mean loss would rise by without its
        surface: squared error or log-loss), share (of the loss without it).
        """
        codes, target, weight, _ = self._read_known(X, y, sample_weight)
        model, loss = self.model_, LOSSES[self._loss]
        score = model.score(codes)
        whole = np.average(loss.loss(target, score), weights=weight)
        names = [bins.feature.name for bins in model.bins]
        told = []
        for pair in model.pairs:
            i, j = pair.features
            without = np.average(loss.loss(target, score - pair.scores[codes[i], codes[j]]), weights=weight)
            told.append((names[i], names[j], without - whole, 1.0 - whole / without if without > 0 else 0.0))
        return pd.DataFrame(told, columns=["feature_1", "feature_2", "worth", "share"])

    def _read_known(
        self, X: Any, y: Any, sample_weight: Any, groups: Any = None, in_training: bool = False
    ) -> tuple[NDArray[np.uint8], Floats, Floats | None, NDArray[np.int64] | None]:
        """Codes (p, n), targets (n,), weights and clusters of rows for a fitted model; with `in_training`, the codes
        that the rows had there."""
        check_is_fitted(self, "model_")
        check_parameters(self)
        frame = self._read_table(X, reset=False)
        frame, target, weight, clusters = self._read_rows(frame, self._target(y), sample_weight, groups)
        codes = encode_table(frame, self.model_.bins, in_training)
        return codes, target.astype(np.float64), weight, clusters

    def explain_pair(self, first: str | int, second: str | int) -> Surface:
        """The interaction of two features that the model has as a pair, by names or places."""
        wanted = sorted((self._feature_index(first), self._feature_index(second)))
        places = [pair.features for pair in self.model_.pairs]
        if tuple(wanted) not in places:
            names = ", ".join(explain.term_names(self.model_)[len(self.model_.terms) :]) or "none"
            raise KeyError(f"The model has no pair of {first!r} and {second!r}; its pairs: {names}.")
        return explain_pair(self.model_, places.index((wanted[0], wanted[1])), self._train_share)

    def rows_inside(self, X: Any, surface: Surface, chosen: Rectangle) -> NDArray[np.bool_]:
        """Which rows (n,) of a table lie in a rectangle of one of the model's surfaces."""
        first, second = (self.model_.bins[self._feature_index(name)] for name in surface.names)
        return surface.inside(chosen, *encode_table(self._read_table(X, reset=False), (first, second)))

    def explain_rows(self, X: Any) -> explain.Breakdown:
        """The contributions that add up to each row's score."""
        codes = self._encode(X)
        return explain.explain_rows(self.model_, codes)

    def smallest_changes(self, row: Any, line: float) -> list[Change]:
        """Of each feature the nearest change that takes the score of a table of one row across a line."""
        codes = self._encode(row)
        if codes.shape[1] != 1:
            raise table.TableError(f"The table has {codes.shape[1]} rows: pass a single row.")
        if not np.isfinite(line):
            raise table.TableError(f"The line is {line}: pass a finite score.")
        return smallest_changes(self.model_, codes[:, 0], line)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a `.gamx` file, whole or not at all."""
        serialize.save(self.to_saved(), path)

    def to_saved(self, **about: Any) -> Saved:
        """The fitted model with its parameters and versions; `about` adds plain JSON values."""
        check_is_fitted(self, "model_")
        known = {
            **self._about(),
            "best_rounds": self.best_rounds_.tolist(),
            "validation_losses": [plain(loss) for loss in self.validation_losses_.tolist()],
            "pair_joint": bool(getattr(self, "pair_joint_", False)),
            "pair_path": [[n, plain(loss)] for n, loss in getattr(self, "pair_path_", ())],
        }
        classes = tuple(getattr(self, "classes_", np.empty(0)).tolist())
        return Saved(self._kind, self.model_, classes, known | about)


def _ranking_frame(ranking: Ranking, names: list[str]) -> pd.DataFrame:
    of = np.array(names, object)[ranking.pairs.reshape(-1, 2).T]
    found = pd.DataFrame({"feature_1": of[0], "feature_2": of[1], "strength": ranking.strengths})
    found.attrs["chance"] = ranking.chance
    return found.assign(rank=np.arange(1, len(found) + 1))
