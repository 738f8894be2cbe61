"""Shared base of the additive estimators: fitting, explaining and saving."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from gamcore.boosting.fit import FitPlan, Fitted, Seeds, fit, with_halves
from gamcore.boosting.half_refits import HalfRecipe, check_halves
from gamcore.boosting.pair_ranking import Ranking, rank_without_pairs
from gamcore.boosting.progress import Watcher
from gamcore.boosting.rows import Encoded, Source
from gamcore.data.binning import Binned, bin_table, encode_table
from gamcore.data.table import Table, TableError, learn_features
from gamcore.estimators.additive_parameters import FEWEST_BANDS, MOST_BANDS, AdditiveParameters
from gamcore.estimators.base import TableEstimator, check_parameters, n_threads, plain
from gamcore.estimators.progress_bar import Listener, listening
from gamcore.explain import curves as explain
from gamcore.explain.counterfactuals import EVERYTHING, Change, Possible, smallest_changes
from gamcore.explain.surfaces import Rectangle, Surface, explain_pair, pair_worth
from gamcore.io import gamx
from gamcore.io.manifest import Saved
from gamcore.model.additive import AdditiveModel
from gamcore.model.scales import Scale
from gamcore.numbers import count
from gamcore.types import Floats


class AdditiveEstimator(AdditiveParameters, TableEstimator):
    """Base class of the regressor and the classifier."""

    read_target: Callable[[Any], NDArray[Any]]
    model_: AdditiveModel

    def _fit_encoded(self, table: Table, y: Floats, weight: Floats | None, clusters: Any, strata: Any) -> None:
        """Bin and fit rows in memory, with bands where `bands` asks for them."""
        features = learn_features(table, self.categorical_features, self.date_parts)
        binned = bin_table(table, features, weight, self.max_bins)
        data = Encoded(binned, y, weight=weight, loss=self.loss, clusters=clusters, strata=strata)
        if self.bands:
            check_halves(data)
        seeds = Seeds.of(self.random_state)
        with listening(self.callback) as callback:
            watcher = Watcher(callback)
            self._fit_source(data, seeds, watcher)
            if self.bands and not watcher.stopped:
                self._add_halves(data, self.bands, seeds, watcher)

    def fit_source(self, X: Any, y: Any, source: Source) -> Self:
        """Fit to the rows of a source; X and y are a sample of them, for names and classes. `bands` is ignored."""
        check_parameters(self)
        self.read_table(X, reset=True)
        self._learn_classes(y)
        with listening(self.callback) as callback:
            self._fit_source(source, Seeds.of(self.random_state), Watcher(callback))
        return self

    def _learn_classes(self, y: Any) -> None:
        """Set the classes from the target; a regressor has none."""

    def _fit_source(self, source: Source, seeds: Seeds, watcher: Watcher) -> None:
        names = [bins.feature.name for bins in source.bins]
        self._keep(fit(source, self._plan(source.n_rows, names), seeds, watcher), names)

    def _keep(self, fitted: Fitted, names: list[str]) -> None:
        """Set the fitted attributes."""
        for stale in ("pair_ranking_", "pair_worth_", "pair_path_", "pair_joint_"):
            self.__dict__.pop(stale, None)
        self.model_, self.best_rounds_ = fitted.model, fitted.best_rounds
        self.n_rounds_ = int(self.best_rounds_.max())
        self.validation_losses_ = fitted.validation_losses
        if fitted.ranking:
            self.pair_ranking_ = _ranking_frame(fitted.ranking, names)
        if pairs := fitted.pairs:
            self.pair_worth_, self.pair_path_, self.pair_joint_ = pairs.worth, pairs.path, pairs.joint

    def _plan(self, n_rows: int, names: list[str]) -> FitPlan:
        """Return the plan of a fit to `n_rows` rows of these features."""
        return FitPlan(
            loss=self.loss,
            parameters=self.boosting_parameters(n_rows),
            n_refits=self.outer_bags,
            n_groups=self.n_groups,
            validation_fraction=self.validation_fraction,
            interactions=self.wanted_pairs(names),
            pairs=self.pair_options(n_rows, n_threads(self.n_jobs)),
            purify=self.purify,
            n_jobs=n_threads(self.n_jobs),
        )

    def _add_halves(self, data: Encoded, n_refits: int, seeds: Seeds, watcher: Watcher) -> None:
        options = self.pair_options(data.y.size, n_threads(self.n_jobs))
        recipe = HalfRecipe(
            parameters=self.boosting_parameters(data.y.size),
            n_groups=self.n_groups,
            validation_fraction=self.validation_fraction,
            pairs=replace(options, joint=getattr(self, "pair_joint_", False)),
        )
        data = data.with_loss(self.loss)  # whose parameters a fit may choose
        self.model_ = with_halves(data, self.model_, recipe=recipe, n_refits=n_refits, seeds=seeds, watcher=watcher)

    def add_bands(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        n_refits: int = 30,
        callback: Listener = None,
    ) -> Self:
        """Add bands to a fitted model, from `n_refits` half-sample refits; pass the data that `fit` had.

        Equals fitting with `bands` where `random_state` is a number. If the callback stops it, the model stays
        unchanged.
        """
        if not isinstance(n_refits, Integral) or not FEWEST_BANDS <= n_refits <= MOST_BANDS:
            raise ValueError(f"n_refits is {n_refits!r}: bands need {FEWEST_BANDS} to {count(MOST_BANDS)} refits.")
        data = self._read_known(X, y, sample_weight, groups, in_training=True)
        with listening(callback) as heard:
            self._add_halves(data, n_refits, Seeds.of(self.random_state), Watcher(heard))
        return self

    def _predict(self, X: Any) -> Floats:
        codes = self._encode(X)
        return self.model_.predict(codes)

    def explain_shape(self, feature: str | int) -> explain.Curve:
        """Return the shape function of one feature, by name or place."""
        place = self._feature_index(feature)
        return explain.explain_shape(self.model_, place, self.train_share)

    def importance(self, scale: Scale = "link") -> explain.Importance:
        """Return the importance of every term."""
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
        """Return all pairs of features, ranked by how much their interaction would reduce the loss on these rows.

        One row per pair: feature_1, feature_2, strength (per row, in units of the loss), rank; strongest first. With
        `chance`, which doubles the time, the frame's attrs["chance"] is the strength of the strongest pair if there
        were no interaction. The model's own pairs are left out of its score, so they are ranked too. `progress` is
        called with the number of grids done and their total.
        """
        data = self._read_known(X, y, sample_weight)
        options = self.pair_options(data.y.size, n_threads(self.n_jobs))
        ranking = rank_without_pairs(
            data, self.model_, options.parameters,
            pure=options.pure, n_jobs=options.n_jobs, chance=chance, progress=progress,
        )  # fmt: skip
        return _ranking_frame(ranking, [bins.feature.name for bins in self.model_.bins])

    def pair_worth(self, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
        """Return the worth of each of the model's pairs on these rows, preferably held out; see
        `surfaces.pair_worth`."""
        data = self._read_known(X, y, sample_weight)
        return pair_worth(self.model_, data.binned.codes, data.y, data.weight)

    def _read_known(self, X: Any, y: Any, sample_weight: Any, groups: Any = None, in_training: bool = False) -> Encoded:
        """Return the rows encoded for a fitted model; `in_training`: as in training."""
        check_is_fitted(self, "model_")
        check_parameters(self)
        table = self.read_table(X, reset=False)
        table, target, weight, clusters = self.read_rows(table, self.read_target(y), sample_weight, groups)
        codes = encode_table(table, self.model_.bins, in_training)
        y = target.astype(np.float64)
        strata = y.astype(np.int64) if self.loss.is_binary else None
        return Encoded(
            Binned(codes, self.model_.bins), y, weight=weight, loss=self.loss, clusters=clusters, strata=strata
        )

    def explain_pair(self, first: str | int, second: str | int) -> Surface:
        """Return the interaction of two features that the model has as a pair, by names or places."""
        wanted = sorted((self._feature_index(first), self._feature_index(second)))
        places = [pair.features for pair in self.model_.pairs]
        if tuple(wanted) not in places:
            names = ", ".join(explain.term_names(self.model_)[len(self.model_.terms) :]) or "none"
            raise KeyError(f"The model has no pair of {first!r} and {second!r}; its pairs: {names}.")
        return explain_pair(self.model_, places.index((wanted[0], wanted[1])), self.train_share)

    def rows_inside(self, X: Any, surface: Surface, chosen: Rectangle) -> NDArray[np.bool_]:
        """Return which rows (n,) of a table lie in a rectangle of one of the model's surfaces."""
        first, second = (self.model_.bins[self._feature_index(name)] for name in surface.names)
        return surface.inside(chosen, *encode_table(self.read_table(X, reset=False), (first, second)))

    def explain_rows(self, X: Any) -> explain.Breakdown:
        """Return the contributions that add up to each row's score."""
        codes = self._encode(X)
        return explain.explain_rows(self.model_, codes)

    def smallest_changes(self, row: Any, line: float, possible: Possible = EVERYTHING) -> list[Change]:
        """Return the most usual changes of up to three features that take the score of a one-row table across a line.

        possible : columns that may not change, and limits of others.
        """
        codes = self._encode(row)
        if codes.shape[1] != 1:
            raise TableError(f"The table has {codes.shape[1]} rows: pass a single row.")
        if not np.isfinite(line):
            raise TableError(f"The line is {line}: pass a finite score.")
        return smallest_changes(self.model_, codes[:, 0], line, possible, self.train_share)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a `.gamx` file, atomically."""
        gamx.save(self.to_saved(), path)

    def to_saved(self, **about: Any) -> Saved:
        """Return the fitted model with its parameters and versions; `about` adds plain JSON values."""
        check_is_fitted(self, "model_")
        known = {
            **self._about(),
            "best_rounds": self.best_rounds_.tolist(),
            "validation_losses": [plain(loss) for loss in self.validation_losses_.tolist()],
            "pair_joint": bool(getattr(self, "pair_joint_", False)),
            "pair_path": [[n, plain(loss)] for n, loss in getattr(self, "pair_path_", ())],
        }
        classes = tuple(getattr(self, "classes_", np.empty(0)).tolist())
        return Saved(self.loss.kind, self.model_, classes, known | about)


def _ranking_frame(ranking: Ranking, names: list[str]) -> pd.DataFrame:
    of = np.array(names, object)[ranking.pairs.reshape(-1, 2).T]
    frame = pd.DataFrame({"feature_1": of[0], "feature_2": of[1], "strength": ranking.strengths})
    frame.attrs["chance"] = ranking.chance
    return frame.assign(rank=np.arange(1, len(frame) + 1))
