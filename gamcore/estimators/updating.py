"""Models that keep counts of their rows: they learn on without the earlier rows, and answer what an edit costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gamcore.boosting.features.garrote import NO_VALIDATION, Path
from gamcore.boosting.fit.model import Seeds
from gamcore.boosting.running.progress import Watcher
from gamcore.boosting.updating.questions import Price, around, path_of_counts, price, without
from gamcore.boosting.updating.tables import KeptTables
from gamcore.common.types import Floats
from gamcore.data.binning import Binned, encode_table, merge_bins
from gamcore.data.columns import TableError
from gamcore.data.sampling import Split, splits
from gamcore.estimators.additive import read_target
from gamcore.estimators.base import check_parameters, n_threads, read_rows, read_table
from gamcore.estimators.gam import GAMRegressor
from gamcore.estimators.kept_counts import boost_counts, keys_of
from gamcore.model.additive import AdditiveModel, carried, check_relearnt

COARSE: Final = 10
"""Bins of a number in which added rows are compared with those before."""

NO_TABLES: Final = "The model keeps no counts of its rows: fit it with keep_tables=True."


def update(
    model: GAMRegressor, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, init_score: Any = None
) -> GAMRegressor:
    """Add rows to those that a model has learned from, boost it anew from the counts of all of them, and return it.

    The model is that of a fit to all rows with the same bins, to the bit, at a cost that does not know the earlier
    rows. `model.update_drift_` then tells what moved: bins stay, and the more the rows move, the less they fit.

    groups : as in `fit`; rows of a label that was there before join its rows. TableError where the model keeps no
    counts, or the rows are of another kind than those before.
    """
    return _add(model, count_rows(model, X, y, sample_weight, groups, init_score=init_score), reuse=True)


def count_rows(
    model: GAMRegressor, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, init_score: Any = None
) -> KeptTables:
    """Return the counts of rows by the bins of a fitted model, for `merge_counts`. The model stays as it is."""
    tables = _tables(model)
    check_parameters(model)
    table, bins = read_table(model, X, reset=False), _additive(model).bins
    rows = read_rows(model, table, read_target(model, y), sample_weight, groups, init_score=init_score)
    data = model._encoded(rows, Binned(encode_table(rows.table, bins, True), bins), None)
    return tables.count(replace(data, weight=rows.given_weight), keys=keys_of(rows), n_threads=n_threads(model.n_jobs))


def merge_counts(model: GAMRegressor, more: KeptTables) -> GAMRegressor:
    """Add counts of more rows, such as those of another site, boost the model anew from all of them, and return it."""
    return _add(model, more, reuse=False)


def price_by_counts(model: GAMRegressor, feature: str | int, scores: Any) -> Price:
    """Return what other scores (size,) for one feature, by name or place, cost in mean squared error.

    scores : by code: missing, the bins in order, unseen; as in `model_.terms`. All else stays as it is, and the error
    is over all rows that the model was fitted to.
    """
    tables, (place, values) = _tables(model), _edit(model, feature, scores)
    return price(tables, _additive(model), place, values)


def refit_by_counts(model: GAMRegressor, feature: str | int, scores: Any) -> GAMRegressor:
    """Return a fitted copy in which one feature has these scores (size,), and all others are boosted around them.

    The copy has no bands.
    """
    tables, (place, values) = _tables(model), _edit(model, feature, scores)
    if _additive(model).fitted is not model.model_:
        raise TableError("The model has edits by hand: undo them with with_edits(model, []), or use refit_others.")
    refitted: GAMRegressor = clone(model).set_params(bands=0)
    refitted.__dict__.update(model.__dict__ | refitted.get_params(deep=False))
    refitted._fit_source(without(tables, place, values), Seeds.of(tables.origin.seed), Watcher(None))
    refitted.model_ = around(_additive(refitted), place, values, tables.base())
    return refitted


def path_of_kept(model: GAMRegressor) -> Path:
    """Return a path of models with fewer curves from the kept counts."""
    valid = [split.valid for split in splits_of_kept(model)]
    if not any(groups.size for groups in valid):
        raise TableError(NO_VALIDATION)
    return path_of_counts(model.tables_, _additive(model), valid)


def splits_of_kept(model: GAMRegressor) -> list[Split]:
    """Return the groups of kept counts that each refit learned from, and those that stopped it."""
    origin = _tables(model).origin
    return splits(origin.n_groups, model.validation_fraction, model.outer_bags, Seeds.of(origin.seed).splits)


def drift(tables: KeptTables, more: KeptTables) -> pd.DataFrame:
    """Return how far more rows lie from those before, the feature that moved most first.

    moved : the share of the added rows that would have to change bins for both to be distributed alike; numbers in bins
    of a tenth of the rows. by_chance : what it would be on average if they were. new_levels : the share of the added
    rows whose level the bins do not know; they share a bin.
    """
    lines = []
    for of_feature, before, after in zip(tables.bins, tables.counts(), more.counts(), strict=True):
        new_levels = float(after[-1] / max(after.sum(), 1.0))
        if not of_feature.feature.is_category:
            coarse = merge_bins(before, np.arange(1, of_feature.size - 1), COARSE, 0.0)[: of_feature.size]
            before, after = (np.bincount(coarse, counts).astype(np.float64) for counts in (before, after))
        n_before, n_after = max(before.sum(), 1.0), max(after.sum(), 1.0)
        share, pooled = after / n_after - before / n_before, (before + after) / (n_before + n_after)
        noise = np.sqrt(2.0 / np.pi * pooled * (1.0 - pooled) * (1.0 / n_before + 1.0 / n_after))
        lines.append((of_feature.feature.name, np.abs(share).sum() / 2, noise.sum() / 2, new_levels))
    frame = pd.DataFrame(lines, columns=["feature", "moved", "by_chance", "new_levels"])
    return frame.sort_values("moved", ascending=False, ignore_index=True)


def _add(model: GAMRegressor, more: KeptTables, reuse: bool) -> GAMRegressor:
    tables, before = _tables(model), _additive(model)
    check_relearnt(before)
    moved, grown = drift(tables, more), tables.add(more, reuse)
    boost_counts(model, grown)
    model.tables_, model.update_drift_ = grown, moved
    model.model_ = carried(_additive(model), before)
    return model


def _tables(model: GAMRegressor) -> KeptTables:
    check_is_fitted(model, "model_")
    if not hasattr(model, "tables_"):
        raise TableError(NO_TABLES)
    return model.tables_


def _additive(model: GAMRegressor) -> AdditiveModel:
    assert isinstance(model.model_, AdditiveModel)
    return model.model_


def _edit(model: GAMRegressor, feature: str | int, scores: Any) -> tuple[int, Floats]:
    """Return the place of a feature, and its checked scores."""
    place, values = model._feature_index(feature), np.asarray(scores, np.float64)
    size = _additive(model).terms[place].scores.size
    if values.shape != (size,) or not np.isfinite(values).all():
        raise TableError(f"An edit of this feature needs {size} finite numbers, one per code, not {values.shape}.")
    return place, values
