"""Quantiles: all that a regressor does, and the share of rows below."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import d2_pinball_score, mean_pinball_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from gamcore import GAMRegressor, load_model, pair_ranking, pair_worth, rank_pairs, report
from gamcore.estimators.base import to_saved
from gamcore.explain.observed import observed
from gamcore.io import from_json, to_json, to_python, to_sql
from gamcore.io.gamx import ModelFileError, from_bytes, to_bytes
from tests.support import naive
from tests.support.conformance import QUICK as SHORT
from tests.support.conformance import expected_failures
from tests.support.fits import fit, problem
from tests.support.model_files import put, rewrite

QUICK = {"outer_bags": 2, "max_rounds": 60, "random_state": 0}
NORMAL = {0.1: -1.2816, 0.5: 0.0, 0.9: 1.2816}


def spread_out(n=4000, seed=0):
    """Make a table whose noise grows with a feature: its quantiles are additive, and differ in shape."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, n), "b": rng.uniform(-1, 1, n), "c": rng.choice(list("pqr"), n)})
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    mean = np.sin(3 * X["a"]) + X["c"].map({"p": 0.0, "q": 1.0, "r": -0.5}).astype(float)
    noise = np.where(X["b"].isna(), 0.5, 0.2 + 0.8 * (X["b"] > 0))
    return X, (mean + noise * rng.normal(size=n)).to_numpy(), lambda tau: (mean + noise * NORMAL[tau]).to_numpy()


@pytest.fixture(scope="module", params=list(NORMAL))
def fitted(request):
    X, y, truth = spread_out()
    settings = {"interactions": [("a", "b")], "bands": 10, **QUICK}
    return GAMRegressor(objective="quantile", quantile=request.param, **settings).fit(X, y), X, y, truth


@pytest.mark.slow
def test_the_share_of_rows_below_is_the_quantile(fitted):
    model, X, y, _ = fitted
    tau = model.quantile
    assert np.mean(y <= model.predict(X) + 1e-9) == pytest.approx(tau, abs=1.5 / y.size)
    new, held, _ = spread_out(8000, seed=1)
    assert np.mean(held < model.predict(new)) == pytest.approx(tau, abs=0.02)
    for places in (new["b"] > 0, new["b"] <= 0, new["b"].isna(), new["a"] > 0.5):
        assert np.mean(held[places] < model.predict(new[places])) == pytest.approx(tau, abs=0.06)
    weight = np.random.default_rng(3).uniform(0.2, 4.0, y.size)
    again = GAMRegressor(objective="quantile", quantile=tau, **QUICK).fit(X, y, sample_weight=weight)
    assert np.average(y <= again.predict(X) + 1e-9, weights=weight) == pytest.approx(tau, abs=1e-3)


@pytest.mark.one_in(3)
def test_predictions_follow_the_true_quantile(fitted):
    model, _, y, _ = fitted
    new, held, true = spread_out(8000, seed=2)
    tau = model.quantile
    assert np.abs(model.predict(new) - true(tau)).mean() < 0.25 * np.abs(true(tau) - np.median(true(tau))).mean()
    reached = d2_pinball_score(held, model.predict(new), alpha=tau)
    assert reached > 0.9 * d2_pinball_score(held, true(tau), alpha=tau)
    constant = np.full(held.size, np.quantile(y, tau))
    assert mean_pinball_loss(held, model.predict(new), alpha=tau) < 0.7 * mean_pinball_loss(held, constant, alpha=tau)


def test_the_validation_loss_is_the_pinball_loss(fitted):
    model, X, y, _ = fitted
    of_training = mean_pinball_loss(y, model.predict(X), alpha=model.quantile)
    np.testing.assert_allclose(model.validation_losses_, of_training, rtol=0.15)


@pytest.mark.slow
def test_curves_bands_pairs_and_reports(fitted, tmp_path):
    model, X, y, _ = fitted
    curve = model.explain_shape("a")
    assert (curve.lower <= curve.scores).all()
    assert (curve.scores <= curve.upper).all()
    assert curve.on("ratio") is curve
    assert curve.has_whole
    assert model.model_.terms[1].scores[0] != 0.0  # missing cells have their own score
    assert len(pair_ranking(model, X, y)) == 3
    assert np.isfinite(pair_worth(model, X, y)["worth"]).all()
    written = report(model, tmp_path / "report.html", X, y, target="delay").read_text(encoding="utf-8")
    for said in ("pinball loss", "Rows below the prediction", "quantile "):
        assert said in written
    assert "R²" not in written


def test_what_is_observed_is_the_quantile_of_each_part():
    X, y, _ = spread_out(600)
    model = GAMRegressor(objective="quantile", quantile=0.9, **QUICK).fit(X, y)
    place, codes = 2, model._encode(X)[2]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    seen = observed(model.model_.bins[place], codes, y, weight, model.loss, "link", "all")
    expected = [naive.share_below(y[codes == k], weight[codes == k], 0.9) for k in (1, 2, 3)]
    np.testing.assert_array_equal(seen.means, expected)
    np.testing.assert_allclose(seen.scores, np.array(expected) - naive.share_below(y, weight, 0.9))


def test_a_file_brings_the_model_back(fitted, tmp_path):
    model, X, _, _ = fitted
    model.save(tmp_path / "model.gamx")
    again = load_model(tmp_path / "model.gamx")
    assert again.get_params()["quantile"] == model.quantile
    assert again.model_.loss == model.model_.loss
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    written = to_bytes(to_saved(model))
    for bad in ({"quantile": 1.0}, {"quantile": 0}, {}, {"power": 1.5}):
        with pytest.raises(ModelFileError, match="its loss"):
            from_bytes(rewrite(written, put(["loss_parameters"], bad)))


@pytest.mark.slow
def test_sql_python_and_json_predict_as_the_model(fitted):
    model, X, _, _ = fitted
    predicted, plain = model.predict(X), X.astype(object).where(X.notna(), None)
    np.testing.assert_allclose(from_json(to_json(model)).predict(X), predicted, atol=1e-12)
    space = {"__name__": "written"}
    exec(compile(to_python(model), "written.py", "exec"), space)  # the written code is under test
    np.testing.assert_allclose([space["predict"](row) for row in plain.to_dict("records")[:200]], predicted[:200])
    with sqlite3.connect(":memory:") as base:
        plain.to_sql("rows", base, index=False)
        scored = pd.read_sql_query(to_sql(model, "rows"), base)
    np.testing.assert_allclose(scored["prediction"], predicted, atol=1e-9)


def test_a_planted_pair_comes_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    y = 1.0 * (X[:, 0] > 0) - 1.5 * (X[:, 1] > 0) * (X[:, 2] > 0) + rng.normal(size=4000)
    for tau, unit in ((0.5, 1.0), (0.9, 1e6), (0.2, 1e-6)):
        ranked = rank_pairs(X, unit * y, objective="quantile", quantile=tau, random_state=0)
        assert set(ranked.iloc[0][["feature_1", "feature_2"]]) == {"x1", "x2"}
        assert 0 < ranked.attrs["chance"] < ranked["strength"][0] < unit


@pytest.mark.slow
def test_all_strategies_give_the_same_trees():
    made = [fit(problem("quantile"), "subagging", name) for name in ("rescan", "mst", "complement", "mask")]
    for other in made[1:]:
        for one, two in zip(made[0], other, strict=True):
            np.testing.assert_allclose(one.curves, two.curves, atol=1e-9)
            assert one.best_round == two.best_round


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", ["grouped", "subagging", "bagging"])
def test_single_precision_gives_the_same_model(ensemble):
    of = problem("quantile", n=3000)
    changes = {"max_rounds": 8, "early_stopping_rounds": 50}
    single, double = (fit(of, ensemble, dtype=kind, **changes) for kind in (np.float32, np.float64))
    for one, two in zip(single, double, strict=True):
        assert one.valid_loss == pytest.approx(two.valid_loss, rel=1e-4)
        np.testing.assert_allclose(one.curves, two.curves, atol=5e-3)


def test_smoothing_coarse_and_greedy_rounds():
    of, losses = problem("quantile", n=3000), []
    for changes in ({}, {"smoothing_rounds": 5}, {"coarse_leaves": 4}, {"greedy_ratio": 2.0}):
        (refit,) = fit(of, n_refits=1, **changes)
        losses.append(refit.valid_loss)
    constant = np.average(of.loss.loss(of.y, np.full(of.y.size, of.base_score(slice(None)))))
    assert max(losses) < constant
    assert np.ptp(losses) < 0.1 * (constant - min(losses))


def test_a_model_does_not_depend_on_threads():
    X, y, _ = spread_out(800)
    made = [GAMRegressor(objective="quantile", n_jobs=n, **QUICK).fit(X, y).predict(X) for n in (1, 2)]
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize(("unit", "shift"), [(1e6, 0.0), (1e-6, 0.0), (0.37, 1000.0)])
def test_the_unit_and_the_zero_of_the_target_do_not_matter(unit, shift):
    X, y, _ = spread_out(1500)
    one, other = (GAMRegressor(objective="quantile", quantile=0.8, **QUICK).fit(X, of) for of in (y, unit * y + shift))
    np.testing.assert_allclose((other.predict(X) - shift) / unit, one.predict(X), atol=0.02)
    assert other.validation_losses_ == pytest.approx(unit * one.validation_losses_, rel=0.01)


def test_a_mirrored_target_has_the_other_quantile():
    X, y, _ = spread_out(3000)
    one, other = (
        GAMRegressor(objective="quantile", quantile=tau, **QUICK).fit(X, of) for tau, of in ((0.8, y), (0.2, -y))
    )
    assert np.abs(one.predict(X) + other.predict(X)).mean() < 0.03


@pytest.mark.parametrize("target", ["constant", "mostly zero", "one far away", "heavy tails"])
def test_odd_targets(target):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = {
        "constant": np.full(500, 3.0), "mostly zero": np.where(rng.random(500) < 0.8, 0.0, rng.gamma(2.0, size=500)),
        "one far away": np.r_[1e25, rng.normal(size=499) + X[1:, 0]], "heavy tails": rng.standard_cauchy(500) + X[:, 0],
    }[target]  # fmt: skip
    for tau in (0.1, 0.5, 0.9):
        model = GAMRegressor(objective="quantile", quantile=tau, **QUICK).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
        assert np.abs(model.predict(X)).max() < 50
        assert np.mean(y < model.predict(X) - 1e-9) <= tau + 0.01
        assert np.mean(y <= model.predict(X) + 1e-9) >= tau - 0.01


@pytest.mark.slow
@parametrize_with_checks(
    [GAMRegressor(objective="quantile", quantile=0.6, **SHORT)], expected_failed_checks=expected_failures
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_quantiles_behave_as_scikit_learn_asks(estimator, check):
    check(estimator)
