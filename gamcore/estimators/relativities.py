"""A model with a log link as tables of relativities: the form in which insurers keep rating factors.

A prediction per unit of exposure is the base, times the factor of each feature's bin, times that of each pair's cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from gamcore.data.binning import encode_table
from gamcore.data.column_names import free_name
from gamcore.estimators.gam import GAMRegressor
from gamcore.explain.curves import explain_shape
from gamcore.explain.importance import term_names
from gamcore.io.formula import ScoringError
from gamcore.model.additive import AdditiveModel, PairTerm, Term
from gamcore.types import Floats, Ints

BASE = "base"
"""Name of the table with the base and the sizes of the other tables."""


def relativities(
    model: GAMRegressor, X: Any = None, y: Any = None, sample_weight: Any = None, exposure: Any = None
) -> dict[str, pd.DataFrame]:
    """Return the tables by name: the base first, then one per feature, then one per pair.

    Of a feature, a row per bin, missing and unseen last: factor, lower, upper (its band; equal to the factor without
    one) and rows (of training). X, y : rows to be counted and compared, preferably held out, with their weights and
    exposures; they add exposure (rows where none is given), observed and predicted (means per unit of it).

    Raises ScoringError where the model's effects do not multiply.
    """
    inner = model.single
    if not inner.loss.has_log_link:
        raise ScoringError("Only models of counts and amounts have relativities: their effects multiply.")
    rows = None if X is None else _rows(model, X, y, sample_weight, exposure)
    base = pd.DataFrame({
        "part": [BASE, *term_names(inner)],
        "smallest factor": [np.exp(inner.intercept), *_ends(inner, np.min)],
        "largest factor": [np.exp(inner.intercept), *_ends(inner, np.max)],
    })  # fmt: skip
    tables = {free_name(base["part"][1:], BASE): base}
    for place, bins in enumerate(inner.bins):
        frame = explain_shape(inner, place, model.train_share).on("ratio").frame()
        kept = frame[[name for name in frame.columns if "whole curve" not in name]].rename(columns={"score": "factor"})
        tables[bins.feature.name] = kept if rows is None else kept.assign(**_seen(rows, place, bins.size))
    for pair, name in zip(inner.pairs, term_names(inner)[len(inner.terms) :], strict=True):
        first, second = (_places(inner, place) for place in pair.features)
        tables[name] = pd.DataFrame(np.exp(pair.scores[1:-1, 1:-1]), first, second).reset_index(names="")
    return tables


def _ends(model: AdditiveModel, end: Any) -> list[float]:
    """Return the smallest or largest factor of each term, over bins or cells with training rows."""
    terms: tuple[Term | PairTerm, ...] = (*model.terms, *model.pairs)
    return [float(np.exp(end(term.scores[term.counts > 0]))) if (term.counts > 0).any() else 1.0 for term in terms]


def _places(model: AdditiveModel, place: int) -> list[str]:
    """Return the names of the bins of a feature."""
    curve = explain_shape(model, place)
    return [curve.place(k) for k in range(curve.scores.size)]


def _rows(
    model: GAMRegressor, X: Any, y: Any, sample_weight: Any, exposure: Any
) -> tuple[Ints, Floats, Floats, Floats]:
    """Return codes (p, n), outcomes, predictions and exposures (n,), weighted."""
    table = model.read_table(X, reset=False)
    rows = model.read_rows(table, model.read_target(y), sample_weight, None, exposure=exposure)
    size = np.ones(rows.y.size) if rows.log_exposure is None else np.exp(rows.log_exposure)
    weight = np.ones(rows.y.size) if rows.given_weight is None else rows.given_weight
    codes = encode_table(rows.table, model.single.bins)
    predicted = np.asarray(model.single.predict(codes), np.float64)
    return codes.astype(np.int64), weight * rows.y, weight * size * predicted, weight * size


def _seen(rows: tuple[Ints, Floats, Floats, Floats], place: int, size: int) -> dict[str, Floats]:
    """Return exposure, observed and predicted means by bin: values, missing, unseen; NaN without exposure."""
    codes, observed, predicted, exposure = rows
    order = [*range(1, size - 1), 0, size - 1]
    sums = [
        np.bincount(codes[place], values, size)[order].astype(np.float64) for values in (exposure, observed, predicted)
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        return {"exposure": sums[0], "observed": sums[1] / sums[0], "predicted": sums[2] / sums[0]}
