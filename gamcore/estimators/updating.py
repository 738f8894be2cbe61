"""Models that keep counts of their rows, and learn from more rows without the earlier ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gamcore.boosting.counts.bin_pairs import HALF_GROUPS, TABLE_GROUPS
from gamcore.boosting.features.garrote import NO_VALIDATION, Path
from gamcore.boosting.fit.model import Seeds
from gamcore.boosting.running.progress import Watcher
from gamcore.boosting.updating.questions import Price, around, path_of_counts, price, without
from gamcore.boosting.updating.tables import KeptTables
from gamcore.data.binning import Binned, encode_table, merge_bins
from gamcore.data.columns import TableError, hash_texts
from gamcore.data.sampling import Split, splits
from gamcore.estimators.additive import bin_rows
from gamcore.estimators.additive_parameters import AUTO, RegressorParameters
from gamcore.estimators.base import TrainingRows, check_parameters, n_threads
from gamcore.estimators.intervals import IntervalEstimator
from gamcore.estimators.progress_bar import listening
from gamcore.kernels import CODE, N_CODES
from gamcore.model.additive import AdditiveModel, carried, check_relearnt
from gamcore.types import Floats, Ints

COARSE: Final = 10
"""Bins of a number in which added rows are compared with those before."""

NO_TABLES: Final = "The model keeps no counts of its rows: fit it with keep_tables=True."


class UpdatableEstimator(RegressorParameters, IntervalEstimator):
    """An additive estimator of a number that may keep counts of its rows in `tables_`."""

    tables_: KeptTables
    update_drift_: pd.DataFrame

    def update(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, init_score: Any = None) -> Self:
        """Add rows to those that a model has learned from, and boost it anew from the counts of all of them.

        The model is that of a fit to all rows with the same bins, to the bit, at a cost that does not know the earlier
        rows. `update_drift_` then tells what moved: bins stay, and the more the rows move, the less they fit.

        groups : as in `fit`; rows of a label that was there before join its rows. TableError where the model keeps no
        counts, or the rows are of another kind than those before.
        """
        return self._add(self.count(X, y, sample_weight, groups, init_score=init_score), reuse=True)

    def count(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, init_score: Any = None
    ) -> KeptTables:
        """Return the counts of rows by the bins of a fitted model, for `merge`. The model stays as it is."""
        tables = self._tables()
        check_parameters(self)
        table = self.read_table(X, reset=False)
        rows = self.read_rows(table, self.read_target(y), sample_weight, groups, init_score=init_score)
        data = self._encoded(rows, Binned(encode_table(rows.table, self.model_.bins, True), self.model_.bins), None)
        return tables.count(replace(data, weight=rows.given_weight), keys=_keys(rows), n_threads=n_threads(self.n_jobs))

    def merge(self, more: KeptTables) -> Self:
        """Add counts of more rows, such as those of another site, and boost the model anew from all of them."""
        return self._add(more, reuse=False)

    def _add(self, more: KeptTables, reuse: bool) -> Self:
        tables = self._tables()
        check_relearnt(self._additive)
        moved, before = drift(tables, more), self._additive
        self._fit_tables(tables.add(more, reuse))
        self.model_ = carried(self._additive, before)
        self.update_drift_ = moved
        return self

    def price_by_counts(self, feature: str | int, scores: Any) -> Price:
        """Return what other scores (size,) for one feature, by name or place, cost in mean squared error.

        scores : by code: missing, the bins in order, unseen; as in `model_.terms`. All else stays as it is, and the
        error is over all rows that the model was fitted to.
        """
        tables, (place, values) = self._tables(), self._edit(feature, scores)
        return price(tables, self._additive, place, values)

    def refit_by_counts(self, feature: str | int, scores: Any) -> Self:
        """Return a fitted copy in which one feature has these scores (size,), and all others are boosted around them.

        The copy has no bands.
        """
        tables, (place, values) = self._tables(), self._edit(feature, scores)
        if self._additive.fitted is not self._additive:
            raise TableError("The model has edits by hand: undo them with with_edits(model, []), or use refit_others.")
        made: Self = clone(self).set_params(bands=0)
        made.__dict__.update(self.__dict__ | made.get_params(deep=False))
        made._fit_source(without(tables, place, values), Seeds.of(tables.origin.seed), Watcher(None))
        made.model_ = around(made._additive, place, values, tables.base())
        return made

    def _path_of_counts(self) -> Path:
        """Return a path of models with fewer curves from the kept counts."""
        tables = self._tables()
        valid = [split.valid for split in self._splits(tables)]
        if not any(groups.size for groups in valid):
            raise TableError(NO_VALIDATION)
        return path_of_counts(tables, self._additive, valid)

    @property
    def _additive(self) -> AdditiveModel:
        assert isinstance(self.model_, AdditiveModel)
        return self.model_

    def _edit(self, feature: str | int, scores: Any) -> tuple[int, Floats]:
        """Return the place of a feature, and its checked scores."""
        place, values = self._feature_index(feature), np.asarray(scores, np.float64)
        size = self._additive.terms[place].scores.size
        if values.shape != (size,) or not np.isfinite(values).all():
            raise TableError(f"An edit of this feature needs {size} finite numbers, one per code, not {values.shape}.")
        return place, values

    def _splits(self, tables: KeptTables) -> list[Split]:
        """Return the groups that each refit learned from, and those that stopped it."""
        of_splits = Seeds.of(tables.origin.seed).splits
        return splits(tables.origin.n_groups, self.validation_fraction, self.outer_bags, of_splits)

    def _tables(self) -> KeptTables:
        check_is_fitted(self, "model_")
        if not hasattr(self, "tables_"):
            raise TableError(NO_TABLES)
        return self.tables_

    def _fit_rows(self, rows: TrainingRows, strata: Ints | None = None) -> None:
        """Fit rows in memory; through counts of them where these are to be kept."""
        for stale in ("tables_", "update_drift_"):
            self.__dict__.pop(stale, None)
        if not self.keep_tables:
            super()._fit_rows(rows, strata)
            return
        self._check_kept()
        self.steep_ = not self.smoothing_rounds
        binned = bin_rows(self, rows, int(self.max_bins), int(self.max_bins))
        if binned.codes.dtype != CODE:
            raise TableError(f"Counts of rows can be kept of at most {N_CODES - 2} bins per feature: give fewer cuts.")
        data = self._encoded(rows, binned, None)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._fit_tables(
            KeptTables.of(
                replace(data, weight=rows.given_weight),
                seed,
                self._kept_groups(),
                keys=_keys(rows),
                n_threads=n_threads(self.n_jobs),
            )
        )
        # Rows to come may lie beside any cut, so the counts do not know what does; the model of these rows does.
        self.model_ = replace(self._additive, bins=binned.bins)

    def _check_kept(self) -> None:
        """Raise TableError where a model cannot be boosted from counts."""
        wrong = {
            'objective="squared"': not self.loss.is_additive,
            'ensemble="grouped"': self.ensemble != "grouped",
            "interactions=0": not (isinstance(self.interactions, int | np.integer) and self.interactions == 0),
            "shapes=None": bool(self.shapes),
            f"max_bins={N_CODES} or fewer": self.max_bins == AUTO or int(self.max_bins) > N_CODES,
            f'bands=0, or n_groups="auto" or at least {HALF_GROUPS}': bool(self.bands)
            and self._kept_groups() < HALF_GROUPS,
        }
        if needed := [setting for setting, is_wrong in wrong.items() if is_wrong]:
            raise TableError(f"Counts of rows can be kept with {' and '.join(needed)}: set it, or keep_tables=False.")

    def _kept_groups(self) -> int:
        if isinstance(self.n_groups, str):
            return HALF_GROUPS if self.bands else TABLE_GROUPS
        return int(self.n_groups)

    def _fit_tables(self, tables: KeptTables) -> None:
        """Boost the model from counts, with bands where `bands` asks for them."""
        seeds = Seeds.of(tables.origin.seed)
        with listening(self.callback) as callback:
            watcher = Watcher(callback)
            self._fit_source(tables, seeds, watcher)
            if self.bands and not watcher.stopped:
                self._add_group_halves(tables, tables.problem, self.bands, seeds, watcher=watcher)
        self.tables_ = tables


def _keys(rows: TrainingRows) -> NDArray[np.uint64] | None:
    """Return a number (n,) for each row's label, the same in every table; None where rows have no labels."""
    if rows.labels is None:
        return None
    texts = pd.Series(rows.labels).astype(str).to_numpy(object)
    return hash_texts(texts)


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
            before, after = (np.bincount(coarse, one).astype(np.float64) for one in (before, after))
        n_before, n_after = max(before.sum(), 1.0), max(after.sum(), 1.0)
        share, pooled = after / n_after - before / n_before, (before + after) / (n_before + n_after)
        noise = np.sqrt(2.0 / np.pi * pooled * (1.0 - pooled) * (1.0 / n_before + 1.0 / n_after))
        lines.append((of_feature.feature.name, np.abs(share).sum() / 2, noise.sum() / 2, new_levels))
    frame = pd.DataFrame(lines, columns=["feature", "moved", "by_chance", "new_levels"])
    return frame.sort_values("moved", ascending=False, ignore_index=True)
