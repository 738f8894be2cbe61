"""Where no rows validate, a fit ends once its training loss has converged: straight lines are then those of a GLM.
Where a target has no noise, it ends when nearly nothing is left to learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from gamcore import GAMClassifier, GAMRegressor
from gamcore.boosting.counts import bin_pairs
from gamcore.boosting.refit import state as refit
from gamcore.boosting.refit.problem import Parameters, rows_of
from gamcore.boosting.refit.state import RefitState
from gamcore.data.sampling import splits
from gamcore.estimators import additive_parameters as parameters
from tests.support.fits import problem
from tests.support.gears import mostly_slow

ALL = {"shapes": "linear", "validation_fraction": 0.0, "outer_bags": 1, "max_rounds": 5000, "random_state": 0}
SMALL = {"mart": False, "n_bags": 4, "subsample": 0.65, "max_rounds": 5, "learning_rate": 0.2, "max_leaves": 2,
         "greedy_ratio": 1.0, "early_stopping_rounds": 5}  # fmt: skip
LOG = sm.families.links.Log()
FAMILIES = {"squared": sm.families.Gaussian(), "poisson": sm.families.Poisson(), "gamma": sm.families.Gamma(LOG),
            "tweedie": sm.families.Tweedie(LOG, var_power=1.5)}  # fmt: skip


def rows(correlation, n=2000):
    """Three features of a hundred values each, two of which are alike: bins lose nothing."""
    rng = np.random.default_rng(0)
    a, e, c = rng.normal(size=(3, n))
    b = correlation * a + np.sqrt(1 - correlation**2) * e
    X = pd.DataFrame({"a": a, "b": b, "c": c}).round(1).clip(-3, 3)
    return X, 0.5 * X["a"] - 0.4 * X["b"] + 0.3 * X["c"], rng


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.7, 0.95])
@pytest.mark.parametrize("objective", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_line_that_converged_is_that_of_the_glm(objective, correlation, weighted):
    X, score, rng = rows(correlation)
    mean, weight = np.exp(score), rng.gamma(2.0, 1.0, len(X)) if weighted else None
    y = {"squared": score + rng.normal(size=len(X)), "gamma": mean * rng.gamma(2.0, 0.5, len(X))}.get(objective)
    y = rng.poisson(mean).astype(float) if y is None else y
    model = GAMRegressor(objective=objective, **ALL).fit(X, y, sample_weight=weight)
    fitted = sm.GLM(y, sm.add_constant(X), family=FAMILIES[objective], var_weights=weight).fit()
    moved = model.predict(X) if objective == "squared" else np.log(model.predict(X))
    expected = np.asarray(fitted.predict(sm.add_constant(X), which="linear"))
    assert np.abs(moved - expected).max() < 0.01 * np.ptp(expected)
    assert model.n_rounds_ < 2500


def test_curves_that_go_on_to_improve_run_all_their_rounds():
    X, score, rng = rows(0.0)
    y = score + rng.normal(size=len(X))
    steps = {**ALL, "shapes": None, "max_rounds": 300}
    assert GAMRegressor(**steps).fit(X, y).n_rounds_ == 300
    assert GAMClassifier(**steps).fit(X, np.digitize(y, [-0.5, 0.5])).n_rounds_ == 300


@pytest.mark.slow
def test_counted_pieces_run_all_their_rounds_too(monkeypatch):
    monkeypatch.setattr(bin_pairs, "FEWEST_ROWS", 1)
    monkeypatch.setattr(bin_pairs, "ROWS_PER_PAIR", 1)
    X, score, rng = rows(0.0)
    steps = {**ALL, "shapes": None, "max_rounds": 400}
    assert GAMRegressor(**steps).fit([X.assign(y=score + rng.normal(size=len(X)))], "y").n_rounds_ == 400


@pytest.mark.slow
def test_what_is_watched_does_not_move_the_end():
    X, score, rng = rows(0.7)
    y, rounds = score + rng.normal(size=len(X)), []
    alone = GAMRegressor(**ALL).fit(X, y)
    watched = GAMRegressor(**ALL, callback=lambda progress: rounds.append(progress.round)).fit(X, y)
    np.testing.assert_array_equal(alone.predict(X), watched.predict(X))
    assert rounds[-1] == alone.n_rounds_ < 5000


def squares():
    """A target that is the square of a feature, as strangers' tables have them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(25, 65, 4000), "other": rng.normal(size=4000)})
    return X, (X["age"] / 40.0) ** 2


@pytest.mark.parametrize("keep_tables", mostly_slow([False, True], 1))
def test_a_target_without_noise_is_not_learnt_for_ever(keep_tables):
    X, y = squares()
    fitted = GAMRegressor(keep_tables=keep_tables, random_state=0).fit(X, y)
    assert fitted.n_rounds_ < 1000
    assert np.mean((y - fitted.predict(X)) ** 2) < 1e-5 * y.var()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("keep_tables", [False, True])
def test_one_huge_value_does_not_make_all_else_learnt_enough(keep_tables, monkeypatch):
    X, y = squares()
    y.iloc[0] = 1e7
    errors = []
    for enough in (refit.ENOUGH, 0.0):
        monkeypatch.setattr(refit, "ENOUGH", enough)
        off = y - GAMRegressor(keep_tables=keep_tables, random_state=0, max_rounds=300).fit(X, y).predict(X)
        errors.append(np.mean(off[1:] ** 2))
    assert errors[0] == pytest.approx(errors[1], rel=0.01)


@pytest.mark.slow
def test_a_target_with_noise_is_learnt_as_before(monkeypatch):
    X, score, rng = rows(0.0)
    y = score + 0.01 * rng.normal(size=len(X))
    here = GAMRegressor(random_state=0).fit(X, y)
    monkeypatch.setattr(refit, "ENOUGH", 0.0)
    np.testing.assert_array_equal(GAMRegressor(random_state=0).fit(X, y).predict(X), here.predict(X))


@pytest.mark.parametrize("objective", ["poisson", "gamma", "tweedie"])
def test_counts_and_amounts_without_noise_are_not_learnt_for_ever(objective):
    X, y = squares()
    fitted = GAMRegressor(objective=objective, random_state=0, outer_bags=2, n_jobs=1).fit(X[:2000], y[:2000])
    assert fitted.n_rounds_ < 300
    assert fitted.score(X[2000:], y[2000:]) > 1 - 1e-5


@pytest.mark.parametrize("objective", ["squared", "quantile", "poisson", "gamma"])
def test_what_has_little_noise_is_learnt_in_fewer_rounds(objective, monkeypatch):
    """And as well; where noise is left, in the same rounds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    score = sum(np.sin((1 + j % 3) * X[:, j] + j) for j in range(5)) / 2
    known, new = slice(2000), slice(2000, None)
    for noise in (0.02, 1.5):
        y = score + noise * rng.normal(size=len(X))
        y = np.exp(y) if objective in ("poisson", "gamma") else y
        now, before = (
            GAMRegressor(objective=objective, random_state=0, outer_bags=2, n_jobs=1).fit(X[known], y[known])
            for leaves in (parameters.LATE_LEAVES, 0) if not monkeypatch.setattr(parameters, "LATE_LEAVES", leaves)
        )  # fmt: skip
        monkeypatch.undo()
        if noise > 1:
            np.testing.assert_array_equal(now.predict(X), before.predict(X))
        else:
            assert now.n_rounds_ < 0.9 * before.n_rounds_
            assert 1 - now.score(X[new], y[new]) < 1.03 * (1 - before.score(X[new], y[new]))


@pytest.mark.parametrize("objective", ["squared", "quantile", "poisson", "gamma", "tweedie"])
def test_what_is_enough_is_a_share_of_the_loss_of_a_constant(objective):
    for weighted in (False, True):
        given, rng = problem(objective), np.random.default_rng(2)
        given = replace(given, weight=rng.uniform(0.5, 2.0, given.n_rows) if weighted else np.empty(0))
        state = RefitState(given, splits(16, 0.2, 1, 0)[0], Parameters("grouped", "rescan", **SMALL), 0)
        rows, loss = rows_of(given.table, state.split.valid), given.loss
        y, weight = given.y[rows], given.row_weight[rows]
        flat = np.average(loss.loss(y, np.full(y.size, loss.base_score(y, weight))), weights=weight)
        for stage in state.stages():
            assert stage.rule.enough * state.loss_unit == pytest.approx(refit.ENOUGH**loss.degree * flat, rel=1e-6)
