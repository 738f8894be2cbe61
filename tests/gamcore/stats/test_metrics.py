"""Quality, drift and trade-offs, checked against their definitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics

from gamcore import GAMClassifier, GAMRegressor
from gamcore.explain.concurvity import tradeoffs
from gamcore.stats import metrics as quality
from gamcore.stats.feature_drift import drift
from gamcore.stats.intervals import wilson


@pytest.fixture
def chances():
    rng = np.random.default_rng(0)
    chance = rng.beta(1, 3, 700).round(2)
    return (rng.uniform(size=700) < chance).astype(float), chance, rng.integers(1, 4, 700).astype(float)


def test_curves_of_shares_are_those_of_repeated_rows(chances):
    y, chance, weight = chances
    times = weight.astype(int)
    for name in ("roc", "precision_recall", "gain"):
        weighted = getattr(quality, name)(y, chance, weight)
        repeated = getattr(quality, name)(y.repeat(times), chance.repeat(times))
        assert weighted.summary == pytest.approx(repeated.summary)
        np.testing.assert_allclose(weighted.y, repeated.y, atol=1e-9)
    assert quality.roc(y, chance).summary == pytest.approx(metrics.roc_auc_score(y, chance))


def test_gain_counts_positives_among_the_likeliest(chances):
    y, chance, _ = chances
    found = quality.gain(y, chance)
    assert (found.x[0], found.y[0], found.x[-1], found.y[-1]) == (0, 0, 1, 1)
    for threshold in (0.2, 0.5):
        picked = chance >= threshold
        at = np.interp(picked.mean(), found.x, found.y)
        assert at == pytest.approx(y[picked].sum() / y.sum(), abs=1e-9)
    assert quality.gain(y, y).summary == pytest.approx(min(0.1 / y.mean(), 1))


def test_calibration_has_wilsons_intervals_of_equal_parts(chances):
    y, chance, _ = chances
    found = quality.calibration(y, chance)
    assert found["rows"].sum() == 700
    assert (found["lower"] <= found["observed"]).all()
    assert (found["observed"] <= found["upper"]).all()
    low, high = wilson(0.3, 50)
    z, n, p = stats.norm.ppf(0.975), 50, 0.3
    middle = (p + z * z / 2 / n) / (1 + z * z / n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / 4 / n / n) / (1 + z * z / n)
    assert (low, high) == pytest.approx((middle - half, middle + half))
    inside = ((found["predicted"] >= found["lower"]) & (found["predicted"] <= found["upper"])).mean()
    assert inside >= 0.7  # the chances are exact
    assert len(quality.calibration(y, np.full(700, 0.3))) == 1


def test_costs_are_those_of_every_line(chances):
    y, chance, weight = chances
    found = quality.costs(y, chance, 2.0, 5.0, weight)
    for threshold, cost in zip(found.thresholds, found.costs, strict=True):
        said = chance >= threshold if threshold > 0 else np.ones(700, bool)
        mistakes = 2.0 * (said & (y == 0)) + 5.0 * (~said & (y == 1))
        assert cost == pytest.approx(np.average(mistakes, weights=weight))
    assert found.least == found.costs.min()
    assert found.always == pytest.approx(np.average(2.0 * (y == 0), weights=weight))
    assert found.never == pytest.approx(np.average(5.0 * (y == 1), weights=weight))
    table = quality.confusion(y, chance, 0.3)
    assert table.to_numpy().sum() == 700
    assert table.loc["was yes", "said yes"] == ((chance >= 0.3) & (y == 1)).sum()


def test_deviance_and_residuals():
    rng = np.random.default_rng(0)
    predicted = rng.normal(size=900)
    y = predicted + rng.normal(size=900) + 0.5 * (predicted > 1)
    told, share = quality.deviance(y, predicted, 0.0, False)
    assert told == pytest.approx(np.mean((y - predicted) ** 2))
    assert share == pytest.approx(1 - told / np.mean(y**2))
    found = quality.residuals(y, predicted)
    assert found["rows"].sum() == 900
    assert found["residual"].iloc[-1] > 0.2
    assert (found["lower"] < found["residual"]).all()
    few = quality.residuals(y[:40], predicted[:40])
    assert len(few) == 1
    off = []
    for _ in range(300):
        predicted = rng.normal(size=90)
        told = quality.residuals(predicted + rng.normal(size=90), predicted)
        off.append(((told["lower"] > 0) | (told["upper"] < 0)).mean())
    assert np.mean(off) == pytest.approx(0.05, abs=0.03)
    chance = 1 / (1 + np.exp(-rng.normal(size=900)))
    binary = (rng.uniform(size=900) < chance).astype(float)
    told, _ = quality.deviance(binary, chance, 0.5, True)
    assert told == pytest.approx(2 * metrics.log_loss(binary, chance))


def test_means_over_time_have_intervals_and_leave_gaps_out():
    period = np.array([0, 0, 0, 2, 2, 2])
    found = quality.over_time(period, np.array([0.0, 1, 1, 0, 0, 1]), np.full(6, 0.5), "share")
    assert found["period"].tolist() == [0, 2]
    assert found["observed"].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert found.loc[0, "lower"] == pytest.approx(wilson(2 / 3, 3)[0])
    numbers = quality.over_time(period, np.arange(6.0), np.arange(6.0), "number")
    assert numbers["observed"].tolist() == [1, 4]
    years = np.array([0.5, 1, 0.5, 1, 1, 2])
    counts = quality.over_time(period, np.array([0.0, 0, 0, 1, 0, 2]), 0.5 * years, "count", exposure=years)
    assert counts["observed"].tolist() == [0, 0.75]
    assert counts["predicted"].tolist() == [0.5, 0.5]
    assert counts["lower"].tolist()[0] == 0
    assert counts.loc[0, "upper"] == pytest.approx(stats.chi2.ppf(0.975, 2) / 2 / 2)  # Garwood's, without an event


def test_stability_is_nothing_for_the_same_and_symmetric():
    p, q = np.array([10.0, 20, 70]), np.array([20.0, 20, 60])
    assert quality.stability(p, 3 * p)[0] == pytest.approx(0)
    assert quality.stability(p, q) == pytest.approx(quality.stability(q, p))
    expected = sum((a - b) * np.log(a / b) for a, b in zip(p / 100, q / 100, strict=True))
    assert quality.stability(p, q) == pytest.approx((expected, 2 * 0.02))
    assert np.isfinite(quality.stability(p, np.zeros(3))[0])


def test_stability_by_chance_is_what_samples_of_one_distribution_have():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(10, 3.0))
    found = [quality.stability(*(rng.multinomial(n, shares).astype(float) for n in (400, 900))) for _ in range(800)]
    assert np.mean([index for index, _ in found]) == pytest.approx(found[0][1], rel=0.15)


def test_drift_finds_the_features_that_moved():
    rng = np.random.default_rng(0)
    n = 3000
    later = np.arange(n) >= 2000
    X = pd.DataFrame({"same": rng.normal(size=n), "moved": rng.normal(size=n) + later, "gone": rng.normal(size=n)})
    X["level"] = np.where(later & (rng.uniform(size=n) < 0.5), "late", rng.choice(["x", "y"], n))
    X.loc[later & (rng.uniform(size=n) < 0.4), "gone"] = np.nan
    model = GAMRegressor(max_rounds=3, outer_bags=1).fit(X[~later], rng.normal(size=2000))
    found = drift(X, model.model_.bins, later).set_index("feature")
    assert found.loc["same", "stability"] < 3 * found.loc["same", "by chance"]
    assert (found.loc[["moved", "gone", "level"], "stability"] > 0.25).all()
    assert found.loc["gone", "missing after"] == pytest.approx(0.4, abs=0.04)
    assert found.loc["level", "unseen after"] == pytest.approx(0.5, abs=0.04)
    assert found.loc["gone", "missing before"] == 0


@pytest.mark.parametrize("bands", [0, 30])
def test_features_that_go_together_trade_off_and_others_do_not(bands):
    rng = np.random.default_rng(0)
    n = 1500
    X = pd.DataFrame({"a": rng.normal(size=n), "far": rng.normal(size=n)})
    X["near a"] = X["a"] + 0.02 * rng.normal(size=n)
    y = X["a"] + X["near a"] + X["far"] + rng.normal(size=n)
    model = GAMRegressor(random_state=0, bands=bands).fit(X, y)
    found = tradeoffs(model.model_, model._encode(X))
    assert [(pair.first, pair.second) for pair in found] == [("a", "near a")]
    assert -1 <= found[0].correlation < -0.3
    assert 0 < found[0].share <= 1
    alone = GAMClassifier(random_state=0, outer_bags=2).fit(X, y > 0)
    assert tradeoffs(alone.model_, alone._encode(X)) == []  # two refits tell nothing
