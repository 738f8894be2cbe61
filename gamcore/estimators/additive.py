"""Shared base of the additive estimators: fitting, explaining and saving."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from gamcore.boosting.bands.group_halves import fit_group_halves
from gamcore.boosting.bands.halves import HalfRecipe, check_halves
from gamcore.boosting.counts.bin_pairs import HALF_GROUPS
from gamcore.boosting.fit.chosen_bins import finer_bins
from gamcore.boosting.fit.model import FitPlan, Fitted, Seeds, fit, with_halves
from gamcore.boosting.pairs.ranking import Ranking
from gamcore.boosting.pairs.selection import Options
from gamcore.boosting.refit.learners import learners_of
from gamcore.boosting.refit.problem import Parameters, Problem
from gamcore.boosting.rows.source import Encoded, Source, with_features
from gamcore.boosting.rows.sums import added
from gamcore.boosting.running.progress import Watcher
from gamcore.boosting.triples.ranking import Ranked
from gamcore.common.types import Floats, Ints
from gamcore.data.binning import Binned, bin_table, encode_table, most_levels
from gamcore.data.columns import TableError
from gamcore.data.own_bins import own_bins
from gamcore.data.rows import read_init_score
from gamcore.data.table import learn_features
from gamcore.estimators.additive_parameters import (
    AUTO,
    GREEDY,
    AdditiveParameters,
    boosting_parameters,
    pair_options,
    wanted_pairs,
    wanted_triples,
)
from gamcore.estimators.base import TrainingRows, check_parameters, n_threads, plain, read_rows, read_table, train_share
from gamcore.estimators.entries import entered, entries_frame
from gamcore.estimators.progress_bar import listening
from gamcore.estimators.reading import NOTHING_LEARNED, learned_nothing
from gamcore.explain import curves as explain
from gamcore.explain.importance import Importance, importance, term_names
from gamcore.explain.open_effects import with_open_effects
from gamcore.explain.surfaces import Surface, explain_pair
from gamcore.io import gamx
from gamcore.io.manifest import Saved
from gamcore.kernels import N_CODES
from gamcore.model.additive import AdditiveModel, carried, check_relearnt
from gamcore.model.classes import ClassesModel
from gamcore.model.monotone import check_monotone, signs_of
from gamcore.model.scales import Scale

OF_A_FIT: Final = (
    "entries_", "pair_ranking_", "pair_worth_", "pair_path_", "pair_joint_", "triple_ranking_", "triple_worth_",
)  # fmt: skip
"""Attributes that only some fits set: those of the fit before are gone."""


class AdditiveEstimator(AdditiveParameters):
    """Base class of the regressor and the classifier."""

    _read_target: Callable[[Any], NDArray[Any]]
    model_: AdditiveModel | ClassesModel

    def _fit_rows(self, rows: TrainingRows, strata: Ints | None = None) -> None:
        """Bin and fit rows in memory, with bands where `bands` asks for them."""

        def encoded(max_bins: int) -> Encoded:
            return self._encoded(rows, bin_rows(self, rows, max_bins, most_levels(max_bins)), strata)

        self.steep_ = not self.smoothing_rounds
        data = encoded(N_CODES if self.max_bins == AUTO else int(self.max_bins))
        if self.bands:
            check_halves(data)
        seeds = Seeds.of(self.random_state)
        with listening(self.callback) as callback:
            watcher = Watcher(callback)
            if self.max_bins == AUTO:
                plan = self._plan(data, [of_feature.feature.name for of_feature in data.bins])
                data, self.steep_ = finer_bins(data, encoded, plan, seeds, watcher)
            self._fit_source(data, seeds, watcher)
            if self.bands and not watcher.stopped:
                self._add_halves(data, self.bands, seeds, watcher)
        if not watcher.stopped:
            self._warn_of_nothing()

    def _signs(self, source: Source) -> tuple[int, ...]:
        """Return the signs of the features of a source, see `signs_of`."""
        return signs_of(self.monotone, source.bins)

    def _pair_options(self, source: Source) -> Options:
        options = pair_options(self, source.n_rows, n_threads(self.n_jobs))
        parameters = replace(options.parameters, signs=self._signs(source))
        return replace(options, parameters=parameters, learners=learners_of(self.shapes, source.bins))

    def _main_parameters(self, source: Source) -> Parameters:
        """Return the parameters of main effects: with the signs and learners of the source's features."""
        self._check_classes(self._n_scores)
        self._check_order()
        learners = learners_of(self.shapes, source.bins)
        if learners:
            self._check_shapes()
        return replace(boosting_parameters(self, source.n_rows), signs=self._signs(source), learners=learners)

    def _encoded(self, rows: TrainingRows, binned: Binned, strata: Ints | None) -> Encoded:
        return Encoded(
            binned,
            rows.y.astype(np.float64),
            weight=rows.weight,
            loss=self._loss,
            clusters=rows.clusters,
            strata=strata,
            log_exposure=rows.log_exposure,
            init_score=rows.init_score,
        )

    def _learn_classes(self, y: Any) -> None:
        """Set the classes from the target; a regressor has none."""

    def _fit_source(self, source: Source, seeds: Seeds, watcher: Watcher, halves: bool = False) -> Fitted:
        names = [bins.feature.name for bins in source.bins]
        fitted = fit(source, self._plan(source, names, halves), seeds, watcher)
        self._keep(fitted, names)
        return fitted

    def _keep(self, fitted: Fitted, names: list[str]) -> None:
        """Set the fitted attributes."""
        for stale in OF_A_FIT:
            self.__dict__.pop(stale, None)
        if isinstance(fitted.model, AdditiveModel):
            check_monotone(fitted.model)
        self.model_, self.best_rounds_ = fitted.model, fitted.best_rounds
        self.n_rounds_ = int(self.best_rounds_.max())
        self.validation_losses_ = fitted.validation_losses
        if fitted.entries:
            self.entries_ = entries_frame(fitted.entries, names)
        if fitted.ranking:
            self.pair_ranking_ = ranking_frame(fitted.ranking, names)
        if pairs := fitted.pairs:
            self.pair_worth_, self.pair_path_, self.pair_joint_ = pairs.worth, pairs.path, pairs.joint
        if triples := fitted.triples:
            self.triple_worth_ = triples.worth
            if triples.ranking:
                self.triple_ranking_ = _triples_frame(triples.ranking, names)

    def _plan(self, source: Source, names: list[str], halves: bool = False) -> FitPlan:
        """Return the plan of a fit to the rows of a source, with features of these names."""
        parameters = self._main_parameters(source)
        return FitPlan(
            loss=self._loss,
            parameters=parameters,
            n_refits=self.outer_bags,
            n_groups=self._groups_of(source, halves),
            validation_fraction=self.validation_fraction,
            interactions=wanted_pairs(self, names),
            triples=wanted_triples(self, names),
            pairs=self._pair_options(source),
            purify=self.purify,
            n_jobs=n_threads(self.n_jobs),
            n_classes=self._n_scores if self._n_scores > 1 else 2,
        )

    def _recipe(self, source: Source, halves: bool = False) -> HalfRecipe:
        """Return how halves of the rows of a source are fitted."""
        options = self._pair_options(source)
        return HalfRecipe(
            parameters=self._main_parameters(source),
            n_groups=self._groups_of(source, halves),
            validation_fraction=self.validation_fraction,
            pairs=replace(options, joint=getattr(self, "pair_joint_", False)),
        )

    def _add_halves(self, data: Encoded, n_refits: int, seeds: Seeds, watcher: Watcher) -> None:
        data, recipe = data.with_loss(self._loss), self._recipe(data)  # whose parameters a fit may choose
        if hasattr(self, "entries_"):
            data = with_features(data, entered(self.entries_, [bins.feature.name for bins in data.bins]))
        model = self.model_
        if isinstance(model, AdditiveModel):
            check_relearnt(model)
        fitted = model.fitted if isinstance(model, AdditiveModel) else model
        halved = with_halves(data, fitted, recipe=recipe, n_refits=n_refits, seeds=seeds, watcher=watcher)
        if not watcher.stopped:
            halved = with_open_effects(halved, data, train_share(self))
        if isinstance(halved, AdditiveModel) and isinstance(model, AdditiveModel):
            halved = replace(carried(halved, model), intervals=model.intervals)
        self.model_ = halved

    def _add_group_halves(
        self, source: Source, counted: Problem, n_refits: int, seeds: Seeds, watcher: Watcher
    ) -> None:
        """Add half-sample refits from halves of the groups of counted rows, if there are enough."""
        recipe = self._recipe(source, halves=True)
        if not isinstance(self.model_, AdditiveModel) or recipe.n_groups < HALF_GROUPS:
            return
        halves = fit_group_halves(
            counted, self.model_, recipe, n_refits, seed=seeds.halves, evenness=source.evenness,
            callback=watcher.callback, about={"part": watcher.next_part()},
        )  # fmt: skip
        if not watcher.stopped:
            self.model_ = replace(self.model_, halves=halves)

    def _score(self, X: Any, exposure: Any = None, init_score: Any = None) -> Floats:
        """Return the scores (n,) of a table, with what is given beside it."""
        codes = self._encode(X)
        score = self.model_.score(codes)
        log_exposure = self._read_exposure(exposure, score.shape[0])
        given = added(log_exposure, read_init_score(init_score, score.shape[0], self._n_scores))
        return score if given is None else score + given

    def explain_shape(self, feature: str | int) -> explain.Curve:
        """Return the shape function of one feature, by name or place."""
        return explain.explain_shape(single_model(self), self._feature_index(feature), train_share(self))

    def importance(self, scale: Scale = "link") -> Importance:
        """Return the importance of every term."""
        return importance(single_model(self), scale)

    @property
    def feature_importances_(self) -> Floats:
        """Share (n_features_in_,) of each column of the table in the effects, for scikit-learn's selectors.

        An effect's size is its mean |score| over the training rows, on the link scale (`importance`); that of a pair or
        triple counts in equal shares for its columns, and of several classes the sizes of all are added. The shares add
        up to 1.
        """
        check_is_fitted(self, "model_")
        models = self.model_.models if isinstance(self.model_, ClassesModel) else (self.model_,)
        sizes = np.zeros(len(self.model_.bins))
        for model in models:
            for term, mean in zip(model.all_terms, importance(model).mean_abs, strict=True):
                sizes[list(term.features)] += mean / len(term.features)
        return self._shares_of_columns(sizes)

    def explain_pair(self, first: str | int, second: str | int) -> Surface:
        """Return the interaction of two features that the model has as a pair, by names or places."""
        wanted = sorted((self._feature_index(first), self._feature_index(second)))
        places = [pair.features for pair in single_model(self).pairs]
        if tuple(wanted) not in places:
            n_curves, n_pairs = len(single_model(self).terms), len(single_model(self).pairs)
            names = ", ".join(term_names(single_model(self))[n_curves : n_curves + n_pairs]) or "none"
            raise KeyError(f"The model has no pair of {first!r} and {second!r}; its pairs: {names}.")
        return explain_pair(single_model(self), places.index((wanted[0], wanted[1])), train_share(self))

    def explain_rows(self, X: Any) -> explain.Breakdown:
        """Return the contributions that add up to each row's score."""
        return explain.explain_rows(single_model(self), self._encode(X))

    def _read_known(self, X: Any, y: Any, given: dict[str, Any], in_training: bool = False) -> Encoded:
        """Return the rows encoded for a fitted model; `in_training`: as in training. given : as `read_rows` takes."""
        check_is_fitted(self, "model_")
        check_parameters(self)
        table = read_table(self, X, reset=False)
        rows = read_rows(self, table, self._read_target(y), **{"sample_weight": None, "groups": None, **given})
        codes = encode_table(rows.table, self.model_.bins, in_training)
        strata = rows.y.astype(np.int64) if self._loss.is_binary else None
        return self._encoded(rows, Binned(codes, self.model_.bins), strata)

    def _warn_of_nothing(self) -> None:
        """Warn of a fit around all features that kept no round; that of a greedy order is an answer."""
        if self.order != GREEDY and learned_nothing(self):
            advice = "" if self._n_scores > 1 else ' Of many features, order="greedy" may find the few that count.'
            warnings.warn(f"{NOTHING_LEARNED}.{advice}", UserWarning, stacklevel=5)

    if not TYPE_CHECKING:  # else any attribute would be taken to be there

        def __getattr__(self, name: str) -> Any:
            """What was a method in 0.1 and is a function now, for scripts of that time."""
            if name == "single":
                return single_model(self)
            if name == "read_target":
                return partial(read_target, self)
            if not name.startswith("_"):
                from gamcore.estimators.former import METHODS  # the functions need the estimators

                if name in METHODS:
                    return partial(METHODS[name], self)
            return super().__getattr__(name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a `.gamx` file, atomically."""
        gamx.save(self._to_saved(), path)

    def _to_saved(self, **about: Any) -> Saved:
        """Return the fitted model with its parameters and versions; `about` adds plain JSON values."""
        check_is_fitted(self, "model_")
        known = {
            **self._about(),
            "best_rounds": self.best_rounds_.tolist(),
            "validation_losses": [plain(loss) for loss in self.validation_losses_.tolist()],
            "steep": bool(getattr(self, "steep_", False)),
            "pair_joint": bool(getattr(self, "pair_joint_", False)),
            "pair_path": [[n, plain(loss)] for n, loss in getattr(self, "pair_path_", ())],
        }
        if hasattr(self, "entries_"):
            known["entries"] = self.entries_.to_numpy().tolist()
        classes = tuple(getattr(self, "classes_", np.empty(0)).tolist())
        return Saved(self._loss.kind, self.model_, classes, known | about)


def single_model(model: AdditiveEstimator) -> AdditiveModel:
    """Return the model of an estimator whose rows have one score; TableError where they have one per class."""
    check_is_fitted(model, "model_")
    if isinstance(model.model_, ClassesModel):
        raise TableError(f"The model has {model.model_.n_classes} classes: choose one with of_class(label) first.")
    return model.model_


def read_target(model: AdditiveEstimator, y: Any) -> NDArray[Any]:
    """Return targets (n,) as boosting takes them: numbers, or the places of classes."""
    return model._read_target(y)


Fittable = TypeVar("Fittable", bound=AdditiveEstimator)


def fit_source(model: Fittable, X: Any, y: Any, source: Source, halves: int = 0) -> Fittable:
    """Fit to the rows of a source; X and y are a sample of them, for names and classes. `bands` is ignored.

    halves : half-sample refits, where rows are counted in groups enough; else there are none.
    """
    check_parameters(model)
    read_table(model, X, reset=True)
    model._learn_classes(y)
    model.steep_ = not model.smoothing_rounds
    seeds = Seeds.of(model.random_state)
    with listening(model.callback) as callback:
        watcher = Watcher(callback)
        fitted = model._fit_source(source, seeds, watcher, halves > 0)
        if halves and fitted.counted and not (fitted.pairs or watcher.stopped):
            model._add_group_halves(source, fitted.counted, halves, seeds, watcher=watcher)
    if not watcher.stopped:
        model._warn_of_nothing()
    return model


def bin_rows(model: AdditiveParameters, rows: TrainingRows, max_bins: int, max_levels: int) -> Binned:
    """Return training rows as codes, in the bins that the model's settings choose and in learnt ones."""
    features = learn_features(rows.table, model.categorical_features, model.date_parts)
    own = own_bins(model.bins, features)
    return bin_table(rows.table, features, rows.weight, max_bins, max_levels=max_levels, own=own)


def ranking_frame(ranking: Ranking, names: list[str]) -> pd.DataFrame:
    named = np.array(names, object)[ranking.pairs.reshape(-1, 2).T]
    frame = pd.DataFrame({"feature_1": named[0], "feature_2": named[1], "strength": ranking.strengths})
    frame.attrs["chance"] = ranking.chance
    return frame.assign(rank=np.arange(1, len(frame) + 1))


def _triples_frame(ranking: Ranked, names: list[str]) -> pd.DataFrame:
    """Return all triples that were looked at: clear ones, strongest first, then others by how they stand out."""
    places = [int(place) for place in ranking.order if len(ranking.terms[place]) == 3]
    named = np.array(names, object)[np.array([ranking.terms[place] for place in places], np.int64).reshape(-1, 3).T]
    frame = pd.DataFrame({f"feature_{k}": column for k, column in enumerate(named, 1)})
    frame["strength"], frame["standing"] = ranking.strengths[places], ranking.standing[places]
    frame["clear"] = ranking.clear[places]
    frame.attrs["chance"] = ranking.chance
    return frame.assign(rank=np.arange(1, len(frame) + 1))
