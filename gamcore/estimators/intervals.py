"""Prediction intervals of a fitted model of a number, calibrated on rows that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gamcore.boosting.fit.model import Seeds
from gamcore.boosting.rows.source import Encoded
from gamcore.boosting.running.progress import Watcher
from gamcore.common.types import Floats, Ints
from gamcore.data.binning import Binned, encode_table
from gamcore.data.columns import TableError
from gamcore.estimators.additive import read_target, single_model
from gamcore.estimators.base import check_parameters, loss_of, read_rows, read_table
from gamcore.estimators.gam import GAMRegressor
from gamcore.model.additive import AdditiveModel
from gamcore.model.intervals import (
    ROUNDING,
    Calibration,
    Intervals,
    calibrated,
    cuts_between,
    unseen_as_missing,
)
from gamcore.model.outcomes import Drawn, Outcomes, Rows, Spread, Support
from gamcore.stats.laws import likeliest_law

FEWEST: Final = 10
"""Fewest rows (or groups) that intervals can be calibrated on: half of them allow a coverage of two thirds."""

MOST_REFITS: Final = 4
"""Refits of the scale: enough for its curves to have quick bands."""

LEAST_ERROR: Final = 1e-3
"""Share of the mean error that an error counts as at least: the log of the scale would follow errors of nearly 0."""


def fit_intervals(
    model: GAMRegressor,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    groups: Any = None,
    exposure: Any = None,
    init_score: Any = None,
) -> GAMRegressor:
    """Calibrate prediction intervals on rows that the model has not seen, neither in training nor in tuning.

    Half of the rows, at random, say how outcomes lie around predictions: for an objective of counts or of amounts
    that may be 0 (a variance between those of Poisson and Gamma) by a distribution that is fitted to them, else by
    an additive model of how far. The other half says what is beyond that, of counts and amounts within parts of
    like predictions, of totals where there is an exposure (`gamcore.model.intervals`, with the promise). What
    there can be is read off y: whole numbers, nothing below 0, an end that many have. A coverage c needs
    2 / (1 - c) - 1 rows in that half: 19 for 90%, 39 for 95%.

    sample_weight : (n,) non-negative; the promise is then of rows drawn in proportion to it. groups : (n,) labels;
    the promise is then of a row of a new group, and the numbers above are of groups. exposure, init_score : as in
    `fit`.

    A later `fit` takes the intervals away.
    """
    if not isinstance(model, GAMRegressor):
        raise TableError("Prediction intervals are of models of a number: pass a GAMRegressor.")
    check_is_fitted(model, "model_")
    check_parameters(model)
    table, target = read_table(model, X, reset=False), read_target(model, y)
    rows = read_rows(model, table, np.arange(target.size), sample_weight, groups)
    fitted, kept = single_model(model), rows.y
    given = _given(exposure, init_score)
    moved = _moved(model, table, given)
    asked = Rows(model.predict(table, **given)[kept], encode_table(rows.table, fitted.bins),
                 0.0 if moved is None else moved[kept])  # fmt: skip
    sample = UnseenRows(target[kept], asked, rows.weight, rows.clusters)
    model.model_ = replace(fitted, intervals=_calibrated(model, sample))
    return model


def predict_interval(
    model: GAMRegressor, X: Any, coverage: float = 0.9, exposure: Any = None, init_score: Any = None
) -> Floats:
    """Return intervals (n, 2) in the target's units, lower and upper ends; needs `fit_intervals`.

    Of new rows like those of `fit_intervals`, a share of at least `coverage` lies inside on average, and at most
    half of the rest beyond either end. Where outcomes are whole numbers, so are the ends, and more may lie inside:
    all that are equal to an end do. Where none is below 0, no end is, whatever the objective. Any coverage that the
    calibration rows allow can be asked for.

    exposure : (n,) of the rows themselves: the interval is of what happens during all of it.
    """
    intervals = _intervals(model)
    intervals.check(coverage)
    given = _given(exposure, init_score)
    table = read_table(model, X, reset=False)
    moved = _moved(model, table, given)
    rows = Rows(model.predict(table, **given), model._encode(table), 0.0 if moved is None else moved)
    return intervals.around(rows, coverage)


def uncertainty(model: GAMRegressor) -> GAMRegressor:
    """Return what makes outcomes uncertain: the model of how far they lie from predictions, after `fit_intervals`.

    It is an estimator, whose curves on the scale "ratio" say by which factor an interval grows. Of counts, and of
    amounts that may be 0, there is none (TableError): how far they spread follows from their means.
    """
    scale = _intervals(model).scale
    if scale is None:
        raise TableError(
            "How far counts, and amounts that may be 0, spread follows from their means: read the model's own curves "
            "instead of uncertainty(model)."
        )
    estimator = _scale_estimator(model)
    estimator.model_ = replace(scale, bins=model.model_.bins)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(estimator, name, getattr(model, name))
    return estimator


@dataclass(frozen=True)
class UnseenRows:
    """Rows that the model has not seen. y : (n,). weight : (n,) or None for 1 each. clusters : (n,) or None."""

    y: Floats
    rows: Rows
    weight: Floats | None
    clusters: Ints | None

    def take(self, some: Ints) -> UnseenRows:
        """Return some of the rows, given by their places."""
        moved = self.rows.moved if isinstance(self.rows.moved, float) else self.rows.moved[some]
        rows = Rows(self.rows.predicted[some], self.rows.codes[:, some], moved)
        weight = None if self.weight is None else self.weight[some]
        clusters = None if self.clusters is None else self.clusters[some]
        return UnseenRows(self.y[some], rows, weight, clusters)

    def scored(self, outcomes: Outcomes, seed: int) -> Calibration:
        """Return the calibration by these rows."""
        return calibrated(outcomes.scores(self.y, self.rows, np.random.default_rng(seed)), self.weight, self.clusters)


def _calibrated(model: GAMRegressor, sample: UnseenRows) -> Intervals:
    """Return intervals from rows that the model has not seen.

    In units of their scale, errors are taken to be alike at all predictions, in one part, where outcomes may be
    anywhere, or spread by factors of a positive mean. Next to an end of what there can be they are not.
    """
    seed = check_random_state(model.random_state).randint(2**31 - 1)
    inside = _half(sample.y.size, sample.clusters, seed)
    trains, calibrates = (sample.take(np.flatnonzero(rows)) for rows in (inside, ~inside))
    loss, support = single_model(model).loss, Support.of(sample.y)
    outcomes: Outcomes
    if 1.0 <= loss.variance_power < 2.0:
        weight = np.ones(trains.y.size) if trains.weight is None else trains.weight
        outcomes = Drawn(likeliest_law(trains.y, trains.rows.predicted, weight, loss.variance_power))
        alike = False
    else:
        outcomes = Spread(_fit_scale(model, sample, inside, seed), support)
        alike = not support.has_masses and (support.least < 0 or loss.has_log_link)
    cuts = cuts_between(trains.rows.predicted, 0 if alike else _n_units(calibrates))
    part = np.searchsorted(cuts, calibrates.rows.predicted, side="right")
    used = np.unique(part)  # parts without rows are of the one below
    groups = tuple(calibrates.take(np.flatnonzero(part == k)).scored(outcomes, seed + int(k)) for k in used)
    return Intervals(outcomes, groups, cuts[used[1:] - 1])


def _fit_scale(model: GAMRegressor, sample: UnseenRows, inside: NDArray[np.bool_], seed: int) -> AdditiveModel:
    """Return the additive model of the mean |error| of the rows `inside`; what no bin is for counts as missing."""
    estimator, rows, bins = _scale_estimator(model), sample.rows, single_model(model).bins
    errors = np.abs(sample.y - rows.predicted)
    errors = np.maximum(errors, _least(errors, sample.weight))
    unseen = np.array([of_feature.unseen for of_feature in bins])
    codes = np.where(rows.codes == unseen[:, None], 0, rows.codes).astype(rows.codes.dtype)
    moved = None if isinstance(rows.moved, float) else rows.moved
    known = Encoded(Binned(codes, bins), errors, weight=sample.weight, loss=loss_of(estimator),
                    clusters=sample.clusters, init_score=moved).take(np.flatnonzero(inside))  # fmt: skip
    estimator._fit_source(known, Seeds.of(seed), Watcher(None))
    return unseen_as_missing(single_model(estimator))


def _scale_estimator(model: GAMRegressor) -> GAMRegressor:
    """Return an estimator of the scale with the settings of a model, but few refits and no interactions."""
    none = {"interactions": 0, "triples": 0, "joint": False, "bands": 0}
    few = {"outer_bags": min(model.outer_bags, MOST_REFITS), **none}
    return type(model)(**{**model.get_params(deep=False), **few, "objective": "gamma", "callback": None})


def _intervals(model: GAMRegressor) -> Intervals:
    check_is_fitted(model, "model_")
    intervals = single_model(model).intervals
    if intervals is None:
        raise NotFittedError("The model has no intervals: call fit_intervals with rows that it has not seen.")
    return intervals


def _moved(model: GAMRegressor, X: Any, given: dict[str, Any]) -> Floats | None:
    """Return by how much exposure and the like move the log of the scale, (n,), or None where nothing does.

    Where the variance is proportional to mean^p, a mean that is moved by a factor moves its root by that^(p/2).
    """
    loss = model.model_.loss
    if not given or not loss.variance_power:
        return None
    moved = loss.link(model.predict(X, **given)) - loss.link(model.predict(X))
    return np.asarray(moved * loss.variance_power / 2.0)


def _n_units(sample: UnseenRows) -> int:
    """Return how many rows calibrate, as the number of the heaviest that weigh as much; of clusters, how many."""
    if sample.clusters is not None:
        return int(np.unique(sample.clusters).size)
    if sample.weight is None:
        return sample.y.size
    return int(sample.weight.sum() / sample.weight.max() * (1.0 + ROUNDING))


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
