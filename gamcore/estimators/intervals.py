"""Prediction intervals of an additive estimator, calibrated on rows that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gamcore.boosting.fit import Seeds
from gamcore.boosting.progress import Watcher
from gamcore.boosting.rows import Encoded
from gamcore.data.binning import Binned, encode_table
from gamcore.data.columns import TableError
from gamcore.estimators.base import check_parameters
from gamcore.estimators.editing import EditableEstimator
from gamcore.model.additive import AdditiveModel
from gamcore.model.intervals import Intervals, calibrated, unseen_as_missing
from gamcore.types import Floats, Ints

FEWEST: Final = 10
"""Fewest rows (or groups) that intervals can be calibrated on: half of them allow a coverage of two thirds."""

MOST_REFITS: Final = 4
"""Refits of the scale: enough for its curves to have quick bands."""

LEAST_ERROR: Final = 1e-3
"""Share of the mean error that an error counts as at least: the log of the scale would follow errors of nearly 0."""


class IntervalEstimator(EditableEstimator):
    """An additive estimator of a number, with intervals around its predictions."""

    predict: Callable[..., Floats]

    def fit_intervals(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        exposure: Any = None,
        init_score: Any = None,
    ) -> Self:
        """Calibrate prediction intervals on rows that the model has not seen, neither in training nor in tuning.

        Half of the rows, at random, train an additive model of how far outcomes lie from predictions; the other half
        says by how many times that (`gamcore.model.intervals`, with the promise). A coverage c needs 2 / (1 - c) - 1
        rows in that half: 19 for 90%, 39 for 95%.

        sample_weight : (n,) non-negative; the promise is then of rows drawn in proportion to it. groups : (n,) labels;
        the promise is then of a row of a new group, and the numbers above are of groups. exposure, init_score : as in
        `fit`.

        A later `fit` takes the intervals away.
        """
        check_is_fitted(self, "model_")
        check_parameters(self)
        table, target = self.read_table(X, reset=False), self.read_target(y)
        rows = self.read_rows(table, np.arange(target.size), sample_weight, groups)
        model, kept = self.single, rows.y
        given = _given(exposure, init_score)
        moved = self._moved(table, given)
        errors = (target - self.predict(table, **given))[kept]
        data = Encoded(
            Binned(encode_table(rows.table, model.bins), model.bins), np.abs(errors), weight=rows.weight,
            loss=self._scale_estimator().loss, clusters=rows.clusters,
            init_score=None if moved is None else moved[kept],
        )  # fmt: skip
        self.model_ = replace(model, intervals=self._calibrated(data, errors))
        return self

    def _calibrated(self, data: Encoded, errors: Floats) -> Intervals:
        """Return intervals from the errors (n,) of the rows in `data`, whose target is their size."""
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        inside = _half(data.y.size, data.clusters, seed)
        data = replace(data, y=np.maximum(data.y, _least(data.y, data.weight)))
        trains, calibrates = (data.take(np.flatnonzero(rows)) for rows in (inside, ~inside))
        scale = self._fit_scale(trains, seed)
        score = scale.score(calibrates.binned.codes) + (0.0 if calibrates.offset is None else calibrates.offset)
        scores = errors[~inside] / scale.loss.inverse_link(score)
        return calibrated(scale, scores, calibrates.weight, calibrates.clusters)

    def _fit_scale(self, data: Encoded, seed: int) -> AdditiveModel:
        """Return the additive model of the mean of the target of `data`; what no bin is for counts as missing."""
        estimator, binned = self._scale_estimator(), data.binned
        unseen = np.array([of_feature.unseen for of_feature in binned.bins])
        codes = np.where(binned.codes == unseen[:, None], 0, binned.codes).astype(binned.codes.dtype)
        known = replace(data, binned=replace(binned, codes=codes))
        estimator._fit_source(known, Seeds.of(seed), Watcher(None))
        return unseen_as_missing(estimator.single)

    def _scale_estimator(self) -> Self:
        """Return an estimator of the scale with the settings of this one, but few refits and no pairs."""
        few = {"outer_bags": min(self.outer_bags, MOST_REFITS), "interactions": 0, "joint": False, "bands": 0}
        return type(self)(**{**self.get_params(deep=False), **few, "objective": "gamma", "callback": None})

    def predict_interval(
        self, X: Any, coverage: float = 0.9, exposure: Any = None, init_score: Any = None
    ) -> NDArray[np.float64]:
        """Return intervals (n, 2) in the target's units, lower and upper ends; needs `fit_intervals`.

        Of new rows like those of `fit_intervals`, a share of at least `coverage` lies inside on average, and at most
        half of the rest beyond either end. Any coverage that the calibration rows allow can be asked for. Lower ends
        are never below 0 where the objective has a log link.
        """
        intervals = self._intervals()
        intervals.check(coverage)
        given = _given(exposure, init_score)
        table = self.read_table(X, reset=False)
        moved = self._moved(table, given)
        predicted, codes = self.predict(table, **given), self._encode(table)
        ends = intervals.around(predicted, codes, coverage, 0.0 if moved is None else moved)
        return np.maximum(ends, 0.0) if self.model_.loss.has_log_link else ends

    @property
    def uncertainty_(self) -> Self:
        """What makes outcomes uncertain: the fitted model of how far they lie from predictions, after `fit_intervals`.

        It is an estimator, whose curves on the scale "ratio" say by which factor an interval grows.
        """
        estimator = self._scale_estimator()
        estimator.model_ = replace(self._intervals().scale, bins=self.model_.bins)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(estimator, name, getattr(self, name))
        return estimator

    def _intervals(self) -> Intervals:
        check_is_fitted(self, "model_")
        intervals = self.single.intervals
        if intervals is None:
            raise NotFittedError("The model has no intervals: call fit_intervals with rows that it has not seen.")
        return intervals

    def _moved(self, X: Any, given: dict[str, Any]) -> Floats | None:
        """Return by how much exposure and the like move the log of the scale, (n,), or None where nothing does.

        Where the variance is proportional to mean^p, a mean that is moved by a factor moves its root by that^(p/2).
        """
        loss = self.model_.loss
        if not given or not loss.variance_power:
            return None
        moved = loss.link(self.predict(X, **given)) - loss.link(self.predict(X))
        return np.asarray(moved * loss.variance_power / 2.0)


def _given(exposure: Any, init_score: Any) -> dict[str, Any]:
    """Return what `predict` takes beside the table."""
    both = {"exposure": exposure, "init_score": init_score}
    return {name: values for name, values in both.items() if values is not None}


def _least(errors: Floats, weight: Floats | None) -> float:
    """Return what errors (n,) count as at least; 1 where all are 0, so that scales are numbers."""
    return LEAST_ERROR * float(np.average(errors, weights=weight)) or 1.0


def _half(n_rows: int, clusters: Ints | None, seed: int) -> NDArray[np.bool_]:
    """Return which rows (n,) are in a random half of them, or of the clusters."""
    of_row = np.arange(n_rows) if clusters is None else clusters
    n_units = int(of_row.max()) + 1
    if n_units < FEWEST:
        what = "rows" if clusters is None else "groups"
        raise TableError(f"fit_intervals has {n_units} {what}: pass at least {FEWEST} that the model has not seen.")
    chosen = np.zeros(n_units, bool)
    chosen[np.random.default_rng(seed).permutation(n_units)[: n_units // 2]] = True
    return np.asarray(chosen[of_row])
