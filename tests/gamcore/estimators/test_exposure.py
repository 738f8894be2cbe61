"""Exposures and given scores: parts of a row's score that no feature explains."""

from __future__ import annotations

import numpy as np
import pytest

from gamcore import GAMClassifier, GAMRegressor, add_bands, load_model, pair_ranking, pair_worth
from gamcore.data.columns import TableError
from tests.support.fits import friendly, outcomes

QUICK = {"outer_bags": 2, "max_rounds": 80, "random_state": 0}


@pytest.fixture(scope="module")
def claims():
    """Return features, claims, years insured, and the true log of claims per year."""
    X, score = friendly(6000, 3, binary=False)
    rng = np.random.default_rng(4)
    years, rate = rng.uniform(0.1, 1.0, len(X)), score.to_numpy() / 3 - 1.0
    return X, rng.poisson(years * np.exp(rate)).astype(float), years, rate


def test_rates_and_totals(claims):
    X, y, years, rate = claims
    model = GAMRegressor(objective="poisson", **QUICK).fit(X, y, exposure=years)
    rates, totals = model.predict(X), model.predict(X, exposure=years)
    np.testing.assert_allclose(totals, rates * years, rtol=1e-12)
    assert totals.sum() == pytest.approx(y.sum(), rel=1e-9)
    assert np.corrcoef(np.log(rates), rate)[0, 1] > 0.85
    assert np.exp(model.model_.base) == pytest.approx(y.sum() / years.sum())
    assert model.model_.given == ("exposure",)
    assert model.explain_shape("a").detail("claims")[-1].endswith("per unit of exposure")


@pytest.mark.parametrize(("objective", "power"), [("poisson", 1.0), ("tweedie", 1.5)])
def test_exposure_is_a_weighted_model_of_rates(claims, objective, power):
    X, y, years, _ = claims
    years = years / years.mean()  # of weights only ratios matter, so a row of the mean weight counts as one
    X = X.round({"a": 1})  # weights decide where bins of many values are cut
    settings = {"objective": objective, "power": 1.5, **QUICK}
    totals = GAMRegressor(**settings).fit(X, y, exposure=years)
    rates = GAMRegressor(**settings).fit(X, y / years, sample_weight=years ** (2.0 - power))
    apart = np.log(totals.predict(X)) - np.log(rates.predict(X))
    assert np.ptp(apart) < 1e-5
    assert objective == "tweedie" or np.abs(apart).max() < 1e-5  # the same sums only where the weights are exposures


def test_a_given_score_is_added_to(claims):
    X, y, years, _ = claims
    first = GAMRegressor(objective="poisson", **QUICK).fit(X[["a"]], y, exposure=years)
    given = np.log(first.predict(X[["a"]]))
    both = GAMRegressor(objective="poisson", bands=10, **QUICK).fit(X, y, exposure=years, init_score=given)
    assert both.predict(X, exposure=years, init_score=given).sum() == pytest.approx(y.sum(), rel=1e-9)
    np.testing.assert_allclose(both.predict(X, init_score=given), both.predict(X) * np.exp(given), rtol=1e-12)
    alone = GAMRegressor(objective="poisson", **QUICK).fit(X, y, exposure=years)
    spans = [np.ptp(model.explain_shape("a").scores) for model in (both, alone)]
    assert spans[0] < 0.6 * spans[1]  # most of it is in the given score
    assert both.model_.given == ("exposure", "init_score")
    assert "added to the given score" in both.explain_shape("a").detail("claims")


@pytest.mark.parametrize("objective", ["squared", "gamma", "tweedie"])
def test_given_scores_of_every_regressor(objective):
    X, score = friendly(3000, 5, binary=False)
    y = outcomes(objective, score.to_numpy() / 3, np.random.default_rng(6)) if objective != "squared" else score
    given = score.to_numpy() / 3 if objective != "squared" else score.to_numpy()
    model = GAMRegressor(objective=objective, **QUICK).fit(X, y, init_score=given)
    assert np.abs(model.model_.score(model._encode(X)) - model.model_.intercept).std() < 0.35 * given.std()


def test_a_classifier_adds_to_log_odds():
    X, y = friendly(4000, 7, binary=True)
    first = GAMClassifier(**QUICK).fit(X, y)
    given = first.decision_function(X)
    again = GAMClassifier(**QUICK).fit(X, y, init_score=given)
    np.testing.assert_allclose(again.decision_function(X, init_score=given), again.decision_function(X) + given)
    chance = again.predict_proba(X, init_score=given)[:, 1]
    assert np.corrcoef(chance, first.predict_proba(X)[:, 1])[0, 1] > 0.99
    assert again.model_.base == pytest.approx(first.model_.base)  # of the base rate, not of what is left


def test_files_pairs_and_bands_know_what_was_given(claims, tmp_path):
    X, y, years, _ = claims
    model = GAMRegressor(objective="poisson", interactions=[("a", "b")], **QUICK).fit(X, y, exposure=years)
    ranked, doubled = (pair_ranking(model, X, y, exposure=k * years) for k in (1.0, 2.0))
    assert not np.allclose(ranked["strength"], doubled["strength"])
    worth, wrong = pair_worth(model, X, y, exposure=years), pair_worth(model, X, y)
    assert worth["worth"][0] != wrong["worth"][0]
    add_bands(model, X, y, exposure=years, n_refits=10)
    centre = model.model_.halves.intercept  # without the exposures, halves would learn the rate of a row
    assert centre == pytest.approx(model.model_.intercept, abs=0.1)
    model.save(tmp_path / "model.gamx")
    again = load_model(tmp_path / "model.gamx")
    assert again.model_.given == ("exposure",)
    np.testing.assert_array_equal(again.predict(X, exposure=years), model.predict(X, exposure=years))


def test_weights_of_zero_take_their_exposure_along(claims):
    X, y, years, _ = claims
    kept = np.arange(len(X)) % 3 > 0
    settings = {"objective": "poisson", **QUICK}
    some = GAMRegressor(**settings).fit(X[kept], y[kept], exposure=years[kept])
    weighed = GAMRegressor(**settings).fit(X, y, sample_weight=kept.astype(float), exposure=years)
    np.testing.assert_array_equal(some.predict(X), weighed.predict(X))


@pytest.mark.parametrize(
    ("exposure", "what"),
    [
        (np.zeros(6000), "exposure is not above 0 in 6000 rows (counted from 0: 0, 1, 2, ...)"),
        (np.ones(5), "exposure has the shape (5,) for 6000 rows"),
        (["x"] * 6000, "exposure has values that are not numbers"),
        (np.where(np.arange(6000) == 7, np.nan, 1.0), "in 1 row (counted from 0: 7)"),
    ],
)
def test_wrong_exposures_are_named(claims, exposure, what):
    X, y, _, _ = claims
    with pytest.raises(TableError) as raised:
        GAMRegressor(objective="poisson").fit(X, y, exposure=exposure)
    assert what in str(raised.value)


def test_exposure_needs_a_log_link(claims):
    X, y, years, _ = claims
    with pytest.raises(TableError, match="choose an objective of 'poisson', 'gamma', 'tweedie'"):
        GAMRegressor().fit(X, y, exposure=years)
    with pytest.raises(TableError, match="init_score is not a finite number in 1 row"):
        GAMRegressor().fit(X, y, init_score=np.where(np.arange(6000) == 3, np.inf, 0.0))
