"""Rating factors multiply to the prediction, and say what was observed beside them."""

from __future__ import annotations

import numpy as np
import pytest

from gamcore import GAMRegressor, Sample
from gamcore.estimators.relativities import BASE, relativities
from gamcore.io.formula import ScoringError
from tests.support.fits import friendly


@pytest.fixture(scope="module")
def claims():
    X, score = friendly(5000, 3, binary=False)
    rng = np.random.default_rng(4)
    years = rng.uniform(0.1, 1.0, len(X))
    y = rng.poisson(years * np.exp(score.to_numpy() / 3 - 1.0)).astype(float)
    settings = {"outer_bags": 3, "max_rounds": 40, "bands": 10, "interactions": [("a", "b")], "random_state": 0}
    return GAMRegressor(objective="poisson", **settings).fit(X, y, exposure=years), X, y, years


def test_base_times_factors_is_the_rate(claims):
    model, X, _, _ = claims
    tables = relativities(model)
    assert list(tables) == [BASE, "a", "b", "c", "a × b"]
    codes = model._encode(X)
    rate = np.full(len(X), tables[BASE].loc[0, "largest factor"])
    for place, name in enumerate("abc"):
        factor = tables[name]["factor"].to_numpy()
        by_code = np.concatenate([factor[-2:-1], factor[:-2], factor[-1:]])  # missing first, unseen last
        rate *= by_code[codes[place]]
    known = (codes[0] > 0) & (codes[1] > 0)
    cells = tables["a × b"].iloc[:, 1:].to_numpy()
    rate[known] *= cells[codes[0][known] - 1, codes[1][known] - 1]
    np.testing.assert_allclose(rate[known], model.predict(X)[known], rtol=1e-12)


def test_what_was_observed_adds_up_in_each_population(claims):
    model, X, y, years = claims
    weight, held = np.random.default_rng(0).uniform(0.5, 2.0, len(X)), np.arange(len(X)) % 4 == 0
    populations = {"training": ~held, "held-out": held}
    compared = {
        name: Sample(X[rows], y[rows], weight[rows], exposure=years[rows]) for name, rows in populations.items()
    }
    tables = relativities(model, compared)
    for name in "abc":
        table = tables[name].fillna(0.0)
        assert (table["lower"] <= table["factor"]).all()
        for population, rows in populations.items():
            exposure = table[f"exposure ({population})"]
            claimed, expected = y[rows], model.predict(X[rows], exposure=years[rows])
            assert table[f"rows ({population})"].sum() == pytest.approx(weight[rows].sum())
            assert exposure.sum() == pytest.approx(weight[rows] @ years[rows])
            assert table[f"total ({population})"].sum() == pytest.approx(weight[rows] @ claimed)
            assert exposure @ table[f"observed ({population})"] == pytest.approx(weight[rows] @ claimed)
            assert exposure @ table[f"predicted ({population})"] == pytest.approx(weight[rows] @ expected)


def test_every_count_says_whose_it_is(claims):
    model, X, y, years = claims
    names = [*relativities(model)["a"], *relativities(model, {"2025": Sample(X, y, exposure=years)})["a"]]
    counts = [name for name in names if name.split(" (")[0] in ("rows", "exposure", "total", "observed", "predicted")]
    assert len(counts) == 7
    assert all(name.endswith(("(training)", "(2025)")) for name in counts)


@pytest.mark.parametrize("cap", [1.0, 1.2, 50.0])
def test_capped_factors_stay_within_and_the_others_as_they_are(claims, cap):
    table = relativities(claims[0], cap=cap)["a"]
    capped = table["capped factor"]
    assert capped.between(1 / cap, cap).all()
    inside = table["factor"].between(1 / cap, cap)
    assert (capped[inside] == table["factor"][inside]).all()


def test_a_cap_below_one_is_refused(claims):
    with pytest.raises(ScoringError, match=r"Factors are capped at 0.5: give a number of at least 1"):
        relativities(claims[0], cap=0.5)


def test_effects_that_add_have_no_factors():
    X, y = friendly(300, binary=False)
    with pytest.raises(ScoringError, match="counts and amounts"):
        relativities(GAMRegressor(outer_bags=1, max_rounds=5).fit(X, y))
