"""What a fitted additive model says of rows: which lie in a part of a surface, and what would change a decision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamcore.data.binning import encode_table
from gamcore.data.columns import TableError
from gamcore.estimators.additive import AdditiveEstimator, single_model
from gamcore.estimators.base import read_table, train_share
from gamcore.explain import counterfactuals
from gamcore.explain.counterfactuals import USUAL, Change, Possible, ways
from gamcore.explain.importance import term_names
from gamcore.explain.surfaces import Rectangle, Surface
from gamcore.explain.three_way import ThreeWay, three_way


def rows_inside(model: AdditiveEstimator, X: Any, surface: Surface, chosen: Rectangle) -> NDArray[np.bool_]:
    """Return which rows (n,) of a table lie in a rectangle of one of the model's surfaces."""
    first, second = (model.model_.bins[model._feature_index(name)] for name in surface.names)
    return surface.inside(chosen, *encode_table(read_table(model, X, reset=False), (first, second)))


def smallest_changes(model: AdditiveEstimator, row: Any, line: float, possible: Possible = USUAL) -> list[Change]:
    """Return the most usual changes of up to three features that take the score of a one-row table across a line.

    possible : columns that may not change, and limits of others.
    """
    codes = model._encode(row)
    if codes.shape[1] != 1:
        raise TableError(f"The table has {codes.shape[1]} rows: pass a single row.")
    if not np.isfinite(line):
        raise TableError(f"The line is {line}: pass a finite score.")
    return counterfactuals.smallest_changes(codes[:, 0], line, ways(single_model(model), possible, train_share(model)))


def explain_triple(model: AdditiveEstimator, first: str | int, second: str | int, third: str | int) -> ThreeWay:
    """Return the interaction of three features that the model has as a triple, by names or places in any order."""
    wanted = tuple(sorted(map(model._feature_index, (first, second, third))))
    fitted = single_model(model)
    places = [triple.features for triple in fitted.triples]
    if wanted not in places:
        names = ", ".join(term_names(fitted)[len(fitted.terms) + len(fitted.pairs) :]) or "none"
        raise KeyError(f"The model has no triple of {first!r}, {second!r} and {third!r}; its triples: {names}.")
    return three_way(fitted, places.index(wanted), train_share(model))
