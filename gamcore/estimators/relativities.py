"""A model with a log link as tables of relativities: the form in which insurers keep rating factors.

A prediction per unit of exposure is the base, times the factor of each feature's bin, times that of each pair's cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gamcore.common.types import Floats, Ints
from gamcore.data.binning import encode_table
from gamcore.data.column_names import free_name
from gamcore.estimators.additive import read_target, single_model
from gamcore.estimators.base import read_rows, read_table, train_share
from gamcore.estimators.gam import GAMRegressor
from gamcore.estimators.seen_rows import Sample
from gamcore.explain.curves import explain_shape
from gamcore.explain.importance import term_names
from gamcore.io.formula import ScoringError
from gamcore.model.additive import AdditiveModel, PairTerm, Term

BASE = "base"
"""Name of the table with the base and the sizes of the other tables."""


def relativities(
    model: GAMRegressor, compared: Mapping[str, Sample] | None = None, cap: float | None = None
) -> dict[str, pd.DataFrame]:
    """Return the tables by name: the base first, then one per feature, then one per pair.

    Of a feature, a row per bin, missing and unseen last: factor, lower, upper (its band; equal to the factor without
    one) and "rows (training)", which are sums of weights. compared : populations by name, such as "training" and
    "held-out", that are counted beside them, each under its name: rows, exposure (rows where none is given), total of
    the outcome, and observed and predicted means per unit of exposure. cap : adds the "capped factor", kept between
    1 / cap and cap; a prediction from such factors needs a base of its own.

    Raises ScoringError where the model's effects do not multiply.
    """
    inner = single_model(model)
    if not inner.loss.has_log_link:
        raise ScoringError("Only models of counts and amounts have relativities: their effects multiply.")
    if cap is not None and not cap >= 1:
        raise ScoringError(f"Factors are capped at {cap}: give a number of at least 1.")
    populations = {name: _Sums.of(model, rows) for name, rows in (compared or {}).items()}
    base = pd.DataFrame({
        "part": [BASE, *term_names(inner)],
        "smallest factor": [np.exp(inner.intercept), *_ends(inner, np.min)],
        "largest factor": [np.exp(inner.intercept), *_ends(inner, np.max)],
    })  # fmt: skip
    tables = {free_name(base["part"][1:], BASE): base}
    for place, bins in enumerate(inner.bins):
        frame = explain_shape(inner, place, train_share(model)).on("ratio").frame()
        kept = frame[[name for name in frame.columns if "whole curve" not in name]]
        kept = kept.rename(columns={"score": "factor", "rows": "rows (training)"})
        if cap is not None:
            kept = kept.assign(**{"capped factor": kept["factor"].clip(1 / cap, cap)})
        for name, sums in populations.items():
            kept = kept.assign(**{f"{what} ({name})": values for what, values in sums.by_bin(place, bins.size).items()})
        tables[bins.feature.name] = kept
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


@dataclass(frozen=True)
class _Sums:
    """Codes (p, n) of rows, and what is added up of them by bin, each (n,)."""

    codes: Ints
    weight: Floats
    exposure: Floats
    observed: Floats
    predicted: Floats

    @classmethod
    def of(cls, model: GAMRegressor, compared: Sample) -> _Sums:
        """Return what a population has."""
        table = read_table(model, compared.X, reset=False)
        target, weights = read_target(model, compared.y), compared.sample_weight
        rows = read_rows(model, table, target, weights, None, exposure=compared.exposure)
        size = np.ones(rows.y.size) if rows.log_exposure is None else np.exp(rows.log_exposure)
        weight = np.ones(rows.y.size) if rows.given_weight is None else rows.given_weight
        codes = encode_table(rows.table, single_model(model).bins)
        predicted = np.asarray(single_model(model).predict(codes), np.float64)
        return cls(codes.astype(np.int64), weight, weight * size, weight * rows.y, weight * size * predicted)

    def by_bin(self, place: int, size: int) -> dict[str, Floats]:
        """Return the columns of a feature by bin: values, missing, unseen; means are NaN without exposure."""
        order = [*range(1, size - 1), 0, size - 1]
        rows, exposure, observed, predicted = (
            np.bincount(self.codes[place], values, size)[order].astype(np.float64)
            for values in (self.weight, self.exposure, self.observed, self.predicted)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "rows": rows, "exposure": exposure, "total": observed, "observed": observed / exposure,
                "predicted": predicted / exposure,
            }  # fmt: skip
