"""An additive model of the effect of a randomised treatment."""

from __future__ import annotations

import warnings
from typing import Any, Final, Self

import numpy as np
import pandas as pd
from scipy.special import logit
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED

from gamcore.common.numbers import count, percent
from gamcore.common.types import Floats
from gamcore.data.columns import TableError
from gamcore.data.rows import read_clusters, read_weight, row_numbers
from gamcore.data.table import Table
from gamcore.data.targets import read_numeric_target
from gamcore.decide.uplift import signals
from gamcore.estimators.additive_parameters import GREEDY
from gamcore.estimators.base import check_parameters, column, read_rows, read_table
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.estimators.reading import NOTHING_LEARNED
from gamcore.estimators.scores import GIVEN, in_unit
from gamcore.explain.model_page import Fact
from gamcore.io.manifest import Saved
from gamcore.viz.spec import Plot

FOLDS: Final = 5
"""Parts of the rows; the expected outcome of each part is learnt from the others."""


ARMS: Final = {"treatment": True, "propensity": True, **dict.fromkeys(GIVEN, UNUSED)}
"""What metadata routing passes on without being asked."""


class EffectGAM(GAMRegressor):
    """How much a randomised treatment changes an outcome: effect = intercept + f1(x1) + f2(x2) + ..., in units of it.

    The R-learner (Nie and Wager 2021) with an additive effect: with the known share e of rows that are treated, and the
    outcome m that is expected of a row whatever its arm, learnt by cross-fitting, the curves minimise the mean of
    ((y - m) - (t - e) effect)^2. As e is known, (t - e)^2 is replaced by e (1 - e), its expectation: the same minimum,
    and of rows a signal whose mean is their effect (`decide.uplift.signals`). What moves the outcome alike in both arms
    cancels.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    model_, best_rounds_, n_rounds_, validation_losses_, steep_, entries_ :
        As in `GAMRegressor`, of the effect. With order="greedy" only features that beat chance have curves.
    expected_ : (n,)
        Outcome that was expected of each row whatever its arm, by models that did not see it.
    average_effect_ :
        Mean effect over the rows by their sample weights, in units of the outcome, whatever their propensities: the
        mean of `decide.uplift.signals` (augmented inverse propensity weights).
    """

    __metadata_request__fit = ARMS
    __metadata_request__score = ARMS

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        treatment: Any,
        propensity: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Fit to a table (n, p) of what was known before the experiment, and an outcome (n,): a number, or 0 and 1.

        treatment : (n,) 1 or True for rows in the treated arm, 0 or False for the control. It must have been drawn at
        random, or the curves are no effects.
        propensity : the share that was to be treated, or (n,) that of each row where it differs, as between strata;
        None for the share of the weight that was.
        sample_weight, groups : as for `GAMRegressor.fit`; rows of a group also stay together in cross-fitting.
        """
        check_parameters(self)
        if not self._loss.is_additive or isinstance(self.interactions, str):
            raise TableError('EffectGAM needs objective="squared" and a number of interactions: leave both out.')
        table = read_table(self, X, reset=True)
        outcome = self._read_target(y)
        weight = np.ones(len(table)) if sample_weight is None else read_weight(sample_weight, outcome)
        treated = _treated(treatment, weight)
        seed = check_random_state(self.random_state)
        self.expected_ = _expected(table, outcome, weight, groups, (seed, self.n_jobs))
        share = _shares(propensity, treated, weight)
        signal, precision = signals(outcome, treated, share, self.expected_), share * (1 - share)
        self._fit_rows(read_rows(self, table, self._read_target(signal), weight * precision / precision.mean(), groups))
        self.average_effect_ = float(np.average(signal, weights=weight))
        return self

    def score(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        treatment: Any = None,
        propensity: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> float:
        """Return the share of the R-loss that the effects explain beyond the best constant effect on these rows.

        The R-loss, the mean of ((y - m) - (t - e) effect)^2, has its least at the true effects (Nie and Wager 2021);
        m is learnt from these rows by cross-fitting, as in `fit`, so the rows should be held out. Most of the loss is
        noise: .01 may be all there is to explain, and 0 is what a constant effect has. Parameters are those of `fit`;
        searches pass them by metadata routing (`set_score_request(treatment=True)`).
        """
        if treatment is None:
            raise TableError("Effects are rated by the arms, not by outcomes alone: pass treatment= to score.")
        table, outcome = read_table(self, X, reset=False), self._read_target(y)
        weight = np.ones(len(table)) if sample_weight is None else read_weight(sample_weight, outcome)
        treated = _treated(treatment, weight)
        expected = _expected(table, outcome, weight, groups, (check_random_state(self.random_state), self.n_jobs))
        left, effects = in_unit(np.ptp(outcome), outcome - expected, self.predict(X))
        drawn, (weight,) = treated - _shares(propensity, treated, weight), in_unit(weight.max(), weight)
        constant = np.sum(weight * drawn * left) / np.sum(weight * drawn * drawn)
        ours, least = (np.sum(weight * np.square(left - drawn * effect)) for effect in (effects, constant))
        return float(1 - ours / least) if least > 0 else float(ours == 0)

    def _to_saved(self, **about: Any) -> Saved:
        return super()._to_saved(average_effect=self.average_effect_, **about)

    def _quality(self, X: Any, y: Any, target: str, rows: dict[str, Any]) -> tuple[list[Fact], list[Plot]]:
        """Return how well effects are told apart: they cannot be drawn beside outcomes."""
        return [("R-loss explained", percent(self.score(X, y, **rows))), ("Rows", count(len(column(y))))], []


def expected_outcomes(
    X: Any, y: Any, sample_weight: Any = None, groups: Any = None, random_state: Any = None, n_jobs: int | None = None
) -> Floats:
    """Return the outcome (n,) that is expected of each row by a model of the other rows' columns known before a test.

    Given to `read_arms`, it narrows intervals by the share of the variance that it explains, without bias, as the arm
    is not among the columns (CUPED; Deng et al., WSDM 2013). y : a number, or 0 and 1; groups : as for `EffectGAM`.
    """
    table = Table.of(X)
    outcome = np.asarray(read_numeric_target(column(y)), np.float64)
    weight = np.ones(len(table)) if sample_weight is None else read_weight(sample_weight, outcome)
    return _expected(table, outcome, weight, groups, (check_random_state(random_state), n_jobs))


def _expected(
    table: Table, outcome: Floats, weight: Floats, groups: Any, how: tuple[np.random.RandomState, int | None]
) -> Floats:
    """Return the outcome (n,) that is expected of each row by a model of the other parts. how : seed and threads."""
    rng, n_jobs = how
    clusters = np.arange(len(table)) if groups is None else read_clusters(groups, len(table))
    part = np.asarray(rng.permutation(int(clusters.max()) + 1)[clusters] % FOLDS, np.int64)
    expected, binary = np.empty(outcome.size), bool(np.isin(outcome, (0.0, 1.0)).all())
    seed = int(rng.randint(2**31 - 1))
    for fold in range(FOLDS):
        inside, rest = np.flatnonzero(part == fold), np.flatnonzero((part != fold) & (weight > 0))
        if not inside.size:
            continue
        if not rest.size:
            raise TableError(
                "What is expected of a row is learnt from others, and there are none: add rows or weights."
            )
        if np.ptp(outcome[rest]) == 0:
            expected[inside] = outcome[rest[0]]
            continue
        model = (GAMClassifier if binary else GAMRegressor)(random_state=seed, n_jobs=n_jobs)
        alike = None if groups is None or np.ptp(clusters[rest]) == 0 else clusters[rest]
        with warnings.catch_warnings():  # of the outcome; the caller's model is of the effect
            warnings.filterwarnings("ignore", NOTHING_LEARNED, UserWarning)
            model.fit(table.frame.iloc[rest], outcome[rest], sample_weight=weight[rest], groups=alike)
        frame = table.frame.iloc[inside]
        expected[inside] = model.predict_proba(frame)[:, 1] if binary else model.predict(frame)
    return expected


def arms_apart(
    X: Any, treatment: Any, propensity: Any = None, random_state: Any = None, n_jobs: int | None = None
) -> pd.DataFrame:
    """Return the features by how well they tell the arms apart, those that beat chance first; see `entries_`.

    Where arms were drawn at random, none beats chance but in 5% of experiments: if one does, the draw, or what was
    recorded, depended on it. Parameters are those of `EffectGAM.fit`.
    """
    table = Table.of(X)
    treated, weight = _treated(treatment, np.ones(len(table))), np.ones(len(table))
    model = GAMClassifier(order=GREEDY, random_state=random_state, n_jobs=n_jobs)
    model.fit(table.frame, treated, init_score=logit(_shares(propensity, treated, weight)))
    return model.entries_


def _treated(treatment: Any, weight: Floats) -> Floats:
    """Return 1 for treated rows and 0 for the others, (n,); both are among rows of a weight (n,) above 0."""
    values = pd.Series(column(treatment)).reset_index(drop=True)
    if len(values) != weight.size:
        raise TableError(f"The table has {weight.size} rows and treatment {len(values)}: give one arm per row.")
    if values.isna().any() or not values.isin([0, 1]).all():
        raise TableError("treatment must be 1 or True for treated rows and 0 or False for the control, without gaps.")
    treated: Floats = values.to_numpy(np.float64)
    if np.ptp(treated[weight > 0]) == 0:
        raise TableError("All rows are in one arm: an effect needs treated rows and a control.")
    return treated


def _shares(propensity: Any, treated: Floats, weight: Floats) -> Floats:
    """Return the share (n,) that was to be treated."""
    share = row_numbers(np.average(treated, weights=weight) if propensity is None else propensity, "propensity")
    if share.ndim > 1 or (share.ndim == 1 and share.size != treated.size):
        raise TableError(f"propensity must be a number, or one per row: {treated.size}.")
    if not (np.isfinite(share) & (share > 0) & (share < 1)).all():
        raise TableError("propensity must lie between 0 and 1: every row could have been in either arm.")
    shares: Floats = np.broadcast_to(share, treated.shape)
    return shares
