"""Which curves a fitted model needs: the path from all of them to none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from gamcore.boosting.features.garrote import FOLDS, NO_VALIDATION, Part, Path, garrote
from gamcore.boosting.fit.model import Seeds
from gamcore.boosting.refit.problem import Share
from gamcore.boosting.rows.source import Dealing, Encoded
from gamcore.common.types import Floats
from gamcore.data.columns import TableError
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.estimators.updating import path_of_kept
from gamcore.model.additive import AdditiveModel

MOST_ROWS = 20_000
"""Rows that choose: a random part of the validation rows."""


def fewer_curves(
    model: GAMRegressor | GAMClassifier,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    exposure: Any = None,
    init_score: Any = None,
) -> pd.DataFrame:
    """Return a path of models with fewer curves, from all to none (the garrote of Breiman 1995).

    X, y and the rest : what `fit` had. Without them the counts tell that a model of a number keeps (keep_tables=True).

    A frame: curves, how many a model has; loss, its mean loss on rows that chose neither its curves nor how much of
    each is left, and the standard error of that; chosen, true for the fewest curves within one error of the best; and
    per feature what its curve is multiplied by. Its attrs["steady"] tells per feature in which share of half samples
    its curve stays, by step, where rows were passed. Pairs stay as they are.
    """
    check_is_fitted(model, "model_")
    if not isinstance(model.model_, AdditiveModel):
        raise TableError("Fewer curves need one score per row, and several classes have one each.")
    names = [bins.feature.name for bins in model.model_.bins]
    if X is None:
        if not isinstance(model, GAMRegressor):
            raise TableError("Fewer curves of a classifier need its rows: pass X and y.")
        return path_frame(path_of_kept(model), names)
    if not isinstance(model.random_state, int | np.integer):
        raise TableError("Fewer curves need the validation rows of the fit: fit with a number as random_state.")
    given = {"sample_weight": sample_weight, "groups": groups, "exposure": exposure, "init_score": init_score}
    data = model._read_known(X, y, given, in_training=True)
    parts = list(_parts(model, model.model_, data))
    if len({part.group for part in parts}) < FOLDS:
        raise TableError(NO_VALIDATION)
    return path_frame(garrote(parts, loss_of(model)), names)


def path_frame(path: Path, names: list[str]) -> pd.DataFrame:
    """Return a path as `fewer_curves` tells it."""
    frame = pd.DataFrame({"curves": path.n_curves, "loss": path.losses, "error": path.errors})
    frame["chosen"] = np.arange(len(frame)) == path.chosen
    frame = pd.concat([frame, pd.DataFrame(path.factors, columns=names)], axis=1)
    if path.steady.size:
        frame.attrs["steady"] = dict(zip(names, path.steady.T.tolist(), strict=True))
    return frame


def _parts(model: GAMRegressor | GAMClassifier, fitted: AdditiveModel, data: Encoded) -> Iterator[Part]:
    """Yield the validation rows of each refit, by group, at most `MOST_ROWS` in all."""
    seeds = Seeds.of(model.random_state)
    dealing = Dealing(model.outer_bags, model._groups_of(data), model.validation_fraction, seeds.groups, seeds.splits)
    shares = [share for share in data.shares(dealing) if isinstance(share, Share)]
    n_parts = sum(share.split.valid.size for share in shares)
    most = -(-MOST_ROWS // max(n_parts, 1))
    for k, share in enumerate(shares):
        problem = share.problem
        for g in share.split.valid:
            start = int(problem.table.starts[g])
            rows = slice(start, min(int(problem.table.starts[g + 1]), start + most))
            codes = np.stack([line[rows] for line in problem.table.lines()])
            fixed = fitted.refit_intercepts[k] + _of_pairs(fitted, codes)
            yield Part(
                group=int(g),
                added=np.stack([term.refits[k][codes[term.feature]] for term in fitted.terms], axis=1),
                fixed=fixed + problem.offset[rows] if problem.offset.size else fixed,
                y=problem.y[rows],
                weight=problem.row_weight[rows],
            )


def _of_pairs(fitted: AdditiveModel, codes: Any) -> Floats:
    """Return what pairs and triples add to rows (p, m)."""
    added = np.zeros(codes.shape[1])
    for term in fitted.interactions:
        added += term.at(codes)
    return added
