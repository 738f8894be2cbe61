"""A model of all rows of a table, prepared from a sample of them, and fitted to coded rows wherever these are.

Bins are learnt from the sample. All refits share them, so their mean is exact. Rows per bin, means and the base rate
are computed over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from gamcore.boosting.rows.in_parts import Parts, RowsInParts
from gamcore.boosting.rows.source import relative_weight
from gamcore.boosting.running.progress import Callback
from gamcore.common.types import Bools
from gamcore.data.binning import Bins
from gamcore.data.columns import TableError
from gamcore.data.own_bins import own_bins
from gamcore.data.table import Table, as_frame, learn_features
from gamcore.distributed.coding import bucket_sizes
from gamcore.estimators.additive import fit_source
from gamcore.estimators.additive_parameters import AUTO
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.kernels import N_CODES
from gamcore.model.additive import AdditiveModel
from gamcore.model.losses import LOSSES
from shapewise.training.dataset import Data, columns_of, held_out_rows, read_data
from shapewise.training.estimator import learner
from shapewise.training.large_pass import HeldOutOfTable, Noted, RowCoder, learn_bins
from shapewise.training.spec import Spec

Additive = GAMRegressor | GAMClassifier


@dataclass(frozen=True)
class Prepared:
    """A model to be fitted, the rows of the sample, what codes all rows, and the sample's columns that this needs."""

    model: Additive
    data: Data
    coder: RowCoder
    like: pd.DataFrame

    @classmethod
    def of(
        cls, sample: pd.DataFrame, spec: Spec, held_out_by: dict[str, str], n_rows: int, n_jobs: int,
        callback: Callback | None,
    ) -> Self:  # fmt: skip
        """Prepare a fit to the `n_rows` rows of a table. sample : rows of it in their order."""
        sample = as_frame(sample)
        data = read_data(sample, spec, held_out_by)
        model = learner(data, spec, n_jobs, callback)
        assert isinstance(model, GAMRegressor | GAMClassifier)
        bins = _learn_bins(model, data, _known(data), n_rows > len(sample))
        held = held_out_rows(sample, spec.table, held_out_by.get("group"), held_out_by.get("time"))
        coder = RowCoder(spec, HeldOutOfTable(sample, held, held_out_by), bins, data.classes)
        columns = list(dict.fromkeys([*columns_of(spec, held_out_by), *spec.filter_columns()]))
        return cls(model, data, coder, sample[columns])

    def source(self, parts: Parts, noted: Noted, most: int, room: int, parts_first: bool = False) -> RowsInParts:
        """Return the coded rows to fit to. most, room, parts_first : see `RowsInParts`."""
        spec, model = self.coder.spec, self.model
        if not parts.n_rows:
            raise TableError("No training row is left: the table or the row filter is too small.")
        return RowsInParts(
            parts,
            noted.grown(self.coder.bins),
            parts.sum(bucket_sizes),
            most,
            LOSSES["softmax"] if spec.loss == "softmax" else loss_of(model),
            weighted=spec.weight is not None,
            clustered=spec.group is not None,
            exposed=spec.exposure is not None,
            room=room,
            parts_first=parts_first,
        )

    def fit(self, source: RowsInParts, noted: Noted) -> dict[str, int]:
        """Fit the model and return counts of rows.

        training, the training rows; weighing, those with a nonzero weight; held_out, held-out rows of the sample;
        set_aside, held-out rows of the table; without_target; refits, the number of refits; a_refit, rows per refit,
        validation rows included; learnt, rows that the refits cover together; banded, rows whose halves gave bands.
        """
        data, model, bands = self.data, self.model, self.coder.spec.bands
        known = _known(data)
        fit_source(model, data.X[known], data.y[known], source, bands)
        n_groups = source.usual_groups(model.ensemble, bands > 0)
        n_groups = n_groups if isinstance(model.n_groups, str) else model.n_groups
        n_rows, all_learnt = source.parts.n_rows, source.is_counted(n_groups, model.ensemble)
        fitted = model.model_
        banded = isinstance(fitted, AdditiveModel) and fitted.n_halves > 0
        return {
            "training": noted.counts["training"],
            "held_out": int(np.count_nonzero(data.held_out)),
            "without_target": noted.counts["without_target"],
            "weighing": n_rows,
            "set_aside": noted.counts["set_aside"],
            "a_refit": n_rows if all_learnt else source.n_rows,
            "learnt": n_rows if all_learnt else source.covered(model.outer_bags),
            "refits": model.outer_bags,
        } | ({"banded": n_rows} if banded else {})


def _known(data: Data) -> Bools:
    """Return the sample's training rows of positive weight, (n,)."""
    return np.asarray(~data.held_out & (True if data.weight is None else data.weight > 0), bool)


def _learn_bins(model: Additive, data: Data, known: Bools, partial: bool) -> tuple[Bins, ...]:
    """Return the bins of the rows marked in `known` (n,)."""
    X = Table.of(data.X[known])
    weight = None if data.weight is None else relative_weight(data.weight[known], float(data.weight[known].mean()))
    features = learn_features(X, model.categorical_features, model.date_parts)
    max_bins = N_CODES if model.max_bins == AUTO else int(model.max_bins)
    return learn_bins(X, features, weight, max_bins, partial=partial, own=own_bins(model.bins, features))
