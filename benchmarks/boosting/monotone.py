"""What monotone curves cost: `python -m benchmarks.boosting.monotone --data DIR [--seeds N]`.

On the public tables every number may only move the way in which the curve of the free model moves on the whole. Beside
the free model and the monotone one stands the free model whose curves are put in order afterwards (isotonic regression
by the weights of their bins). The splits are those of `benchmarks.boosting.peers`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression

from benchmarks.boosting.peers import split
from gamcore import GAMClassifier, GAMRegressor
from gamcore.model.additive import AdditiveModel
from tests.support.real_tables import BINARY, REGRESSION, read


def trends(model: AdditiveModel) -> dict[str, int]:
    """Return 1 or -1 for each number: the sign of the covariance of its codes and its curve."""
    signs = {}
    for bins, term in zip(model.bins, model.terms, strict=True):
        if not bins.feature.is_category and bins.n_values > 1:
            codes, values, weight = np.arange(bins.n_values), term.scores[1:-1], term.counts[1:-1]
            slope = np.average((codes - np.average(codes, weights=weight)) * values, weights=weight)
            signs[bins.feature.name] = 1 if slope >= 0 else -1
    return signs


def in_order(model: AdditiveModel, signs: dict[str, int]) -> AdditiveModel:
    """Return the model with its curves in order, each the nearest by the weights of its bins."""
    terms = list(model.terms)
    for j, (bins, term) in enumerate(zip(model.bins, model.terms, strict=True)):
        if sign := signs.get(bins.feature.name):
            scores, isotonic = term.scores.copy(), IsotonicRegression(increasing=sign > 0)
            weight = np.maximum(term.counts[1:-1], 1e-9)
            scores[1:-1] = isotonic.fit_transform(np.arange(bins.n_values), scores[1:-1], sample_weight=weight)
            terms[j] = replace(term, scores=scores)
    return replace(model, terms=tuple(terms))


def _loss(model: Any, X: pd.DataFrame, y: np.ndarray) -> float:
    return float(np.mean(model.loss.loss(y.astype(float), model.model_.score(model._encode(X)))))


def run(data: Path, name: str, seed: int) -> dict[str, float]:
    """Return the held-out losses of the three models, on one split of a table."""
    table = read(data, name)
    X, X_test, y, y_test = split(table, seed)
    kind = GAMClassifier if table.classifier else GAMRegressor
    free = kind(random_state=seed, n_jobs=2).fit(X, y)
    held = np.searchsorted(free.classes_, y_test) if table.classifier else y_test
    signs = trends(free.model_)
    losses = {"free": _loss(free, X_test, held)}
    losses["monotone"] = _loss(kind(random_state=seed, n_jobs=2, monotone=signs).fit(X, y), X_test, held)
    free.model_ = in_order(free.model_, signs)
    return losses | {"in order afterwards": _loss(free, X_test, held)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public tables (Parquet)")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    for name in (*REGRESSION, *BINARY):
        each = pd.DataFrame([run(asked.data, name, seed) for seed in range(asked.seeds)])
        gap = each["monotone"] - each["in order afterwards"]
        row = pd.DataFrame([{"table": name} | each.mean().to_dict() | {"gap": gap.mean(), "error": gap.sem()}])
        print(row.to_string(index=False, float_format="{:.5g}".format), flush=True)


if __name__ == "__main__":
    main()
