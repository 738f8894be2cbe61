"""Rating factors multiply to the prediction, and say what was observed beside them."""

from __future__ import annotations

import numpy as np
import pytest

from gamcore import GAMRegressor
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


def test_what_was_observed_adds_up(claims):
    model, X, y, years = claims
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    tables = relativities(model, X, y, weight, exposure=years)
    for name in "abc":
        table = tables[name].fillna(0.0)
        assert (table["lower"] <= table["factor"]).all()
        assert table["exposure"].sum() == pytest.approx(weight @ years)
        assert table["exposure"] @ table["observed"] == pytest.approx(weight @ y)
        assert table["exposure"] @ table["predicted"] == pytest.approx(weight @ model.predict(X, exposure=years))


def test_effects_that_add_have_no_factors():
    X, y = friendly(300, binary=False)
    with pytest.raises(ScoringError, match="counts and amounts"):
        relativities(GAMRegressor(outer_bags=1, max_rounds=5).fit(X, y))
