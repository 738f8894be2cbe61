"""What a fitted additive estimator says of its model: curves, pairs, importances, and the parts of predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from gamcore.data.binning import encode_table
from gamcore.data.columns import TableError
from gamcore.estimators.base import TableEstimator
from gamcore.explain import curves as explain
from gamcore.explain.counterfactuals import USUAL, Change, Possible, smallest_changes, ways
from gamcore.explain.importance import Importance, importance, term_names
from gamcore.explain.surfaces import Rectangle, Surface, explain_pair
from gamcore.model.additive import AdditiveModel
from gamcore.model.classes import ClassesModel
from gamcore.model.scales import Scale
from gamcore.types import Floats


class Explained(TableEstimator):
    """The explanations of additive estimators; those of several classes are asked of one class at a time."""

    model_: AdditiveModel | ClassesModel

    @property
    def single(self) -> AdditiveModel:
        """The model where rows have one score; TableError where they have one per class."""
        check_is_fitted(self, "model_")
        if isinstance(self.model_, ClassesModel):
            raise TableError(f"The model has {self.model_.n_classes} classes: choose one with of_class(label) first.")
        return self.model_

    def explain_shape(self, feature: str | int) -> explain.Curve:
        """Return the shape function of one feature, by name or place."""
        return explain.explain_shape(self.single, self._feature_index(feature), self.train_share)

    def importance(self, scale: Scale = "link") -> Importance:
        """Return the importance of every term."""
        return importance(self.single, scale)

    @property
    def feature_importances_(self) -> Floats:
        """Share (n_features_in_,) of each column of the table in the effects, for scikit-learn's selectors.

        An effect's size is its mean |score| over the training rows, on the link scale (`importance`); that of a pair
        counts half for each of its columns, and of several classes the sizes of all are added. The shares add up to 1.
        """
        check_is_fitted(self, "model_")
        models = self.model_.models if isinstance(self.model_, ClassesModel) else (self.model_,)
        sizes = np.zeros(len(self.model_.bins))
        for model in models:
            means = importance(model).mean_abs
            sizes += means[: sizes.size]
            for pair, mean in zip(model.pairs, means[sizes.size :], strict=True):
                sizes[list(pair.features)] += mean / 2
        return self._shares_of_columns(sizes)

    def explain_pair(self, first: str | int, second: str | int) -> Surface:
        """Return the interaction of two features that the model has as a pair, by names or places."""
        wanted = sorted((self._feature_index(first), self._feature_index(second)))
        places = [pair.features for pair in self.single.pairs]
        if tuple(wanted) not in places:
            names = ", ".join(term_names(self.single)[len(self.single.terms) :]) or "none"
            raise KeyError(f"The model has no pair of {first!r} and {second!r}; its pairs: {names}.")
        return explain_pair(self.single, places.index((wanted[0], wanted[1])), self.train_share)

    def rows_inside(self, X: Any, surface: Surface, chosen: Rectangle) -> NDArray[np.bool_]:
        """Return which rows (n,) of a table lie in a rectangle of one of the model's surfaces."""
        first, second = (self.model_.bins[self._feature_index(name)] for name in surface.names)
        return surface.inside(chosen, *encode_table(self.read_table(X, reset=False), (first, second)))

    def explain_rows(self, X: Any) -> explain.Breakdown:
        """Return the contributions that add up to each row's score."""
        return explain.explain_rows(self.single, self._encode(X))

    def smallest_changes(self, row: Any, line: float, possible: Possible = USUAL) -> list[Change]:
        """Return the most usual changes of up to three features that take the score of a one-row table across a line.

        possible : columns that may not change, and limits of others.
        """
        codes = self._encode(row)
        if codes.shape[1] != 1:
            raise TableError(f"The table has {codes.shape[1]} rows: pass a single row.")
        if not np.isfinite(line):
            raise TableError(f"The line is {line}: pass a finite score.")
        return smallest_changes(codes[:, 0], line, ways(self.single, possible, self.train_share))
