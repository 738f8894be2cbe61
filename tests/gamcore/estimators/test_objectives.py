"""Counts and amounts: all that a regressor does, for every objective with a log link."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score

from gamcore import GAMRegressor, load_model, pair_ranking, pair_worth, rank_pairs
from gamcore.data.columns import TableError
from gamcore.estimators.base import to_saved
from gamcore.estimators.reading import reading
from gamcore.io.gamx import ModelFileError, from_bytes, to_bytes
from gamcore.model.losses import LOSSES
from tests.support.fits import fit, friendly, outcomes, problem
from tests.support.gears import mostly_slow
from tests.support.model_files import put, rewrite

POWERS = ["poisson", "gamma", "tweedie"]
QUICK = {"outer_bags": 2, "max_rounds": 60, "random_state": 0}


def table(objective, n=3000, seed=0):
    X, score = friendly(n, seed, binary=False)
    return X, outcomes(objective, score.to_numpy() / 3, np.random.default_rng(seed + 1)), score.to_numpy() / 3


@pytest.fixture(scope="module", params=POWERS)
def fitted(request):
    X, y, score = table(request.param)
    settings = {"interactions": [("a", "b")], "bands": 10, **QUICK}
    return GAMRegressor(objective=request.param, **settings).fit(X, y), X, y, score


@pytest.mark.one_in(3)
def test_sums_of_predictions_and_targets_agree(fitted):
    model, X, y, _ = fitted
    assert model.predict(X).sum() == pytest.approx(y.sum(), rel=1e-9)
    weight = np.random.default_rng(3).uniform(0.2, 4.0, y.size)
    again = GAMRegressor(objective=model.objective, **QUICK).fit(X, y, sample_weight=weight)
    assert weight @ again.predict(X) == pytest.approx(weight @ y, rel=1e-9)


def test_curves_follow_the_truth(fitted):
    model, X, y, score = fitted
    found = np.log(model.predict(X))
    assert np.corrcoef(found, score)[0, 1] > 0.85
    assert d2_tweedie_score(y, model.predict(X), power=model.loss.variance_power) > 0.05
    assert model.model_.terms[1].scores[0] != 0.0  # missing cells have their own score


def test_bands_pairs_and_scales(fitted):
    model, X, y, _ = fitted
    curve = model.explain_shape("a")
    factors = curve.on("ratio")
    np.testing.assert_allclose(factors.scores, np.exp(curve.scores))
    assert (factors.lower <= factors.scores).all()
    assert (factors.scores <= factors.upper).all()
    assert curve.has_whole
    assert factors.unit == "factor of the mean"
    assert curve.on("points") is curve  # no such scale
    assert model.explain_pair("a", "b").on("ratio").scale == "ratio"
    ranked = pair_ranking(model, X, y)
    assert len(ranked) == 3
    assert np.isfinite(pair_worth(model, X, y)["worth"]).all()
    shown = reading(model)
    assert "deviance" in str(shown.facts)
    assert shown.curves[0].scale == "ratio"
    assert shown.curves[0].detail("claims")[2].startswith("mean ")


def test_a_file_brings_the_model_back(fitted, tmp_path):
    model, X, _, _ = fitted
    model.save(tmp_path / "model.gamx")
    again = load_model(tmp_path / "model.gamx")
    assert again.get_params()["objective"] == model.objective
    assert again.model_.loss == model.model_.loss
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_planted_pair_comes_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    for objective in POWERS:
        y = outcomes(objective, (X[:, 0] > 0) * 1.0 - 1.2 * (X[:, 1] > 0) * (X[:, 2] > 0), rng)
        ranked = rank_pairs(X, y, objective=objective, random_state=0)
        assert set(ranked.iloc[0][["feature_1", "feature_2"]]) == {"x1", "x2"}, objective


def test_the_power_is_kept_and_checked(tmp_path):
    X, y, _ = table("tweedie", 400)
    model = GAMRegressor(objective="tweedie", power=1.3, **QUICK).fit(X, y)
    written = to_bytes(to_saved(model))
    assert from_bytes(written).model.loss.power == 1.3
    for bad in ({"power": 2.5}, {"power": "1.5"}, {}, {"power": 1.5, "more": 1.0}):
        with pytest.raises(ModelFileError, match="its loss"):
            from_bytes(rewrite(written, put(["loss_parameters"], bad)))


@pytest.mark.slow
@pytest.mark.parametrize("objective", POWERS)
def test_all_strategies_give_the_same_trees(objective):
    made = [fit(problem(objective), "subagging", name) for name in ("rescan", "mst", "complement", "mask")]
    for other in made[1:]:
        for one, two in zip(made[0], other, strict=True):
            np.testing.assert_allclose(one.curves, two.curves, atol=1e-9)
            assert one.best_round == two.best_round


@pytest.mark.parametrize("objective", POWERS)
@pytest.mark.parametrize("ensemble", mostly_slow(["grouped", "bagging"], 1))
def test_single_precision_gives_the_same_model(objective, ensemble):
    of = problem(objective, n=3000)
    changes = {"max_rounds": 8, "early_stopping_rounds": 50}
    single = fit(of, ensemble, dtype=np.float32, **changes)
    double = fit(of, ensemble, dtype=np.float64, **changes)
    for one, two in zip(single, double, strict=True):
        assert one.valid_loss == pytest.approx(two.valid_loss, rel=1e-4)
        np.testing.assert_allclose(one.curves, two.curves, atol=5e-3)


@pytest.mark.parametrize("objective", POWERS)
def test_smoothing_coarse_and_greedy_rounds(objective):
    losses = []
    for changes in ({}, {"smoothing_rounds": 5}, {"coarse_leaves": 4}, {"greedy_ratio": 2.0}):
        (refit,) = fit(problem(objective, n=3000), n_refits=1, **changes)
        losses.append(refit.valid_loss)
    flat = problem(objective, n=3000)
    constant = np.average(flat.loss.loss(flat.y, np.full(flat.y.size, flat.base_score(slice(None)))))
    assert max(losses) < constant
    assert np.ptp(losses) < 0.1 * (constant - min(losses))


@pytest.mark.parametrize("objective", POWERS)
def test_a_model_does_not_depend_on_threads(objective):
    X, y, _ = table(objective, 800)
    made = [GAMRegressor(objective=objective, n_jobs=n, **QUICK).fit(X, y).predict(X) for n in (1, 2)]
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("objective", POWERS)
def test_the_unit_of_the_target_does_not_matter(objective):
    X, y, _ = table(objective, 1500)
    y = y * 7.0 if objective == "poisson" else y  # more events than rows, so that floors count rows
    one, other = (GAMRegressor(objective=objective, **QUICK).fit(X, unit * y).predict(X) for unit in (1.0, 1e6))
    np.testing.assert_allclose(other, 1e6 * one, rtol=2e-3)


def test_an_offset_is_an_exposure_and_equals_the_weighted_rate():
    of = problem("poisson", n=3000)
    exposure = np.random.default_rng(2).uniform(0.1, 2.0, of.y.size)
    changes = {"offset": np.log(exposure)}
    counts = type(of)(of.table, of.y, of.weight, of.loss, **changes)
    rates = type(of)(of.table, of.y / exposure, exposure, of.loss)
    rates.__dict__["unit"] = counts.unit  # floors in events of the same size
    for one, two in zip(fit(counts), fit(rates), strict=True):
        assert one.base_score == pytest.approx(two.base_score, abs=1e-12)
        np.testing.assert_allclose(one.curves, two.curves, atol=1e-9)


def test_rare_counts_learn_no_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    y = rng.poisson(0.01 * np.exp(0.7 * (X[:, 0] > 0)), 20_000).astype(float)
    model = GAMRegressor(objective="poisson", random_state=0).fit(X, y)
    truth = 0.01 * np.exp(0.7 * (X[:, 0] > 0))
    assert np.std(np.log(model.predict(X) / truth)) < 0.25
    straight = PoissonRegressor(alpha=0).fit(X, y)
    assert d2_tweedie_score(truth, model.predict(X), power=1) > d2_tweedie_score(truth, straight.predict(X), power=1)


@pytest.mark.parametrize("objective", POWERS)
def test_bad_targets_are_named(objective):
    X, y, _ = table(objective, 300)
    y[[3, 7]] = -1.0
    with pytest.raises(TableError, match=r"2 rows \(counted from 0: 3, 7\)"):
        GAMRegressor(objective=objective).fit(X, y)
    y[[3, 7]] = 1.0
    weight = np.ones(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GAMRegressor(objective=objective, **QUICK).fit(X, y, sample_weight=weight)
    with pytest.raises(TableError, match="counted from 0: 0"):
        pair_ranking(model, X, -y)


def test_a_regressor_says_what_it_needs():
    assert not GAMRegressor().__sklearn_tags__().target_tags.positive_only
    assert GAMRegressor(objective="gamma").__sklearn_tags__().target_tags.positive_only
    assert {loss.kind for loss in LOSSES.values()} == {"regressor", "classifier"}
